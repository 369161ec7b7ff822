"""Verifiers made of others, and on other machines."""

import pytest

from podium.dsl.compile import Choice, check
from podium.dsl.program import (
    Verifier,
)
from podium.dsl.source import Source

from .made import LIBRARY, nothing, program, refused


def verifier_in(text: str, choice: Choice = Choice()) -> Verifier:  # noqa: B008  # it is frozen
    made = program(f"{text}\nrun r {{ flow = agent  task = t  budget = [9 calls] }}", choice)
    verify = made.tasks[0].verify
    assert verify is not None
    return verify


def test_a_verifier_keeps_its_parts_and_hides_what_they_hide() -> None:
    text = (
        'task t { statement = "?"  verify = all_of(contains("a"), any_of(exact("b"), number(4))) }'
    )
    verify = verifier_in(text)
    assert [leaf.kind for leaf in verify.leaves()] == ["contains", "exact", "number"]
    assert verify.use == "final"
    assert verifier_in(text.replace("number(4))", "number(4)), use = always")).use == "always"


def test_weights_go_with_verifiers() -> None:
    text = 'task t { statement = "?"  verify = weighted([contains("a"), number(4)], weights = [2, 1]) }'
    assert verifier_in(text).args["weights"] == (2, 1)
    for wrong in ("[2]", "[2, -1]", "[0, 0]"):
        codes = [p.code for p in check(Source("x.team", text.replace("[2, 1]", wrong)), LIBRARY)]
        assert {"E210", "E120"} & set(codes), wrong


@pytest.mark.parametrize(
    ("verify", "says"),
    [
        ('weighted([exact("a")], weights = [1])', False),
        ('all_of(exact("a"), weighted([exact("a")], weights = [1]))', False),
        ('any_of(exact("a"), weighted([exact("a")], weights = [1]))', True),
        ('all_of(exact("a"), http("http://127.0.0.1:1/"))', True),
    ],
)
def test_what_gives_only_a_score_passes_by_a_rule_alone(verify: str, says: bool) -> None:
    text = (
        f'task t {{ statement = "?"  verify = {verify} }}\n'
        "run r { flow = parallel(2, stop = first_pass) of agent  task = t  budget = [9 calls] }"
    )
    refusals = [p.code for p in check(Source("x.team", text), LIBRARY) if p.severity == "error"]
    assert (not refusals) is says


def test_a_service_elsewhere_and_its_token_need_leave() -> None:
    text = 'task t { statement = "?"  verify = http("http://10.0.0.7/", key = env("T"), finalists = 2) }'
    run = f"{text}\nrun r {{ flow = agent  task = t  budget = [9 calls] }}"
    assert {p.code for p in refused(run, Choice(allow=nothing))} == {"E503", "E505"}
    verify = verifier_in(text)
    assert verify.args == {"url": "http://10.0.0.7/", "key": "T"}
    assert verify.finalists == 2
    here = run.replace("10.0.0.7", "127.0.0.1").replace(', key = env("T")', "")
    assert program(here, Choice(allow=nothing)).name == "r"
