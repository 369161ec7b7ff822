"""`podium verify`: a task's verifier alone, on an answer that is already there, or served to other machines."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

import anyio
import click

from podium.dsl.library import LibraryError
from podium.dsl.problem import ProgramError
from podium.dsl.program import Program, Task, Verifier

from ..call import CallError, VerifierCall
from ..checker import sandbox_for
from ..folders import gathered
from ..reduce import settled
from ..sandbox import Sandbox
from ..value import Json, Verdict
from ..verify import judge
from ..workspace import name_of
from .doors import UNSAFE, Doors
from .exits import Exit, ShellError, exit_of
from .inputs import Asked
from .loading import load
from .options import allow_option, json_option, settings_option, unsafe_option, verbose_option
from .reports import reject
from .safe import safe, safe_json
from .texts import read_text


@click.command(
    short_help="Judge an answer with a task's verifier.",
    epilog="Example: podium verify golf:clap --answer clap.py",
)
@click.argument("words", nargs=-1, metavar="[FILE] TASK")
@click.option(
    "--answer",
    "path",
    metavar="PATH",
    help="The answer; one that ends in .json is a structured one; - is standard input.",
)
@click.option(
    "--files",
    "files",
    metavar="PATH",
    help="The folder, or the file, that comes with the answer.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="Judge what is posted instead, for http(...) on another machine; needs a token.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to serve.")
@click.option("--port", default=0, help="Where to serve; default: any that is free.")
@settings_option
@allow_option
@unsafe_option
@json_option
@verbose_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    words: tuple[str, ...],
    path: str | None,
    files: str | None,
    serve: bool,
    host: str,
    port: int,
    settings: tuple[str, ...],
    allow: tuple[str, ...],
    unsafe_sandbox: bool,
    as_json: bool,
) -> None:
    """Judge the answer at PATH as an attempt at TASK of FILE, or of a family; or serve its verifier.

    Exit codes: 0 passed; 1 not passed; 2 wrong program or usage; 4 the verifier failed.
    """
    doors = ctx.obj or Doors()
    file, task = named(words)
    _refuse(path, files, serve=serve)
    # The flow is never run; a task needs one to be compiled with, and that one a budget and leave.
    asked = Asked(
        expression="agent",
        task=task,
        settings=settings,
        max_tokens="1B",
        allow=(*allow, "host:*", "env:*"),
    )
    try:
        program = load(file, asked, doors.environ).program
    except ProgramError as error:
        reject(error, as_json=as_json)
    sandbox = _sandbox(program, unsafe=unsafe_sandbox)
    if path is None:
        _serve(program.tasks, task, doors, sandbox, host=host, port=port)
        return
    verdict = _verdict(*with_verifier(program.tasks, task), path, _tree(files), doors, sandbox)
    click.echo(_json(verdict) if as_json else safe(sentence(verdict)))
    ctx.exit(exit_of("finished", passed=verdict.passed, judged=True))


def named(words: tuple[str, ...]) -> tuple[str | None, str]:
    """The file, if there is one, and the task. Raises ShellError."""
    match words:
        case (file, task):
            return file, task
        case (task,) if not task.endswith(".team"):
            return None, task
        case _:
            raise ShellError(
                "say which task: `podium verify main.team TASK` of a file, or `podium verify golf:clap` of a "
                "family (`podium tasks` lists them)"
            )


def _refuse(path: str | None, files: str | None, *, serve: bool) -> None:
    """Raise ShellError on words that do not go together."""
    if (path is None) != serve:
        raise ShellError("give --answer PATH, or --serve")
    if files is not None and serve:
        raise ShellError("--files come with an answer: --serve gets both with each request")


def _sandbox(program: Program, *, unsafe: bool) -> Sandbox | None:
    """Where the verifier's programs run, if it has any. Raises ShellError."""
    if unsafe:
        click.echo(UNSAFE, err=True)
    try:
        return anyio.run(partial(sandbox_for, program, unsafe=unsafe))
    except CallError as error:
        raise ShellError(error.message, Exit.FAILED) from error


def _tree(path: str | None) -> str:
    """The text of the files at path. Raises ShellError."""
    if path is None:
        return ""
    try:
        return gathered(Path(path).resolve(), path)
    except (LibraryError, OSError) as error:
        raise ShellError(str(error)) from error


def _verdict(
    task: Task, verifier: Verifier, path: str, files: str, doors: Doors, sandbox: Sandbox | None
) -> Verdict:
    """What verifier says of the answer at path, which files come with. Raises ShellError."""
    answer, text = answer_of(path)
    tree = name_of(files) if files else ""
    call = VerifierCall("verify", "", verifier, task, answer, text, tree=tree)
    judging = partial(judge, call, environ=doors.environ, sandbox=sandbox, kept=lambda _: files)
    try:
        said = anyio.run(judging)
        return settled(said, task, verifier)
    except CallError as error:
        raise ShellError(f"the verifier gave no verdict: {error.message}", Exit.FAILED) from error


def _serve(
    tasks: tuple[Task, ...],
    name: str,
    doors: Doors,
    sandbox: Sandbox | None,
    *,
    host: str,
    port: int,
) -> None:
    from .serving import serve  # a server's modules take time to load

    if not tasks or any(task.verify is None for task in tasks):
        raise ShellError(f"the task {name} has no verifier: give it `verify = ...`")
    try:
        anyio.run(serve, tasks, doors.environ, host, port, sandbox)
    except OSError as error:
        raise ShellError(f"cannot listen at {host}:{port}: {error}", Exit.FAILED) from error


def with_verifier(tasks: tuple[Task, ...], name: str) -> tuple[Task, Verifier]:
    """The one task and its verifier. Raises ShellError."""
    if len(tasks) != 1:
        raise ShellError(
            f"{name} stands for {len(tasks)} tasks; verify judges an answer to one: write that one as a "
            "`task` of a file, or alone into a file of problems"
        )
    verifier = tasks[0].verify
    if verifier is None:
        raise ShellError(f"the task {name} has no verifier: give it `verify = ...`")
    return tasks[0], verifier


def answer_of(path: str) -> tuple[Json, str]:
    """The answer at path and its text. Raises ShellError."""
    text = read_text(path, "the answer")
    if not path.endswith(".json"):
        return text, text
    try:
        parsed: Json = json.loads(text)
    except ValueError as error:
        raise ShellError(f"{path} is not JSON: {error}") from error
    return parsed, text


def sentence(verdict: Verdict) -> str:
    """The verdict in words, the evidence below it."""
    said = {True: "passed", False: "not passed", None: "no pass rule"}[verdict.passed]
    score = "" if verdict.score is None else f", score {verdict.score:.6g}"
    flags = "".join(f"\nsuspected: {flag}" for flag in verdict.flags)
    invalid = "" if verdict.valid else ", invalid"
    return said + score + invalid + (f"\n{verdict.evidence}" if verdict.evidence else "") + flags


def _json(verdict: Verdict) -> str:
    return safe_json(
        {
            "schema": 1,
            **asdict(verdict),
        }
    )
