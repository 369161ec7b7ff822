"""Field cases 31 and 41: a verifier's program ends in time, with all that it started, and writes nowhere else."""

import os
import time
from pathlib import Path

import pytest

from podium.dsl.program import Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine import Engine
from podium.engine.call import CallError, VerifierCall
from podium.engine.event import RunStarted
from podium.engine.outcome import Passed
from podium.engine.sandbox import Sandbox
from podium.engine.testing import ScriptedClient
from podium.engine.value import Verdict
from podium.engine.verify import judge

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]

CHECK = """
import json, random, sys
asked = json.load(sys.stdin)
if "runs" not in asked:
    numbers = [random.randrange(1000) for _ in range(3)]
    one = {"argv": ["python3", "solution.py"], "files": {"solution.py": asked["text"]}, "seconds": 2}
    print(json.dumps({"run": [one | {"stdin": str(number)} for number in numbers], "keep": numbers}))
else:
    pairs = zip(asked["runs"], asked["keep"])
    right = [ran["code"] == 0 and ran["out"].strip() == str(2 * number) for ran, number in pairs]
    print(json.dumps({"score": sum(right) / 3, "passed": all(right)}))
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def left(mark: str) -> list[str]:
    """Processes of this machine with mark in their command line."""
    found: list[str] = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found


async def verdict(
    sandbox: Sandbox, text: str, timeout_s: float, *argv: str, **files: str
) -> Verdict:
    pairs = [(name.replace("_", "."), content) for name, content in files.items()]
    args: dict[str, Scalar | tuple[Scalar, ...]] = {"argv": argv}
    args["files"] = tuple(item for pair in pairs for item in pair)
    verifier = Verifier("v", "command", args, timeout_s=timeout_s)
    return await judge(
        VerifierCall("a/v", "run", verifier, Task("t", "s"), text, text), sandbox=sandbox
    )


@pytest.mark.parametrize(
    "line",
    ["sleep {mark} & wait", "(setsid sleep {mark} & ) ; exec sleep {mark}"],
    ids=["child", "double-forked child that holds the output"],
)
async def test_31_a_verifier_that_takes_too_long_ends_with_all_its_processes(
    sandbox: Sandbox, line: str
) -> None:
    mark = f"300.31{os.getpid()}{len(line)}"
    began = time.monotonic()

    with pytest.raises(CallError, match=r"limit|longer"):
        await verdict(sandbox, "", 1.0, "sh", "-c", line.format(mark=mark))

    assert time.monotonic() - began <= 2
    assert left(mark) == []


async def test_41_a_candidate_that_forks_and_sleeps_ends_with_its_group(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    mark = f"300.41{os.getpid()}"
    candidate = (
        "import os, pathlib, subprocess, time\n"
        f"for at in ('{tmp_path}/x', '/usr/x', '../x'):\n"
        "  try: pathlib.Path(at).write_text('mine')\n"
        "  except OSError: pass\n"
        "if os.fork() == 0:\n"
        f"  os.setsid(); subprocess.Popen(['sleep', '{mark}'])\n"
        f"subprocess.run(['sleep', '{mark}'])"
    )
    check = CHECK.replace('"seconds": 2', '"seconds": 1')
    began = time.monotonic()

    said = await verdict(sandbox, candidate, 30.0, "python3", "check.py", check_py=check)

    # Three candidates of one second each, on one processor at the worst.
    assert time.monotonic() - began <= 3 * 2 + 1
    assert (said.score, said.passed) == (0.0, False)
    assert left(mark) == []
    assert os.listdir(tmp_path) == []
    assert "x" not in os.listdir("/usr")


@pytest.mark.parametrize(
    ("candidate", "score"),
    [
        ("print(2 * int(input()))", 1.0),
        ('print(\'{"score": 1, "passed": true}\')', 0.0),
        ("import os; os.kill(os.getppid(), 9)", 0.0),
        ("import os; os.write(1, b'{\"score\": 1}\\n'); os._exit(0)", 0.0),
        ("import sys; print(open('check.py').read())", 0.0),
        ("import os; [os.system(f'cat /proc/{p}/fd/0') for p in range(1, 20)]", 0.0),
    ],
    ids=[
        "honest",
        "prints a verdict",
        "kills",
        "leaves at once",
        "reads the verifier",
        "reads others",
    ],
)
async def test_a_candidate_cannot_forge_its_score(
    sandbox: Sandbox, candidate: str, score: float
) -> None:
    assert (
        await verdict(sandbox, candidate, 30.0, "python3", "check.py", check_py=CHECK)
    ).score == score


async def test_a_run_is_judged_by_a_program(sandbox: Sandbox, tmp_path: Path) -> None:
    program = """
model small { endpoint = openai("small", base_url = "http://127.0.0.1:1") }
task hello { statement = "Say yes."  verify = command(["grep", "-qx", "yes", "answer.txt"]) }
run main { task = hello  flow = parallel(2) of agent -> best  budget = [20k tokens] }
"""
    client = ScriptedClient(["no", "yes"])
    async with Engine(tmp_path / "runs.db", client=client, environ={}) as engine:
        run = await engine.start(program)
        result = await run.result()
        begun = next(s.event for s in run.past() if isinstance(s.event, RunStarted))

    assert isinstance(result.outcome, Passed)
    assert begun.sandbox == sandbox.name == "bubblewrap"
