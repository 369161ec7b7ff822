"""The `test` blocks of `*.team` files as tests of pytest."""

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

GOOD = "test calm { flow = agent  never = outcome == failed }\ntest other { flow = team(2) }\n"
BAD = "test dear { flow = parallel(3) of agent -> best  at_most = [2 calls] }\n"


@pytest.fixture(autouse=True)
def settings(pytester: pytest.Pytester) -> None:
    pytester.makefile(".ini", pytest="[pytest]\naddopts = -p no:cacheprovider -p no:cov")


def test_each_test_block_is_a_test(pytester: pytest.Pytester) -> None:
    pytester.makefile(".team", good=GOOD, plain="run r { flow = agent }")
    done = pytester.runpytest_inprocess("--podium-cases=3", "-v")
    done.stdout.fnmatch_lines(["*good.team::calm PASSED*", "*good.team::other PASSED*"])
    done.assert_outcomes(passed=2)


def test_a_broken_promise_is_reported_as_the_command_does(pytester: pytest.Pytester) -> None:
    pytester.makefile(".team", bad=BAD)
    done = pytester.runpytest_inprocess("--podium-seed=4")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "*test dear*",
            "dear broke a promise in case 1.",
            "*spent is 3 calls*",
            "To see it again: podium test bad.team dear --seed 4 --case 1",
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")
    done.stdout.no_fnmatch_line("*raise BrokenPromise*")


def test_one_of_them_can_be_chosen(pytester: pytest.Pytester) -> None:
    pytester.makefile(".team", good=GOOD)
    pytester.runpytest_inprocess("good.team::other", "--podium-cases=1").assert_outcomes(passed=1)


def test_a_wrong_program_is_told_as_check_does(pytester: pytest.Pytester) -> None:
    pytester.makefile(".team", wrong="test t { flow = agnt }")
    done = pytester.runpytest_inprocess()
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*E105*", "*did you mean `agent`?*"])


def test_without_a_file_to_collect_nothing_of_the_engine_is_loaded(
    pytester: pytest.Pytester,
) -> None:
    pytester.makefile(".team", plain="run r { flow = agent }")
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            loaded = [name for name in sys.modules if name.startswith("podium")]
            allowed = {"podium", "podium.engine", "podium.engine.shell"}
            assert set(loaded) <= allowed | {"podium.engine.shell.pytest_plugin"}
            assert "podium.engine.shell.pytest_plugin" in loaded
        """
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(pytester.path)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()
