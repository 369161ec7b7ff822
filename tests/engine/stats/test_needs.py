"""What statistics say where a package is missing."""

import importlib.util
import runpy

import pytest


def _nothing(_: str) -> None:
    return None


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", _nothing)
    with pytest.raises(ModuleNotFoundError, match=r"need numpy: pip install 'podium\[stats\]'"):
        runpy.run_path(__file__.replace("tests/engine/stats/test_needs", "engine/stats/needs"))
