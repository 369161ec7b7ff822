"""The Python of the page on comparing says what it claims."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "compare.md"


def test_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.split() == ["0.828", "True", "0.601", "0.5", "0.039"]
