"""Merging: nothing that one side changed is lost, disjoint changes commute, and what clashes is always told."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.merging import is_marked, joined, merged
from podium.engine.workspace import File, Tree

NAMES = ("yours", "the team's")
FILES = st.builds(File, st.sampled_from([b"", b"a\n", b"b\n", b"a\nb\nc\n", b"\0"]), st.booleans())
PATHS = st.sampled_from(["a", "b", "a/c", "d/e", "d/f", "d"])


def is_whole(tree: Tree) -> bool:
    """Whether no file stands where a folder is."""
    return not any(other.startswith(f"{path}/") for path in tree for other in tree)


TREES = st.dictionaries(PATHS, FILES, max_size=4).filter(is_whole)


def lines(*words: str) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


BASE = lines("one", "two", "three", "four", "five")


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (
            lines("ONE", "two", "three", "four", "five"),
            lines("one", "two", "three", "four", "FIVE"),
            lines("ONE", "two", "three", "four", "FIVE"),
        ),
        (
            lines("zero", "one", "two", "three", "four", "five"),
            lines("one", "two", "three", "four"),
            lines("zero", "one", "two", "three", "four"),
        ),
        (BASE + b"six", BASE + b"six", BASE + b"six"),
        (BASE, b"", b""),
    ],
)
def test_changes_of_other_lines_are_both_kept(ours: bytes, theirs: bytes, both: bytes) -> None:
    assert joined(BASE, ours, theirs) == (both, True)
    assert joined(BASE, theirs, ours) == (both, True)


def test_changes_of_the_same_lines_stand_side_by_side_between_marks() -> None:
    text, fits = joined(BASE, BASE.replace(b"two", b"2"), BASE.replace(b"two", b"zwei"), NAMES)
    assert not fits
    assert text is not None
    assert text == lines(
        "one",
        "<<<<<<< yours",
        "2",
        "=======",
        "zwei",
        ">>>>>>> the team's",
        "three",
        "four",
        "five",
    )
    assert is_marked(text)
    assert not is_marked(BASE)


def test_what_is_no_text_or_too_long_to_compare_is_not_merged_line_by_line() -> None:
    assert joined(b"", b"\0", b"x") == (None, False)
    assert joined(b"\n" * 2_000, b"\n" * 2_001, b"x" + b"\n" * 2_000) == (None, False)


@given(
    st.lists(st.tuples(st.sampled_from(["keep", "mine", "theirs"]), st.integers(0, 2)), max_size=12)
)
def test_edits_of_disjoint_lines_merge_to_all_of_them_in_either_order(
    plan: list[tuple[str, int]],
) -> None:
    sides: dict[str, list[str]] = {"base": [], "mine": [], "theirs": [], "both": []}
    for number, (who, count) in enumerate(plan):
        new = [f"{who} {number} {one}" for one in range(count)]
        for side, said in sides.items():
            said.append(f"fixed {number}")
            said += new if who in (side, "keep") or (side == "both") else [f"old {number}"]
    base, mine, theirs, both = (lines(*sides[side]) for side in ("base", "mine", "theirs", "both"))
    assert joined(base, mine, theirs) == joined(base, theirs, mine) == (both, True)


@given(TREES, TREES)
def test_what_one_side_alone_changed_is_taken_whole(base: Tree, changed: Tree) -> None:
    assert merged(base, base, changed, NAMES).tree == changed
    assert merged(base, changed, base, NAMES).tree == changed
    assert merged(base, changed, changed, NAMES).tree == changed
    assert not merged(base, base, changed, NAMES).clashes


@given(TREES, TREES, TREES)
def test_no_change_is_lost_untold_and_the_tree_can_be_laid_out(
    base: Tree, ours: Tree, theirs: Tree
) -> None:
    found = merged(base, ours, theirs, NAMES)
    assert is_whole(found.tree)
    for path in base.keys() | ours.keys() | theirs.keys():
        was, mine, new, now = (one.get(path) for one in (base, ours, theirs, found.tree))
        if path in found.clashes:
            assert now == mine
        elif mine == was:
            assert now == new
        elif new in (was, mine):
            assert now == mine
        else:  # both changed it, and both changes are in what came of it
            assert mine is not None
            assert new is not None
            assert now is not None
            held = (mine.data, new.data, was.data if was else b"")
            assert now.data in held or joined(held[2], *held[:2]) == (now.data, True)
            assert now.starts in (mine.starts, new.starts)


@given(TREES, TREES, TREES)
def test_where_nothing_clashes_either_order_comes_to_the_same(
    base: Tree, ours: Tree, theirs: Tree
) -> None:
    one, other = merged(base, ours, theirs, NAMES), merged(base, theirs, ours, NAMES)
    if not one.clashes and not other.clashes:
        assert one.tree == other.tree


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"a": File(b"2")}, {}),
        ({}, {"a": File(b"2")}),
        ({"a": File(b"\0")}, {"a": File(b"2")}),
        ({"a": File(b"1"), "b": File(b"x")}, {"a": File(b"1"), "b/c": File(b"y")}),
        ({"a": File(b"1"), "b": File(b"x\n")}, {"a": File(b"1"), "b": File(b"y\n")}),
    ],
    ids=["deleted by them", "deleted by us", "no text", "a folder and a file", "both new"],
)
def test_what_cannot_be_brought_together_is_told_and_stays_ours(ours: Tree, theirs: Tree) -> None:
    found = merged({"a": File(b"1")}, ours, theirs, NAMES)
    assert found.tree == ours
    assert len(found.clashes) == 1


@pytest.mark.parametrize("had", [True, False], ids=["changed", "new"])
def test_thousands_of_files_merge_in_no_time_as_no_other_agent_runs_meanwhile(had: bool) -> None:
    theirs = {f"src/part{n % 50}/{n}.py": File(b"new\n") for n in range(5_000)}
    base = dict.fromkeys(theirs, File(b"old\n")) if had else {}
    began = process_time()
    found = merged(base, {**base, "other": File(b"mine\n")}, theirs, NAMES)
    assert process_time() - began < 1.0, "a search of the tree for each file takes seconds"
    assert found.tree == {**theirs, "other": File(b"mine\n")}
