"""Each lever of a CEO on and off, at equal cost: does `podium compare` see what a lever does?

    python scripts/reproduce_ceo.py [--seeds 1] [--repeats 16] [--write]

Simulated teams of six under two chiefs that we made up, so that the truth is known: what a sound one sets helps,
what an idle one sets changes nothing. For each chief, each seed and each experiment of docs/reproduction/ceo.team
`podium compare` is run. --write puts figures and tables into docs/reproduction; --again makes the page anew from
the figures there.
"""

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import click
import orjson
from reproduction import PAGES, Report, machine, shell, table

from podium.dsl.program import Program
from podium.engine.call import ModelCall
from podium.engine.stats import paired
from podium.engine.testing import Speech, mark
from podium.engine.testing.speakers import speaker_of

FILE = str(PAGES / "ceo.team")
LEVERS = ("size", "direction", "effort", "assignment", "stop")
EXPERIMENTS = ("whole", *(f"without_{one}" for one in LEVERS), *(f"with_{one}" for one in LEVERS))
DIRECTION, ASSIGNMENT = "Look at the rarest case first.", "Try a way of your own."
# What is true of a team, in spreads of its score: from the second round on it is better by LATER, and no round
# after that adds anything; a sound direction adds HINT to the mean, sound assignments widen the spread to WIDE.
LATER, HINT, WIDE = 0.4, 0.5, 1.3
# Tokens of a reply, on average, where no lever shortens it.
TOKENS = 400
SOUND: Mapping[str, object] = {
    "size": 3, "direction": DIRECTION, "effort": 200, "assignment": [ASSIGNMENT] * 6
}  # fmt: skip
IDLE: Mapping[str, object] = {
    "size": 6, "direction": "Go on.", "effort": 1000, "assignment": ["Go on."] * 6
}  # fmt: skip
CHIEFS = {"sound": SOUND, "idle": IDLE}


@dataclass(frozen=True, slots=True)
class Led:
    """The agents of one run: a CEO that sets what it may, and members who are as good as the law says."""

    program: Program
    chief: str

    def __call__(self, call: ModelCall) -> Speech:
        speaker = speaker_of(self.program, call.address)
        chance = random.Random(f"{self.program.seed} {call.address}")
        reasoning = int(TOKENS * chance.uniform(0.5, 1.5))
        if speaker.part == "ceo":
            return Speech(self._orders(call), reasoning // 4)
        asked = "\n".join(message.content for message in call.messages)
        mean = LATER * (_round(call) > 1) + HINT * (DIRECTION in asked)
        spread = WIDE if ASSIGNMENT in asked else 1.0
        own = random.Random(f"{self.program.seed} {speaker.node}").gauss(0, 1)
        return Speech(mark(mean + spread * own), reasoning)

    def _orders(self, call: ModelCall) -> str:
        """What this chief sets of what it may set, which is what it is asked for."""
        assert call.schema is not None
        orders = {**CHIEFS[self.chief], "stop": self.chief == "sound" and _round(call) > 2}
        wanted: Any = call.schema["properties"]
        return orjson.dumps({name: orders[name] for name in wanted}).decode()


def _round(call: ModelCall) -> int:
    found = re.search(r"/r(\d+)\.", call.address)
    assert found is not None  # members and CEO speak in rounds
    return int(found[1])


# --- what is run ---------------------------------------------------------------------------------


def measure(seeds: int, repeats: int, experiments: Sequence[str]) -> dict[str, Any]:
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    for chief in CHIEFS:
        for name in experiments:
            found += [compare(chief, name, seed, repeats) for seed in range(1, seeds + 1)]
            click.echo(f"{chief}, {name}, {time.monotonic() - began:.0f} s", err=True)
    return {"seeds": seeds, "repeats": repeats, "machine": machine(began), "found": found}


def compare(chief: str, name: str, seed: int, repeats: int) -> dict[str, Any]:
    """One comparison: its verdict, the scores of its pairs, and what a run of each arm cost."""
    asked = ("--seed", str(seed), "--repeats", str(repeats))
    with shell(partial(Led, chief=chief)) as podium:
        found = podium.json("compare", FILE, name, *asked)
    by_arm = {arm: [run for run in found["runs"] if run["arm"] == arm] for arm in ("on", "off")}
    return {
        "chief": chief,
        "name": name,
        "winner": found["pairs"][0]["winner"],
        **{arm: [round(run["score"], 4) for run in runs] for arm, runs in by_arm.items()},
        "usd": {arm: round(fmean(run["usd"] for run in runs), 5) for arm, runs in by_arm.items()},
    }


# --- what is told --------------------------------------------------------------------------------

_TITLES = {"whole": "all levers, against no CEO"}


def _title(name: str) -> str:
    how, _, lever = name.partition("_")
    return _TITLES.get(name) or (
        f"all, against all but {lever}" if how == "without" else f"{lever} alone, against no CEO"
    )


def report(found: dict[str, Any]) -> str:
    text = (
        f"Comparisons for each line: {found['seeds']}, of {found['repeats']} pairs of runs; "
        f"{found['machine']}.\n"
    )
    for chief in CHIEFS:
        ours = [one for one in found["found"] if one["chief"] == chief]
        names = list(dict.fromkeys(one["name"] for one in ours))
        rows = [_row(name, [one for one in ours if one["name"] == name]) for name in names]
        heads = ("", "off", "on", "on less off (95 %)", "$ a run, off and on", "verdict")
        text += f"\n### {chief.capitalize()} orders\n\n" + table(heads, rows)
    return text


def _row(name: str, ours: Sequence[dict[str, Any]]) -> list[str]:
    on = [score for one in ours for score in one["on"]]
    off = [score for one in ours for score in one["off"]]
    apart = paired(on, off)
    span = apart.interval
    within = "" if span is None else f" ({span.low:+.2f} to {span.high:+.2f})"
    usd = [fmean(one["usd"][arm] for one in ours) for arm in ("off", "on")]
    means = [f"{fmean(scores):.2f}" for scores in (off, on)]
    cost = f"{usd[0]:.3f}, {usd[1]:.3f}"
    verdict = _verdict([one["winner"] for one in ours])
    return [_title(name), *means, f"{apart.difference:+.2f}{within}", cost, verdict]


_SAID = {"on": "on is better", None: "cannot be told apart", "off": "off is better"}


def _verdict(winners: Sequence[str | None]) -> str:
    if len(winners) == 1:
        return _SAID[winners[0]]
    counts = {said: winners.count(winner) for winner, said in _SAID.items()}
    return ", ".join(
        f"{count} of {len(winners)}: {said}" for said, count in counts.items() if count
    )


REPORT = Report("ceo", report)


@click.command(help=__doc__)
@click.option("--seeds", default=1, type=click.IntRange(1), help="Comparisons of each experiment.")
@click.option("--repeats", default=16, type=click.IntRange(4), help="Runs of each arm in each.")
@click.option(
    "--name", "names", multiple=True, type=click.Choice(EXPERIMENTS), help="Not all of them."
)
@click.option("--write", is_flag=True, help="Write figures and page.")
@click.option("--again", is_flag=True, help="Run nothing: make the page from the figures.")
def main(*, seeds: int, repeats: int, names: tuple[str, ...], write: bool, again: bool) -> None:
    if again:
        REPORT.put()
        return
    found = measure(seeds, repeats, names or EXPERIMENTS)
    click.echo(report(found))
    if write:
        REPORT.write(found)


if __name__ == "__main__":
    main()
