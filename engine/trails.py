"""The tool `attempts`: an agent that is given many attempts looks up what each says and how it was reached.

All that it tells follows from the attempts and from answered calls below them, which are over by then; so a later
life is told the same, and nothing of it needs to be recorded once more.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import cast

from .call import ModelReply, Offer, Reply, ToolReply, offer
from .plain import excerpt
from .value import Attempt, Json

# Lines that one search shows at most, and how many of an attempt's steps are shown at once.
HITS, STEPS = 10, 5
# How much of a line a search shows, in characters around what was looked for.
_AROUND = 120
# An attempt that was submitted has the address of the call that did it; its agent is the node above.
_SUBMITTED = re.compile(r"/t\d+\.\d+$")
# What the one reply of an agent without tools may stand at, the last one first.
_REPLIES = ("c2", "c1")

Told = Callable[[str], Reply | None]


def offers(attempts: int, *, files: bool = False) -> tuple[Offer, ...]:
    """The tool as models are told of it. files: who has it has a folder of its own."""
    number = _number(f"which attempt, 1 to {attempts}")
    number["maximum"] = max(1, attempts)
    says = "Makes the files of an attempt those of your folder, in place of what is in it."
    taking = (offer("take_files", says, ("number",), number=number),) if files else ()
    return (
        *taking,
        offer(
            "read_attempt",
            f"Shows what one of the {attempts} attempts says, whole, and what is known of its worth.",
            ("number",),
            number=number,
            first=_number("the first line to show"),
            lines=_number("how many lines to show"),
        ),
        offer(
            "read_steps",
            "Shows how an attempt was reached: what its agent wrote, what it called, what came of that.",
            ("number",),
            number=number,
            first=_number("the first step to show"),
            steps=_number(f"how many steps to show; {STEPS} where you do not say"),
        ),
        offer(
            "search_attempts",
            f"Finds a text in what the attempts say and in their steps; shows {HITS} lines at most.",
            ("text",),
            text={"type": "string", "minLength": 1, "description": "what to look for"},
            number={**number, "description": f"only in this attempt; else in all {attempts}"},
        ),
    )


def _number(says: str) -> dict[str, Json]:
    return {"type": "integer", "minimum": 1, "description": says}


@dataclass(slots=True, eq=False)
class Trails:
    """Of one agent. told: the reply that was recorded at an address, None where none was."""

    attempts: tuple[Attempt, ...]
    told: Told
    _steps: dict[int, Sequence[str]] = field(default_factory=dict[int, Sequence[str]])

    def use(self, name: str, arguments: Mapping[str, Json]) -> str:
        """What a call of one of `offers` comes to."""
        given = {key: int(cast(int, value)) for key, value in arguments.items() if key != "text"}
        number = given.get("number", 0)
        if number > len(self.attempts):
            return f"there are {len(self.attempts)} attempts, and no attempt {number}"
        match name:
            case "read_attempt":
                return self._said(number, given)
            case "read_steps":
                return self._shown(number, given)
            case _:
                return self._found(str(arguments["text"]), number)

    def tree(self, number: int) -> str:
        """The files of attempt number, by the name of the text that has them; "" where it has none."""
        return self.attempts[number - 1].tree if number <= len(self.attempts) else ""

    def steps(self, number: int) -> Sequence[str]:
        """How attempt number was reached, a text for each step."""
        if number not in self._steps:
            self._steps[number] = steps(self.attempts[number - 1].address, self.told)
        return self._steps[number]

    def _said(self, number: int, given: Mapping[str, int]) -> str:
        attempt = self.attempts[number - 1]
        all_lines = attempt.text.splitlines()
        first = given.get("first", 1)
        shown = all_lines[first - 1 : first - 1 + given.get("lines", len(all_lines))]
        head = f"Attempt {number}{_worth(attempt)}, {_many(len(all_lines), 'line')}"
        return "\n".join([f"{head}:", *shown])

    def _shown(self, number: int, given: Mapping[str, int]) -> str:
        steps_, first = self.steps(number), given.get("first", 1)
        shown = steps_[first - 1 : first - 1 + given.get("steps", STEPS)]
        head = f"Attempt {number} took {_many(len(steps_), 'step')}."
        return "\n\n".join([head, *shown])

    def _found(self, text: str, number: int) -> str:
        hits = [hit for one in self._asked(number) for hit in self._hits(one, text)]
        if not hits:
            return "nothing found"
        more = [f"[{len(hits) - HITS} more lines]"] if len(hits) > HITS else []
        return "\n".join([*hits[:HITS], *more])

    def _asked(self, number: int) -> Sequence[int]:
        return [number] if number else range(1, len(self.attempts) + 1)

    def _hits(self, number: int, text: str) -> Iterator[str]:
        said = self.attempts[number - 1].text
        places = [(f"attempt {number}", said)]
        places += [(f"attempt {number}, {_named(step)}", step) for step in self.steps(number)]
        seen: set[str] = set()  # a last step says what the attempt says
        for place, whole in places:
            for line in whole.splitlines():
                at = line.casefold().find(text.casefold())
                if at >= 0 and line not in seen:
                    seen.add(line)
                    yield f"{place}: {excerpt(line[max(0, at - _AROUND) :], 2 * _AROUND)}"


def _worth(attempt: Attempt) -> str:
    verdict = attempt.verdict
    if verdict is None:
        return ""
    words = [] if verdict.score is None else [f"score {verdict.score:g}"]
    if verdict.passed is not None:
        words.append("passed" if verdict.passed else "not passed")
    evidence = f"; found of it: {excerpt(verdict.evidence)}" if verdict.evidence else ""
    return f" ({', '.join(words) or 'judged'}{evidence})"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _named(step: str) -> str:
    return step.partition(":")[0].casefold()


def steps(address: str, told: Told) -> Sequence[str]:
    """The steps of the agent that gave the attempt at address, in order, as far as they are recorded."""
    agent = _SUBMITTED.sub("", address)
    turns = tuple(_turns(agent, told))
    if turns:
        return turns
    replies = (told(f"{agent}/{segment}") for segment in _REPLIES)
    return tuple(_wrote(1, one) for one in replies if isinstance(one, ModelReply))[:1]


def _turns(agent: str, told: Told) -> Iterator[str]:
    """Those of an agent with tools."""
    for turn in count(1):
        reply = told(f"{agent}/t{turn}.shorter") or told(f"{agent}/t{turn}")
        if not isinstance(reply, ModelReply):
            return
        parts = [_wrote(turn, reply)]
        for place, call in enumerate(reply.tool_calls, 1):
            result = told(f"{agent}/t{turn}.{place}")
            came = f"\n-> {result.text}" if isinstance(result, ToolReply) else ""
            parts.append(f"called {call.name} {call.text}{came}")
        yield "\n".join(parts)


def _wrote(turn: int, reply: ModelReply) -> str:
    thought = f"\n(thought) {reply.reasoning.strip()}" if reply.reasoning.strip() else ""
    return f"Step {turn}:{thought}\n{reply.text.strip()}"
