"""A file's reference page: what is on it, and that no text of the file changes anything around it."""

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from podium.dsl.catalogue import Entry as Problem
from podium.dsl.catalogue import catalogue
from podium.dsl.doc import Entry, Page, page_of
from podium.dsl.doc_page import as_json, as_markdown
from podium.dsl.doc_text import code, escaped, examples, fenced, head, sentence
from podium.dsl.library import MemoryLibrary, modules, standard
from podium.dsl.parse import parse
from podium.dsl.problem import ProgramError
from podium.dsl.source import Source

WHOLE = '''## What the file is for.
##
##     podium run x.team

edition 2026

from std.flows import best_of

## How many.
param k: int(1 to 64) = 4

model fast { endpoint = openai("fast", base_url = "http://127.0.0.1:9/v1"), price = none }

## Sorts a problem.
role sorter {
  prompt     = """{{ task.statement }}"""
  output     = { kind: "easy" | "hard" = "easy", parts: [text], note: text = "a `b`" }
  max_output = 64 tokens
}

role mender { prompt = """{{ attempt.answer }}""" }

verifier right = exact(["4", "four"])

task sum {
  statement = """What is 2 + 2?"""
  verify    = right
}

## Mends what comes in, some times.
##
##     parallel(2) of agent -> mended(3)
flow mended(rounds: int = 2) = repeat(rounds) of mender

flow wide(n: int, why: text = "a | b") of inner = parallel(
  n, # copies
  need = 1,
) of inner

run main {
  task   = sum
  flow   = parallel(k) of agent -> mended
  budget = [50k tokens]
}
'''


def page(text: str) -> Page:
    return page_of(Source("x.team", text), MemoryLibrary())


def entry(found: Page, name: str) -> Entry:
    [one] = [entry for entry in found.entries if entry.name == name]
    return one


def test_a_page_has_everything_a_file_declares() -> None:
    shown = as_markdown(page(WHOLE))
    headings = re.findall(r"^(#+) (.*)$", shown, flags=re.MULTILINE)
    assert headings[0] == ("#", "x.team")
    assert [text for mark, text in headings if mark == "##"] == [
        *("Parameters", "Models", "Roles", "Verifiers", "Tasks", "Flows", "Runs")
    ]
    assert [text for mark, text in headings if mark == "###"] == [
        *("fast", "sorter", "mender", "right", "sum", "mended", "wide", "main")
    ]
    for line in (
        "What the file is for.",
        "- `from std.flows import best_of`",
        "| `k` | a whole number from 1 to 64 | `4` | How many. |",
        '- `endpoint`: `openai("fast", base_url = "http://127.0.0.1:9/v1")`',
        "`sorter : Task -> Attempt`",
        '| `kind` | "easy" \\| "hard" | `"easy"` |',
        "| `parts` | \\[text\\] | **required** |",
        '| `note` | text | ``"a `b`"`` |',
        "`mender : Attempt -> Attempt`",
        '- `exact(["4", "four"])`',
        "`mended(rounds: int = 2) : Attempt -> Attempt`",
        "With its defaults: at most 2 agents, 2 calls.",
        '`wide(n: int, why: text = "a | b") of inner : A -> Many`',
        '| `why` | text | `"a \\| b"` |',
        "- `flow`: `parallel(k) of agent -> mended`",
        "For one task: at most 12 agents, 6 to 12 calls.",
    ):
        assert f"\n{line}\n" in shown, line


def test_a_page_as_json_keeps_its_contract() -> None:
    shown = as_json(page(WHOLE))
    assert (shown["schema"], shown["name"], shown["examples"]) == (
        *(1, "x.team"),
        ["podium run x.team"],
    )
    entries = cast(list[dict[str, object]], shown["entries"])
    [mended] = [one for one in entries if one["name"] == "mended"]
    assert mended == {
        "kind": "flow",
        "name": "mended",
        "signature": "mended(rounds: int = 2)",
        "type": "Attempt -> Attempt",
        "doc": "Mends what comes in, some times.\n\n    parallel(2) of agent -> mended(3)",
        "examples": ["parallel(2) of agent -> mended(3)"],
        "parameters": [{"name": "rounds", "type": "a whole number", "default": "2", "doc": ""}],
        "output": [],
        "fields": [],
        "size": {
            "agents": 2,
            "calls": {"at_least": 2, "at_most": 2},
            "for_each_attempt": False,
            "inner_is_one_agent": False,
        },
    }


def test_a_wrong_file_has_no_page_but_its_problems() -> None:
    with pytest.raises(ProgramError) as caught:
        page("flow a = agnt\nflow b = bset\n")
    assert [problem.code for problem in caught.value.problems] == ["E105", "E105"]


@pytest.mark.parametrize(
    ("flow", "shape", "size"),
    [
        ("flow f = agent", "Task -> Attempt", (1, 1, 1, False)),
        ("flow f of g = g", "A -> B", (1, 1, 1, False)),
        ("flow f(k: int) of g = parallel(k) of g", "A -> Many", None),
        ("flow f = parallel(3) of same", "A -> Many", (0, 0, 0, False)),
        ("flow f = same", "A -> A", (0, 0, 0, False)),
        ("flow f = best", "Many -> Attempt", (0, 0, 0, False)),
        ("import std.roles\nflow f = roles.debater", "Many -> Many", (1, 1, 1, True)),
        ("import std.roles\nflow f = roles.merger", "Many -> Attempt", (1, 1, 1, False)),
        ("flow f = team(3, rounds = 1)", "A -> Attempt", (3, 4, 4, False)),
        ("import std.roles\nflow f of g = roles.solver -> g", "Task -> B", None),
    ],
)
def test_a_flow_says_what_it_takes_and_how_large_it_is(
    flow: str, shape: str, size: tuple[int, int, int, bool] | None
) -> None:
    found = entry(page(flow + "\n"), "f")
    assert found.type == shape
    counted = found.size
    shown = counted and (counted.agents, counted.least, counted.most, counted.each)
    assert shown == size


def test_a_broken_list_and_a_comment_in_it_stand_on_one_line() -> None:
    text = 'verifier v = contains(\n  # words\n  "a", "b  c", # more\n)\n'
    assert entry(page(text), "v").fields == (("", 'contains("a", "b c")'),)


@pytest.mark.parametrize("name", modules())
def test_every_module_of_the_library_has_a_page(name: str) -> None:
    found = page_of(standard(name), MemoryLibrary())
    assert found.doc
    assert all(entry.doc and examples(entry.doc) for entry in found.entries)
    flows = [entry for entry in found.entries if entry.kind == "flow"]
    assert all(one.size for one in flows if all(p.default is not None for p in one.parameters))


@pytest.mark.parametrize(
    "entry", [entry for entry in catalogue().values() if entry.mended], ids=lambda entry: entry.code
)
def test_every_right_program_of_the_catalogue_has_a_page(entry: Problem) -> None:
    assert entry.mended is not None
    source = Source("x.team", entry.mended.whole())
    found = page_of(source, MemoryLibrary(modules=entry.files, files=entry.files))
    declared = [declaration.name for declaration in parse(source)[0].declarations]
    assert [one.name for one in found.entries] == declared
    assert as_markdown(found).startswith("# x.team\n")


# --- doc texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "doc"),
    [
        ("## A\n## b\n\nedition 2026\nflow f = agent\n", "A\nb"),
        ("# mine\n\n## A\nedition 2026\n\nflow f = agent\n", "A"),
        ("edition 2026\n\n## A\n\n## B\nflow f = agent\n", "A"),
        ("## B\nflow f = agent\n", ""),
        ("edition 2026\n\n## B\nimport std.flows\nrun main { flow = flows.race of agent }\n", ""),
        ("flow f = agent\n\n## late\n", ""),
        ("## only\n", "only"),
        ("", ""),
    ],
)
def test_the_head_of_a_file_is_what_opens_it(text: str, doc: str) -> None:
    source = Source("x.team", text)
    assert head(source, parse(source)[0]) == doc


def test_examples_are_the_lines_indented_by_four() -> None:
    doc = "One.\nStill one:\n\n    a\n      b\n\n    c\nTwo.\n"
    assert examples(doc) == ("a\n  b", "c")
    assert sentence(doc) == "One. Still one:"


def rendered(markdown: str) -> str:
    """The text that a reader of markdown sees, blanks collapsed; markup shows as its tags."""
    page = MarkdownIt("commonmark").enable("table").render(markdown)
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        page = page.replace(entity, sign) if "<p>" in page else page
    return " ".join(page.replace("<p>", "").replace("</p>", "").split())


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<script>",
            "[a](http://b)",
            "*a* _b_ ~~c~~",
            "# a",
            "===",
            "---",
            "a | b",
            "\\*",
            "&lt;",
        ),
        *("best_of and _it_", "![a](b)", "+ a", "a\n===\nb", "***", "`a", "a`b"),
    ],
)
def test_markup_in_a_doc_text_is_shown_as_it_is(text: str) -> None:
    assert rendered(escaped(text)) == " ".join(text.split())


@given(st.text(alphabet="ab *_[]()<>#|&;~\\!=\"'.+`\n", max_size=30))
def test_no_doc_text_opens_markup_that_it_does_not_close(text: str) -> None:
    """But for code between backticks; `- ` and `1.` are lists, and are left out here."""
    shown = MarkdownIt("commonmark").render(escaped(text) + "\n\nEND")
    tags = set(re.findall(r"</?(\w+)", shown))
    assert tags <= {"p", "code"}
    assert shown.endswith("<p>END</p>\n")


@given(st.text(alphabet="a` |\\\n", min_size=1, max_size=20).filter(str.strip))
def test_code_and_fences_hold_any_text(text: str) -> None:
    renderer = MarkdownIt("commonmark")
    line = " ".join(text.split())
    assert renderer.render(f"x {code(line)} y") == f"<p>x <code>{line}</code> y</p>\n"
    assert renderer.render(fenced(text)).startswith(f"<pre><code>{text}\n</code></pre>")
