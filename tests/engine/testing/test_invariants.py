"""Each promise is seen to be broken when it is."""

from podium.engine.call import Usage
from podium.engine.event import (
    AccountOpened,
    CallAnswered,
    CallFailed,
    CallIntended,
    Event,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunStarted,
    Stamped,
)
from podium.engine.ledger import NOTHING, Amount, Limit
from podium.engine.testing.bill import billed
from podium.engine.testing.invariants import (
    Book,
    cap,
    conservation,
    leftover,
    outcomes,
)
from podium.engine.transcript import transcript_hash

RUN = AccountOpened("run", "", None, 100, None, None)
TEAM = AccountOpened("run/main/team", "run", None, 60, None, None)
END = RunEnded("finished", "", False, None, None, None, 1.0)


def listed(*events: Event) -> list[Stamped]:
    return [Stamped(number, float(number), event) for number, event in enumerate(events)]


def intent(address: str, tokens: int, account: str = "run/main/team", try_: int = 0) -> Event:
    return CallIntended(address, try_, account, "model", "r", Amount(0, tokens, 1), "m")


def answer(
    address: str, tokens: int, account: str = "run/main/team", try_: int = 0, text: str = "x"
) -> Event:
    reply = {"text": text, "finish": "stop"}
    return CallAnswered(address, try_, account, Amount(0, tokens, 1), Usage(tokens), reply, 1.0)


def test_holds_above_a_limit_are_found_at_the_event_and_at_every_account_above() -> None:
    events = listed(RUN, TEAM, intent("a/c1", 50), intent("b/c1", 20), intent("c/c1", 40))
    assert [(one.who, one.event) for one in cap(events)] == [
        ("run/main/team", 3),
        ("run/main/team", 4),
        ("run", 4),
    ]


def test_a_settled_hold_makes_room() -> None:
    events = listed(RUN, TEAM, intent("a/c1", 50), answer("a/c1", 5), intent("b/c1", 55))
    assert not cap(events)


def test_what_a_server_takes_beyond_its_cap_is_no_fault_of_the_admission() -> None:
    assert not cap(listed(RUN, TEAM, intent("a/c1", 50), answer("a/c1", 500)))


def test_books_that_differ_from_what_was_settled_are_found() -> None:
    events = listed(
        RUN, NodeStarted("main", "agent", "a"), intent("main/c1", 9), answer("main/c1", 5)
    )
    team = Book("run", Limit(), Amount(0, 5, 1), NOTHING)
    right = {"run": Book(None, Limit(), Amount(0, 5, 1), NOTHING), "run/main/team": team}
    wrong = {**right, "run": Book(None, Limit(), Amount(0, 4, 1), NOTHING)}
    assert not conservation(events, right, run="run")
    assert [one.who for one in conservation(events, wrong, run="run")] == ["run"]


def test_a_node_has_one_outcome() -> None:
    start, end = NodeStarted("main", "agent", "a"), NodeEnded("main", "finished", "")
    life = RunStarted(1, 1, "h", "1")
    assert not outcomes(listed(life, start, end, END))
    assert [one.message for one in outcomes(listed(life, start, END))] == ["never ended"]
    assert [one.message for one in outcomes(listed(life, start, end, end, END))] == ["ended twice"]
    assert [one.message for one in outcomes(listed(life, end, END))] == ["ended without a start"]


def test_a_life_that_was_killed_owes_no_outcome_and_the_next_one_starts_anew() -> None:
    life, start = RunStarted(1, 1, "h", "1"), NodeStarted("main", "agent", "a")
    events = listed(
        life, start, RunStarted(2, 1, "h", "1"), start, NodeEnded("main", "passed", ""), END
    )
    assert not outcomes(events)


def test_money_that_is_held_and_tries_without_end_are_left_over() -> None:
    held = {"run": Book(None, Limit(), NOTHING, Amount(0, 3, 1))}
    assert [one.who for one in leftover(listed(RUN, intent("a/c1", 3)), held)] == ["run", ""]


def test_a_bill_above_the_books_is_found() -> None:
    assert billed(Amount(0, 10, 1), 11)
    assert not billed(Amount(0, 10, 1), 10)


# --- transcripts ----------------------------------------------------------------------------------

MAIN, BRANCH = NodeStarted("main", "parallel", "p"), NodeStarted("main/1.a", "agent", "a")


def ended(text: str, branch: NodeEnded) -> list[Stamped]:
    said = (intent("main/1.a/c1", 9), answer("main/1.a/c1", 5, text=text))
    return listed(RUN, MAIN, BRANCH, *said, branch, NodeEnded("main", "passed", ""), END)


def test_a_transcript_tells_another_answer_but_not_another_order() -> None:
    done = NodeEnded("main/1.a", "finished", "")
    one, other = ended("x", done), ended("y", done)
    shuffled = [one[0], one[2], one[1], *one[3:]]
    assert transcript_hash(one) == transcript_hash(shuffled)
    assert transcript_hash(one) != transcript_hash(other)


def test_a_transcript_leaves_out_how_far_a_loser_got() -> None:
    lost = NodeEnded("main/1.a", "stopped", "lost")
    assert transcript_hash(ended("x", lost)) == transcript_hash(ended("y", lost))


def test_a_failed_try_is_not_in_the_transcript() -> None:
    done = NodeEnded("main/1.a", "finished", "")
    plain = ended("x", done)
    failed = CallFailed("main/1.a/c1", 0, "run", "cut", "", NOTHING, Usage(), False, 1.0)
    again = listed(
        RUN,
        MAIN,
        BRANCH,
        intent("main/1.a/c1", 9),
        failed,
        intent("main/1.a/c1", 9, try_=1),
        answer("main/1.a/c1", 5, try_=1),
        done,
        NodeEnded("main", "passed", ""),
        END,
    )
    assert transcript_hash(plain) == transcript_hash(again)
