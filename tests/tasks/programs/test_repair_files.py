"""Of what is handed in as a repair: which files are used, and how patches are applied."""

import pytest

from podium.tasks.repair import make, names
from podium.tasks.repair.check import handed_in, ours
from podium.tasks.repair.patch import Misfit, patched

BEFORE = {"till/a.py": "one\ntwo\nthree\nfour\n"}


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ("--- a/till/a.py\n+++ b/till/a.py\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n", "one\ntwo\n3\nfour\n"),
        ("+++ till/a.py\n@@ -90 +90 @@\n-four\n+4\n+5\n", "one\ntwo\nthree\n4\n5\n"),
        ("+++ till/a.py\n@@ -1 +1 @@\n-one\n+1\n@@ -4 +4 @@\n-four\n+4\n\n", "1\ntwo\nthree\n4\n"),
        (f"+++ till/a.py\n@@ -{'1' * 5000} +1 @@\n-four\n+4\n", "one\ntwo\nthree\n4\n"),
        ("+++ till/a.py\t2026-01-01\n@@ -1 +1,0 @@\n-one\n", "two\nthree\nfour\n"),
    ],
)  # fmt: skip
def test_a_patch_is_applied_where_its_lines_are(patch: str, after: str) -> None:
    assert patched(BEFORE, patch) == {"till/a.py": after}


def test_a_patch_may_make_a_file() -> None:
    assert patched({}, "--- /dev/null\n+++ b/till/b.py\n@@ -0,0 +1,2 @@\n+x\n+y\n") == {
        "till/b.py": "x\ny\n"
    }


@pytest.mark.parametrize("hunk", ["@@ -1 +1 @@\n-five\n+5\n", "@@ -1 +1 @@\n+nowhere\n"])
def test_a_patch_that_does_not_fit_is_told(hunk: str) -> None:
    with pytest.raises(Misfit, match=r"till/a\.py, line 1, does not fit"):
        patched(BEFORE, f"+++ b/till/a.py\n{hunk}")


def test_a_hunk_without_a_file_does_not_fit() -> None:
    with pytest.raises(Misfit, match="no file"):
        patched(BEFORE, "@@ -1 +1 @@\n-one\n+1\n")


def test_a_patch_that_takes_long_is_not_tried() -> None:
    with pytest.raises(Misfit, match="more than"):
        handed_in("```diff\n+++ b/till/a.py\n" + "@@ -1 +1 @@\n one\n+1\n" * 50_000 + "```", BEFORE)


def test_files_and_patches_are_read_together() -> None:
    text = "```diff\n+++ b/till/a.py\n@@ -1 +1 @@\n-one\n+1\n```\n```python till/b.py\nx\n```"
    assert handed_in(text, BEFORE) == {"till/a.py": "1\ntwo\nthree\nfour\n", "till/b.py": "x\n"}


@pytest.mark.parametrize(
    "path",
    ["tests/test_money.py", "conftest.py", "sitecustomize.py", "till.py", "till/../tests/x.py", "/till/a.py",
     "till/a.txt", "till/a.py/b.py", "till//a.py", "till/\u00e9.py", "till/a.py\n", f"till/{'a' * 100}.py",
     "tasks/harness/server.py", "Till/a.py"],
)  # fmt: skip
def test_only_modules_of_the_package_are_used(path: str) -> None:
    assert ours("till/deep/money.py", "till")
    assert not ours(path, "till")


def test_hidden_tests_and_the_repair_are_not_told() -> None:
    for name in names():
        statement = make(problem=name).statement
        assert "hidden" not in statement
        assert "fixed" not in statement
        assert "tests/test_" in statement
