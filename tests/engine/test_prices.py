"""Prices of a list for models whose file gives none: from the extra alone, kept with the run, tiers included."""

import json
import sys
from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from podium.dsl.changes import changes
from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Endpoint, Model, Price
from podium.dsl.prices import PRICE_OF, from_json, text_name, to_json, written
from podium.dsl.problem import ProgramError
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine.library import DiskLibrary, StoredLibrary
from podium.engine.plan.settings import of_models
from podium.engine.plan.touched import touched
from podium.engine.prices import price_of, price_text

TEXT = """
model dear { endpoint = openai("gpt-5.4") MORE }
task t { statement = "Hi" }
run main { task = t  flow = agent  budget = [$5] }
"""
LONG = Price(3_000_000, 300_000, 3_000_000, 9_000_000)
PRICE = Price(2_000_000, 200_000, 2_000_000, 8_000_000, longer=((1000, LONG),))


@dataclass(frozen=True)
class Listing(MemoryLibrary):
    """A library with one listed price. asked: what it was asked for."""

    asked: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])

    def price(self, served: str, url: str | None) -> tuple[str, str] | None:
        self.asked.append((served, url))
        return text_name(served, url or ""), written(PRICE, "a list, as of today")


def made(more: str = "", choice: Choice | None = None) -> tuple[Program, Listing]:
    library = Listing()
    source = Source("x.team", TEXT.replace("MORE", more))
    return compile_run(source, library, choice or Choice())[0], library


def test_a_price_that_the_file_does_not_give_is_the_lists_and_the_plan_says_whose() -> None:
    program, library = made()
    model = program.models["dear"]
    assert (model.price, model.priced_by) == (PRICE, "a list, as of today")
    assert set(library.asked) == {("gpt-5.4", None)}
    assert of_models(program)["dear"]["priced_by"] == "a list, as of today"
    assert touched(program)["Files"] == ["x.team"]


@pytest.mark.parametrize(
    "more", ["price = none", "price = { input = $1 per 1M tokens }", "rent = $3 per 1h"]
)
def test_what_the_file_gives_is_not_looked_up(more: str) -> None:
    program, library = made(more)
    assert program.models["dear"].priced_by == ""
    assert not library.asked


def test_a_model_of_the_command_line_is_looked_up_too() -> None:
    named = Model("dear", (Endpoint("openai", "big", "https://models.example/v1"),))
    program, library = made(choice=Choice(models={"dear": named}))
    assert program.models["dear"].price == PRICE
    default = Model("default", (Endpoint("openai", "", "https://models.example/v1"),))
    with pytest.raises(ProgramError, match="price"):  # nobody knows which model that is
        made(choice=Choice(default_model=default))
    assert ("big", "https://models.example/v1") in library.asked


def test_a_run_that_is_taken_up_again_has_the_price_that_it_began_with() -> None:
    program, _ = made()
    again, _ = compile_run(program.sources[0], StoredLibrary(program.sources), Choice())
    assert again.models == program.models
    others = [s for s in program.sources if not s.name.startswith(PRICE_OF)]
    assert not changes(program.sources, others)  # a price is no change of the program


def test_without_a_list_a_dollar_budget_is_refused_and_both_ways_out_are_named() -> None:
    (problem,) = check(Source("x.team", TEXT.replace("MORE", "")), MemoryLibrary())
    assert problem.code == "E306"
    assert "price = {" in problem.help
    assert "podium[prices]" in problem.help


def test_a_price_survives_its_json() -> None:
    assert from_json(json.loads(json.dumps(to_json(PRICE)))) == PRICE


# --- the list itself -----------------------------------------------------------------------------


@pytest.fixture
def listed() -> None:
    pytest.importorskip("genai_prices", reason="the extra podium[prices] is not installed")


def test_without_the_extra_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    assert price_text("gpt-4o", "https://api.openai.com/v1") is None


@pytest.mark.usefixtures("listed")
def test_a_vendors_model_is_known_offline_and_a_model_of_ones_own_is_not() -> None:
    text = price_text("gpt-4o", "https://api.openai.com/v1")
    assert text is not None
    values = json.loads(text)
    price = from_json(values["price"])
    assert 0 < price.cached < price.input < price.output
    assert values["by"].startswith("genai-prices ")
    assert " as of 20" in values["by"]
    assert price_text("gpt-4o", "http://127.0.0.1:8000/v1") is None
    assert price_text("nobody-has-this", "https://api.openai.com/v1") is None
    assert DiskLibrary("x.team", "http://127.0.0.1:1/v1").price("gpt-4o", None) is None
    assert DiskLibrary("x.team").price("gpt-4o", None) is not None


@pytest.mark.usefixtures("listed")
def test_tiers_are_those_of_the_list_and_what_cannot_be_said_is_unknown() -> None:
    from genai_prices.types import ModelPrice, Tier, TieredPrices

    tiered = TieredPrices(Decimal("1.25"), [Tier(200_000, Decimal("2.5"))])
    found = price_of(
        ModelPrice(
            input_mtok=tiered,
            cache_read_mtok=Decimal("0.1"),
            output_mtok=Decimal(10),
            output_reasoning_mtok=Decimal(12),
        )
    )
    usual, longer = (
        (1_250_000, 100_000, 1_250_000, 12_000_000),
        (2_500_000, 100_000, 2_500_000, 12_000_000),
    )
    assert found == Price(*usual, longer=((200_000, Price(*longer)),))
    by_call = ModelPrice(input_mtok=Decimal(1), output_mtok=Decimal(1), requests_kcount=Decimal(5))
    assert price_of(by_call) is None
    assert price_of(ModelPrice(input_mtok=Decimal(1))) is None
