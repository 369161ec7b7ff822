"""Tests and experiments: what is tried rather than run, from their fields to `TestCase` and `Experiment`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from .accept import finished
from .conditions import only
from .convert import budget_of, flow_of
from .draft import Draft, is_abstract, nodes, roles
from .evaluate import Evaluator
from .fields import Got, got
from .kinds import TEST_NAMES
from .model import Model
from .names import did_you_mean, near
from .problem import Label, has_errors
from .program import Budget, Compare, Condition, Flow, OutputField, Role, Task, Verifier
from .reading import as_int, items, scalar, show
from .shapes import SOME_OUTPUT
from .source import Place
from .tried import Experiment, Fault, Reply, TestCase
from .values import Fields, Items, Noun, Tasks, Unknown, Value, is_condition

SIMULATED = Tasks(
    (
        Task(
            "simulated",
            "Solve the problem.",
            Verifier("simulated", "python", {"ref": "podium.engine.testing:scored"}),
            Compare("score", ">=", 0.9),
        ),
    )
)
"""The task of a test that has none: the simulator's agents say how good a reply is, and 0.9 passes."""


def test_case(evaluator: Evaluator, noun: Noun) -> TestCase:
    """The test that the fields describe; what is wrong with it is reported."""
    before = len(evaluator.problems)
    fields = got(evaluator, noun)
    tasks = fields.value("task")
    known = tasks if isinstance(tasks, Tasks) else None
    flow = flow_of(fields.value("flow"), fields.at("flow"))
    replies = _replies(evaluator, fields, flow)
    rules = {name: _rules(evaluator, fields, name) for name in ("always", "never")}
    if not has_errors(evaluator.problems[before:]):
        flow = _whole(evaluator, noun, flow, fields, tasks=known or SIMULATED, budget=Budget())
    return TestCase(
        noun.name,
        noun.place,
        flow,
        known.tasks if known is not None else (),
        tuple(fault for fault in items(fields.value("given")) if isinstance(fault, Fault)),
        replies,
        rules["always"],
        rules["never"],
        budget_of(fields.value("at_most")),
    )


def draft_of(evaluator: Evaluator, noun: Noun, test: TestCase) -> Draft:
    """The run that a test stands for. Its budget bounds nothing: `at_most` is looked at, not kept."""
    fields = got(evaluator, noun)
    model, tasks = fields.value("model"), fields.value("task")
    place, at = fields.at("flow"), fields.at("at_most")
    return Draft(
        noun.name,
        noun.place,
        test.flow,
        place,
        tasks if isinstance(tasks, Tasks) else SIMULATED,
        fields.at("task"),
        model if isinstance(model, Model) else None,
        replace(test.at_most, tokens=test.at_most.tokens or 10**15),
        at,
    )


def experiment(evaluator: Evaluator, noun: Noun) -> Experiment:
    """The experiment that the fields describe; what is wrong with it is reported."""
    before = len(evaluator.problems)
    fields = got(evaluator, noun)
    tasks = fields.value("task")
    known = tasks if isinstance(tasks, Tasks) else None
    each = fields.value("each")
    budget = budget_of(each)
    arms = _arms(evaluator, fields)
    _measured(evaluator, fields, budget)
    _scored(evaluator, noun, fields, known)
    if not has_errors(evaluator.problems[before:]):
        arms = tuple(
            (n, _whole(evaluator, noun, f, fields, tasks=known, budget=budget)) for n, f in arms
        )
    return Experiment(
        noun.name,
        noun.place,
        arms,
        known.tasks if known is not None else (),
        budget,
        each if isinstance(each, int) else None,
        as_int(fields.value("repeats"), 10),
    )


def _whole(
    evaluator: Evaluator, noun: Noun, flow: Flow, got: Got, *, tasks: Tasks | None, budget: Budget
) -> Flow:
    """The flow as a run would have it: with its last step and lifts, after the checks of a whole run."""
    if is_abstract(flow):
        return flow
    place = flow.place if noun.kind == "experiment" else got.at("flow")
    at = got.at("each") if noun.kind == "experiment" else noun.place
    draft = Draft(noun.name, noun.place, flow, place, tasks, got.at("task"), None, budget, at)
    if noun.kind == "experiment" and isinstance(most := got.value("each"), int):
        draft = replace(draft, max_agents=most, cap_place=at)
    return finished(evaluator, draft, final=False).flow


def arm_of(noun: Noun, made: Experiment, arm: tuple[str, Flow], tasks: Place) -> Draft:
    """The run that an arm of an experiment stands for, with all the tasks and what each run may spend."""
    name, flow = arm
    title, place, whole = f"{made.name}_{name}", noun.place, Tasks(made.tasks)
    draft = Draft(title, place, flow, flow.place, whole, tasks, None, made.budget, place)
    return draft if made.agents is None else replace(draft, max_agents=made.agents)


# --- tests ---------------------------------------------------------------------------------------


def _rules(evaluator: Evaluator, got: Got, name: str) -> tuple[Condition, ...]:
    rules = tuple(rule for rule in items(got.value(name)) if is_condition(rule))
    for rule in rules:
        only(evaluator, rule, TEST_NAMES, f"`{name}` of a test", got.at(name))
    return rules


def _replies(evaluator: Evaluator, got: Got, flow: Flow) -> Mapping[str, tuple[Reply, ...]]:
    """What each role answers; "" stands for all that are not named."""
    value = got.value("replies")
    if not isinstance(value, Fields):
        return {"": tuple(_several(evaluator, value, None, got.at("replies")))} if value else {}
    known = {role.name: role for node in nodes(flow) for role, _ in roles(node)}
    found: dict[str, tuple[Reply, ...]] = {}
    for name, reply in value.values.items():
        place = value.places[name]
        if name in known:
            found[name] = tuple(_several(evaluator, reply, known[name], place))
        elif not is_abstract(flow):
            evaluator.error(
                "E105",
                f"no role `{name}` takes part in the flow",
                place,
                help=did_you_mean(name, known)
                or "its roles are " + ", ".join(f"`{role}`" for role in known),
                secondary=(Label(got.at("flow"), "the flow"),),
                instead="".join(near(name, known, 1)),
            )
    return found


def _several(
    evaluator: Evaluator, value: Value, role: Role | None, place: Place
) -> Iterator[Reply]:
    """The replies that value is, one or a list of them."""
    for item in value.items if isinstance(value, Items) else (value,):
        match item:
            case str():
                yield item
            case Fields() if role is not None:
                yield _structured(evaluator, item, role, place)
            case Unknown():
                pass
            case _:
                evaluator.error(
                    "E120",
                    f"a reply is a text, or a record of the role's output, not {show(item)}",
                    place,
                    help='write, for example, `{ writer = "4", triage = [{ case = "easy" }] }`',
                )


def _structured(evaluator: Evaluator, reply: Fields, role: Role, place: Place) -> Reply:
    """A reply by its fields, which are those of the role's output."""
    output = {field.name: field for field in role.output or ()}
    if role.output == SOME_OUTPUT:
        return {}
    for name in reply.values:
        if name not in output:
            evaluator.error(
                "E106",
                f"the output of `{role.name}` has no field `{name}`",
                reply.places[name],
                help=did_you_mean(name, output, 1) or _has(role.name, output),
                instead="".join(near(name, output, 1)),
            )
        else:
            _answers(evaluator, output[name], reply.values[name], reply.places[name])
    lacking = [f.name for f in output.values() if f.required and f.name not in reply.values]
    if lacking and all(name in output for name in reply.values):
        evaluator.error(
            "E107", f"the reply of `{role.name}` has no `{lacking[0]}`", place,
            help=f"add `{lacking[0]} = …`, or write the reply as a text",
        )  # fmt: skip
    return {name: scalar(value) for name, value in reply.values.items()}


def _has(role: str, output: Mapping[str, OutputField]) -> str:
    if not output:
        return f"`{role}` has no `output`: write its reply as a text"
    return "it has " + ", ".join(f"`{name}`" for name in output)


def _answers(evaluator: Evaluator, field: OutputField, value: Value, place: Place) -> None:
    """E125 for a word that is none of the field's choices."""
    choices = field.type
    if field.is_list or not isinstance(choices, tuple) or not isinstance(value, str):
        return
    if value not in choices:
        words = ", ".join(f'"{word}"' for word in choices)
        evaluator.error(
            "E125",
            f"`{field.name}` is one of {words}, not {show(value)}",
            place,
            help=did_you_mean(value, choices),
        )


# --- experiments ---------------------------------------------------------------------------------


def _arms(evaluator: Evaluator, got: Got) -> tuple[tuple[str, Flow], ...]:
    """The arms by name; those of a list are named by their flows, and numbered where these are alike."""
    value, place = got.value("arms"), got.at("arms")
    if isinstance(value, Fields):
        arms = [(n, flow_of(f, value.places[n])) for n, f in value.values.items()]
    else:
        flows = [flow_of(item, place) for item in items(value)]
        arms = list(zip(_numbered([f.label for f in flows]), flows, strict=True))
    if len(arms) < 2 and got.known("arms"):
        evaluator.error(
            "E112",
            "an experiment compares two arms at least",
            place,
            help="add another: `arms = { one = agent, many = parallel(8) of agent -> best }`",
        )
    return tuple(arms)


def _numbered(labels: list[str]) -> list[str]:
    return [
        label if labels.count(label) == 1 else f"{label}_{labels[:i].count(label) + 1}"
        for i, label in enumerate(labels)
    ]


def _measured(evaluator: Evaluator, got: Got, budget: Budget) -> None:
    """E308 for a budget by which arms cannot be made equal: times differ with the machine."""
    if got.known("each") and (budget.seconds is not None or budget.share is not None):
        evaluator.error(
            "E308",
            "arms are made equal in dollars, tokens, calls or agents, not in a time or a share",
            got.at("each"),
            help="write, for example, `each = [500k tokens]`",
        )


def _scored(evaluator: Evaluator, noun: Noun, got: Got, tasks: Tasks | None) -> None:
    """E201 for a task without a verifier: arms are compared by their scores."""
    task: Task | None = tasks.tasks[0] if tasks is not None and tasks.tasks else None
    if task is not None and task.verify is None:
        evaluator.error(
            "E201",
            f"experiment `{noun.name}` compares scores, but task `{task.name}` has no `verify`",
            got.at("task"),
            help="give the task `verify = …`",
        )
