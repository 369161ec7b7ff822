"""Teams that keep a published system's quirks: who sits in them, and their defaults.

`mas_tts`: "Two Heads are Better Than One" (arXiv 2504.09772) as its released code runs on AIME. The prompts are
the engine's own, which say the same in other words: a role here is a name, a cap and a sampling.
"""

from .model import Sampling
from .program import Ceo, Member, Role, Slot, Team, Template
from .source import Place

MAS_TTS_ROUNDS = 3
MAS_TTS_CYCLES = 2
# A parser's floor: a team of one cannot be asked for.
MAS_TTS_LEAST = 2
# How often each of them is asked for a reply that can be read.
MAS_TTS_TRIES = 3

_TASK = Template((Slot(("task", "statement")),))
_SAMPLING = Sampling(temperature=0.7, top_p=0.95)


def _role(name: str, cap: int) -> Role:
    return Role(name, _TASK, max_output=cap, sampling=_SAMPLING)


CEO = _role("ceo", 32_000)
RECRUITER = _role("recruiter", 8_192)
SOLVER = _role("solver", 32_000)
CRITIC = _role("critic", 32_000)
EVALUATOR = _role("evaluator", 16_384)


def mas_tts(
    place: Place, size: int, model: str | None, ceo: Role, *, rounds: int, cycles: int
) -> Team:
    """The team; rounds are those of its critics in each cycle."""
    return Team(
        "team",
        place,
        size,
        (Member(1, SOLVER), Member(size - 1, CRITIC)),
        model,
        Ceo("adaptive", ceo),
        RECRUITER,
        order="solver_first",
        rounds=rounds,
        cycles=cycles,
        evaluate=EVALUATOR,
        compat="mas_tts",
    )
