"""The verifier `command`: a program of the task's author, in the sandbox, says what an answer is worth.

It reads one JSON object from its input, with the answer as data, and its verdict is its last line. It may instead
ask for programs to be run, each in a sandbox of its own, and is then started once more with what they did: so what
a candidate's program writes, or kills, never touches the program that judges it.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from podium.dsl.draft import verifiers
from podium.dsl.program import Program, Verifier
from podium.dsl.values import Tasks

from .asked import asked_for, at_once, no_verdict, run_all, run_beside
from .call import VerifierCall
from .clients.loose import mapping, parsed
from .clients.service import request_body, verdict_read, written
from .plain import excerpt
from .sandbox import Command, Limits, Ran, Sandbox, SandboxFailed, SandboxMissing, find
from .sandbox.command import MIB
from .value import Verdict
from .workspace import Tree

# Who asks oftener is caught in a loop.
MOST_ROUNDS = 10
# Beside the author's files: the answer as text, for programs that read no JSON.
ANSWER = "answer.txt"
# And the folder of the attempt's, where it has some.
FILES = "files"
_SHOWN = 300


async def checked(call: VerifierCall, text: str, sandbox: Sandbox, tree: Tree) -> Verdict:
    """The verdict of call's program. text: what of the attempt is read; tree: its files. Raises
    CallError(`verifier`)."""
    request = request_body(call)
    files = {ANSWER: text.encode(errors="replace")} | _files(call.verifier)
    argv = _words(call.verifier, "argv")
    seconds = 0.0
    try:
        for _ in range(MOST_ROUNDS):
            stdin = written(request) + b"\n"
            command = Command(argv, files, stdin, limits=_limits(call))
            ran = await run_beside(command, tree, FILES, sandbox)
            seconds += ran.seconds
            said = said_by(ran)
            if isinstance(said, Verdict):
                return said if said.cost is not None else replace(said, cost=seconds)
            runs = await run_all(asked_for(said), sandbox, at_once(said), tree)
            seconds += sum(one.seconds for one in runs)
            request |= {"runs": [one.json() for one in runs], "keep": said.get("keep")}
    except SandboxFailed as error:
        raise no_verdict(f"the sandbox failed: {error}") from error
    raise no_verdict(f"it asked for programs {MOST_ROUNDS} times and gave no verdict")


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
        raise no_verdict(f"the sandbox failed: {error}") from error
    if not ran.fine:
        raise no_verdict(
            f"the verifier `{verifier.name}` starts `{name}`, and the sandbox has no such program: "
            f"it looks in /usr/local/bin, /usr/bin and /bin, and a file of its own is started as `./{name}`"
        )


async def found_sandbox(who: str, *, unsafe: bool) -> Sandbox:
    """The sandbox of this machine, which who needs. Raises CallError(`verifier`)."""
    try:
        return await find(unsafe=unsafe)
    except SandboxMissing as missing:
        raise no_verdict(f"The run starts programs ({who}). {missing}") from missing


def said_by(ran: Ran) -> Verdict | Mapping[str, Any]:
    """What the verifier's program said: a verdict, or which programs to run. Raises CallError(`verifier`).

    Without a line of JSON at the end, exit code 0 is a pass and 1 is none; but 1 with anything on the error output
    is how most languages end on a mistake, which is no verdict.
    """
    if ran.ended != "exit":
        raise no_verdict(f"it reached its limit ({ran.ended}) after {ran.seconds:.1f} s")
    if ran.out.cut and b"\n" not in ran.out.data[ran.out.head :].rstrip():
        # What is left of a line may read like another, and texts of candidates stand in it.
        raise no_verdict(f"its last line is longer than can be read, by {ran.out.cut:,} bytes")
    last = ran.out.data.decode(errors="replace").rstrip().rpartition("\n")[2]
    said = mapping(parsed(last)) if last.startswith("{") else {}
    if "verifier_error" in said:
        raise no_verdict(excerpt(str(said["verifier_error"]), _SHOWN))
    wrong = ran.err.text.strip()
    if ran.code == 0 and "run" in said:
        return said
    if ran.code == 0 and {"score", "value", "passed", "valid"} & said.keys():
        return verdict_read(said)
    if not said and (ran.code == 0 or (ran.code == 1 and not wrong)):
        return Verdict(None, ran.code == 0)
    told = excerpt(wrong or last, _SHOWN)
    raise no_verdict(f"it ended with code {ran.code}" + (f": {told}" if told else ""))


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
