"""What a mistake must not drag along: blame for names, warnings, and fixes that mend nothing."""

import pytest

from podium.dsl.compile import check
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import Problem, apply
from podium.dsl.source import Source

BROKEN = """role poet {{
  max_output = {length}
  prompt     = "Write."
}}
task poem {{ statement = "A poem." }}
flow poems = parallel(2) of poet -> vote
run main {{ task = poem  flow = poems  budget = {budget} }}
"""
LIBRARY = MemoryLibrary(
    modules={"./house.team": 'flow poet = team(2\ntask poem { statement = "x" }\n'}
)


def problems(text: str) -> tuple[Problem, ...]:
    return check(Source("x.team", text), LIBRARY)


def codes(text: str) -> list[str]:
    return [problem.code for problem in problems(text)]


def test_the_name_of_a_declaration_that_cannot_be_read_stays_known() -> None:
    whole = BROKEN.format(length="200 tokens", budget="[2k tokens]")
    assert codes(whole) == []
    assert codes(whole.replace("200 tokens", "= 200")) == ["T011"]
    assert codes(whole.replace('"Write."\n}', '"Write."')) == ["T010"]
    assert codes(whole.replace("-> vote", "=> vote")) == ["T022"]


def test_a_name_that_was_never_declared_is_still_told_beside_a_broken_declaration() -> None:
    text = BROKEN.format(length="= 200", budget="[2k tokens]").replace("of poet", "of poets")
    assert sorted(codes(text)) == ["E105", "T011"]


def test_an_import_of_what_its_file_could_not_read_is_not_blamed() -> None:
    text = 'from "./house.team" import poet\nimport "./house.team" as house\nflow a = house.poet -> poet\n'
    assert codes(text) == ["T010"]


@pytest.mark.parametrize(
    ("length", "budget", "mended"),
    [
        ("200 token", "[2k tokens]", "200 tokens"),
        ("200 tokens", "[20 dollars]", "$20"),
        ("200 tokens", "[2k tokens, 5 minutes]", "5m"),
    ],
)
def test_a_unit_spelt_out_is_mended_not_split(length: str, budget: str, mended: str) -> None:
    text = BROKEN.format(length=length, budget=budget)
    (found,) = problems(text)
    assert found.code == "T006"
    assert f"`{mended}`" in found.help
    assert codes(apply(text, found.edits)) == []


def test_what_a_misspelt_name_meant_is_not_called_unused() -> None:
    text = BROKEN.format(length="200 tokens", budget="[2k tokens]").replace("of poet", "of poett")
    assert codes(text) == ["E105"]
    spare = text.replace("of poett", "of poet") + "role spare { prompt = 'x' }\n".replace("'", '"')
    assert codes(spare) == ["W603"]


def test_a_misspelt_filter_is_mended() -> None:
    text = 'role chooser { prompt = """{{ attempts | bullet }}""" }\n'
    (found,) = problems(text)
    assert found.help == "did you mean `bullets`?"
    assert codes(apply(text, found.edits)) == []
