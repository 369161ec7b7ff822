"""Programs with one planted mistake: the checker reports that one, by its code, in its line, and no other."""

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings

from podium.dsl.catalogue import catalogue
from podium.dsl.compile import check
from podium.engine.testing.mistakes import CODES, TABLE, Mistake, Planter, mistakes, planted
from podium.engine.testing.strategies import Generated, programs

# Few programs have a place for the rarer mistakes, and a busy machine is none.
RARE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
ROWS = [pytest.param(*row, id=row[1].replace(" ", "-")) for row in TABLE]


def told(mistake: Mistake) -> list[tuple[str, str, int]]:
    """The errors of the checker: code, source, line."""
    problems = check(mistake.source, mistake.library)
    return [
        (p.code, p.place.source.name, p.place.source.position(p.place.span.start).line)
        for p in problems
        if p.severity == "error"
    ]


@pytest.mark.parametrize(("code", "what", "planter"), ROWS)
@pytest.mark.parametrize(
    "count", [pytest.param(1, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.long)]
)
def test_each_kind_of_mistake_is_named_alone_in_its_line(
    code: str, what: str, planter: Planter, count: int
) -> None:
    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=RARE,
    )
    @given(programs())
    def each(made: Generated) -> None:
        found = planted(made, code, what, planter)
        assume(found)
        for mistake in found[:2]:
            assert told(mistake) == [(mistake.code, mistake.where, mistake.line)], mistake

    each()


@pytest.mark.slow
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=RARE)
@given(mistakes(programs()))
def test_every_program_with_one_mistake_is_refused_for_it_alone(mistake: Mistake) -> None:
    assert told(mistake) == [(mistake.code, mistake.where, mistake.line)]


def test_what_can_be_planted_is_in_the_catalogue_and_is_most_of_what_the_checker_says() -> None:
    checked = {code for code, entry in catalogue().items() if code[0] == "E" and not entry.compiled}
    assert set(CODES) <= set(catalogue())
    # E306 and E310 need a price; E404 and E405 expand beyond what is quick.
    assert checked - CODES <= {"E306", "E310", "E404", "E405"}


@settings(max_examples=5, deadline=None, derandomize=True)
@given(mistakes(programs(), "E402"))
def test_a_code_can_be_asked_for(mistake: Mistake) -> None:
    assert mistake.code == "E402"
    assert "E402 in line" in repr(mistake)


def test_a_program_without_a_place_for_a_mistake_gives_none() -> None:
    code, what, planter = next(row for row in TABLE if row[0] == "E401")
    made = find(programs(flows=[]), lambda _: True)
    assert planted(made, code, what, planter) == []
