"""What a team under `compat = mas_tts` may cost: every step three times, prompts as long as replies. Pure."""

from functools import partial

from podium.dsl.bounds import bounds
from podium.dsl.compat import MAS_TTS_TRIES
from podium.dsl.program import Role, Team

from ..agent.act import cap_of
from ..team import mas_tts as table
from .amounts import NOTHING, Amounts, least_call
from .asks import Models, asked
from .repeats import Known
from .texts import EMPTY, Given, Size, Topic, known, reply

# Around the pieces of a prompt: names of slots, numbers, tags; generous.
_AROUND = 400


def mas_tts(models: Models, flow: Team, topic: Topic, given: Given, *, cautious: bool) -> Amounts:
    """All turns of flow with all its seats; at least the five calls of two who agree at once and are right."""
    assert flow.ceo is not None
    assert flow.recruit is not None
    assert flow.evaluate is not None
    chief, recruit, evaluate = flow.ceo.role, flow.recruit, flow.evaluate
    solver, critic = (member.role for member in flow.members)
    solution = reply(max(models.text(solver, flow.model), given.text))
    review = reply(models.text(critic, flow.model))
    advice = reply(models.text(evaluate, flow.model))
    persona = reply(models.text(recruit, flow.model))
    direction = reply(models.text(chief, flow.model))
    own = persona.plus(direction)
    longest = Size(*map(max, solution, review, direction))

    step = partial(_step, models, flow, topic)
    heard = longest.plus(persona)
    solve = step(solver, table.SOLVER_ASK, own, heard.times(table.SOLVER_WINDOW))
    read = heard.times(table.CRITIC_WINDOW)
    criticise = step(critic, table.CRITIC_ASK, own, read, alike=read)
    reviews = criticise.times(flow.size - 1, alike=True).onward()
    turn = (
        step(chief, table.CEO_SYSTEM + table.CEO_ASK, solution, advice)
        .plus(step(recruit, table.RECRUITER_ASK, advice))
        .plus(step(evaluate, table.EVALUATOR_ASK, solution, persona))
        .plus(solve.times(flow.rounds + 1))
        .plus(reviews.times(flow.rounds))
    )
    roles = (chief, recruit, solver, critic, evaluate)
    least = least_call(models.of(role, flow.model).price for role in roles)
    total = NOTHING.plus(turn.times(flow.cycles))
    return total.at_least(least.times(1 if cautious else bounds(flow).least))


def _step(
    models: Models,
    flow: Team,
    topic: Topic,
    role: Role,
    ask: str,
    *pieces: Size,
    alike: Size = EMPTY,
) -> Amounts:
    """A call of role. alike: what others who are asked at the same time read too, the task apart."""
    asking = models.of(role, flow.model)
    prompt = known(ask).plus(topic.size).plus(Size(0, _AROUND, _AROUND))
    for piece in pieces:
        prompt = prompt.plus(piece)
    head, cap = topic.size.expected, cap_of(role, asking.window)
    known_ = Known(0, head + alike.expected, head)
    once = asked(asking, prompt._replace(least=0), cap, None, 2, known_)
    return once.plus(once.perhaps().times(MAS_TTS_TRIES - 1))
