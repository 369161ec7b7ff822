"""`podium test` on real files: what it says, its exit codes, its reports, and that it says the same again."""

import json
import re
import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.testing.simulate import simulate

GOOD = """
test answers { flow = parallel(2) of agent  task = sum  given = [busy(10s), cut(20%)]  never = outcome == failed }
run one { flow = agent  task = sum  budget = [9k tokens] }
task sum { statement = "2 + 2?"  verify = exact("4") }
"""
BAD = """
## Too much of it.
flow squad(n: int = 4) = parallel(n) of team(3, ceo = adaptive)
test thrifty { flow = squad  at_most = [9 calls]  always = elapsed <= 9h }
"""
OWN = """
task sum { statement = "2 + 2?"  verify = python("own_checks:right")  pass = score >= 1 }
test judged { flow = parallel(2) of agent  task = sum  replies = "4"  always = passed }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, made the current one, with programs in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name, text in (("good", GOOD), ("bad", BAD), ("own", OWN)):
        (tmp_path / f"{name}.team").write_text(text)
    (tmp_path / "podium.toml").write_text("")
    return tmp_path


def test_of(*words: str) -> Result:
    return CliRunner().invoke(main, ["test", *words], obj=Doors(environ={}))


test_of.__test__ = False  # type: ignore[attr-defined]  # it is named after the command


def test_kept_promises_are_told_and_exit_with_0() -> None:
    done = test_of("good.team", "--cases", "12")
    assert done.exit_code == Exit.PASSED, done.output
    assert done.stdout.splitlines() == [
        "answers  test  kept in 6 cases",
        "one      run   kept in 6 cases",
    ]
    assert test_of("good.team", "--cases", "2", "-q").output == ""


def test_a_broken_promise_is_told_with_the_smallest_file_and_exits_with_1() -> None:
    done = test_of("bad.team")
    assert done.exit_code == Exit.NOT_PASSED
    assert done.stdout.startswith("thrifty  test  broke a promise in case 1\n")
    assert re.search(r"`at_most = spent <= 9 calls` was broken .* spent is 10 calls", done.stdout)
    assert "always" not in done.stdout
    assert "ceo" not in done.stdout
    assert "No fault is needed for it." in done.stdout


def test_one_command_shows_a_failure_again_and_the_smallest_file_fails_by_itself(
    folder: Path,
) -> None:
    first = test_of("bad.team", "--seed", "5")
    again = shlex.split(first.stdout.rpartition("To see it again: ")[2])
    assert again[:2] == ["podium", "test"]
    second = test_of(*again[2:])
    assert second.stdout == first.stdout
    found = json.loads(test_of(*again[2:], "--json").stdout)["subjects"][0]["failure"]
    (folder / "smallest.team").write_text(found["program"])
    smallest = re.search(r"To see that file break, save it as smallest.team: (.*)", first.stdout)
    assert smallest is not None
    third = test_of(*shlex.split(smallest[1])[2:], "--json")
    assert json.loads(third.stdout)["subjects"][0]["failure"]["message"] == found["message"]


def test_as_json_all_is_on_one_object() -> None:
    done = test_of("bad.team", "--json")
    told = json.loads(done.stdout)
    assert done.stderr == ""
    assert (told["schema"], told["kept"], told["complete"]) == (1, False, True)
    (one,) = told["subjects"]
    assert (one["name"], one["kind"], one["cases"]) == ("thrifty", "test", 1)
    assert one["failure"]["promise"] == "at_most"
    assert one["failure"]["given"] == []
    assert one["failure"]["command"] == "podium test bad.team thrifty --seed 0 --case 1"


def test_the_same_seed_gives_the_same_report() -> None:
    reports = [test_of("good.team", "--cases", "8", "--seed", "3", "--json").stdout for _ in "ab"]
    assert reports[0] == reports[1]


def test_when_time_is_up_it_says_how_far_it_came_and_what_was_never_tried_is_not_kept() -> None:
    done = test_of("good.team", "--time", "0s")
    assert done.exit_code == Exit.FAILED
    assert "stopped after 0s, with 0 of 300 cases done" in done.stderr
    assert "not tried" in done.stdout


def test_build_servers_get_a_report_of_each(folder: Path) -> None:
    test_of("bad.team", "--junit", "out.xml", "-q")
    root = ElementTree.fromstring((folder / "out.xml").read_text())
    (case,) = root.iter("testcase")
    (failure,) = case.iter("failure")
    assert (case.get("name"), case.get("classname")) == ("thrifty", "bad.team")
    assert failure.get("type") == "at_most"
    assert "podium test bad.team thrifty" in (failure.text or "")
    test_of("good.team", "--cases", "2", "--junit", "out.xml")
    good = ElementTree.fromstring((folder / "out.xml").read_text())
    assert [case.get("name") for case in good.iter("testcase")] == ["answers", "one"]
    assert not list(good.iter("failure"))


def test_a_verifier_of_ones_own_is_not_run_unless_it_is_allowed(folder: Path) -> None:
    (folder / "own_checks.py").write_text("raise SystemExit('it was run')")
    done = test_of("own.team", "judged", "--cases", "1")
    assert 'python("own_checks:right") is not run; the simulator scores' in done.stderr
    (folder / "own_checks.py").write_text("def right(attempt, task): return attempt.text == '4'")
    done = test_of("own.team", "--allow", "python:own_checks:*", "--cases", "3")
    assert done.exit_code == Exit.PASSED, done.output
    assert "is not run" not in done.stderr
    sys.modules.pop("own_checks")


def test_a_verifier_that_breaks_is_no_broken_promise(folder: Path) -> None:
    (folder / "own_breaks.py").write_text("def right(attempt, task): raise ValueError('no unit')")
    (folder / "own.team").write_text(OWN.replace("own_checks", "own_breaks"))
    done = test_of("own.team", "--allow", "python:own_breaks:*", "--cases", "3")
    assert done.exit_code == Exit.FAILED
    assert "could not be tried" in done.stdout
    assert "no unit" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("good.team", "answrs"), "did you mean `answers`?"),
        (("none.team",), "there is no file"),
        (("good.team", "--allow", "all"), "is not KIND:PATTERN"),
        (("good.team", "--cases", "0"), "0 is not in the range x>=1"),
        (("good.team", "--time", "soon"), "soon"),
    ],
)
def test_a_wrong_use_exits_with_2(words: tuple[str, ...], says: str) -> None:
    done = test_of(*words)
    assert done.exit_code == Exit.USAGE
    assert says in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "test t { flow = agnt }",
        "run r { flow = agent  task = s }\nmodel m { endpoint = openai(\"m\") }\ntask s { statement = \"?\" }",
        "run r { flow = agent  task = s  budget = [5 tokens] }\ntask s { statement = \"?\" }",
        "flow f = agent",
    ],
)  # fmt: skip
def test_a_wrong_program_exits_with_2(text: str, folder: Path) -> None:
    (folder / "wrong.team").write_text(text)
    assert test_of("wrong.team").exit_code == Exit.USAGE


@pytest.mark.parametrize("package", ["trio.testing", "junitparser"])
def test_without_a_package_it_says_what_to_install(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "podium.engine.shell.junit", raising=False)
    done = test_of("good.team", "--junit", "out.xml")
    assert done.exit_code == Exit.FAILED
    assert "pip install 'podium[test]'" in done.stderr


def test_a_broken_promise_of_the_engine_is_told_as_a_mistake_of_podium(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def spoilt(program: object, **given: object) -> object:
        from dataclasses import replace

        from podium.engine.testing import Violation

        done = simulate(program, **given)  # type: ignore[arg-type]  # of simulate
        return replace(done, violations=(Violation("cap", "main", "5 calls spent and held of 4"),))

    monkeypatch.setattr("podium.engine.testing.cases.simulate", spoilt)
    done = test_of("good.team", "one", "--cases", "1")
    assert done.exit_code == Exit.NOT_PASSED
    assert "an account went above its limit: 5 calls spent and held of 4 (main)" in done.stdout
    assert "a mistake in Podium" in done.stdout
