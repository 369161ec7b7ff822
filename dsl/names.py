"""Names that were probably meant."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import islice

ENOUGH = 0.6  # of 1: difflib's own cut-off for "close"
SURELY = 0.85  # of 1: less than one letter in five is another
_SWAPPED = 0.99  # the same letters in another order: the commonest slip, which difflib rates low
_MOST = 2_000  # candidates: a program of more names waits for no guess
_LONGEST = 80  # characters: comparing takes the square of the length
# What other tools and languages call it: no letters to compare, and surely meant where the other is expected.
_CALLED = {
    "max_output": "max_tokens max_completion_tokens max_new_tokens max_length num_predict",
    "prompt": "instructions user goal template",
    "system": "persona backstory instructions",
    "statement": "description question problem text goal",
    "endpoint": "url base_url host server api address",
    "verify": "scorer judge check grader evaluator metric reward",
    "flow": "workflow topology graph pipeline agents",
    "budget": "timeout deadline limit cost max_cost max_tokens max_time",
    "inflight": "concurrency max_concurrency workers parallel slots",
    "turns": "max_turns max_steps max_iterations max_iter steps iterations",
    "repeats": "runs trials repetitions seeds",
    "output": "schema response_format format output_schema",
    "model": "llm engine",
    "shell": "bash sh terminal exec command",
    "team": "crew swarm group panel discussion",
    "repeat": "loop while times",
    "parallel": "fanout concurrent gather",
    "vote": "majority consensus",
    "members": "agents workers",
}
_MEANT = {
    name: tuple(meant for meant, called in _CALLED.items() if name in called.split())
    for called in _CALLED.values()
    for name in called.split()
}


def near(
    name: str, candidates: Iterable[str], limit: int = 3, *, enough: float = ENOUGH
) -> list[str]:
    """At most limit of the candidates that look like name or are so called elsewhere, the best first.

    candidates: the names of the kind that is expected in that place, and no others.
    enough: how much they must look alike, from 0 to 1 for the same letters.
    """
    if len(name) > _LONGEST:
        return []
    matcher = SequenceMatcher(b=name.lower(), autojunk=False)
    known = set(islice(candidates, _MOST)) - {name}
    meant = [other for other in _MEANT.get(name.lower(), ()) if other in known]
    scored: list[tuple[float, str]] = []
    for candidate in sorted(known.difference(meant)):
        matcher.set_seq1(candidate[:_LONGEST].lower())
        if matcher.real_quick_ratio() >= enough and matcher.quick_ratio() >= enough:
            swapped = sorted(candidate.lower()) == sorted(name.lower())
            scored.append((_SWAPPED if swapped else matcher.ratio(), candidate))
    close = sorted((-ratio, candidate) for ratio, candidate in scored if ratio >= enough)
    return [*meant, *(candidate for _, candidate in close)][:limit]


def did_you_mean(name: str, candidates: Iterable[str], limit: int = 3) -> str:
    """A help text such as "did you mean `fast` or `faster`?", or nothing where no candidate is near."""
    found = [f"`{candidate}`" for candidate in near(name, candidates, limit)]
    return f"did you mean {either(found)}?" if found else ""


def counted(number: int, noun: str) -> str:
    """`1 minute`, `5 minutes`."""
    return f"{number} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """noun for so many."""
    return noun if number == 1 else f"{noun}s"


def indefinite(noun: str) -> str:
    """noun with its article: `a run`, `an experiment`."""
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def either(words: list[str], joined: str = "or") -> str:
    """`a`, `b` or `c`, with commas."""
    return f" {joined} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
