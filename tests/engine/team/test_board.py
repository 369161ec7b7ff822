"""The board and the prompts made from it: what is pinned, what is cut, that it is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.team.board import (
    Personal,
    Post,
    board_text,
    digest,
    leaderboard,
    prompts,
    seen,
)

POSTS = (
    Post(0, 0, "attempt 1", "given"),
    Post(1, 1, "solver", "one"),
    Post(1, 2, "critic", "two", solution=False),
    Post(1, 1, "solver", "three", answer=True),
)


def test_each_view_shows_its_part() -> None:
    assert seen(POSTS, "board", 2, None) == POSTS
    assert seen(POSTS, "last", 2, 2) == POSTS[2:]
    assert seen(POSTS, "own", 2, None) == (POSTS[0], POSTS[2])
    assert seen(POSTS, "leaderboard", 1, None) == (POSTS[0], POSTS[1], POSTS[3])


def test_a_board_with_room_is_whole() -> None:
    text = board_text(POSTS, 1000)
    assert "[given attempt 1]\ngiven" in text
    assert "[round 1, #1 solver, the team's solution]\nthree" in text
    assert "left out" not in text


def test_older_rounds_go_first_and_it_is_said() -> None:
    posts = [Post(number, 1, "a", f"text {number} " + "x" * 50) for number in range(1, 9)]
    text = board_text(posts, 300)
    assert "text 8" in text
    assert "text 1 " not in text
    assert "older messages are left out)" in text


def test_making_room_on_a_long_board_writes_each_message_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = 0
    block = Post.block

    def counted(post: Post) -> str:
        nonlocal written
        written += 1
        return block(post)

    monkeypatch.setattr(Post, "block", counted)
    posts = tuple(Post(i // 10, i % 10, "solver", "x" * 200) for i in range(500))
    same = [Personal(posts, "", f"You are #{seat}.") for seat in range(10)]
    texts = prompts("Add.", "", "", same, 6000)
    assert all("older messages are left out" in text for text in texts)
    assert written == len(posts)


def test_the_latest_solution_is_cut_least() -> None:
    posts = [Post(1, 1, "solver", "S" * 400, answer=True)]
    posts += [Post(1, seat, "critic", "r" * 400, solution=False) for seat in range(2, 8)]
    text = board_text(posts, 1000)
    assert text.count("S") > 300
    assert text.count("[cut]") >= 6
    assert all(f"#{seat} critic" in text for seat in range(2, 8))


def test_the_own_solution_is_pinned_unless_the_board_shows_it_whole() -> None:
    personal = Personal(POSTS, "three", "You are #1.")
    [text] = prompts("Add.", "", "", [personal], 2000)
    assert text.count("three") == 1
    [text] = prompts("Add.", "", "", [Personal((), "three", "You are #1.")], 2000)
    assert "Your last solution:\nthree" in text


posts = st.builds(
    Post,
    st.integers(1, 4),
    st.integers(1, 12),
    st.sampled_from(["solver", "critic"]),
    st.text(max_size=400),
    st.booleans(),
)


@given(
    st.text(max_size=3000),
    st.lists(posts, max_size=12),
    st.text(max_size=800),
    st.text(min_size=1, max_size=300),
    st.integers(400, 6000),
)
def test_no_prompt_is_longer_than_its_room(
    task: str, board: list[Post], own: str, text: str, room: int
) -> None:
    ordered = tuple(sorted(board, key=lambda post: post.round))
    personals = [Personal(ordered, own, text), Personal((), "", text)]
    made = prompts(task, "Scores so far:\nround 1: 0.5", "go on", personals, room)
    assert all(len(one.encode()) <= room for one in made)
    assert all(one.startswith("Task:") for one in made if task.strip())


def test_the_leaderboard_says_scores_and_passes() -> None:
    table = leaderboard([(1, 0.5, None), (2, None, True), (3, 1.0, False), (4, None, None)])
    assert table.splitlines()[1:] == [
        "round 1: 0.5",
        "round 2: passed",
        "round 3: 1 not passed",
        "round 4: no score",
    ]
    assert leaderboard([]) == ""


def test_a_digest_keeps_the_newest() -> None:
    many = [Post(1, seat, "a", f"m{seat} " + "x" * 300) for seat in range(1, 9)]
    text = digest(many, 600)
    assert "m8" in text
    assert "m1 " not in text
    assert len(text.encode()) <= 600
