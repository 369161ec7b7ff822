"""The documents: their commands are run, their links lead somewhere, their tables are those of the code.

A fenced block `console` holds commands after `$ ` and, below each, what it prints: standard output and
standard error together, where a line of `…` stands for any lines and `…` inside a line for any text.
Words behind `console` say more: `server` (starts a real model), `exit=3` (of the block's last command).
The blocks of a page run in order, in one folder with a copy of the examples.
Every day a command of `podium` alone runs in this process; with `server`, all of them as a shell runs them.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, get_args

import pytest
from click.testing import CliRunner

import podium.engine
import podium.engine.testing
from podium.engine.event import Event
from podium.engine.sandbox import SandboxMissing
from podium.engine.shell.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tasks/**/README.md")])
_BLOCK = re.compile(r"^```console([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


@dataclass(frozen=True)
class Step:
    """A command of a page and what it must print."""

    command: str
    prints: str
    exit_code: int
    needs_model: bool


def steps(text: str) -> Iterator[Step]:
    for words, body in _BLOCK.findall(text):
        code = int(found[1]) if (found := re.search(r"exit=(\d+)", words)) else 0
        parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
        for number, part in enumerate(parts, 1):
            command, _, prints = part.partition("\n")
            last = number == len(parts)
            yield Step(command, prints.strip("\n"), code if last else 0, "server" in words.split())


def pattern(prints: str) -> re.Pattern[str]:
    """What the output must match: `…` alone on a line is any lines, inside a line any text."""
    lines = [
        r"(?:.*\n)*?"
        if line.strip() == "…"
        else r".*?".join(map(re.escape, line.split("…"))) + r"\s*\n"
        for line in prints.splitlines()
    ]
    return re.compile(r"\s*" + "".join(lines) + r"\s*")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def in_shell(command: str, folder: Path) -> tuple[int, str]:
    """Exit code and output of a command."""
    here = str(Path(sys.executable).parent)
    environ = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}", "COLUMNS": "100"}
    environ.pop("NO_COLOR", None)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def in_process(command: str, folder: Path) -> tuple[int, str]:
    """As in_shell, without a new interpreter where the command is `podium` and plain words."""
    if re.fullmatch(r"podium [^$&|;<>`*?\n]+", command) is None:
        return in_shell(command, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(
            main, shlex.split(command)[1:], env={"COLUMNS": "100", "NO_COLOR": None}
        )
    return done.exit_code, done.output


def run_page(page: Path, folder: Path, *, with_model: bool) -> None:
    runs = in_shell if with_model else in_process
    for step in steps(page.read_text("utf-8")):
        if step.needs_model and not with_model:
            continue
        code, shown = runs(step.command, folder)
        assert code == step.exit_code, f"$ {step.command}\n{shown}"
        if step.prints:
            assert pattern(step.prints).fullmatch(shown + "\n"), f"$ {step.command}\n{shown}"


WITH_COMMANDS = [page for page in PAGES if _BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, folder: Path) -> None:
    run_page(page, folder, with_model=False)


@pytest.mark.server
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_with_a_model_all_commands_of_a_page_print_what_it_shows(page: Path, folder: Path) -> None:
    run_page(page, folder, with_model=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = [found[1] for found in _LINK.finditer(page.read_text("utf-8"))]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_in_the_list_of_the_readme_and_in_that_of_the_design() -> None:
    pages = {page.name for page in ROOT.glob("docs/*.md")} - {"design.md"}
    for file in ("README.md", "docs/design.md"):
        links = {Path(found[0]).name for found in _LINK.findall((ROOT / file).read_text("utf-8"))}
        assert pages <= links, file


def test_the_readme_opens_with_two_commands_and_ci_runs_both() -> None:
    readme, ci = (ROOT / "README.md").read_text("utf-8"), (ROOT / ".ci" / "run").read_text("utf-8")
    commands = re.findall(r"^    (python3 -m venv .+)$", readme, flags=re.MULTILINE)
    assert len(commands) == 2
    assert all(command in ci for command in commands)


@pytest.mark.parametrize(
    ("prints", "shown", "fits"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\n…\nc", "a\nx\ny\nc\n", True),
        ("score …, done", "score 0.5, done\n", True),
        ("a\nb", "a\n", False),
        ("a", "a\nb\n", False),
        ("score …, done", "score 0.5\n", False),
    ],
)
def test_what_a_page_shows_is_compared_line_by_line(prints: str, shown: str, fits: bool) -> None:
    assert bool(pattern(prints).fullmatch(shown + "\n")) is fits


@pytest.mark.parametrize(
    "script",
    ["write_reference.py", "write_problems.py", "write_stdlib.py", "write_dialects.py"],
)
def test_what_is_written_from_tables_is_what_they_say(script: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_program_that_embeds_the_engine_runs_as_it_is_shown(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "embedding.md").read_text("utf-8")
    program, matching = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    program = program.replace("asyncio.run(main())", f"{matching}\n\nasyncio.run(main())")
    program = program.replace(
        "print(stamped.number, type(stamped.event).__name__)", "print(told(stamped))"
    )
    command = [sys.executable, "-m", "podium.engine.testing.server", "--text", "Fresh at dawn."]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            done = subprocess.run(
                [sys.executable, "-c", program.replace("http://127.0.0.1:8000", url)],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    assert "Fresh at dawn." in done.stdout
    assert "main/1.parallel/1.writer/c1 wrote 5 tokens" in done.stdout
    assert "tokens" in done.stdout.splitlines()[-1]


def test_the_page_on_embedding_names_every_event() -> None:
    page = (ROOT / "docs" / "embedding.md").read_text("utf-8")
    assert [cls.__name__ for cls in get_args(Event) if f"`{cls.__name__}`" not in page] == []
    assert [
        cls.__name__ for cls in get_args(Event) if cls.__name__ not in podium.engine.__all__
    ] == []


@pytest.mark.parametrize(
    ("package", "page"), [(podium.engine, "embedding.md"), (podium.engine.testing, "simulator.md")]
)
def test_the_page_names_all_that_a_package_offers(package: ModuleType, page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    names: list[str] = package.__all__
    assert [name for name in names if not hasattr(package, name)] == []
    assert [name for name in names if f"`{name}`" not in text] == []
    assert sorted(set(names)) == sorted(names)


@pytest.mark.slow
def test_the_simulation_of_the_page_keeps_its_promises(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "simulator.md").read_text("utf-8")
    parts: list[str] = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    exec("".join(parts), {})
    assert "calls in" in capsys.readouterr().out


@pytest.mark.slow
def test_the_verifier_of_the_page_judges_as_it_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "verifier.md").read_text("utf-8")
    [code] = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    task = re.findall(r"^    task haiku \{\n.*?^    \}$", page, flags=re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "haiku.py").write_text(code)
    (tmp_path / "poem.team").write_text("edition 2026\n\n" + dedent(task) + "\n")
    (tmp_path / "three.txt").write_text("a bridge\nat night\nalone\n")
    done = subprocess.run(
        [Path(sys.executable).parent / "podium", "verify", "poem.team", "haiku", "--answer", "three.txt",
         "--allow", "python:checks.haiku:*"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("solution", "exit_code"),
    [("print(2 * int(input()))", 0), ('print(\'{"score": 1, "passed": true}\')', 1)],
)
def test_the_program_of_the_page_judges_as_it_says(
    tmp_path: Path, solution: str, exit_code: int
) -> None:
    page = (ROOT / "docs" / "verifier.md").read_text("utf-8")
    [code] = re.findall(r"^```py\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    [task] = re.findall(r"^    task double \{\n.*?^    \}$", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "check.py").write_text(code)
    (tmp_path / "main.team").write_text("edition 2026\n\n" + dedent(task) + "\n")
    (tmp_path / "solution.py").write_text(solution)
    done = subprocess.run(
        [Path(sys.executable).parent / "podium", "verify", "main.team", "double",
         "--answer", "solution.py", "--allow", "file:check.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if "No sandbox works here" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == exit_code, done.stdout + done.stderr


@pytest.mark.sandbox
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_page_on_the_sandbox_runs_a_program() -> None:
    page = (ROOT / "docs" / "sandbox.md").read_text("utf-8")
    [code] = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    shown: dict[str, Any] = {}
    exec(code, shown)
    try:
        assert await shown["doubled"]("print(2 * int(input()))")
    except SandboxMissing as missing:
        pytest.skip(str(missing))
    assert not await shown["doubled"]("while True: pass")


@pytest.mark.slow
def test_the_property_tests_of_the_page_pass() -> None:
    page = (ROOT / "docs" / "testing.md").read_text("utf-8")
    [code] = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    module: dict[str, Any] = {"__name__": "test_squads"}
    exec(code, module)
    tests = [name for name in module if name.startswith("test_")]
    assert len(tests) == 2
    for name in tests:
        module[name]()


@pytest.mark.slow
def test_the_fake_servers_of_the_page_do_as_it_says() -> None:
    page = (ROOT / "docs" / "dialects.md").read_text("utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.split(), done.returncode) == (["hi", "cut"], 0), done.stderr
