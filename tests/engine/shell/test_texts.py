"""Files as the command line reads and writes them."""

from pathlib import Path

import pytest

from podium.dsl.problem import Problem, ProgramError
from podium.engine.shell.exits import ShellError
from podium.engine.shell.texts import MAX_BYTES, read_program, read_text, write_whole


def problem_of(path: Path) -> Problem:
    with pytest.raises(ProgramError) as caught:
        read_program(str(path))
    (problem,) = caught.value.problems
    assert problem.code == "E104"
    return problem


def test_a_program_is_read_with_its_name_and_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.team"
    path.write_bytes(b"\xef\xbb\xbfedition 2026\n")
    source = read_program(str(path))
    assert (source.name, source.text) == (str(path), "edition 2026\n")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "gone.team" in problem_of(tmp_path / "gone.team").message


def test_the_nearest_program_of_the_folder_is_offered(tmp_path: Path) -> None:
    (tmp_path / "hello.team").touch()
    offered = f"did you mean `{tmp_path / 'hello.team'}`?"
    assert problem_of(tmp_path / "helo.team").help == offered
    assert problem_of(tmp_path / "hello.tema").help == offered
    assert "podium init" in problem_of(tmp_path / "other.team").help
    assert "podium init" in problem_of(tmp_path / "no/such.team").help


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    assert "is a folder" in problem_of(tmp_path).message


def test_what_is_not_utf8_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.team"
    path.write_bytes(b"edition 2026\n\n# caf\xe9\n")
    assert "byte 0xe9 in line 3" in problem_of(path).message


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.team"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES * 3)
    assert "longer than a program may be" in problem_of(path).message


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o600)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ShellError, match="cannot write"):
        write_whole(tmp_path / "no" / "a", "new")


def test_text_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(ShellError, match="cannot read the answer"):
        read_text(str(tmp_path / "gone"), "the answer")
    (tmp_path / "bad").write_bytes(b"\xff")
    with pytest.raises(ShellError, match="not UTF-8"):
        read_text(str(tmp_path / "bad"), "the answer")
