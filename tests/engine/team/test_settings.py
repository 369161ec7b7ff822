"""Every setting of a team, alone and beside every other: refused by the check, or all promises are kept."""

from itertools import combinations

import pytest

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine.testing import simulate

SETTINGS = {
    "members": ["[1 of solver, 2 of critic]"],
    "ceo": ["none", "fixed", "adaptive", "agent"],
    "ceo_sets": ["[size]", "[stop, effort]", "[assignment, direction]"],
    "recruit": ["recruiter"],
    "order": ["together", "in_turn", "solver_first", "solver_last", "relay", "ceo"],
    "sees": ["board", "leaderboard", "own", "last(2)"],
    "rounds": ["1", "3"],
    "cycles": ["1", "2"],
    "execute": ['contains("yes")'],
    "evaluate": ["agent", "evaluator"],
    "until": ["consensus", "accepted", "passed", "plateau(1)", "score >= 0.5", "round >= 2"],
    "compat": ["none", "mas_tts"],
    "budget": ["[9 calls]", "[4k tokens]"],
    "on_exhausted": ["shrink", "vote"],
    "style": ["discuss", "work"],
    "turns": ["3"],
    "claims": ["lease(10m)"],
    "workspace": ["private", "shared", "branches"],
}
EACH = [(name, value) for name, values in SETTINGS.items() for value in values]
PAIRS = [pair for pair in combinations(EACH, 2) if pair[0][0] != pair[1][0]]
# Settings that contradict each other, or ask for what is not there; a check of their own.
REFUSED = {"E212", "E209", "E203", "E602"}
TEXT = """
from std.roles import solver, critic, evaluator
model m {{ endpoint = openai("m", base_url = "http://127.0.0.1:1/v1")  context = 8k tokens  price = none }}
role coder {{ prompt = "{{{{ task.statement }}}}"  tools = [write, edit, read]  turns = 4 }}
task hello {{ statement = "Say yes."  verify = contains("yes", "please") }}
run main {{ task = hello  flow = team({}) }}
"""


def program(*settings: tuple[str, str]) -> Program | set[str]:
    """The run, or the codes with which it is refused."""
    given = dict(settings)
    if given.keys() & {"claims", "workspace"}:  # which need it
        given.setdefault("style", "work")
    if given.get("style") == "work":
        given.setdefault("members", "[3 of coder]")
    size = [] if "members" in given else ["3"]
    flow = ", ".join([*size, *(f"{name} = {value}" for name, value in given.items())])
    try:
        return compile_run(Source("x.team", TEXT.format(flow)), MemoryLibrary(), Choice())[0]
    except ProgramError as error:
        return {problem.code for problem in error.problems if problem.severity == "error"}


def keeps_its_promises(*settings: tuple[str, str]) -> None:
    made = program(*settings)
    if isinstance(made, Program):
        ran = simulate(made, seed=len(str(settings)))
        assert not ran.violations, ran.told()
        assert ran.result is not None
    else:
        assert made <= REFUSED


def test_each_setting_runs_alone_but_those_that_need_another() -> None:
    refused = {
        (name, value) for name, value in EACH if not isinstance(program((name, value)), Program)
    }
    needy = {("order", "ceo"), ("on_exhausted", "shrink"), ("on_exhausted", "vote")}
    needy |= {(name, value) for name, value in EACH if name in ("ceo_sets", "turns")}
    assert refused <= needy


@pytest.mark.parametrize("at", range(0, len(PAIRS), len(PAIRS) // 12))
def test_a_pair_of_settings_is_refused_or_keeps_every_promise(at: int) -> None:
    keeps_its_promises(*PAIRS[at])


@pytest.mark.long
@pytest.mark.parametrize("first", EACH, ids=" = ".join)
def test_every_pair_of_settings_is_refused_or_keeps_every_promise(first: tuple[str, str]) -> None:
    for pair in PAIRS:
        if pair[0] == first:
            keeps_its_promises(*pair)
