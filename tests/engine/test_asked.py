"""A service beside a candidate's program: apart from it, but for a folder."""

import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import anyio
import numpy
import pytest
import trio.testing

from podium.dsl.program import Task, Verifier
from podium.engine.call import CallError, VerifierCall
from podium.engine.sandbox import Command, Ran, SandboxFailed
from podium.engine.testing.sandboxes import ScriptedSandbox, said
from podium.engine.value import Verdict
from podium.engine.verify import judge

pytestmark = pytest.mark.anyio
SERVICE = {"argv": ["serve"], "files": {"in/serve.py": "s"}, "stdin": "secret", "seconds": 15}
ASKING = {"run": [{"argv": ["attack"], "files": {"a.py": "a"}, "service": SERVICE}], "keep": 1}


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


def judged(sandbox: ScriptedSandbox) -> Awaitable[Verdict]:
    verifier = Verifier("right", "command", {"argv": ("check",)}, timeout_s=5.0)
    call = VerifierCall("a/v", "run", verifier, Task("t", "Say it."), "42", "42")
    return judge(call, sandbox=sandbox)


async def test_a_service_runs_beside_the_program_and_shares_a_folder_with_it() -> None:
    files: list[str] = []

    async def script(command: Command) -> Ran:
        if command.argv == ("check",):
            asked = json.loads(command.stdin)
            return said('{"score": 1}' if "runs" in asked else json.dumps(ASKING))
        await anyio.sleep(1)
        if command.folder is not None:
            files.append((command.folder / "in/serve.py").read_text())
        return said(f"{command.argv[0]} ended")

    sandbox = ScriptedSandbox(script)
    assert (await judged(sandbox)).score == 1
    assert sandbox.most == 2
    assert files == ["s"]
    service, program = sorted(sandbox.seen[1:3], key=lambda one: one.argv, reverse=True)
    assert service.stdin == b"secret"
    assert (service.limits.wall_s, service.files, service.shown) == (15.0, {}, {})
    assert program.shown == {"/link": service.folder}
    assert (program.stdin, program.folder) == (b"", None)
    assert isinstance(service.folder, Path)
    assert not service.folder.exists()
    [told] = json.loads(sandbox.seen[-1].stdin)["runs"]
    assert (told["out"], told["service"]["out"]) == ("attack ended", "serve ended")


@pytest.mark.parametrize("broken", ["serve", "attack"])
async def test_where_one_of_the_two_cannot_be_run_there_is_no_verdict(broken: str) -> None:
    def script(command: Command) -> Ran:
        if command.argv == (broken,):
            raise SandboxFailed("no space")
        return said(json.dumps(ASKING) if command.argv == ("check",) else "")

    with pytest.raises(CallError, match="no space"):
        await judged(ScriptedSandbox(script))


async def test_without_a_sandbox_no_service_is_run() -> None:
    sandbox = ScriptedSandbox(lambda command: said(json.dumps(ASKING)), isolates=False)
    with pytest.raises(CallError, match="a service is started in one only"):
        await judged(sandbox)
    assert len(sandbox.seen) == 1


@pytest.mark.parametrize("isolates", [True, False])
async def test_a_program_is_shown_the_packages_that_it_names(isolates: bool) -> None:
    names = ["numpy", "podium", "no_such_package", "../numpy", "json.tool", "__main__"]
    asking = {"run": [{"argv": ["compute"], "packages": names}]}

    def script(command: Command) -> Ran:
        return said('{"score": 1}' if b"runs" in command.stdin else json.dumps(asking))

    sandbox = ScriptedSandbox(script, isolates=isolates)
    await judged(sandbox)
    program, here = sandbox.seen[1], Path(numpy.__file__).parent
    assert program.environ == {"PYTHONPATH": "/packages" if isolates else str(here.parent)}
    assert program.shown.get("/packages/numpy") == (here if isolates else None)
    assert not [path for path in program.shown if "podium" in path or "json" in path]
