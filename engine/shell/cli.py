"""`podium`: its commands, found by name and imported only when used.

The rule this file keeps: `podium --version` and `podium --help` load click, this package, and nothing else that
takes time to load; what only a failure needs is loaded when one happens.
"""

import platform  # click has loaded it already
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from ..version import VERSION
from .exits import Exit, ShellError
from .safe import safe, safe_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Name, module below this package, one line for `podium --help`; in the order of a first session.
_COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Write a small project to start from."),
    "check": ("check", "Say what is wrong with a program."),
    "explain": ("explain", "Say what a problem's code means."),
    "fmt": ("fmt", "Format programs."),
    "doc": ("doc", "Print a file's reference page."),
    "graph": ("graph", "Draw a program's flow."),
    "plan": ("plan", "Say what a run may cost, before anything is called."),
    "run": ("run", "Run a program, an expression, or one run of a file."),
    "resume": ("resume", "Take up a run that was stopped, paused or killed."),
    "ps": ("ps", "List the live runs."),
    "watch": ("watch", "Follow a live run."),
    "pause": ("pause", "Pause a live run; it can be resumed."),
    "stop": ("stop", "End a live run with its best answer so far."),
    "topup": ("topup", "Give a run more budget."),
    "drain": ("drain", "Have a live run let a replica of a model run empty."),
    "show": ("show", "List runs, or show one, or one node of it."),
    "note": ("note", "Write a note on a run."),
    "compare": ("compare", "Compare topologies at equal cost."),
    "scale": ("scale", "Say how many teams of what size to spend a budget on."),
    "test": ("test", "Test a program's promises on the simulator."),
    "fleet": ("fleet", "Show the servers of a program's models."),
    "tasks": ("tasks", "List the task families."),
    "verify": ("verify", "Judge an answer with a task's verifier."),
}
_VERBOSE = "podium.verbose"


class Commands(click.Group):
    """The group whose commands are modules, each with a click command named `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"podium.engine.shell.{_COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that args name, with the rest of them; a name near a wrong one is offered."""
        name = args[0]
        if name in _COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from podium.dsl.names import did_you_mean

        help_ = did_you_mean(name, _COMMANDS) or f"commands are {', '.join(_COMMANDS)}"
        raise click.UsageError(f"there is no command `{safe_line(name, 40)}`; {help_}", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """The commands that begin so, with their lines; no command is loaded for it."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=line)
            for name, (_, line) in _COMMANDS.items()
            if name.startswith(incomplete)
        ] + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def main(self, *args: Any, **more: Any) -> Any:
        """The whole command; what click itself cannot print, such as the help, ends as `invoke` says."""
        try:
            return super().main(*args, **more)
        except OSError as error:
            if (code := _refused(error)) is None:
                raise
            sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; every end that is not a return becomes a message and an exit code."""
        try:
            return super().invoke(ctx)
        except ShellError as error:
            _say(error.message)
            ctx.exit(error.code)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("podium: interrupted", err=True)
            ctx.exit(Exit.INTERRUPTED)
        except OSError as error:
            if (code := _refused(error)) is None:
                _apologise(error, verbose=bool(ctx.meta.get(_VERBOSE)))
            ctx.exit(Exit.BUG if code is None else code)
        except Exception as error:  # the last resort: a mistake of ours, exit 5
            _apologise(error, verbose=bool(ctx.meta.get(_VERBOSE)))
            ctx.exit(Exit.BUG)


def _refused(error: OSError) -> Exit | None:
    """The exit code where a stream or the system refused to write, which is told; None for any other error."""
    from .streams import refusal

    if (why := refusal(error)) is None:
        return None
    if why:
        _say(why)
    return Exit.FAILED


def _say(text: str) -> None:
    with suppress(OSError):  # standard error may be what refuses
        click.echo(f"podium: {safe(text)}", err=True)


def set_verbose(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """The callback of every `-v`: what went wrong inside Podium is then shown whole."""
    if value:
        ctx.meta[_VERBOSE] = True


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"podium {VERSION}")
        ctx.exit()


def _apologise(error: Exception, *, verbose: bool) -> None:
    import traceback

    if verbose:
        click.echo(safe("".join(traceback.format_exception(error))), err=True)
    what = safe(f"{type(error).__name__}: {error}"[:500])
    command = " ".join(sys.argv[1:2])
    click.echo(
        f"podium: sorry, this is a mistake in Podium, not in your program\n  {what}\n"
        f"Please report it with the program, the command (podium {safe(command)} ...), "
        f"podium {VERSION}, Python {platform.python_version()} on "
        f"{platform.system()}" + ("." if verbose else ", and what -v adds."),
        err=True,
    )


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: podium run -e 'parallel(3) of agent -> best' --task words",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version and exit.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=set_verbose,
    help="Show what went wrong inside Podium.",
)
def main() -> None:
    """Run teams of language-model agents, described in .team files, under budgets."""
