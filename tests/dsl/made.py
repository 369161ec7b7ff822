"""Programs that several tests compile, the library they may import from, and how they are compiled."""

import pytest

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Endpoint, Model, Price
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import (
    Flow,
    Program,
    Reduce,
    Task,
    Verifier,
    subflows,
)
from podium.dsl.source import Source

WORDS = Task("words", "Say words.", Verifier("words", "python", {"ref": "podium.tasks:verify"}))
LIBRARY = MemoryLibrary(
    modules={"./house.team": 'verifier taste = exact("good")\n'},
    files={
        "issue.md": "Fix it.",
        "./broken/sum.py": "def add(a, b): return a - b",
        "set.jsonl": '{"problem": "1+1", "answer": 2}\n\n{"problem": "2+2", "answer": "4"}\n',
        "torn.jsonl": '{"problem": "1+1"}\n{"prob',
        "short.jsonl": '{"problem": "1+1", "answer": 2}\n{"problem": "2+2"}\n',
    },
    families={"words": WORDS},
)
FREE = Model("default", (Endpoint("openai", "x", "http://127.0.0.1:1/v1"),), Price())
NOUNS = '''
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = """{{ attempt.answer }}""" }
role joiner { prompt = """{{ attempts }}""" }
role panelist { prompt = """{{ attempt.answer }} {{ attempts }}""" }
role triage { prompt = """{{ task.statement }}"""  output = { case: "easy" | "hard" } }
role cutter { prompt = """{{ task.statement }}"""  output = { parts: [text] } }
task sum { statement = "2 + 2?"  verify = number(4) }
'''


def anything(kind: str, value: str) -> bool:
    return True


def nothing(kind: str, value: str) -> bool:
    return False


def program(text: str, choice: Choice = Choice(), library: MemoryLibrary = LIBRARY) -> Program:  # noqa: B008  # it is frozen
    return compile_run(Source("x.team", text), library, choice)[0]


def refused(text: str, choice: Choice = Choice()) -> list[Problem]:  # noqa: B008  # it is frozen
    with pytest.raises(ProgramError) as caught:
        program(text, choice)
    return list(caught.value.problems)


def flow(expression: str, nouns: str = NOUNS) -> Flow:
    return program(nouns, Choice(expression=expression, task="sum")).flow


def form(node: Flow) -> str:
    """The tree in one line: `parallel(agent)`."""
    inner = ", ".join(form(child) for child in subflows(node))
    name = node.how if isinstance(node, Reduce) else type(node).__name__.lower()
    return f"{name}({inner})" if inner else name
