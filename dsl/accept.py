"""What a run must keep before anything is called: verifiers, budgets, models, size; and its last step.

Every function here reports into the evaluator and goes on, so that all mistakes come in one go.
"""

from dataclasses import replace
from typing import Literal

from .accounts import affordable, dollars, nested
from .advice import judges, spare, unopened, unworked
from .blame import at_call
from .bounds import bounds
from .conditions import names
from .draft import Draft, default_model, nodes, roles, used_models
from .evaluate import Evaluator
from .model import Model
from .outfit import outfitted
from .problem import Label
from .program import (
    Agent,
    Condition,
    Fallback,
    Flow,
    ForEach,
    Parallel,
    Reduce,
    Repeat,
    Role,
    Same,
    Slot,
    Task,
    Team,
    Text,
    Then,
    Verifier,
    subflows,
)
from .shapes import takes
from .source import Place
from .values import Module


def finished(evaluator: Evaluator, draft: Draft, *, final: bool) -> Draft:
    """The draft with its last step and its lifts, after every check of it.

    final: nothing more will be given, so that a run without a task has none.
    """
    before = len(evaluator.problems)
    done = _finished(evaluator, draft, final=final)
    found = evaluator.problems[before:]
    evaluator.problems[before:] = [at_call(p, draft.flow_place) for p in found]
    return done


def _finished(evaluator: Evaluator, draft: Draft, *, final: bool) -> Draft:
    shape = evaluator.shapes.of(draft.flow)
    if "task" not in shape:
        evaluator.error(
            "E202",
            f"a run begins with a Task, and `{draft.flow.label}` wants {takes(shape)}",
            draft.flow_place,
            help="begin with a team or a role whose prompt mentions only the task: `agent -> …`",
        )
        return draft
    if draft.tasks is not None or final:
        _verifier_rules(evaluator, draft)
    nested(evaluator, draft, notes=not final)
    if shape["task"] == "many":
        draft = replace(draft, flow=_last_step(evaluator, draft, final=final))
    draft = replace(draft, flow=evaluator.shapes.lifted(draft.flow, "task"))
    draft = outfitted(evaluator, draft)
    unopened(evaluator, draft)
    unworked(evaluator, draft)
    _size(evaluator, draft)
    return draft


# --- what needs a verifier -----------------------------------------------------------------------


def _verifier_rules(evaluator: Evaluator, draft: Draft) -> None:
    whole = draft.tasks.tasks[0] if draft.tasks is not None else None
    parts = _in_parts(draft.flow)
    for node in nodes(draft.flow):
        task = _PART if id(node) in parts else whole
        match node:
            case Reduce(how="best" | "top" | "score" as how, by=None) if not _verified(task):
                why = f"`{how}` must compare attempts"
                _no_verifier(evaluator, draft, why, node.place, task)
            case Parallel(passes=int()) if not _passes(task):
                _no_pass(evaluator, draft, "`stop` waits for a pass", node.place, task)
            case Fallback(accept=None) if not _passes(task):
                why = "`fallback` needs to know what is accepted"
                _no_pass(evaluator, draft, why, node.place, task)
            case Fallback(accept=rule) if rule is not None:
                _rule(evaluator, draft, rule, node.place, task)
            case Repeat(until=rule) if rule is not None:
                _rule(evaluator, draft, rule, node.place, task)
            case Team(until=rule) if rule is not None:
                _rule(evaluator, draft, rule, node.place, task)
                _hidden(evaluator, rule, node.place, task)
            case _:
                pass


# A part that `for_each` makes is a task of its own, and nobody could have written a verifier for it.
_PART = Task("a part of `for_each`", "")


def _in_parts(flow: Flow) -> set[int]:
    """What works on parts: all that stands in a `for_each`, by id."""
    found = set[int]()
    waiting = [node.flow for node in nodes(flow) if isinstance(node, ForEach)]
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found.add(id(one))
            waiting.extend(subflows(one))
    return found


def _verified(task: Task | None) -> bool:
    return task is not None and task.verify is not None


def _passes(task: Task | None) -> bool:
    """Whether something can say `passed`: a pass rule, or a verifier that may give a bool or a Verdict."""
    if task is None or task.verify is None:
        return False
    return task.pass_rule is not None or _says_passed(task.verify)


def _says_passed(verifier: Verifier) -> bool:
    """Whether it may say `passed` by itself: not what gives only a score."""
    match verifier.kind:
        case "judge" | "panel" | "weighted":
            return False
        case "all_of":
            return all(map(_says_passed, verifier.parts))
        case "any_of":
            return any(map(_says_passed, verifier.parts))
        case _:
            return True


def _rule(
    evaluator: Evaluator, draft: Draft, rule: Condition, place: Place, task: Task | None
) -> None:
    asked = set(names(rule))
    if asked & {"score", "plateau"} and not _verified(task):
        evaluator.error(
            "E203",
            "nothing here gives the score that the condition asks for",
            place,
            secondary=_task_label(draft, task),
            help=_OUTSIDE if task is _PART else "give the task a `verify`",
            about=_lacking(task),
        )
    if "passed" in asked and not _passes(task):
        _no_pass(evaluator, draft, "`passed` is never true here", place, task)


def _hidden(evaluator: Evaluator, rule: Condition, place: Place, task: Task | None) -> None:
    asked = set(names(rule)) & {"score", "passed", "plateau"}
    if asked and task is not None and task.verify is not None and task.verify.use == "final":
        evaluator.error(
            "E203",
            f"a team does not see the scores of `{task.verify.name}`, which are final",
            place,
            help="test it outside the team, with `repeat` or `fallback`, or set `use = always`",
        )


_OUTSIDE = "a part of `for_each` has no verifier: ask for it outside, where the task's own is"


def _no_verifier(
    evaluator: Evaluator, draft: Draft, why: str, place: Place, task: Task | None
) -> None:
    has = f"task `{task.name}` has no `verify`" if task is not None else "there is no task"
    has = f"{_PART.name} has no `verify`" if task is _PART else has
    give = "move it behind the `for_each`" if task is _PART else "give the task `verify = …`"
    evaluator.error(
        "E201",
        f"{why}, but {has} and no `by =` was given",
        place,
        secondary=_task_label(draft, task),
        help=f"{give}, or write `by = {_some_verifier(evaluator)}` here",
        about=_lacking(task),
    )


def _lacking(task: Task | None) -> str:
    """What a task lacks is one mistake, however many steps ask for it."""
    if task is None or task is _PART:
        return ""
    return f"{'pass' if task.verify is not None else 'verify'} of task {task.name}"


def _some_verifier(evaluator: Evaluator) -> str:
    """A verifier of the file, for a suggestion."""
    declared = evaluator.main.declared.values() if evaluator.main is not None else ()
    return next((d.name for d in declared if d.kind == "verifier"), 'exact("…")')


def _no_pass(evaluator: Evaluator, draft: Draft, why: str, place: Place, task: Task | None) -> None:
    code = "E217" if why.startswith("`fallback`") else "E209"
    evaluator.error(
        code,
        f"{why}, and no pass rule says what passes",
        place,
        secondary=_task_label(draft, task),
        help=(_OUTSIDE if task is _PART else "give the task a rule, `pass = score >= 1`")
        + (", or write `accept = score >= 0.8`" if code == "E217" else ""),
        about=_lacking(task),
    )


def _task_label(draft: Draft, task: Task | None) -> tuple[Label, ...]:
    return () if task is None or task is _PART else (Label(draft.task_place, "the task"),)


# --- the last step -------------------------------------------------------------------------------


def _last_step(evaluator: Evaluator, draft: Draft, *, final: bool) -> Flow:
    """The flow with `best`, or `vote` where answers can be compared, behind its many attempts."""
    task = draft.tasks.tasks[0] if draft.tasks is not None else None
    how: Literal["best", "vote"] = "best"
    if not _verified(task):
        if task is None and not final:
            return draft.flow
        if not all(role.output for role in _authors(draft.flow)):
            _no_verifier(
                evaluator,
                draft,
                "the run ends with many attempts to choose from",
                draft.flow_place,
                task,
            )
            return draft.flow
        how = "vote"
    last = Reduce(how, draft.flow.place, how)
    return Then("then", draft.flow.place, (*_chained(draft.flow), last))


def _chained(flow: Flow) -> tuple[Flow, ...]:
    """The steps of a chain that has no name of its own, else the flow as one step."""
    return flow.steps if isinstance(flow, Then) and flow.label == "then" else (flow,)


def _authors(flow: Flow) -> list[Role]:
    """The roles whose replies come out of flow."""
    match flow:
        case Agent(role=role):
            return [role]
        case Team(members=members):
            return [member.role for member in members]
        case Then(steps=steps):
            for step in reversed(steps):
                if not isinstance(step, Reduce | Same):
                    return _authors(step)
            return []
        case _:
            return [role for inner in subflows(flow) for role in _authors(inner)]


def _size(evaluator: Evaluator, draft: Draft) -> None:
    agents = bounds(draft.flow).agents
    if agents > draft.max_agents:
        evaluator.error(
            "E305",
            f"the run expands to {_count(agents)} agents; the cap is {draft.max_agents:,}",
            draft.flow_place,
            help="make it smaller, or raise `max_agents` of the run",
            secondary=() if draft.cap_place is None else (Label(draft.cap_place, "the cap"),),
        )


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than a quadrillion"


# --- models --------------------------------------------------------------------------------------


def models(
    evaluator: Evaluator, main: Module, draft: Draft, *, final: bool
) -> tuple[dict[str, Model], str]:
    """The models the run uses, by name, and the default one's name; what forbids them is reported."""
    chosen, open_ = used_models(draft)
    used = {name: m for name in chosen if (m := evaluator.model(name)) is not None}
    default = default_model(evaluator, main, draft)
    if open_ or not used:
        if default is None:
            if final:
                _no_model(evaluator, main, draft)
            default = next(iter(used.values()), None)
        if default is not None:
            default = _renamed(default, used)
            used[default.name] = default
    affordable(evaluator, draft, used)
    if not final:
        spare(evaluator, draft, used, dollars(draft))
        judges(evaluator, draft, default)
    _windows(evaluator, draft, used, default)
    name = default.name if default is not None and default.name in used else next(iter(used), "")
    return used, name


def _renamed(default: Model, used: dict[str, Model]) -> Model:
    """The default model under a name that no other model of the run has."""
    while used.get(default.name, default) != default:
        default = replace(default, name=f"{default.name}_")
    return default


_CHARACTERS = 4  # of English text in a token, about
_REPLY = 2_000  # tokens, where a role caps nothing


def _windows(
    evaluator: Evaluator, draft: Draft, used: dict[str, Model], default: Model | None
) -> None:
    """W605 for a prompt that is longer than its model's window by its own constants."""
    for node in nodes(draft.flow):
        for role, place_model in roles(node):
            name = role.model or place_model
            model = used.get(name) if name is not None else default
            needed = _needed(role)
            if model is not None and model.context is not None and needed > model.context:
                evaluator.error(
                    "W605",
                    f"`{role.name}` may need {needed:,} tokens with its reply, and model "
                    f"`{model.name}` has {model.context:,}",
                    node.place,
                    help="clip more, lower `max_output`, or choose a model with a larger window",
                    severity="warning",
                )


def _needed(role: Role) -> int:
    """Tokens of the constant text, of what is clipped, and of the reply."""
    parts = [*role.prompt.parts, *(role.system.parts if role.system is not None else ())]
    text = sum(len(part.text) for part in parts if isinstance(part, Text)) // _CHARACTERS
    clips = [c.args[0] for p in parts if isinstance(p, Slot) for c in p.filters if c.name == "clip"]
    reply = _REPLY if role.max_output is None else role.max_output
    return text + sum(c for c in clips if isinstance(c, int)) + reply


def _no_model(evaluator: Evaluator, main: Module, draft: Draft) -> None:
    several = [name for name, d in main.declared.items() if d.kind == "model"]
    evaluator.error(
        "E220",
        "several models are declared, and some roles choose none of them",
        draft.place,
        help=f"write `model = {several[0] if several else 'name'}` in the run, "
        "the team or the role, or give `--model`",
    )
