"""The verifier `command`: a program of the task's author, in the sandbox, says what an answer is worth.

It reads one JSON object from its input, with the answer as data, and its verdict is its last line. It may instead
ask for programs to be run, each in a sandbox of its own, and is then started once more with what they did: so what
a candidate's program writes, or kills, never touches the program that judges it.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from podium.dsl.draft import verifiers
from podium.dsl.program import Program, Verifier
from podium.dsl.values import Tasks

from .call import CallError, VerifierCall
from .clients.loose import mapping, parsed, sequence
from .clients.service import request_body, verdict_read, written
from .plain import excerpt
from .sandbox import Command, Limits, Ran, Sandbox, SandboxFailed, SandboxMissing, find
from .sandbox.command import MIB
from .value import Json, Verdict

# Who asks oftener, or for more programs at once, is caught in a loop.
MOST_ROUNDS = 10
MOST_RUNS = 100
# For a program that is asked for without `seconds`.
RUN_S = 10.0
# Beside the author's files: the answer as text, for programs that read no JSON.
ANSWER = "answer.txt"
_SHOWN = 300


async def checked(call: VerifierCall, text: str, sandbox: Sandbox) -> Verdict:
    """The verdict of call's program. text: what of the attempt is read. Raises CallError(`verifier`)."""
    request = request_body(call)
    files = {ANSWER: text.encode(errors="replace")} | _files(call.verifier)
    argv = _words(call.verifier, "argv")
    seconds = 0.0
    try:
        for _ in range(MOST_ROUNDS):
            stdin = written(request) + b"\n"
            ran = await sandbox.run(Command(argv, files, stdin, limits=_limits(call)))
            seconds += ran.seconds
            said = said_by(ran)
            if isinstance(said, Verdict):
                return said if said.cost is not None else replace(said, cost=seconds)
            runs = await _run_all(asked_for(said), sandbox, at_once(said))
            seconds += sum(one.seconds for one in runs)
            request |= {"runs": [_told(one) for one in runs], "keep": said.get("keep")}
    except SandboxFailed as error:
        raise _no_verdict(f"the sandbox failed: {error}") from error
    raise _no_verdict(f"it asked for programs {MOST_ROUNDS} times and gave no verdict")


async def sandbox_for(program: Program, *, unsafe: bool) -> Sandbox | None:
    """The sandbox that program's verifiers need, with their programs in it; None where they start none.

    Raises CallError(`verifier`) where there is no sandbox, or a program is not in it.
    """
    leaves = (
        leaf for one in verifiers(program.flow, Tasks(program.tasks)) for leaf in one.leaves()
    )
    asking = [leaf for leaf in leaves if leaf.kind == "command"]
    if not asking:
        return None
    which = ", ".join(sorted({f"`{leaf.name}`" for leaf in asking}))
    sandbox = await found_sandbox(f"verifier {which}", unsafe=unsafe)
    by_program = {(_words(leaf, "argv")[0], _words(leaf, "files")): leaf for leaf in asking}
    for leaf in by_program.values():
        await _has_program(sandbox, leaf)
    return sandbox


async def _has_program(sandbox: Sandbox, verifier: Verifier) -> None:
    """Raise CallError(`verifier`) where the program of verifier is not there."""
    name = _words(verifier, "argv")[0]
    looking = Command(("sh", "-c", 'command -v "$1"', "sh", name), _files(verifier))
    try:
        ran = await sandbox.run(looking)
    except SandboxFailed as error:
        raise _no_verdict(f"the sandbox failed: {error}") from error
    if not ran.fine:
        raise _no_verdict(
            f"the verifier `{verifier.name}` starts `{name}`, and the sandbox has no such program: "
            f"it looks in /usr/local/bin, /usr/bin and /bin, and a file of its own is started as `./{name}`"
        )


async def found_sandbox(who: str, *, unsafe: bool) -> Sandbox:
    """The sandbox of this machine, which who needs. Raises CallError(`verifier`)."""
    try:
        return await find(unsafe=unsafe)
    except SandboxMissing as missing:
        raise _no_verdict(f"The run starts programs ({who}). {missing}") from missing


def said_by(ran: Ran) -> Verdict | Mapping[str, Any]:
    """What the verifier's program said: a verdict, or which programs to run. Raises CallError(`verifier`).

    Without a line of JSON at the end, exit code 0 is a pass and 1 is none; but 1 with anything on the error output
    is how most languages end on a mistake, which is no verdict.
    """
    if ran.ended != "exit":
        raise _no_verdict(f"it reached its limit ({ran.ended}) after {ran.seconds:.1f} s")
    last = ran.out.data.decode(errors="replace").rstrip().rpartition("\n")[2]
    said = mapping(parsed(last)) if last.startswith("{") else {}
    if "verifier_error" in said:
        raise _no_verdict(excerpt(str(said["verifier_error"]), _SHOWN))
    wrong = ran.err.text.strip()
    if ran.code == 0 and "run" in said:
        return said
    if ran.code == 0 and {"score", "value", "passed", "valid"} & said.keys():
        return verdict_read(said)
    if not said and (ran.code == 0 or (ran.code == 1 and not wrong)):
        return Verdict(None, ran.code == 0)
    told = excerpt(wrong or last, _SHOWN)
    raise _no_verdict(f"it ended with code {ran.code}" + (f": {told}" if told else ""))


def asked_for(said: Mapping[str, Any]) -> list[Command]:
    """The programs in said. Raises CallError(`verifier`) where they are none."""
    wanted = sequence(said["run"])
    if not 0 < len(wanted) <= MOST_RUNS:
        raise _no_verdict(f"`run` is a list of 1 to {MOST_RUNS} programs, not of {len(wanted)}")
    try:
        return [_command(mapping(one)) for one in wanted]
    except (TypeError, ValueError) as error:
        raise _no_verdict(f"`run`: {error}") from error


def at_once(said: Mapping[str, Any]) -> int:
    """How many of them at the same time: as many as there are processors, so that times say something, or fewer
    where said wants it. Raises CallError(`verifier`)."""
    most = os.cpu_count() or 1
    wanted = said.get("at_once", most)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise _no_verdict(f"`at_once` is a whole number from 1 on, not {wanted!r}")
    return min(wanted, most)


def _command(wanted: Mapping[str, Any]) -> Command:
    argv = tuple(str(word) for word in sequence(wanted.get("argv")))
    files = {name: str(text).encode() for name, text in mapping(wanted.get("files")).items()}
    seconds = float(wanted.get("seconds", RUN_S))
    if not 0 < seconds < math.inf:
        raise ValueError(f"`seconds` is above 0, not {seconds:g}")
    limits = Limits(wall_s=seconds, cpu_s=math.ceil(seconds))
    return Command(argv, files, str(wanted.get("stdin", "")).encode(), limits=limits)


async def _run_all(commands: Sequence[Command], sandbox: Sandbox, most: int) -> list[Ran]:
    """Each in a sandbox of its own, begun in their order, most at once."""
    waiting = iter(enumerate(commands))
    ran: dict[int, Ran] = {}
    failed: list[SandboxFailed] = []

    async def work() -> None:
        for number, command in waiting:
            try:
                ran[number] = await sandbox.run(command)
            except SandboxFailed as error:
                failed.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(most):
            tasks.start_soon(work)
    if failed:
        raise failed[0]
    return [ran[number] for number in range(len(commands))]


def _told(ran: Ran) -> dict[str, Json]:
    """What the verifier's program is told of one it asked for."""
    return {
        "code": ran.code,
        "ended": ran.ended,
        "out": ran.out.data.decode(errors="replace"),
        "err": ran.err.data.decode(errors="replace"),
        "cut": ran.out.cut + ran.err.cut,
        "seconds": ran.seconds,
    }


def _limits(call: VerifierCall) -> Limits:
    seconds = call.verifier.timeout_s
    return Limits(wall_s=seconds, cpu_s=math.ceil(seconds), output_bytes=MIB)


def _files(verifier: Verifier) -> dict[str, bytes]:
    """The author's files, by name: the argument lists name and text in turn."""
    each = _words(verifier, "files")
    return {name: text.encode() for name, text in zip(each[::2], each[1::2], strict=True)}


def _words(verifier: Verifier, name: str) -> tuple[str, ...]:
    given = verifier.args.get(name, ())
    return tuple(map(str, given)) if isinstance(given, tuple) else (str(given),)


def _no_verdict(message: str) -> CallError:
    return CallError("verifier", message)
