"""Runs of several tasks: problems from a file, fair shares of the budget, each one's end."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio.testing

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine.answer import result_json
from podium.engine.call import ModelCall
from podium.engine.result import RunResult
from podium.engine.shell.summary import problems
from podium.engine.testing import Say, ScriptedClient

MODEL = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1") }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  model = m  max_output = 100 tokens }
"""
FLOW = "parallel(3) of writer -> vote"


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


def lines(*rows: object) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def compiled(text: str, flow: str = "agent") -> Program:
    library = MemoryLibrary(files={"set.jsonl": text})
    choice = Choice(expression=flow, task="set.jsonl", allow=lambda kind, name: kind == "host")
    return compile_run(Source("<expression>", MODEL), library, choice)[0]


def test_a_line_is_a_problem_and_its_answer_says_how_it_is_compared() -> None:
    program = compiled(
        lines(
            {"statement": "2 + 2?", "answer": 4},
            {"question": "Capital of France?", "answer": "Paris", "id": "fr"},
            {"problem": "Which?", "answer": "B"},
            {"prompt": "Name both.", "answer": ["a", "b"], "verify": "contains"},
            {"statement": "Write well."},
        )
    )
    kinds = [task.verify and task.verify.kind for task in program.tasks]
    assert kinds == ["number", "exact", "choice", "contains", None]
    assert [task.name for task in program.tasks][:2] == ["set.jsonl/1", "set.jsonl/fr"]
    assert program.split == "even"
    assert "set.jsonl" in [source.name for source in program.sources]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"answer": 4}', "line 1 of set.jsonl: it has no statement"),
        ('{"statement": "?", "anwser": 4}', "there is no field `anwser`"),
        ('{"statement": "?", "answer": 1, "verify": "judge"}', "`verify` is 'judge'"),
        ('{"statement": "?", "answer": "x", "verify": "number"}', "no number"),
        ('{"statement": "?", "verify": "exact"}', "no `answer` to compare with"),
        ("[1]", "it is no JSON object"),
        ("{", "line 1 of set.jsonl"),
        ("", "set.jsonl has 0 problems"),
        ('{"family": "chess"}', "no task family `chess`"),
    ],
)
def test_a_line_with_a_mistake_is_told_with_its_number(line: str, says: str) -> None:
    with pytest.raises(ProgramError) as caught:
        compiled(line)
    (problem,) = caught.value.problems
    assert says in problem.message


def test_a_file_that_is_not_there_is_told_once() -> None:
    with pytest.raises(ProgramError) as caught:
        compile_run(
            Source("<expression>", MODEL),
            MemoryLibrary(),
            Choice(expression="parallel(2) of agent -> vote", task="none.jsonl"),
        )
    (problem,) = caught.value.problems
    assert "none.jsonl" in problem.message


def server(inflight: int = 100) -> ScriptedClient:
    """Answers with the last word of what is asked."""

    def answer(call: ModelCall) -> Say:
        return Say(call.messages[-1].content.split()[-1], delay=1.0)

    return ScriptedClient(answer, inflight=inflight)


def asked(client: ScriptedClient) -> list[str]:
    return [call.messages[-1].content for call in client.seen]


def engine(folder: Path, client: ScriptedClient) -> Engine:
    return Engine(folder / "runs.db", client=client, environ={}, inline=True, allow=("host:*",))


def write(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.chdir(folder)
    rows = [{"statement": f"Say {i}", "answer": i if i != 2 else 99} for i in range(1, count + 1)]
    (folder / "set.jsonl").write_text(lines(*rows))


async def to_end(folder: Path, client: ScriptedClient, budget: str, flow: str = FLOW) -> RunResult:
    async with engine(folder, client) as opened:
        run = await opened.start(
            Source("<expression>", MODEL), expression=flow, task="set.jsonl", budget=budget
        )
        return await run.result()


async def test_each_problem_has_its_end_and_all_have_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, monkeypatch, 4)
    result = await to_end(tmp_path, server(), "[100 calls]")
    told = result_json(result.run, result.folded, "")["problems"]
    assert [one["passed"] for one in told] == [True, False, True, True]
    assert [one["answer"] for one in told] == ["1", "2", "3", "4"]
    assert told[1]["name"] == "set.jsonl/2"
    assert told[1]["spent"]["calls"] == 3
    assert problems(result.folded) == "Problems: 3 of 4 passed, mean score 0.75 over 4."


async def test_a_budget_is_shared_evenly_between_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, monkeypatch, 4)
    client = server()
    result = await to_end(tmp_path, client, "[8 calls]")
    counts = [asked(client).count(f"Say {i}") for i in range(1, 5)]
    assert counts == [2, 2, 2, 2]
    assert all(attempt is not None for attempt in result.attempts)


async def test_what_a_problem_leaves_goes_to_those_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 problems, 32 at once: the first get one call each of 40, and leave nothing; of 80 two, and use one."""
    write(tmp_path, monkeypatch, 40)
    client = server()
    await to_end(
        tmp_path, client, "[80 calls]", "fallback(accept = score >= 2) of [writer, writer, writer]"
    )
    late = [asked(client).count(f"Say {i}") for i in range(33, 41)]
    assert len(client.seen) == 80
    assert min(late) >= 2


async def test_a_set_is_taken_up_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, monkeypatch, 4)
    stopped = server(inflight=2)
    async with engine(tmp_path, stopped) as opened:
        run = await opened.start(
            Source("<expression>", MODEL), expression=FLOW, task="set.jsonl", budget="[40 calls]"
        )
        run.watchers.append(lambda _: run.pause() if len(stopped.ended) >= 5 else None)
        first = await run.result()
    assert first.resumable
    (tmp_path / "set.jsonl").unlink()
    client = server()
    async with engine(tmp_path, client) as opened:
        result = await (await opened.resume(first.run)).result()
    assert len(client.seen) + len(stopped.ended) == 12
    assert 5 <= len(stopped.ended) < 12
    assert problems(result.folded) == "Problems: 3 of 4 passed, mean score 0.75 over 4."
