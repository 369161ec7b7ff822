"""The published protocol of `compat = mas_tts` as tables: what is asked, read and remembered. Pure.

After "Two Heads are Better Than One: Test-time Scaling of Multi-agent Collaborative Reasoning" (arXiv 2504.09772)
as its released code runs on AIME (commit ae8f961). Its defects are kept, because its ablation rests on them:

* A stop of the CEO is read and ignored. Its team is never smaller than two. A cap with anything behind the
  number, `16,384` too, is the largest there is.
* `[Agree]` anywhere in a review is agreement, also in `I would not [Agree]`; a critic that fails agrees.
* The solver remembers the last five messages, a critic the last three of its turn: with many critics the
  solver no longer sees its own solution.
* An evaluation is the first digit behind `Correctness:`; `(1)` and `**1**` are none.
* A recruiter that fails gives so many scientists; a solver that fails does not know.

What is not kept: prompts are in our words; a team never has more seats than `n`, where the code has no ceiling;
the penalties for repetition that a retry adds, and the second call that forces an answer near the cap.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from podium.dsl.compat import MAS_TTS_LEAST
from podium.dsl.model import Sampling

from ..call import Message

SOLVER_WINDOW = 5
CRITIC_WINDOW = 3
LEAST_TOKENS = 2_048
MOST_TOKENS = 32_000
# A retry halves a cap above this one.
HALVED_ABOVE = 8_192
NO_ADVICE = "No advice yet."
NO_SOLUTION = "No solution yet."
DONT_KNOW = "I don't know"
PERSONA = "Scientist."


@dataclass(frozen=True, slots=True)
class Line:
    """A message that was broadcast: its sender's name, which is its persona, and what it said."""

    sender: str
    text: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """What the CEO decides. stop: read and, as in the released code, used by nobody."""

    agents: int = MAS_TTS_LEAST
    tokens: int = MOST_TOKENS
    direction: str = NO_ADVICE
    stop: bool = False

    def shown(self) -> str:
        return f"recruit_number: {self.agents}, maximum_tokens: {self.tokens}"


# --- what is read --------------------------------------------------------------------------------

_CEO = re.compile(
    r"###\s*Decision:(.*?)###\s*Recruit Number:(.*?)###\s*Direction:(.*?)###\s*Maximum Tokens:(.*)",
    re.DOTALL,
)


def read_ceo(text: str, seats: int) -> Allocation | None:
    """The four headings in their order; None where they are not there. seats: the team's."""
    found = _CEO.search(text)
    if found is None:
        return None
    decision, number, direction, cap = (part.strip() for part in found.groups())
    digits = re.search(r"\d+", number)
    wanted = int(digits[0]) if digits else 0
    tokens = int(cap) if cap.isascii() and cap.isdecimal() else MOST_TOKENS
    return Allocation(
        agents=min(max(MAS_TTS_LEAST, wanted), seats),
        tokens=min(max(LEAST_TOKENS, tokens), MOST_TOKENS),
        direction=direction or NO_ADVICE,
        stop="stop" in decision.casefold() and "continue" not in decision.casefold(),
    )


def read_personas(text: str, count: int) -> tuple[str, ...] | None:
    """The first count lines of the form `1. text`; None where there are fewer."""
    found = [line.strip() for line in re.findall(r"^\s*\d+\.[ \t]*(\S.*)$", text, re.MULTILINE)]
    return tuple(found[:count]) if len(found) >= count else None


def read_solution(text: str) -> str | None:
    return text.strip() or None


def read_review(text: str) -> str:
    """What a critic objects to: nothing where it agrees or is silent."""
    return "" if "[Agree]" in text else text.strip()


def read_evaluation(text: str) -> tuple[bool, str] | None:
    """Whether the solution is right, and the advice, which swallows whatever stands behind it."""
    digit = re.search(r"Correctness:\s*(\d)", text)
    if digit is None:
        return None
    advice = re.search(r"Advice:\s*(.*)", text, re.DOTALL)
    return digit[1] == "1", "" if advice is None else advice[1].strip()


# --- what a retry changes ------------------------------------------------------------------------


def nudged(sampling: Sampling, cap: int, try_: int) -> tuple[Sampling, int]:
    """Sampling and cap of the try (from 1): cooler each time, and shorter while the cap is large."""
    for _ in range(try_ - 1):
        cap = cap // 2 if cap > HALVED_ABOVE else cap
    less = 0.01 * (try_ - 1)
    cooler = replace(
        sampling,
        temperature=round(max(0.0, (sampling.temperature or 0.0) - less), 4),
        top_p=round(max(0.01, (1.0 if sampling.top_p is None else sampling.top_p) - less), 4),
    )
    return cooler, cap


# --- what is asked -------------------------------------------------------------------------------

CEO_SYSTEM = "You lead a team that solves a problem. You decide who works on, in what direction and at what cost."
CEO_ASK = """Decide about the next turn.
- Stop only if the solution is right.
- Recruit as the evaluation shows a lack; 2 or 3 experts are usual, {most} are for hard problems.
- Direct the discussion to the weakest part.
- Give tokens as the problem needs: 2048, 4096, 8192, 16384 or 32000.

Answer in exactly this form:
### Decision: Continue or Stop
### Recruit Number: a whole number from 1 to {most}
### Direction: what to discuss
### Maximum Tokens: a whole number from 2048 to 32000"""
RECRUITER_ASK = """Name {count} experts of different fields who could solve this together. Do not solve it.
Answer with a numbered list of {count} lines and nothing else, such as
1. A [discipline] specialised in [field]"""
SOLVER_ASK = """You are {persona}. From the discussion and what you know, write a precise and complete solution.
Direction: {direction}
End with the answer as \\boxed{{answer}}."""
CRITIC_ASK = """You are {persona}. Compare the last solution with your own and criticise it.
Do not write a solution.
Direction: {direction}
If its answer is the same as yours, end with [Agree], else with [Disagree]."""
EVALUATOR_ASK = """Check the solution. Answer in this form:
### Correctness: 0 or 1, where 0 is wrong and 1 is right
### Advice: how to correct it, or why it is right
### Recruiting Suggestion: which experts the next turn needs"""


def ask_ceo(
    task: str, solution: str, advice: str, now: Allocation, seats: int
) -> tuple[Message, ...]:
    """No discussion, nothing of what was spent, no decision but the last."""
    state = (
        f"Task: {task}\nLatest solution: {solution}\nEvaluation: {advice}\nResources: {now.shown()}"
    )
    return _messages(CEO_SYSTEM, f"{state}\n\n{CEO_ASK.format(most=min(4, seats))}")


def ask_recruiter(task: str, count: int, advice: str) -> tuple[Message, ...]:
    """Told of the last evaluation, and not of the CEO's direction."""
    told = f"You choose the members of a team for this problem:\n{task}\n\nSuggestions: {advice}"
    return _messages(told, RECRUITER_ASK.format(count=count))


def ask_solver(
    task: str, persona: str, direction: str, said: Sequence[Line]
) -> tuple[Message, ...]:
    told = f"Solve this problem:\n{task}"
    ask = SOLVER_ASK.format(persona=persona, direction=direction)
    return _messages(told, history(said, SOLVER_WINDOW) + ask)


def ask_critic(
    task: str, persona: str, direction: str, said: Sequence[Line]
) -> tuple[Message, ...]:
    told = f"You are in a discussion that is to solve this problem:\n{task}"
    ask = CRITIC_ASK.format(persona=persona, direction=direction)
    return _messages(told, history(said, CRITIC_WINDOW) + ask)


def ask_evaluator(task: str, solution: str, personas: Sequence[str]) -> tuple[Message, ...]:
    """Nothing of the discussion, and no reference answer."""
    experts = "\n".join(personas)
    told = f"Experts:\n{experts}\n\nProblem: {task}\n\nSolution:\n{solution}"
    return _messages(told, EVALUATOR_ASK)


def history(said: Sequence[Line], window: int) -> str:
    """The last messages, however long they are; nothing where there are none."""
    if not said:
        return ""
    lines = "\n".join(f"[{line.sender}]: {line.text}" for line in said[-window:])
    return f"<history>\n{lines}\n</history>\n\n"


def _messages(system: str, user: str) -> tuple[Message, ...]:
    return (Message("system", system), Message("user", user))
