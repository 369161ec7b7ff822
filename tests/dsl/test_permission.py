"""What a program may touch outside its own text, and who says so."""

import pytest

from podium.dsl.compile import Choice, check
from podium.dsl.source import Source

from .made import LIBRARY, NOUNS, nothing, program, refused

_AT = 'model m {{ endpoint = openai("x", base_url = {}) }}\ntask t {{ statement = "x" }}\n'
GUARDED = {
    "E501": ('task t { statement = "x"  verify = python("a.b:c") }\n', "python", "a.b:c"),
    "E502": ('task t { statement = file("issue.md") }\n', "file", "issue.md"),
    "E503": (_AT.format('env("URL")'), "env", "URL"),
    "E505": (_AT.format('"https://h.example/v1"'), "host", "h.example"),
}


@pytest.mark.parametrize("code", sorted(GUARDED))
def test_the_world_is_closed_unless_it_is_allowed(code: str) -> None:
    nouns, kind, value = GUARDED[code]
    text = nouns + "run r { flow = agent  task = t  budget = [9 calls] }"
    (problem,) = refused(text, Choice(allow=nothing))
    assert problem.code == code
    assert f"--allow {kind}:{value}" in problem.help
    assert program(text, Choice(allow=lambda k, v: (k, v) == (kind, value)))
    assert check(Source("x.team", text), LIBRARY) == ()


def test_what_a_run_does_not_use_needs_no_permission() -> None:
    unused = "".join(nouns.replace("task t", "task u") for nouns, _, _ in (GUARDED["E501"],))
    text = unused + NOUNS + "run r { flow = writer  task = sum }"
    assert program(text, Choice(allow=nothing)).name == "r"
