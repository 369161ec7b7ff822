"""The command line as a whole: what it loads, what it says, how it ends."""

import os
import subprocess
import sys
from importlib import metadata

import click
import pytest
from click.testing import CliRunner

from podium.engine.shell import cli
from podium.engine.shell.exits import Exit, ShellError
from podium.engine.version import VERSION

COMMANDS = [
    *(
        "init",
        "check",
        "explain",
        "fmt",
        "doc",
        "graph",
        "plan",
        "run",
        "resume",
        "show",
        "compare",
        "scale",
        "verify",
    ),
]


def test_asking_for_the_version_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from podium.engine.shell.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'aiohttp', 'lark', 'anyio', 'orjson', 'sqlite3', 'podium.dsl.parse'}\n"
        "heavy |= {'importlib.metadata', 'json', 'traceback', 'difflib'}\n"
        "print(sorted(heavy & set(sys.modules)), 'podium.engine.call' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"podium {VERSION}\n[] False\n"


def test_the_version_is_that_of_the_installed_package() -> None:
    assert metadata.version("podium") == VERSION


def test_help_lists_every_command_and_an_example_that_runs() -> None:
    result = CliRunner().invoke(cli.main, ["--help"])
    assert result.exit_code == 0
    assert all(f"\n  {name} " in result.stdout for name in COMMANDS)
    assert "Example: podium run -e" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself_with_an_example(name: str) -> None:
    result = CliRunner().invoke(cli.main, [name, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.stdout.rpartition(": podium ")[0]


@pytest.mark.parametrize("words", [["sing"], ["run", "--sing"], ["check"], ["fmt"]])
def test_a_wrong_use_is_exit_2(words: list[str]) -> None:
    result = CliRunner().invoke(cli.main, words)
    assert result.exit_code == Exit.USAGE
    assert "Usage:" in result.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [("rnu", "did you mean `run`?"), ("polish", "commands are init, check"), ("a\x1b[2J", "\\x1b")],
)
def test_a_command_that_does_not_exist_is_told_what_does(name: str, says: str) -> None:
    result = CliRunner().invoke(cli.main, [name])
    assert result.exit_code == Exit.USAGE
    assert says in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("podium ch", "plain,check\n"),
        ("podium run he", "file,he\n"),
        ("podium --ver", "plain,--ver"),
    ],
)
def test_a_shell_completes_commands_files_and_options(typed: str, offered: str) -> None:
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from podium.engine.shell.cli import main; main(prog_name='podium')",
        ],
        env={"_PODIUM_COMPLETE": "bash_complete", **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(offered)


def with_command(monkeypatch: pytest.MonkeyPatch, raise_: Exception) -> None:
    @click.command()
    def command() -> None:
        raise raise_

    def found(*_: object) -> click.Command:
        return command

    monkeypatch.setattr(cli.Commands, "get_command", found)


def test_our_own_mistake_is_exit_5_and_says_what_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    with_command(monkeypatch, ValueError("odd\x1b[2J"))
    result = CliRunner().invoke(cli.main, ["check"])
    assert result.exit_code == Exit.BUG
    assert "sorry" in result.stderr
    assert "ValueError: odd\\x1b[2J" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_verbose_shows_our_own_mistake_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with_command(monkeypatch, ValueError("odd"))
    assert "Traceback" in CliRunner().invoke(cli.main, ["-v", "check"]).stderr


def test_a_mistake_of_the_users_is_one_line_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_command(monkeypatch, ShellError("no such thing\x07", Exit.FAILED))
    result = CliRunner().invoke(cli.main, ["check"])
    assert (result.exit_code, result.stderr) == (Exit.FAILED, "podium: no such thing\\x07\n")
