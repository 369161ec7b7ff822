"""Each code has a program that earns it, once, and a mended one that is clean."""

import pytest

from podium.dsl.compile import check
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Task, Verifier
from podium.dsl.source import Source

SKETCH_HOUSE = 'verifier taste = exact("good")\n'
LIBRARY = MemoryLibrary(
    modules={
        "./house.team": 'verifier taste = exact("good")\nmodel dear { endpoint = local("dear") }\n',
        "./a.team": 'import "./b.team" as b\n',
        "./b.team": 'import "./a.team" as a\n',
    },
    files={"issue.md": "Fix it.", "rows.jsonl": '{"q": "1+1", "a": 2}\n{"q": "2+2", "a": 4}\n'},
    families={"words": Task("words", "Say words.", Verifier("words", "python", {"ref": "a:b"}))},
)

# The nouns that many examples need; they come behind, so that they move no line of an example.
NOUNS = '''
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role joiner { prompt = """{{ attempts }}""" }
role panelist { prompt = """{{ attempt.answer }} {{ attempts }}""" }
role triage { prompt = """{{ task.statement }}"""  output = { case: "easy" | "hard" } }
role cutter { prompt = """{{ task.statement }}"""  output = { parts: [text] } }
verifier right = exact("4")
task sum { statement = "2 + 2?"  verify = exact("4") }
task bare { statement = "2 + 2?" }
task open { statement = "2 + 2?"  verify = judge(by = editor) }
'''
PAID = 'model m { endpoint = openai("x", base_url = "https://h.example/v1") '
RUN = "run r { task = sum  flow = "

# code: (failing, mended)
EXAMPLES: list[tuple[str, str, str]] = [
    # names and declarations
    ("E103", "flow a = writer\nflow a = editor", "flow a = writer\nflow b = editor"),
    ("E104", 'import "./none.team" as n', 'import "./house.team" as n'),
    ("E104", "import std.nothing as n", "import std.roles as n"),
    ("E105", "flow a = writr", "flow a = writer"),
    ("E105", "flow a(n: itn) = parallel(n) of writer", "flow a(n: int) = parallel(n) of writer"),
    ("E105", "flow a = adaptive", "flow a = team(2, ceo = adaptive)"),
    ("E105", "flow a = repeat(2, until = consensus) of editor", "flow a = repeat(2) of editor"),
    ("E106", 'task t { statement = "x"  verfy = right }', 'task t { statement = "x"  verify = right }'),
    ("E107", "task t { verify = right }", 'task t { statement = "x"  verify = right }'),
    ("E107", 'task t = rows("rows.jsonl")', 'task t = rows("rows.jsonl") with { statement = row.q }'),
    ("E108", 'task t { statement = "x"  statement = "y" }', 'task t { statement = "x" }'),
    ("E109", 'import "./a.team" as a', 'import "./house.team" as a'),
    ("E111", "flow a = team(3, ruonds = 2)", "flow a = team(3, rounds = 2)"),
    ("E112", "flow a = team()", "flow a = team(3)"),
    ("E112", "flow a = parallel of writer", "flow a = parallel(2) of writer"),
    ("E112", "flow a(n: int) = team(n)\nflow b = a", "flow a(n: int) = team(n)\nflow b = a(3)"),
    (
        "E113",
        "flow a = parallel(2) of writer -> best(right, right)",
        "flow a = parallel(2) of writer -> best(right)",
    ),
    ("E114", "flow a = team(3, n = 4)", "flow a = team(n = 4)"),
    (
        "E115",
        'import "./house.team" as h\nflow a = parallel(2) of writer -> best(by = h.tate)',
        'import "./house.team" as h\nflow a = parallel(2) of writer -> best(by = h.taste)',
    ),
    ("E115", 'from "./house.team" import tast', 'from "./house.team" import taste'),
    ("E116", 'verifier v { x = 1 }', 'verifier v = exact("x")'),
    ("E116", "role r(n: int) { prompt = \"x\" }", "role r { prompt = \"x\" }"),
    (
        "E116",
        "flow a = squad with { n = 2 }\nflow squad(n: int = 3) = team(n)",
        "flow a = squad(2)\nflow squad(n: int = 3) = team(n)",
    ),
    ("E117", "flow a = right(3)", "flow a = parallel(2) of writer -> best(by = right)"),
    ("E120", "flow a = team(3, rounds = \"two\")", "flow a = team(3, rounds = 2)"),
    ("E120", 'role r { prompt = 3 }', 'role r { prompt = "x" }'),
    ("E120", 'verifier v = python("no_colon")', 'verifier v = python("pkg.mod:name")'),
    ("E121", "param n: int(1 to 4) = 9", "param n: int(1 to 4) = 4"),
    ("E121", "flow a = team(0)", "flow a = team(1)"),
    ("E125", "flow a = team(3, order = in_turns)", "flow a = team(3, order = in_turn)"),
    ("E125", 'param p: "quick" | "deep" = "dep"', 'param p: "quick" | "deep" = "deep"'),
    # flows
    (
        "E201",
        "run r { task = bare  flow = parallel(2) of writer -> best }",
        RUN + "parallel(2) of writer -> best }",
    ),
    ("E201", "run r { task = bare  flow = parallel(2) of writer }", RUN + "parallel(2) of writer }"),
    ("E202", "flow a = writer -> team(2) -> writer", "flow a = writer -> team(2) -> editor"),
    ("E202", "flow a = writer -> joiner", "flow a = parallel(2) of writer -> joiner"),
    ("E202", "flow a = parallel of [writer, editor]", "flow a = parallel of [writer, team(2)]"),
    ("E202", "flow a = repeat(2) of writer", "flow a = repeat(2) of editor"),
    ("E202", "run r { task = sum  flow = editor }", "run r { task = sum  flow = writer -> editor }"),
    ("E202", "flow a = fallback of [writer, parallel(2) of writer]", "flow a = fallback of [writer, team(2)]"),
    (
        "E203",
        "run r { task = bare  flow = writer -> repeat(2, until = score >= 1) of editor }",
        RUN + "writer -> repeat(2, until = score >= 1) of editor }",
    ),
    ("E203", RUN + "team(2, until = passed) }", RUN + "team(2, until = consensus) }"),
    ("E204", "flow a = writer -> best", "flow a = parallel(2) of writer -> best"),
    (
        "E205",
        "flow a = route(by = triage) of { easy = writer }",
        "flow a = route(by = triage) of { easy = writer, hard = team(2) }",
    ),
    ("E205", "flow a = route(by = writer) of { easy = writer }", "flow a = writer"),
    (
        "E205",
        "flow a = for_each(by = writer, max = 3) of writer",
        "flow a = for_each(by = cutter, max = 3) of writer",
    ),
    ("E206", "flow a = team(members = [2 of editor])", "flow a = team(members = [2 of writer])"),
    ("E207", "flow a = 3 of writer", "flow a = parallel of [3 of writer]"),
    (
        "E208",
        "flow a = parallel of [3 of writer -> editor, writer]",
        "flow a = parallel of [3 of (writer -> editor), writer]",
    ),
    (
        "E209",
        "run r { task = open  flow = parallel(3, stop = first_pass) of writer -> best }",
        RUN + "parallel(3, stop = first_pass) of writer -> best }",
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
    ("E210", "flow a = parallel(3, need = 4) of writer", "flow a = parallel(3, need = 3) of writer"),
    (
        "E211",
        'flow a = m\nmodel m { endpoint = local() }',
        'flow a = r\nmodel m { endpoint = local() }\nrole r { prompt = "x"  model = m }',
    ),
    ("E211", "flow a = sum -> writer", "flow a = writer"),
    ("E211", "flow a = [writer, team(2)]", "flow a = parallel of [writer, team(2)]"),
    ("E212", "flow a = team(3, order = ceo)", "flow a = team(3, order = ceo, ceo = adaptive)"),
    (
        "E212",
        "flow a = team(3, recruit = recruiter, members = [3 of writer])",
        "flow a = team(3, recruit = recruiter)",
    ),
    ("E212", "flow a = team(3, claims = lease(10m))", "flow a = team(3, claims = lease(10m), style = work)"),
    ("E212", "flow a = team(3, workspace = shared)", "flow a = team(3, workspace = shared, style = work)"),
    ("E212", "flow a = team(3, style = work, until = consensus)", "flow a = team(3, until = consensus)"),
    ("E212", "flow a = team(3, compat = mas_tts, order = in_turn)", "flow a = team(3, compat = mas_tts)"),
    ("E213", "flow a = parallel(3)", "flow a = parallel(3) of writer"),
    ("E213", "flow a = team(3) of writer", "flow a = team(3) -> editor"),
    ("E214", 'task t { statement = """{{ self.name }}""" }', 'task t { statement = """x""" }'),
    ("E215", 'role r { prompt = """{{ task.statment }}""" }', 'role r { prompt = """{{ task.statement }}""" }'),
    (
        "E216",
        'role r { prompt = """{{ task.statement | clp(8k tokens) }}""" }',
        'role r { prompt = """{{ task.statement | clip(8k tokens) }}""" }',
    ),
    (
        "E217",
        "run r { task = open  flow = fallback of [writer, team(2)] }",
        "run r { task = open  flow = fallback(accept = score >= 1) of [writer, team(2)] }",
    ),
    # budgets
    ("E301", RUN + "team(2, budget = [$5])  budget = [$2] }", RUN + "team(2, budget = [$2])  budget = [$5] }"),
    (
        "E302",
        RUN + "parallel(3, split = even) of team(2, budget = [$2])  budget = [$5] }",
        RUN + "parallel(3) of team(2, budget = [$2])  budget = [$5] }",
    ),
    ("E303", RUN + "team(2, budget = [20%]) }", RUN + "team(2, budget = [20%])  budget = [$5] }"),
    (
        "E304",
        RUN + "parallel(3, split = even) of team(2, budget = [40%])  budget = [$5] }",
        RUN + "parallel(3, split = even) of team(2, budget = [30%])  budget = [$5] }",
    ),
    (
        "E305",
        RUN + "parallel(1_000) of parallel(1_000) of writer }",
        RUN + "parallel(100) of parallel(100) of writer }",
    ),
    (
        "E306",
        RUN + "writer  budget = [$5] }\n" + PAID + "}",
        RUN + "writer  budget = [$5] }\n" + PAID + " price = none }",
    ),
    ("E307", "flow a = team(2, budget = [$5, $6])", "flow a = team(2, budget = [$5, 6k tokens])"),
    ("E308", 'verifier v = python("a:b", timeout = $5)', 'verifier v = python("a:b", timeout = 5s)'),
    ("E308", "flow a = team(2, budget = [5])", "flow a = team(2, budget = [$5])"),
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
    ("E309", "flow a = team(2, budget = [120%])", "flow a = team(2, budget = [12%])"),
    (
        "E310",
        RUN + "writer }\n" + PAID + "price = { output = $1 per 1M tokens } }",
        RUN + "writer  budget = [$1] }\n" + PAID + "price = { output = $1 per 1M tokens } }",
    ),
    # what must end
    ("E401", "flow a = repeat(until = score >= 1) of editor", "flow a = repeat(3, until = score >= 1) of editor"),
    ("E402", "flow a = b\nflow b = a", "flow a = b\nflow b = writer"),
    (
        "E402",
        "role a = b with { model = m }\nrole b = a\nmodel m { endpoint = local() }",
        "role a = b with { model = m }\nrole b = writer\nmodel m { endpoint = local() }",
    ),
    ("E404", "flow a = " + "repeat(1) of " * 150 + "editor", "flow a = " + "repeat(1) of " * 10 + "editor"),
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
