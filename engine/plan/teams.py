"""What a team may cost: its rounds one after another, the board growing from call to call. Pure.

The rounds are those of the protocol's own tables, with all seats at work; a CEO or a condition can only shorten
them. Prompts of a team are cut to fit the window, so a long discussion costs the same in each further round.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from podium.dsl.bounds import bounds
from podium.dsl.program import Ceo, Role, Team, Template

from ..agent.act import DEFAULT_SYSTEM, cap_of
from ..agent.calls import MOST_CALLS
from ..agent.prompt import CLIP_BYTES_PER_TOKEN, FIT_BYTES_PER_TOKEN
from ..bench import has_files
from ..commons import BEST, POST_TOKENS, SHORT_TOKENS
from ..team.asking import WORKSPACES
from ..team.board import SYSTEM
from ..team.ceo import ASSIGNMENT_TOKENS, DEFAULT_OUTPUT, DIRECTION_TOKENS, may_set, question
from ..team.ceo import DEFAULT_SYSTEM as CEO_SYSTEM
from ..team.ceo import output as ceo_output
from ..team.cycle import (
    ADVICE_TOKENS,
    EVALUATOR_OUTPUT,
    EVALUATOR_QUESTION,
    EVALUATOR_SYSTEM,
    EVIDENCE_TOKENS,
)
from ..team.lead import PERSONA_TOKENS
from ..team.machine import Phase, phases
from .amounts import NOTHING, Amounts, least_call
from .asks import Asking, Models, agent, asked, lone_prompt, written
from .compat import mas_tts
from .repeats import Known
from .texts import EMPTY, Given, Size, Topic, Words, known, reply

# Texts that the driver writes around what members say, in bytes at most.
_HEAD = 80  # `[round 3, #2 name, the team's solution]`, without the name
_LINE = 272  # of a digest, without the name
_BOARD = 96  # `Discussion so far:`, and how many messages are left out
_INTRODUCTION = 64  # `You are #2 of 7: name.`, without the name
_INSTRUCTION = 256
_SCORE = 48  # a line of the leaderboard
_SCORES = 64  # what stands around it
_EVIDENCE = 120 * CLIP_BYTES_PER_TOKEN
_DIGEST = 4000
_LEFT = 120  # `$1.50, 20000 tokens, 100 calls, 30 seconds`
_LIST = 128  # what a recruiter is asked for
_WORK = 256  # what a member at work is told
EXPECTED_POSTS = 2  # of each member at work in a round


def team(models: Models, flow: Team, topic: Topic, given: Given, *, cautious: bool) -> Amounts:
    """All rounds of flow; at least what it needs for an answer: one reply where cautious, because a budget may
    run out on any other, else what it asks before anything can end it."""
    if flow.compat:
        return mas_tts(models, flow, topic, given, cautious=cautious)
    rounds = _Rounds(models, flow, topic, given)
    least = least_call(models.of(role, flow.model).price for role in everyone(flow))
    calls = 1 if cautious else bounds(flow).least
    return rounds.total().at_least(least.times(calls))


def given_by(models: Models, flow: Team, given: Given) -> Given:
    """What comes out of flow."""
    text = max(models.text(member.role, flow.model) for member in flow.members)
    structured = any(member.role.output is not None for member in flow.members)
    return Given(1, text, given.text, max(text, given.peak), structured or given.structured)


def everyone(flow: Team) -> list[Role]:
    """The roles that flow asks, CEO, recruiter and evaluator included."""
    chief = None if flow.ceo is None else flow.ceo.role
    others = (chief, flow.recruit, flow.evaluate)
    return [*(member.role for member in flow.members), *(one for one in others if one is not None)]


@dataclass(slots=True)
class _Rounds:
    """posts: the whole board. longest: one post. said: how many there are. outside: posts of no member.
    spoken: names of roles that gave a solution. number: of the round. read: how much of what each sees the last
    call had before it, by role where each sees its own, in bytes as expected. opened: a round has begun.
    """

    models: Models
    flow: Team
    topic: Topic
    given: Given
    posts: Size = EMPTY
    longest: Size = EMPTY
    said: int = 0
    outside: Size = EMPTY
    number: int = 0
    spoken: set[str] = field(default_factory=set[str])
    read: dict[str, int] = field(default_factory=dict[str, int])
    opened: bool = False

    def total(self) -> Amounts:
        flow, total = self.flow, NOTHING
        came = reply(self.given.text).plus(Size(0, _HEAD // 2, _HEAD))
        self._tell(self.given.width, came)
        before: Amounts | None = None
        for cycle in range(1, flow.cycles + 1):
            here = self._cycle()
            total = total.plus(here)
            if cycle > 2 and here == before and not self.given.often:
                return total.plus(here.times(flow.cycles - cycle))
            before = here
        return total

    def _cycle(self) -> Amounts:
        flow = self.flow
        total = NOTHING if flow.recruit is None else self._recruiter(flow.recruit)
        before: Amounts | None = None
        for turn in range(1, flow.rounds + 1):
            self.number += 1
            here = self._round(self.number, opens=turn == 1)
            total = total.plus(here)
            if turn > 2 and here == before and not self.given.often:
                # Prompts are full: further rounds cost the same.
                total = total.plus(here.times(flow.rounds - turn))
                self.number += flow.rounds - turn
                break
            before = here
        return total.plus(self._end())

    def _end(self) -> Amounts:
        """What an execution finds lies on the board, and what an evaluator says of it."""
        flow, total = self.flow, NOTHING
        if flow.execute is not None:
            name = 2 * len(flow.execute.name.encode())
            self._tell(1, _clipped(EVIDENCE_TOKENS).plus(Size(0, _HEAD, _HEAD + _SCORE + name)))
        if flow.evaluate is not None:
            total = self._evaluator(flow.evaluate)
            name = len(flow.evaluate.name.encode())
            self._tell(1, _clipped(ADVICE_TOKENS).plus(Size(0, _HEAD // 2, _HEAD + name)))
        return total

    def _tell(self, count: int, one: Size) -> None:
        """Posts that no member wrote, which all see whatever they see of the others."""
        self._post(count, one)
        self.outside = self.outside.plus(one.times(count))

    def _round(self, number: int, *, opens: bool) -> Amounts:
        flow, given = self.flow, self.given
        total = NOTHING
        if given.often and number > 1 and (number - 1) % given.often == 0:
            self._tell(1, reply(given.theirs).plus(Size(0, _HEAD // 2, _HEAD)))
        if flow.ceo is not None and (number == 1 or flow.ceo.mode == "adaptive"):
            total = self._ceo(flow.ceo)
        seats = tuple(range(1, flow.size + 1))
        for phase in phases(flow.order, seats, opens=opens):
            total = total.plus(self._phase(number, phase))
        return total

    def _phase(self, number: int, phase: Phase) -> Amounts:
        members, total = self.flow.members, NOTHING
        by_seat = [kind for kind, member in enumerate(members) for _ in range(member.count)]
        kinds = Counter(by_seat[seat - 1] for seat in phase.seats)
        for kind, count in kinds.items():
            first, other = self._members(number, members[kind].role, phase)
            total = total.plus(first).plus(other.times(count - 1))
        self.opened = True
        for kind, count in kinds.items():
            role = members[kind].role
            head = _HEAD + len(role.name.encode())
            text = reply(self.models.text(role, self.flow.model))
            self._post(count, text.plus(Size(0, head // 2, head)))
            if self.flow.style == "work" and phase.part == "solve":
                self._told(count, role, head)
            if phase.part != "review":
                self.spoken.add(role.name)
        return total

    def _told(self, count: int, role: Role, head: int) -> None:
        """What members at work post beside their solutions: at most as often as they may call a tool."""
        text, most = _clipped(POST_TOKENS).plus(Size(0, head // 2, head)), role.turns * MOST_CALLS
        self._post(count, Size(0, EXPECTED_POSTS * text.expected, most * text.most))
        self.longest = Size(*map(max, self.longest, text))

    def _post(self, count: int, one: Size) -> None:
        self.posts = self.posts.plus(one.times(count))
        self.longest = Size(*map(max, self.longest, one)) if count else self.longest
        self.said += count

    # --- members ---------------------------------------------------------------------------------

    def _members(self, number: int, role: Role, phase: Phase) -> tuple[Amounts, Amounts]:
        """The first seat of the role to be asked in a phase, and any other."""
        asking = self.models.of(role, self.flow.model)
        cap = cap_of(role, asking.window)
        text = reply(self.models.text(role, self.flow.model))
        seen, own = self._seen(number, role, text), self._own(role, text)
        prompt = self._preface().plus(seen).plus(own)._replace(least=0)
        room = (asking.window - min(cap, asking.window // 2)) * FIT_BYTES_PER_TOKEN
        fits = prompt.expected <= room  # else older posts go, and with them what is behind them
        first, other = self._known(asking, role, prompt.expected, seen.expected, fits=fits)
        if self.flow.style == "work" and phase.part == "answer":
            role = replace(role, tools=())
        return agent(asking, prompt, cap, role, first), agent(asking, prompt, cap, role, other)

    def _known(
        self, asking: Asking, role: Role, prompt: int, seen: int, *, fits: bool
    ) -> tuple[Known, Known]:
        """What repeats of the two, of prompts of so many bytes in which the board takes seen."""
        words, alone = self._words(role, statement=self._alike), self._sees(role) == "own"
        alike = self._alike and self.flow.recruit is None
        system = role.system if alike and role.system is not None else written(SYSTEM)
        begins = words.begins(system, *([] if alike else [self._task()]))
        base = self.models.sent.known(asking.name, begins.text, 0)
        head = base.again + base.head
        if self.opened and not alike and self.topic.statement is None:
            head += self.topic.size.expected
        key = role.name if alone else ""
        steady = fits and begins.whole and self._sees(role) != "last"
        before = min(seen, self.read.get(key, 0)) if steady else 0
        self.read[key] = seen
        again = (head if self.opened else base.again) + before
        beside = head + (before if alone and self.opened else seen)
        if alike and not (alone and self.opened):  # own solutions stand on the board already
            tail = words.begins(role.prompt).alike
            beside = prompt if tail == words.of(role.prompt).expected else beside + tail
        # Another copy of the team reads the same in its first round, and later no more than the head.
        copy = 0 if self.opened else prompt
        first = Known(again, max(base.head, copy - again), base.head)
        return first, Known(beside, max(0, copy - beside), 0)

    def _task(self) -> Template:
        return written("Task:\n" + (self.topic.statement or ""))

    def _sees(self, role: Role) -> str:
        return role.sees or self.flow.sees

    def _preface(self) -> Size:
        size = known(SYSTEM).plus(self._scores())
        if not self._alike or self.flow.recruit is not None:
            size = size.plus(known("Task:\n")).plus(self.topic.size)
        return size

    @property
    def _alike(self) -> bool:
        return len(self.flow.members) == 1

    def _seen(self, number: int, role: Role, text: Size) -> Size:
        """What the role sees of the board; a seat posts twice a round at most."""
        seen = self.posts
        match self._sees(role):
            case "board":
                pass
            case "last":
                last = self.longest.times((role.last if role.sees else self.flow.last) or 1)
                seen = Size(*map(min, seen, last))
            case _:
                head = _HEAD + len(role.name.encode())
                mine = text.plus(Size(0, head // 2, head)).times(2 * number)
                seen = Size(*map(min, seen, self.outside.plus(mine)))
        return seen.plus(Size(0, _BOARD // 2, _BOARD))

    def _own(self, role: Role, text: Size) -> Size:
        """What stands last: direction, own last solution, who the member is, its prompt, what it is asked."""
        words = self._words(role, statement=self._alike)
        size = words.of(role.prompt)
        if role.system is not None:
            size = size.plus(words.of(role.system))
        fixed = _INTRODUCTION + len(role.name.encode()) + _INSTRUCTION
        size = size.plus(Size(0, fixed // 2, fixed))
        if role.name in self.spoken:
            size = size.plus(text).plus(known("\n\nYour last solution:\n"))
        if self.flow.ceo is not None:
            size = size.plus(_clipped(DIRECTION_TOKENS + ASSIGNMENT_TOKENS + 10))
        if self.flow.recruit is not None:
            size = size.plus(_clipped(PERSONA_TOKENS))
        if self.flow.style == "work":
            size = size.plus(Size(0, _WORK, _WORK))
            if has_files(role):
                size = size.plus(known(WORKSPACES[self.flow.workspace]))
        return size

    def _scores(self) -> Size:
        if not self.topic.visible:
            return Size()
        rounds = self.flow.rounds * self.flow.cycles
        most = _SCORES + _SCORE * rounds + min(self.topic.evidence, _EVIDENCE)
        if self.flow.style == "work":
            name = max(len(member.role.name.encode()) for member in self.flow.members)
            most = _SCORES + BEST * (_SCORE + name + SHORT_TOKENS * CLIP_BYTES_PER_TOKEN)
        return Size(0, most // 2, most)

    def _words(self, role: Role, *, statement: bool) -> Words:
        """The slots of a prompt in the team. statement: whether the task's own slot shows it."""
        named = len(role.name.encode()) + (
            0 if self.flow.recruit is None else PERSONA_TOKENS * CLIP_BYTES_PER_TOKEN
        )
        topic = self.topic if statement else replace(self.topic, statement="(the task above)")
        sizes = {
            "self.name": Size(0, named // 2, named),
            "team.leaderboard": self._scores().plus(known("none yet")),
            "team.digest": Size(0, min(_DIGEST, self._digest()) // 2, _DIGEST),
            "team.left": Size(0, _LEFT // 2, _LEFT),
        }
        view, known_sizes = topic.view()
        view["self"] = {"role": role.name}
        if self.flow.recruit is None:
            view["self"] = {"role": role.name, "name": role.name}
        inside = given_by(self.models, self.flow, self.given)
        given = Given(
            self.given.width,
            max(inside.text, self.given.text),
            max(self.given.before, self.given.text),
            structured=inside.structured,
        )
        return Words(view, sizes | known_sizes, given, self.topic.evidence)

    def _digest(self) -> int:
        name = max(len(member.role.name.encode()) for member in self.flow.members)
        return self.said * (_LINE + name)

    # --- those outside the number ------------------------------------------------------------------

    def _ceo(self, chief: Ceo) -> Amounts:
        role = chief.role
        asking = self.models.of(role, self.flow.model)
        cap = min(role.max_output or min(DEFAULT_OUTPUT, asking.window // 4), asking.window)
        words = self._words(role, statement=True)
        kinds = sum(16 + len(member.role.name.encode()) for member in self.flow.members)
        digest = min(self._digest(), max(200, asking.window)) + 32
        prompt = (
            (known(CEO_SYSTEM) if role.system is None else words.of(role.system))
            .plus(self.topic.size)
            .plus(known("Task:\n"))
            .plus(self._scores())
            .plus(Size(0, digest // 2, digest))
            .plus(Size(0, kinds + 64, kinds + 96 + _LEFT + 32))
            .plus(words.of(role.prompt))
            .plus(known(question(chief.sets, self.flow.size)))
        )
        own = tuple(f for f in role.output or () if may_set(f.name, chief.sets))
        output = own or ceo_output(chief.sets) or None
        known_ = self._around(asking, role, written(CEO_SYSTEM), self._task())
        if self.number == 1:
            known_ = known_._replace(alike=prompt.expected - known_.again)
        return asked(asking, prompt._replace(least=0), max(1, cap), output, 2, known_)

    def _around(self, asking: Asking, role: Role, system: Template, *then: Template) -> Known:
        """What repeats of who is asked beside the discussion."""
        begins = self._words(role, statement=True).begins(role.system or system, *then)
        return self.models.sent.known(asking.name, begins.text, 0)

    def _recruiter(self, role: Role) -> Amounts:
        asking = self.models.of(role, self.flow.model)
        prompt = lone_prompt(role, self._words(role, statement=True)).plus(Size(0, _LIST, _LIST))
        if self.flow.evaluate is not None and self.number:
            prompt = prompt.plus(_clipped(ADVICE_TOKENS)).plus(Size(0, _LINE // 2, _LINE))
        cap = cap_of(role, asking.window)
        known_ = self._around(asking, role, written(DEFAULT_SYSTEM), role.prompt)
        return asked(asking, prompt._replace(least=0), cap, role.output, 2, known_)

    def _evaluator(self, role: Role) -> Amounts:
        asking = self.models.of(role, self.flow.model)
        words = self._words(role, statement=True)
        text = max(self.models.text(member.role, self.flow.model) for member in self.flow.members)
        prompt = (
            (known(EVALUATOR_SYSTEM) if role.system is None else words.of(role.system))
            .plus(self.topic.size)
            .plus(known("Task:\n"))
            .plus(reply(text))
            .plus(words.of(role.prompt))
            .plus(known(EVALUATOR_QUESTION))
            .plus(Size(0, _LIST, _LIST))
        )
        if self.flow.execute is not None:
            name = len(self.flow.execute.name.encode())
            prompt = prompt.plus(_clipped(EVIDENCE_TOKENS)).plus(Size(0, _SCORE, _LIST + name))
        shaped = replace(role, output=role.output or EVALUATOR_OUTPUT)
        known_ = self._around(asking, role, written(EVALUATOR_SYSTEM), self._task())
        cap, prompt = cap_of(role, asking.window), prompt._replace(least=0)
        if role.tools:
            return agent(asking, prompt, cap, shaped, known_)
        return asked(asking, prompt, cap, shaped.output, 2, known_)


def _clipped(tokens: int) -> Size:
    room = tokens * CLIP_BYTES_PER_TOKEN
    return Size(0, room // 2, room)
