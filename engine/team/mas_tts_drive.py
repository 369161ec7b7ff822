"""A team under `compat = mas_tts`: turns of CEO, recruiter, discussion, evaluator.

The answer is the last solution, accepted or not; nobody in the team sees a score. Who cannot be read is asked
three times, then the protocol goes on with what its tables say, and the node has failed.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

from podium.dsl.compat import MAS_TTS_TRIES
from podium.dsl.program import Role, Team

from ..agent import call_of
from ..ask import ask_model
from ..branches import Job, gather
from ..call import CallError, Message
from ..event import Said
from ..later import first_round, later_round
from ..outcome import Exhausted
from ..pool import calls_of_first
from ..reduce import attempts_of
from ..turns import turn_of
from ..value import Attempt, Value
from ..walk import Ended, Failure, Here, ending, keep, may_start
from . import mas_tts as table
from .mas_tts import Allocation, Line
from .state import LINE


@dataclass(slots=True, eq=False)
class _Team:
    """said: all that the solver ever heard. since: where this turn begins in it: critics are new in each turn.

    rounds: how many have begun. replied: some solver gave a solution.
    """

    flow: Team
    here: Here
    solution: Attempt | None
    now: Allocation = field(default_factory=Allocation)
    personas: tuple[str, ...] = ()
    said: list[Line] = field(default_factory=list[Line])
    since: int = 0
    advice: str = table.NO_ADVICE
    accepted: bool = False
    rounds: int = 0
    replied: bool = False
    failures: list[Failure] = field(default_factory=list[Failure])
    refused: Exhausted | None = None

    @property
    def task(self) -> str:
        return self.here.task.statement


@dataclass(frozen=True, slots=True)
class _Step:
    """Who is asked what, under which cap. hear: takes a reply in, and says whether it could be read."""

    segment: str
    kind: str
    role: Role
    messages: tuple[Message, ...]
    cap: int
    hear: Callable[[str], bool]
    nudged: bool = True


async def drive(flow: Team, value: Value, here: Here) -> Ended:
    """The team's end; in the reason whether its evaluator accepted the answer."""
    team = _Team(flow, here, next(iter(attempts_of(value)), None))
    why = await _turns(team)
    return replace(_ended(team, why), rounds_left=flow.rounds * flow.cycles - team.rounds)


async def _turns(team: _Team) -> str:
    """Run the turns; why no other follows, "" after the last."""
    here = team.here
    for turn in range(1, team.flow.cycles + 1):
        address = f"{here.address}/cycle{turn}"
        if turn > 1 and not may_start(here, address):
            return "budget"
        rest = team.flow.rounds * team.flow.size + 1
        if turn == 1:
            with first_round(here, calls_of_first(team.flow)) as team.here:
                await _opening(team, turn)
            await _later(team, here, address, rest, partial(_closing, team, turn))
        else:
            await _later(team, here, address, rest + 3, partial(_whole, team, turn))
        if team.refused is not None:
            return "budget"
        if team.accepted:
            return "accepted"
    return ""


async def _later(
    team: _Team, here: Here, address: str, calls: int, part: Callable[[], Awaitable[None]]
) -> None:
    """A part of so many calls that the team's first answer does not need."""
    async with later_round(here, address, calls) as (team.here, short):
        team.refused = team.refused or short
        if team.refused is None:
            await part()
    team.here = here


async def _whole(team: _Team, turn: int) -> None:
    await _opening(team, turn)
    await _closing(team, turn)


async def _closing(team: _Team, turn: int) -> None:
    if team.refused is None:
        await _discussion(team)
    if team.refused is None:
        await _evaluation(team, turn)


async def _opening(team: _Team, turn: int) -> None:
    """The CEO, its recruiter, the direction to all, the first solution of this turn."""
    await _lead(team, turn)
    if team.refused is None:
        await _recruit(team, turn)
    team.since = len(team.said)
    if team.now.direction != table.NO_ADVICE:
        team.said.append(Line("CEO", team.now.direction))
    if team.refused is None:
        team.rounds += 1
        await _solve(team, f"r{team.rounds}.m1")


async def _lead(team: _Team, turn: int) -> None:
    chief = team.flow.ceo
    assert chief is not None
    solution = table.NO_SOLUTION if team.solution is None else team.solution.text
    seats, before = team.flow.size, team.now
    team.now = Allocation()  # what a CEO that fails leaves

    def hear(text: str) -> bool:
        found = table.read_ceo(text, seats)
        team.now = found or team.now
        return found is not None

    messages = table.ask_ceo(team.task, solution, team.advice, before, seats)
    cap = chief.role.max_output or table.MOST_TOKENS
    step = _Step(f"cycle{turn}.ceo", "ceo", chief.role, messages, cap, hear, nudged=False)
    await _alone(team, step)


async def _recruit(team: _Team, turn: int) -> None:
    role, count = team.flow.recruit, team.now.agents
    assert role is not None
    team.personas = (table.PERSONA,) * count

    def hear(text: str) -> bool:
        found = table.read_personas(text, count)
        team.personas = found or team.personas
        return found is not None

    messages = table.ask_recruiter(team.task, count, team.advice)
    segment = "recruit" if turn == 1 else f"cycle{turn}.recruit"
    cap = role.max_output or table.MOST_TOKENS
    await _alone(team, _Step(segment, "recruiter", role, messages, cap, hear))


# --- discussion ----------------------------------------------------------------------------------


async def _discussion(team: _Team) -> None:
    """Reviews at the same time and a new solution, until no critic objects."""
    for turn in range(team.flow.rounds):
        team.rounds += turn > 0
        objections = await _reviews(team)
        if team.refused is not None or not objections:
            return
        team.said.extend(objections)
        await _solve(team, f"r{team.rounds}.answer")
        if team.refused is not None:
            return


async def _solve(team: _Team, segment: str) -> None:
    role = team.flow.members[0].role
    persona = team.personas[0]
    solution = [table.DONT_KNOW]

    def hear(text: str) -> bool:
        found = table.read_solution(text)
        solution[0] = found or solution[0]
        return found is not None

    messages = table.ask_solver(team.task, persona, team.now.direction, team.said)
    ended = await _alone(team, _Step(segment, "agent", role, messages, team.now.tokens, hear))
    if team.refused is not None:
        return
    address = f"{team.here.address}/{segment}"
    made = next(iter(attempts_of(ended.value)), None)
    team.replied = team.replied or made is not None
    team.solution = made or Attempt(solution[0], solution[0], address)
    if made is not None:
        keep(team.here, made)
    team.said.append(Line(persona, solution[0]))
    _tell(team, 1, role.name, solution[0])


async def _reviews(team: _Team) -> list[Line]:
    """What the critics object to, in the order of their seats; who failed does not object."""
    role = team.flow.members[1].role
    direction, said = team.now.direction, team.said[team.since :]
    heard: dict[int, str] = {}

    def step(seat: int) -> _Step:
        def hear(text: str) -> bool:
            heard[seat] = table.read_review(text)
            return True

        messages = table.ask_critic(team.task, team.personas[seat - 1], direction, said)
        return _Step(f"r{team.rounds}.m{seat}", "agent", role, messages, team.now.tokens, hear)

    seats = range(2, len(team.personas) + 1)
    jobs = [_job(team, step(seat)) for seat in seats]
    for ended in await gather(replace(team.here, round=team.rounds), jobs):
        _note(team, ended)
    for seat in seats:
        if heard.get(seat):
            _tell(team, seat, role.name, heard[seat])
    return [Line(team.personas[seat - 1], heard[seat]) for seat in seats if heard.get(seat)]


async def _evaluation(team: _Team, turn: int) -> None:
    role, solution = team.flow.evaluate, team.solution
    assert role is not None
    assert solution is not None
    team.accepted, team.advice = False, ""

    def hear(text: str) -> bool:
        found = table.read_evaluation(text)
        team.accepted, team.advice = found or (team.accepted, team.advice)
        return found is not None

    messages = table.ask_evaluator(team.task, solution.text, team.personas)
    cap = role.max_output or table.MOST_TOKENS
    step = _Step(f"cycle{turn}.evaluate", "evaluator", role, messages, cap, hear)
    await _alone(team, step)


# --- one step ------------------------------------------------------------------------------------


async def _alone(team: _Team, step: _Step) -> Ended:
    (ended,) = await gather(replace(team.here, round=team.rounds), [_job(team, step)])
    _note(team, ended)
    return ended


def _job(team: _Team, step: _Step) -> Job:
    async def body(place: Here) -> Ended:
        turn = turn_of(place, step.role, team.flow.model, group=team.here.address)
        for number in range(1, MAS_TTS_TRIES + 1):
            sampling, cap = step.role.sampling, step.cap
            if step.nudged:
                sampling, cap = table.nudged(sampling, cap, number)
            role = replace(step.role, sampling=sampling)
            turn = replace(turn, max_output=min(cap, turn.window))
            try:
                reply = await ask_model(place, call_of(role, step.messages, turn, number))
            except CallError:
                continue  # what the published code does too: every error is a reply that cannot be read
            if step.hear(reply.text):
                text = reply.text.strip()
                cut = reply.finish != "stop"
                return ending(Attempt(text, text, place.address, cut=cut))
        raise CallError("reply", f"none of {MAS_TTS_TRIES} replies can be read")

    return Job(step.segment, step.kind, step.role.name, body)


def _note(team: _Team, ended: Ended) -> None:
    team.failures.extend(ended.failures)
    if isinstance(ended.outcome, Exhausted):
        team.refused = team.refused or ended.outcome


def _tell(team: _Team, seat: int, name: str, text: str) -> None:
    line = " ".join(text.split())[:LINE]
    team.here.recorder.emit(Said(team.here.address, team.rounds, seat, name, line))


def _ended(team: _Team, why: str) -> Ended:
    """The last solution; a team of which no solver ever said anything has none."""
    failures = tuple(team.failures)
    answer = team.solution if team.replied else None
    if answer is None:
        outcome = team.refused or next(failure.outcome for failure in failures)
        return Ended(outcome, None, failures, why)
    if team.refused is not None:
        return replace(ending(answer, failures), outcome=team.refused)
    return ending(answer, failures, why)
