"""The further ways to earn a code, each told once, and mended clean; the first way is in the catalogue."""

import pytest

from podium.dsl.compile import check
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Task, Verifier
from podium.dsl.source import Source

LIBRARY = MemoryLibrary(
    modules={
        "./house.team": 'verifier taste = exact("good")\nmodel dear { endpoint = local("dear") }\n',
    },
    files={"issue.md": "Fix it.", "rows.jsonl": '{"q": "1+1", "a": 2}\n{"q": "2+2", "a": 4}\n'},
    families={"words": Task("words", "Say words.", Verifier("words", "python", {"ref": "a:b"}))},
)

# The nouns that many examples need; they come behind, so that they move no line of an example.
NOUNS = '''
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role cutter { prompt = """{{ task.statement }}"""  output = { parts: [text] } }
verifier right = exact("4")
task sum { statement = "2 + 2?"  verify = exact("4") }
task bare { statement = "2 + 2?" }
task open { statement = "2 + 2?"  verify = judge(by = editor) }
'''
RUN = "run r { task = sum  flow = "

# code, failing, mended
EXAMPLES: list[tuple[str, str, str]] = [
    # names and declarations
    ("E104", "import std.nothing as n", "import std.roles as n"),
    ("E105", "flow a(n: itn) = parallel(n) of writer", "flow a(n: int) = parallel(n) of writer"),
    ("E105", "flow a = adaptive", "flow a = team(2, ceo = adaptive)"),
    ("E105", "flow a = repeat(2, until = consensus) of editor", "flow a = repeat(2) of editor"),
    ("E107", 'task t = rows("rows.jsonl")', 'task t = rows("rows.jsonl") with { statement = row.q }'),
    ("E112", "flow a = team()", "flow a = team(3)"),
    ("E112", "flow a(n: int) = team(n)\nflow b = a", "flow a(n: int) = team(n)\nflow b = a(3)"),
    (
        "E115",
        'import "./house.team" as h\nflow a = parallel(2) of writer -> best(by = h.tate)',
        'import "./house.team" as h\nflow a = parallel(2) of writer -> best(by = h.taste)',
    ),
    ("E116", 'verifier v { x = 1 }', 'verifier v = exact("x")'),
    (
        "E116",
        "flow a = squad with { n = 2 }\nflow squad(n: int = 3) = team(n)",
        "flow a = squad(2)\nflow squad(n: int = 3) = team(n)",
    ),
    ("E120", 'role r { prompt = 3 }', 'role r { prompt = "x" }'),
    ("E120", 'verifier v = python("no_colon")', 'verifier v = python("pkg.mod:name")'),
    ("E121", "flow a = team(0)", "flow a = team(1)"),
    ("E125", 'param p: "quick" | "deep" = "dep"', 'param p: "quick" | "deep" = "deep"'),
    # flows
    ("E201", "run r { task = bare  flow = parallel(2) of writer }", RUN + "parallel(2) of writer }"),
    ("E202", "flow a = writer -> team(2) -> writer", "flow a = writer -> team(2) -> editor"),
    ("E202", "flow a = parallel of [writer, editor]", "flow a = parallel of [writer, team(2)]"),
    ("E202", "flow a = repeat(2) of writer", "flow a = repeat(2) of editor"),
    ("E202", "run r { task = sum  flow = editor }", "run r { task = sum  flow = writer -> editor }"),
    ("E202", "flow a = fallback of [writer, parallel(2) of writer]", "flow a = fallback of [writer, team(2)]"),
    ("E203", RUN + "team(2, until = passed) }", RUN + "team(2, until = consensus) }"),
    ("E205", "flow a = route(by = writer) of { easy = writer }", "flow a = writer"),
    (
        "E205",
        "flow a = for_each(by = writer, max = 3) of writer",
        "flow a = for_each(by = cutter, max = 3) of writer",
    ),
    (
        "E209",
        "run r { task = open  flow = parallel(3, stop = pass(2)) of writer -> best }",
        RUN + "parallel(3, stop = pass(2)) of writer -> best }",
    ),
    (
        "E209",
        "run r { task = open  flow = writer -> repeat(2, until = passed) of editor }",
        RUN + "writer -> repeat(2, until = passed) of editor }",
    ),
    ("E210", "flow a = parallel(3) of [writer, team(2)]", "flow a = parallel(2) of [writer, team(2)]"),
    (
        "E211",
        'flow a = m\nmodel m { endpoint = local() }',
        'flow a = r\nmodel m { endpoint = local() }\nrole r { prompt = "x"  model = m }',
    ),
    ("E211", "flow a = sum -> writer", "flow a = writer"),
    (
        "E212",
        "flow a = team(3, recruit = recruiter, members = [3 of writer])",
        "flow a = team(3, recruit = recruiter)",
    ),
    ("E212", "flow a = team(3, claims = lease(10m))", "flow a = team(3, claims = lease(10m), style = work)"),
    ("E212", "flow a = team(3, workspace = shared)", "flow a = team(3, workspace = shared, style = work)"),
    ("E212", "flow a = team(3, style = work, until = consensus)", "flow a = team(3, until = consensus)"),
    ("E212", "flow a = team(3, style = work, order = in_turn)", "flow a = team(3, style = work)"),
    ("E212", "flow a = team(3, turns = 5)", "flow a = team(3, style = work, turns = 5)"),
    ("E212", "flow a = team(3, ceo = (writer with { tools = [notes] }))", "flow a = team(3, ceo = writer)"),
    (
        "E212",
        "flow a = team(members = [2 of (writer with { tools = [submit] })])",
        "flow a = team(members = [2 of (writer with { tools = [submit] })], style = work)",
    ),
    ("E212", "flow a = team(3, compat = mas_tts, order = in_turn)", "flow a = team(3, compat = mas_tts)"),
    ("E213", "flow a = team(3) of writer", "flow a = team(3) -> editor"),
    # budgets
    ("E308", 'verifier v = python("a:b", timeout = $5)', 'verifier v = python("a:b", timeout = 5s)'),
    (
        "E308",
        "flow a = repeat(2, until = spent >= 3) of editor",
        "flow a = repeat(2, until = spent >= $3) of editor",
    ),
    (
        "E308",
        'model m { endpoint = local()  price = { input = 5 calls per 1m } }',
        'model m { endpoint = local()  price = { input = $5 per 1M tokens } }',
    ),
    ("E308", "flow a = team(2, budget = [$5 + 3 tokens])", "flow a = team(2, budget = [$5 + $3])"),
    # what must end
    (
        "E402",
        "role a = b with { model = m }\nrole b = a\nmodel m { endpoint = local() }",
        "role a = b with { model = m }\nrole b = writer\nmodel m { endpoint = local() }",
    ),
]  # fmt: skip


def codes(text: str) -> list[str]:
    """The codes of all problems; that the nouns below go unused is not what is tested."""
    return [p.code for p in check(Source("x.team", text), LIBRARY) if p.code != "W603"]


@pytest.mark.parametrize(("code", "failing", "mended"), EXAMPLES)
def test_each_mistake_is_told_once_and_its_mended_program_is_clean(
    code: str, failing: str, mended: str
) -> None:
    assert codes(failing + NOUNS) == [code]
    assert codes(mended + NOUNS) == []


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("flow a = parallelx of [2 of agent, team(2)]", ["E105"]),
        ("flow a = routex(by = agent) of { easy = agent, hard = team(2) }", ["E105"]),
        ("flow a = teamx(2, order = in_turn, members = [2 of agent], until = score >= 1)", ["E105"]),
        ("flow a = teamx(2, size = nosuch)", ["E105", "E105"]),
        ("from std.roles import solvr\nflow a = solver -> team(2)", ["E115"]),
        ("from std.roles import solvr, solver\nflow a = solver", ["E115"]),
        ("role r { max_output = 9 tokens }\nflow a = agent -> r", ["E107"]),
        ('task t { statement = "Go."  verify = nosuch }\nrun r { task = t  flow = parallel(2) of agent -> best }',
         ["E105"]),
    ],
)  # fmt: skip
def test_what_uses_a_mistake_is_not_blamed(text: str, codes: list[str]) -> None:
    assert [p.code for p in check(Source("x.team", text + "\n"), LIBRARY)] == codes
