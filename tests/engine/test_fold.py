"""The fold of a run's events."""

from hypothesis import given
from hypothesis import strategies as st

from podium.engine.answer import result_json
from podium.engine.call import Usage
from podium.engine.event import (
    AccountOpened,
    CallAnswered,
    CallFailed,
    CallIntended,
    CallWaits,
    Event,
    Improved,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunStarted,
    Said,
    Scored,
    Stamped,
)
from podium.engine.fates import FATES, Tries
from podium.engine.fold import Fold, Spend, fold
from podium.engine.ledger import Amount

ADDRESSES = [
    "main",
    "main/parallel",
    "main/parallel/1.squad",
    "main/parallel/1.squad/r1.m1",
    "main/parallel/1.squad/r1.m2",
    "main/parallel/2.squad",
    "main/parallel/2.squad/r1.m1",
    "main/2.best",
    "x",
]
addresses = st.sampled_from(ADDRESSES)
tries = st.integers(1, 2)
amounts = st.builds(Amount, st.integers(0, 9), st.integers(0, 9), st.integers(0, 2))
usages = st.builds(Usage, st.integers(0, 9), output=st.integers(0, 9), estimated=st.booleans())
scores = st.none() | st.floats(-5, 5)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, st.integers(1, 3), st.just(1), st.just("here"), st.just("0")),
    st.builds(
        NodeStarted, addresses, st.sampled_from(["parallel", "team", "agent"]), st.just("squad")
    ),
    st.builds(
        CallIntended,
        addresses,
        tries,
        addresses,
        st.just("model"),
        st.just("d"),
        amounts,
        st.sampled_from(["fast", "strange"]),
    ),
    st.builds(
        CallAnswered, addresses, tries, addresses, amounts, usages, st.just({}), st.just(1.0)
    ),
    st.builds(
        CallFailed,
        addresses,
        tries,
        addresses,
        st.sampled_from(["lost", "cut"]),
        st.just("gone"),
        amounts,
        usages,
        st.booleans(),
        st.just(1.0),
    ),
    st.builds(CallWaits, addresses, st.just("budget")),
    st.builds(Said, addresses, st.just(1), st.just(2), st.just("fixer"), st.just("hm")),
    st.builds(Scored, addresses, st.just("tests"), scores, st.none() | st.booleans()),
    st.builds(Improved, addresses, scores, st.none() | st.booleans(), st.just("4")),
    st.builds(NodeEnded, addresses, st.just("finished"), st.just(""), scores),
    st.builds(
        RunEnded,
        st.just("finished"),
        st.just(""),
        st.booleans(),
        st.just("4"),
        scores,
        st.none() | st.booleans(),
        st.floats(0, 100),
    ),
)


def stamped(*happened: Event) -> list[Stamped]:
    return [Stamped(number, 100.0 + number, event) for number, event in enumerate(happened)]


def spent_in(happened: list[Event]) -> Amount:
    total = Amount()
    for event in happened:
        if isinstance(event, CallAnswered | CallFailed):
            total = total.plus(event.spent)
    return total


@given(st.lists(events, max_size=30))
def test_every_prefix_folds_and_nothing_spent_is_lost_or_counted_twice(
    happened: list[Event],
) -> None:
    folded = Fold(frozenset({"strange"}))
    for number, one in enumerate(stamped(*happened), start=1):
        folded.add(one)
        spent = spent_in(happened[:number])
        assert folded.total.amount == spent
        own = folded.outside
        for node in folded.nodes.values():
            own = own.plus(node.own)
        assert own == folded.total
        assert result_json("r", folded, "runs.db")["spent"]["calls"] == spent.calls


@given(st.lists(events, max_size=30))
def test_a_total_is_what_a_node_spent_and_what_its_children_spent(happened: list[Event]) -> None:
    folded = fold(stamped(*happened))
    totals, tree = folded.totals(), folded.tree()
    for address, node in folded.nodes.items():
        expected = node.own
        for child in tree.get(address, []):
            expected = expected.plus(totals[child.address])
        assert totals[address] == expected
    everything = folded.outside
    for top in tree.get(None, []):
        everything = everything.plus(totals[top.address])
    assert everything == folded.total


@given(st.lists(events, max_size=20))
def test_events_seen_twice_count_once(happened: list[Event]) -> None:
    once = fold(stamped(*happened))
    twice = fold([*stamped(*happened), *stamped(*happened)])
    assert twice == once


USAGE = Usage(input=10, cached=4, output=5, reasoning=2)
SPENT = Amount(2_500_000, 15, 1)


def answered(address: str, spent: Amount = SPENT) -> list[Event]:
    return [
        CallIntended(address, 1, "main", "model", "d", Amount(9, 9, 1), "fast"),
        CallAnswered(address, 1, "main", spent, USAGE, {}, 1.0),
    ]


RUN: list[Event] = [
    RunStarted(1, 7, "here", "0.1"),
    NodeStarted("main/1.parallel", "parallel", "parallel"),
    NodeStarted("main/1.parallel/1.squad", "team", "squad"),
    *answered("main/1.parallel/1.squad/r1.m1"),
    NodeStarted("main/1.parallel/2.squad", "team", "squad"),
    *answered("main/1.parallel/2.squad/r1.m1"),
    Scored("main/1.parallel/2.squad/r1.m1", "tests", 2.0, True),
    Improved("main/1.parallel/2.squad/r1.m1", 2.0, True, "42"),
    NodeEnded("main/1.parallel/2.squad", "passed", "", 2.0),
    NodeEnded("main/1.parallel/1.squad", "stopped", "lost"),
    NodeEnded("main/1.parallel", "passed", ""),
    NodeStarted("main/2.best", "best", "best"),
    NodeEnded("main/2.best", "passed", "", 2.0),
    RunEnded("passed", "", False, "42", 2.0, True, 12.5),
]


def test_the_result_is_the_promised_object() -> None:
    def spend(calls: int) -> dict[str, object]:
        kinds = {"total": 15, "input": 10, "fresh": 6, "cached": 4, "cache_write": 0, "output": 5}
        return {
            "usd": 2.5 * calls,
            "rent_usd": 0.0,
            "calls": calls,
            "tokens": {kind: calls * count for kind, count in {**kinds, "reasoning": 2}.items()},
            "tries": {**dict.fromkeys(FATES, 0), "answered": calls},
            "unknown_calls": 0,
            "bounds": {"usd": 0.0, "tokens": 0},
        }

    node, both, nothing = spend(1), spend(2), spend(0)
    rows = [
        ("main/1.parallel", "parallel", "passed", "", both),
        ("main/1.parallel/1.squad", "team", "stopped", "lost", node),
        ("main/1.parallel/2.squad", "team", "passed", "", node),
        ("main/2.best", "best", "passed", "", nothing),
    ]
    budget = AccountOpened("r1", "", 9_000_000, 100, None, None)
    assert result_json("r1", fold(stamped(budget, *RUN)), "runs.db") == {
        "schema": 1,
        "run": "r1",
        "outcome": "passed",
        "reason": "",
        "resumable": False,
        "answer": "42",
        "score": 2.0,
        "passed": True,
        "artifacts": [],
        "baseline": None,
        "problems": [],
        "suspected": None,
        "measured_again": [],
        "sandbox": None,
        "seconds": 12.5,
        "spent": both,
        "budget": {"usd": 9.0, "tokens": 100, "calls": None, "seconds": None},
        "held": 0,
        "failures": [],
        "early": {
            "branches_not_begun": 0,
            "rounds_not_begun": 0,
            "saved_calls": {"at_least": 0, "at_most": 0},
            "losers": 1,
            "wasted": node,
        },
        "nodes": [
            dict(zip(("address", "kind", "outcome", "reason", "spent"), row, strict=True))
            for row in rows
        ],
        "store": "runs.db",
    }


def test_dollars_are_unknown_where_a_model_has_no_price() -> None:
    result = result_json("r", fold(stamped(*RUN), frozenset({"fast"})), "s")
    assert result["spent"]["usd"] is None
    assert result["nodes"][3]["spent"]["usd"] == 0.0


def test_a_try_charged_at_its_hold_is_counted_as_unknown() -> None:
    lost = CallFailed("main/a", 1, "main", "lost", "gone", SPENT, Usage(), True, 0.0)
    folded = fold(stamped(NodeStarted("main/a", "agent", "a"), lost))
    assert (folded.total.unknown, folded.lost) == (1, 1)
    assert folded.total.amount == folded.total.bounds == SPENT
    shown = folded.total.as_json()
    assert shown["bounds"] == {"usd": 2.5, "tokens": 15}
    assert shown["tokens"]["total"] == 15


def test_a_run_that_died_is_resumable_and_shows_its_best_and_what_it_still_holds() -> None:
    folded = fold(stamped(*RUN[:10], *answered("main/x")[:1]))
    result = result_json("r", folded, "s")
    assert (result["outcome"], result["resumable"], result["answer"]) == (None, True, "42")
    assert result["held"] == 1
    assert result["seconds"] == 10.0


def test_a_resumed_run_is_live_again_and_keeps_its_seconds() -> None:
    folded = fold(stamped(*RUN, RunStarted(2, 8, "here", "0.1"), *answered("main/2.best")))
    assert folded.ended is None
    assert folded.lives == 2
    assert folded.seconds == 12.5 + 2


def test_branches_of_the_outermost_parallel_are_the_lines_of_progress() -> None:
    folded = fold(stamped(*RUN[:9]))
    assert {key: branch.activity for key, branch in folded.branches.items()} == {
        "main/1.parallel/1.squad": "r1.m1 asks fast",
        "main/1.parallel/2.squad": "scored 2",
    }
    assert folded.branches["main/1.parallel/2.squad"].spend == Spend(
        SPENT, USAGE, tries=Tries(answered=1)
    )
    assert folded.branches["main/1.parallel/2.squad"].score == 2.0


def test_without_a_parallel_the_steps_are_the_lines_of_progress() -> None:
    folded = fold(
        stamped(
            NodeStarted("main", "then", "main"),
            NodeStarted("main/1.draft", "agent", "draft"),
            *answered("main/1.draft/x"),
            NodeStarted("main/2.mend", "agent", "mend"),
        )
    )
    assert list(folded.branches) == ["main/1.draft", "main/2.mend"]


def test_a_chain_below_the_run_gives_way_to_the_branches_of_its_parallel() -> None:
    folded = fold(
        stamped(
            NodeStarted("main/poems", "then", "poems"),
            NodeStarted("main/poems/1.parallel", "parallel", "parallel"),
            NodeStarted("main/poems/1.parallel/1.poet", "agent", "poet"),
            NodeStarted("main/poems/1.parallel/2.poet", "agent", "poet"),
        )
    )
    assert list(folded.branches) == [f"main/poems/1.parallel/{n}.poet" for n in (1, 2)]


def test_where_less_is_better_a_branch_keeps_its_lowest_score() -> None:
    folded = Fold(better="lower")
    start = NodeStarted("main/a", "agent", "a")
    judged = [Scored("main/a", "v", score, None) for score in (3.0, 1.0, 2.0)]
    for one in stamped(start, *judged):
        folded.add(one)
    assert folded.branches["main/a"].score == 1.0


def test_what_is_judged_inside_a_team_is_a_members_and_what_leaves_it_is_the_teams() -> None:
    folded = fold(
        stamped(
            NodeStarted("main/squad", "team", "squad"),
            NodeStarted("main/squad/r1.m1", "agent", "fixer"),
            Scored("main/squad/r1.m1", "tests", 1.0, None),
            NodeEnded("main/squad/r1.m1", "finished", "", 1.0),
            NodeEnded("main/squad", "finished", ""),
            Scored("main/squad/r1.answer", "tests", 2.0, None),
            NodeStarted("main/solo", "agent", "solo"),
            NodeEnded("main/solo", "finished", ""),
            Scored("main/solo", "tests", 3.0, None),
        )
    )
    assert [(score.by, score.score) for score in folded.scores.values()] == [
        ("agent", 1.0),
        ("team", 2.0),
        ("agent", 3.0),
    ]
    assert folded.nodes["main/squad"].score == 2.0


def test_an_attempt_that_is_judged_again_in_a_later_life_counts_once() -> None:
    judged = Scored("main/solo", "tests", 3.0, None)
    assert len(fold(stamped(judged, RunStarted(2, 1, "h", "0"), judged)).scores) == 1
