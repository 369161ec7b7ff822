"""Verifiers under simulation: the pure ones as they are, all others by the score that a reply carries."""

import random
from dataclasses import dataclass

import anyio

from ..call import CallError, VerifierCall
from ..functions import Bindings
from ..value import Verdict
from ..verify import KINDS, judge
from .agents import Law, verdict
from .weather import Weather


@dataclass(slots=True)
class SimulatedJudging:
    """In place of `verify.judge`: no thread, no process, no server. A bound function is called as it is.

    seconds: what a verdict of one that cannot run here takes, on average.
    """

    law: Law
    weather: Weather
    seed: int = 0
    seconds: float = 2.0
    began: float = 0.0

    async def __call__(
        self, call: VerifierCall, bindings: Bindings | None = None, *, inline: bool = False
    ) -> Verdict:
        now = anyio.current_time() - self.began
        if self.weather.judging_fails(call.address, now):
            await anyio.sleep(self.seconds)
            raise CallError("verifier", "the simulated verifier raised an error")
        if call.verifier.kind in KINDS or str(call.verifier.args.get("ref")) in (bindings or {}):
            return await judge(call, bindings, inline=True)
        chance = random.Random(f"{self.seed} {call.address}")
        await anyio.sleep(self.seconds * chance.uniform(0.5, 1.5))
        return verdict(call, self.law)
