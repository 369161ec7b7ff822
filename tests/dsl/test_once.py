"""One report for each mistake: what follows from a mistake is not told as another one."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from podium.dsl import syntax as s
from podium.dsl.compile import check
from podium.dsl.lex import begin, end, lex, starts_line
from podium.dsl.library import MemoryLibrary
from podium.dsl.parse import parse
from podium.dsl.problem import Problem
from podium.dsl.source import Source, Span

TASK = 'task t { statement = "2 + 2?"  verify = exact("4") }\n'
ROLES = "from std.roles import reviser\n"
MERGER = "from std.roles import merger\n"


def problems(text: str) -> list[Problem]:
    return [p for p in check(Source("x.team", text), MemoryLibrary()) if p.severity == "error"]


def told(text: str) -> list[tuple[str, int]]:
    """Code and line of each error."""
    return [(p.code, p.place.source.position(p.place.span.start).line) for p in problems(text)]


ONCE = [
    # fields
    ("T023", 1, 'role w { "role": { prompt = "Hi." } }'),
    ("T002", 1, '{\n  "role": { "w": { "prompt": "Hi." } }\n}'),
    ("T002", 2, 'role w {\n  max-output = 3k tokens\n  prompt = "Hi."\n}'),
    ("E106", 1, 'task t { colour = "2 + 2?"  verify = exact("4") }'),
    ("E106", 1, 'experiment t { statement = "2 + 2?"  verify = exact("4") }\nrun m { task = t  flow = agent }'),
    ("E106", 2, 'task t {  verify = exact("4") }\nrun m { statement = "2 + 2?"  task = t  flow = agent }'),
    (
        "E106", 3,
        'model m {\n  endpoint = openai("x")\n  price = [{ input = $1 per 1M tokens },'
        " { abov = 9k tokens, input = $2 per 1M tokens }]\n}",
    ),
    (
        "E120", 1,
        'model m { endpoint = openai("x", base_url = "https://m.example/v1")  price = 3 }\n'
        f"{TASK}run m2 {{ task = t  flow = agent  budget = [$5] }}",
    ),
    ("E116", 1, f"run t(n: int) = agent\n{TASK.replace('task t', 'task u')}run m {{ task = u  flow = t(3) }}"),
    # calls
    ("E111", 1, "flow a = parallel(colour = 3) of agent -> vote"),
    ("E111", 1, f"flow a = agent -> repeat(colour = 3) of reviser\n{ROLES}"),
    ("E105", 1, "flow a = parallel of nosuch -> vote"),
    ("E213", 1, "flow a = agent -> parallel(2, on_exhausted = vote) -> reviser -> (score -> vote)\n" + ROLES),
    ("E213", 1, "flow a = agent of [3 of agent, agent]"),
    ("E213", 3, f"from std.flows import best_of\n{TASK}run m {{ task = t  flow = best_of }}"),
    ("T023", 1, "task t { statement = \"Hi.\"  verify = judge(by == agent) }"),
    ("E114", 1, 'verifier v = python("a:b", "a:b", timeout = 2m)'),
    ("E120", 1, 'task t { statement = "2?"  verify = number(not "4") }'),
    ("E120", 1, "flow a = agent -> not 3"),
    ("E120", 1, 'verifier v = exact([1, 2])'),
    ("E120", 2, 'role agent {\n  system = team(2)\n  prompt = "Hi."\n}'),
    # names
    ("E105", 2, f"{TASK}run a {{ task = t  flow = nosuch }}\nrun b {{ task = t  flow = nosuch }}"),
    ("E105", 2, "flow s(n: int, lead: int) =\n  team(n, rounds = led)\nflow b = s(1, led = 3)"),
    ("E104", 1, "import std.flowsx\nflow a = flows.best_of(3) of agent\nflow b = flows.race(3) of agent"),
    ("T002", 1, "from std.roles import *\nflow a = parallel(2) of agent -> merger"),
    ("E105", 1, "flow a = team(big-model)"),
    ("E105", 1, "flow a(until: Conditionx = round >= 3) = agent"),
    ("E105", 1, "flow a(k: nosuch = round >= 3) = parallel(k) of agent"),
    ("E120", 1, 'flow a(until: "Condition" = round >= 3) = team(2, until = until)'),
    ("T002", 1, '"flow" a(n: int) = team(n)\nflow b = a(3)'),
    ("T013", 1, "flow an: int) = team(n)\nflow b = a(3)"),
    ("T002", 1, "from std.roles import merger, , debater\nflow a = agent -> reviser"),
    ("T030", 1, "fromx std.roles import merger, reviser\nflow a = agent -> reviser"),
    ("T030", 1, 't task { statement = "2?"  verify = exact("4") }\nrun m { task = t  flow = agent }'),
    ("E105", 1, f"flow a = parallel(2) of agnt -> repeat(2) of (score -> top(2)) -> agnt\n{ROLES}"),
    # what is called is the wrong one
    ("E213", 1, f"flow a(k: int) = agent(k) of reviser -> best\n{ROLES}"),
    ("E213", 1, "flow b(k: int) = parallel(k) of agent -> score(k) of agent"),
    ("E111", 1, "flow a = score(members = [2 of agent], rounds = 1, order = in_turn)"),
    ("E111", 1, "flow a(rounds: int) = a(members = [2 of agent], rounds = rounds, order = in_turn, cycles = 2)"),
    ("E111", 2, "from std.flows import race\nflow a of inner = race(accept = score >= 1) of [inner, agent]"),
    ("E111", 1, "flow a = parallel(2) of agent -> agent(by = exact(\"4\"))"),
    ("E115", 1, 'role w { prompt = """{{ none.answer | clip(8 tokens) }}""" }'),
    # shapes
    ("E213", 1, "flow a = parallel -> [agent, agent] -> vote"),
    ("E213", 1, "flow a(k: int) of inner = parallel -> (k) of inner -> best"),
    ("E204", 2, f"{MERGER}flow a = parallel(2) of agent -> repeat(2) of (agent -> top(2)) -> merger"),
    ("E112", 2, f"{MERGER}flow a = parallel(2) of agent -> parallel of agent -> merger"),
    ("E111", 1, "flow a = team(Members = [1 of agent])"),
    ("E201", 2, 'task t { statement = "2?" }\nrun a { task = t  flow = parallel(2, stop = first_pass) of agent }\n'
        "run b { task = t  flow = parallel(2) of agent -> best }"),
    ("E120", 2, "test q {\n  given = [[outage(3s), busy(1m)]]\n  flow = agent\n}"),
    ("T002", 2, 'role w {\n  = [submit(3)]\n  context = restart\n  prompt = "Hi."\n}'),
    ("E111", 1, 'model m { endpoint = best("fast", base_url = "http://127.0.0.1:8000/v1") }'),
    ("E308", 2, f"{TASK}flow a(n: int = 3) = parallel(2) of agent(n) -> best\nrun m {{ task = t  flow = a }}"),
    ("E112", 2, "test q {\n  given = [crash , (3 calls), truncated(20%)]\n  flow = agent\n}"),
    ("E111", 1, "flow a(n: int) = same(n, ceo = adaptive, rounds = 2)"),
    ("E111", 1, "flow a(n: int) = agent(n, ceo = adaptive, rounds = 2)"),
    ("T023", 1, "flow a = parallel(2) of agent -> best(by , exact(\"4\"))"),
    ("T023", 1, "flow a(n: int) = team(2, rounds , n, cycles = 2)"),
    ("E120", 3, "test q {\n  flow = agent\n  never = (outcome of failed)\n}"),
    ("E120", 2, "test q {\n  given = [cut(2 calls) of slow(2m)]\n  flow = agent\n}"),
    ("E111", 1, "flow a(n: int = 2) = parallel(2) of a(n, ceo = adaptive) -> best"),
    ("T011", 2, 'role w {\n  system = } "Hi."\n  prompt = "Hi."\n}'),
    ("T002", 1, "param [ agents: int = 3\nflow a = team(agents)"),
    ("T002", 1, "param : agents int = 3\nflow a = team(agents)"),
    ("E120", 2, "test q {\n  given = [outage(30s) == cut(20%)]\n  flow = agent\n}"),
    ("E113", 1, 'verifier v = agent("river", "lamp", "quiet", "seventeen")'),
    ("E308", 1, 'task t = agent("sums.jsonl") with { statement = "2?" }'),
    ("T002", 1, "param n { int(2 to 9) = 3\nflow a = team(n)"),
    ("T002", 1, "param n: { int(2 to 9) = 3\nflow a = team(n)"),
    ("T002", 3, "test q {\n  flow = agent\n  never outcome = == failed\n}"),
    ("E207", 1, f"flow a(n: int) = parallel(2) of agent -> repeat of (n) of reviser\n{ROLES}"),
    ("T002", 2, 'param m: int = 3\n"param" n: int = 3\nflow a = team(n)'),
    ("T002", 1, "param = n: int = 3\nflow a = team(n)"),
    ("E120", 1, "flow a = team(2, claims = lease , (5m))"),
    ("E120", 1, 'verifier v = team("river", "lamp", "quiet", "seventeen")'),
    ("E111", 1, "flow a = team(members = [3 of w], stylex = work)\n"
        'role w { prompt = "Hi."  tools = [submit(3)] }'),
    ("T023", 1, "flow a(rounds: int) = team(2, rounds of rounds, cycles = 2)"),
    # a sign that is another one, or stands elsewhere
    ("T002", 2, 'role w {\n  context restart =\n  prompt = "Hi."\n}'),
    ("T002", 2, 'task t {\n  verify exact =("4")\n  statement = "2?"\n}'),
    ("T002", 1, "flow a = team(2, order in_turn =, rounds = 2)"),
    ("T011", 2, 'role w {\n  system name = "Hi."\n  prompt = "Hi."\n}'),
    ("T023", 1, "flow a = team(2, order of in_turn, rounds = 2)"),
    ("T023", 1, "flow a(n: int) = team(2, rounds -> n)"),
    ("T023", 3, "task t {\n  statement = \"2?\"\n  families: [2k tokens, 1m]\n}"),
    ("T022", 3, "test q {\n  flow = agent\n  always = [passed, outcome = finished]\n}"),
    ("T022", 1, 'task t { statement = "2?"  verify = exact("4")  pass = score => 2 }'),
    ("T002", 1, "flow a(n: int) {\n  team(n)\n"),
    ("E211", 3, "test q {\n  flow = agent\n  at_most = [7 calls -> $5]\n}"),
    ("E213", 1, "flow a(k: int) of inner = parallel -> (k) of inner -> best"),
    ("E111", 1, "flow race(k: int) of inner = race(k, stop = first_pass) of inner"),
    ("E112", 1, "flow tree(by: Verifier) = parallel(2) of tree"),
    ("E112", 2, "flow tree(by: Verifier) of inner = inner -> best(by = by)\nflow a = tree of [agent, agent]"),
    ("T002", 1, "flow a = team | 3, rounds = 2)"),
    ("E120", 1, "flow a(n: int, rounds: int) = team(n, rounds, rounds)"),
    ("E308", 1, "run m { task = t  flow = agent  budget = [$0,50] }\n" + TASK),
    ("E114", 1, "flow tree(k: int, by: Verifier) = agent -> tree(3, by = by, by = by)"),
    # form
    ("T010", 3, 'role w {\n  prompt = "Hi."\nrole\n} v {\n  prompt = "Hi."\n}'),
    ("T010", 3, 'role w {\n  prompt = "Hi."\n->\n\nrole v {\n  prompt = "Hi."\n}'),
    ("T030", 3, 'role w {\n  prompt = "Hi."\nof\n\nrole v {\n  prompt = "Hi."\n}'),
    ("T002", 2, 'role w {\n  prompt = "Hi."\n : \n\nrole v {\n  prompt = "Hi."\n}'),
    ("T022", 3, 'role w {\n  output = {\n    a: "b" } | "c"\n  }\n  max_output = 3 tokens\n  prompt = "Hi."\n}'),
    ("T002", 1, 'flow b = agent\n | flow a = agent\n'),
    ("T030", 2, "flow a(n: int\nname ) =\n  team(n)\nflow b = a(2)"),
    ("T010", 1, 'task t { statement = "2?" (  verify = exact("4") }'),
    ("T010", 1, 'task t { statement = "2?"  verify = exact([) }'),
    ("T013", 1, 'task t { statement = "2?"  verify = exact("4") ]'),
    ("T002", 1, 'role w { { prompt = "Hi." }'),
    ("T002", 2, 'task t { verify = exact("4") }\n  statement = "2?"'),
    ("T013", 1, 'task repair (\n  statement = "2?"\n  verify = exact("4")\n}'),
    ("T030", 2, f'run m {{\nflow = agent\n  task = t\n}}\n{TASK}'),
    ("T021", 1, "flow a = team(3 | rounds = 2)"),
    ("T002", 1, "flow a { = agent"),
    ("T011", 2, 'role w {\n  prompt = } "Hi."\n}'),
    ("T030", 3, 'role w {\n  prompt = "Hi."\nof }'),
    ("T010", 1, 'role w { prompt = """{{ task.name } {{ attempt.answer }}""" }\nflow a = agent -> w'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "line", "text"), ONCE, ids=[f"{row[0]}-{n}" for n, row in enumerate(ONCE)]
)
def test_a_mistake_is_told_once_where_it_was_made(code: str, line: int, text: str) -> None:
    assert told(text) == [(code, line)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('role w {\n  max_output\n  prompt "Hi."\n}', ["T011", "T021"]),
        ('role w {\n  max_output =\n  prompt "Hi."\n}', ["T011", "T021"]),
        ('role w {\n  colour = 3\n  max_output = 0 tokens\n  prompt = "Hi."\n}', ["E106", "E121"]),
        (
            f"{TASK}run m {{ task = nosuch  flow = parallel(2, need = 3) of agent }}",
            ["E105", "E210"],
        ),
        ("flow a = team(2, colour = 3) -> agnt", ["E111", "E105"]),
        ("flow a = agent -> parallel(2)\nflow b = nosuch", ["E213", "E105"]),
        ("verifier v = exact('4')\nflow a = nosuch", ["T004", "E105"]),
    ],
)
def test_two_mistakes_are_told_both(text: str, codes: list[str]) -> None:
    assert [p.code for p in problems(text)] == codes


def test_a_name_that_nothing_has_shows_where_else_it_is_used() -> None:
    (problem,) = problems("flow a = nosuch\nflow b = nosuch\nflow c = nosuch")
    lines = [
        label.place.source.position(label.place.span.start).line for label in problem.secondary
    ]
    assert lines == [2, 3]


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("flow a = best_of", "it is in `std.flows`: begin the file with `from std.flows import best_of`"),
        ("run t { prompt = \"Hi.\" }", "write `role t { … }`, which has it"),
        ("flow t { statement = \"2?\" }", "write `task t { … }`, which has these fields"),
        ("\"flow\" t = agent", "write `flow` without quotes"),
        ("flow a = team(2, until = consesus)", "did you mean `consensus`?"),
        ("rol xyz { prompt = \"Hi.\" }\nflow a = xyzw", "did you mean `xyz`?"),
        ("model m { endpoint = local(\"x\")  rent = $2 }", "write, for example, `$2 per 1h`"),
        ("model m { endpoint = local(\"x\")  limits = { rate = 500 } }",
         "write, for example, `500 calls per 1m`"),
        ("task t { colour = \"2?\" }", "did you mean `statement`, which is missing?"),
    ],
)  # fmt: skip
def test_what_was_meant_is_said(text: str, help_: str) -> None:
    assert [p.help for p in problems(text)][-1:] == [help_]


# --- everywhere ----------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
EVERY = 61  # of the mistakes, some tens of milliseconds each
VALUES = (
    *('3', '"text"', "none", "[1]", "{ a = 1 }", "$5", "30m", "40%", "agent", "nosuch", "score >= 1"),
    *("parallel(3)", "team(2)", "07:00", 'openai("x")', "not 3", "x.y", "best", "(", "[", "best_of"),
)  # fmt: skip

SIGNS = ("(", ")", "[", "]", "{", "}", ",", "=", "->", ":", "of", "|", "==")
STRAY = (",", "=", "->", "of", "|", ":", "==", "with", "if", "else", "and", ".", "5", "name")
KNOWN = ("score", "best", "same", "agent", "task", "attempt", "true", "3 calls", "team")


def planted(text: str) -> Iterator[str]:
    """text with one mistake, in each place that may have it."""

    def put(span: Span, new: str) -> str:
        return text[: span.start] + new + text[span.end :]

    tokens = lex(text).tokens
    for first, second in pairwise(tokens):
        gap = text[end(first) : begin(second)] or " "
        if "\n" not in gap and first != second:
            apart = "" if starts_line(text, first) else " "
            yield put(Span(begin(first), end(second)), f"{apart}{second}{gap}{first} ")
    for token in tokens:
        at = Span(begin(token), begin(token))
        yield from (put(at, f" {sign} ") for sign in STRAY if begin(token) and sign != token)
        if token in SIGNS:
            yield from (
                put(Span(begin(token), end(token)), f" {sign} ") for sign in SIGNS if sign != token
            )
        yield from (put(Span(begin(token), begin(token)), f"{bracket} ") for bracket in "()[]{}")
        span, word = Span(begin(token), end(token)), str(token)
        yield from (put(span, ""), put(span, f"{word} {word}"))
        if word.isidentifier():
            yield put(span, f"{word[:1]}{word[2:3]}{word[1:2]}{word[3:]}")
            yield from (put(span, f"{word}x"), put(span, f'"{word}"'), put(span, word.capitalize()))
        if token.type == "STRING":
            yield from (put(span, f"'{word[1:-1]}'"), put(span, word[1:-1]))
    tree = parse(Source("x.team", text))[0]
    declared = [declaration.name for declaration in tree.declarations]
    for node in every(tree):
        match node:
            case s.Field(value=value) | s.Arg(value=value) if value is not None and node.name:
                named = Span(node.span.start, node.span.start + len(node.name))
                gap = Span(named.end, value.span.start)
                inside = text[value.span.start : value.span.end]
                yield from (put(node.span, ""), put(named, "colour"), put(gap, ": "), put(gap, " "))
                yield from (put(value.span, new) for new in (*VALUES, f"[{inside}]", f"({inside}"))
            case s.Of(wrapper=wrapper, inner=inner):
                yield put(Span(wrapper.span.end, inner.span.end), "")
                yield put(Span(wrapper.span.end, inner.span.start), " -> ")
                yield from (put(part.span, new) for part in (wrapper, inner) for new in VALUES)
            case s.Then(first=first, second=second):
                yield from (put(part.span, new) for part in (first, second) for new in VALUES)
            case s.Name(name=name, span=span):
                yield from (put(span, new) for new in (*KNOWN, *declared[:4]) if new != name)
            case _:
                pass


def every(tree: s.File) -> Iterator[s.Node]:
    waiting: list[s.Node] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(s.children(node))


@pytest.mark.long
def test_one_mistake_anywhere_is_one_report() -> None:
    files = [ROOT / "examples/tests.team", *sorted(ROOT.glob("stdlib/*.team"))]
    texts = [text for path in files for text in planted(path.read_text("utf-8"))][::EVERY]
    several = [text for text in texts if len(problems(text)) > 1]
    assert not several, f"{len(several)} of {len(texts)}:\n{several[:5]}"
