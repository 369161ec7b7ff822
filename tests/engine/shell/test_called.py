"""The name of the command in what a person is told to type."""

import sys
from pathlib import Path

import pytest

from podium.engine.shell.called import called


def test_the_command_is_named_as_it_was_called_where_the_shell_does_not_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv/bin/podium"), "run"])
    assert called() == ".venv/bin/podium"
    monkeypatch.setattr(sys, "argv", ["/opt/my tools/podium"])
    assert called() == "'/opt/my tools/podium'"
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert called() == "podium"


def test_the_command_that_the_shell_finds_is_just_podium(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "podium"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert called() == "podium"
