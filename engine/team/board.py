"""The board of a team, and the prompts made from it. Pure.

The rule this file keeps: what all members see comes first and is the same text for all (system, task, board), what
is a member's own comes last, so that a server can reuse the common beginning. The task and a member's own last
solution are always there; what had to be left out for room is said.

Members that are all alike share their system text and their whole prompt, so theirs is no preface: the board comes
first and the prompt, with the task in it, last: a very small model answers what stands last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..agent import clip_bytes

SYSTEM = "You work in a team on one task."
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Post:
    """A message on the board. seat 0: what came from outside, before the first round or after one.

    solution: it is one, not a review. answer: it is the one that the team submitted in this round.
    """

    round: int
    seat: int
    role: str
    text: str
    solution: bool = True
    answer: bool = False

    def block(self) -> str:
        return f"{self.head()}\n{self.text.strip()}"

    def head(self) -> str:
        if self.seat == 0:
            return (
                f"[after round {self.round}, {self.role}]" if self.round else f"[given {self.role}]"
            )
        mark = ", the team's solution" if self.answer else ""
        return f"[round {self.round}, #{self.seat} {self.role}{mark}]"


@dataclass(frozen=True, slots=True)
class Personal:
    """What one member's prompt has of its own. posts: what it sees of the board; own: its last solution, or ""."""

    posts: tuple[Post, ...]
    own: str
    text: str


def seen(posts: Sequence[Post], sees: str, seat: int, last: int | None) -> tuple[Post, ...]:
    """What seat sees of the board: all, the last few, or no more than its own and what was given."""
    match sees:
        case "board":
            return tuple(posts)
        case "last":
            return tuple(posts[-(last or 1) :])
        case _:
            return tuple(post for post in posts if post.seat in (0, seat))


def prompts(
    task: str, scores: str, direction: str, personals: Sequence[Personal], room: int
) -> list[str]:
    """The members' prompts, each at most room bytes long.

    task is empty where the members' own texts have it. scores and direction may be empty. The board gets
    the room that the longest personal part leaves, the same for all, so that equal boards are equal texts.
    """
    tails = [_tail(direction, one) for one in personals]
    longest = max(len(tail.encode()) for tail in tails)
    most = room // 2 if task else room * 3 // 4
    if longest > most:
        tails = [_squeezed(direction, one, most) for one in personals]
        longest = max(len(tail.encode()) for tail in tails)
    head = clip_bytes(f"Task:\n{task.strip()}", (room - longest) * 2 // 3) if task else ""
    if scores:
        scores = _BETWEEN + clip_bytes(scores, room // 8)
    left = room - longest - len(head.encode()) - len(scores.encode())
    texts: list[str] = []
    boards: dict[tuple[Post, ...], str] = {}
    for one, tail in zip(personals, tails, strict=True):
        if one.posts not in boards:
            boards[one.posts] = board_text(one.posts, left)
        board = boards[one.posts]
        if one.own and one.own.strip() in board:  # it stands there in full already
            tail = _tail(direction, Personal(one.posts, "", one.text))
        texts.append((head + board + scores + tail).strip())
    return texts


def board_text(posts: Sequence[Post], room: int) -> str:
    """The posts in at most room bytes; nothing where there are none.

    Too many: those of the oldest rounds go first, and it says how many are left out. Still too many: each of the
    last round is cut, the latest solution least.
    """
    blocks = [_BETWEEN + post.block() for post in posts]
    size = sum(len(block.encode()) for block in blocks)
    older = [i for i, post in enumerate(posts) if post.round < posts[-1].round]
    for left_out in range(len(posts)):
        note = f"\n({left_out} older messages are left out)" if left_out else ""
        head = f"{_BETWEEN}Discussion so far:{note}"
        if len(head.encode()) + size <= room:
            return head + "".join(blocks[left_out:])
        if not older or older[-1] < left_out:
            return _cut(posts[left_out:], head, room)
        size -= len(blocks[left_out].encode())
    return ""


def leaderboard(scores: Sequence[tuple[int, float | None, bool | None]]) -> str:
    """The scores of the team's submissions by round, "" where there are none: (round, score, passed)."""
    lines = [f"round {number}: {_score(score, passed)}" for number, score, passed in scores]
    return "Scores so far:\n" + "\n".join(lines) if lines else ""


def digest(posts: Sequence[Post], room: int) -> str:
    """The newest posts, each cut to its beginning, in at most room bytes, oldest first."""
    lines: list[str] = []
    size = 0
    for post in reversed(posts):
        who = f"#{post.seat} {post.role}" if post.seat else post.role
        line = f"- {who}: {clip_bytes(' '.join(post.text.split()), 240)}"
        size += len(line.encode()) + 1
        if size > room:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def _score(score: float | None, passed: bool | None) -> str:
    words = [] if score is None else [f"{score:g}"]
    if passed is not None:
        words.append("passed" if passed else "not passed")
    return " ".join(words) or "no score"


def _tail(direction: str, one: Personal) -> str:
    parts = [f"Direction: {direction}"] if direction else []
    if one.own:
        parts.append(f"Your last solution:\n{one.own.strip()}")
    return "".join(_BETWEEN + part for part in (*parts, one.text) if part)


def _squeezed(direction: str, one: Personal, room: int) -> str:
    """A tail in room bytes: the own solution is cut before the rest."""
    fixed = _tail(direction, Personal(one.posts, "", one.text))
    over = room - len(fixed.encode()) - 40
    if over < 40:
        return _BETWEEN + clip_bytes(fixed.strip(), room - 2)
    return _tail(direction, Personal(one.posts, clip_bytes(one.own, over), one.text))


def _cut(posts: Sequence[Post], head: str, room: int) -> str:
    """All posts, each cut to a share of room; the latest solution may take half of it."""
    left = room - len(head.encode()) - sum(len(p.head().encode()) + 3 for p in posts)
    latest = max((i for i, post in enumerate(posts) if post.solution), default=None)
    sizes = [len(post.text.strip().encode()) for post in posts]
    first = 0 if latest is None else min(sizes[latest], max(0, left) // 2)
    others = [size for i, size in enumerate(sizes) if i != latest]
    share = _level(others, max(0, left - first))
    texts = [
        _BETWEEN
        + post.head()
        + "\n"
        + clip_bytes(post.text.strip(), first if i == latest else share)
        for i, post in enumerate(posts)
    ]
    return clip_bytes(head + "".join(texts), max(0, room))


def _level(sizes: Sequence[int], room: int) -> int:
    """The largest cap with which the sizes, each cut to it, fit into room."""
    left = room
    for i, size in enumerate(sorted(sizes)):
        fair = left // (len(sizes) - i)
        if size > fair:
            return fair
        left -= size
    return room
