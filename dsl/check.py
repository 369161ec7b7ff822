"""Every declaration of a file and of its imports, evaluated with unknown parameters; every run with defaults."""

from . import syntax, trials
from .accept import finished, models
from .calling import parameter_type, rule
from .draft import is_abstract, of_run
from .evaluate import CALLED, Evaluator
from .fields import is_readable
from .kinds import KINDS
from .problem import Problem, first, has_errors
from .scope import Files, hidden_by_parameters, unused
from .shapes import stand_in
from .source import Place
from .values import Module, Noun, Scope, Unknown, UserFlow, Value


def problems_of(files: Files, main: Module, *, runs: bool = True) -> tuple[Problem, ...]:
    """All mistakes of main and of what it imports, in order, one for each place and code.

    runs False leaves out what depends on choices outside the file: the budgets, models and tasks of runs.
    """
    evaluator = Evaluator(files, main=main)
    found: list[Problem] = []
    for module in list(files.modules.values()):
        for declaration in module.file.declarations:
            if module.declared.get(declaration.name) is declaration:
                _check(evaluator, module, declaration, runs=runs)
        found += hidden_by_parameters(module)
    found += files.problems + [p for p in evaluator.problems if not _covers_form(p, files)]
    if not has_errors(found):  # what is broken may be what should use a name
        found += unused(main)
    return in_order(found, main)


def _covers_form(problem: Problem, files: Files) -> bool:
    """Whether a mistake of form stands in the very place: what it was read as is a guess."""
    at = problem.place
    return any(
        p.severity == "error"
        and p.place.source.name == at.source.name
        and at.span.start <= p.place.span.start < at.span.end
        for p in files.problems
        if p.code.startswith("T")
    )


def in_order(problems: list[Problem], main: Module) -> tuple[Problem, ...]:
    """Main's problems first, then those of each import; of one place and code only the first."""
    kept: dict[tuple[str, int, str], Problem] = {}
    for problem in problems:
        key = (problem.place.source.name, problem.place.span.start, problem.code)
        if key not in kept or (_is_of_call(kept[key]) and not _is_of_call(problem)):
            kept[key] = problem
    sorted_ = first(list(kept.values()))
    own = [p for p in sorted_ if p.place.source.name == main.source.name]
    return (*own, *(p for p in sorted_ if p.place.source.name != main.source.name))


def _is_of_call(problem: Problem) -> bool:
    """Whether a call brought it; what a flow's own text brings is told without one."""
    return any(label.text == CALLED for label in problem.secondary)


def _check(
    evaluator: Evaluator, module: Module, declaration: syntax.Declaration, *, runs: bool
) -> None:
    scope = Scope(module, module.source, {})
    if not _well_formed(evaluator, declaration, scope):
        return
    before = len(evaluator.problems)
    value = evaluator.declared(module, declaration)
    match value:
        case UserFlow() if declaration.kind == "flow":
            _flow(evaluator, value)
        case Noun(kind="run"):
            _run(evaluator, module, value, before, runs=runs)
        case Noun(kind="test"):
            trials.test_case(evaluator, value)
        case Noun(kind="experiment"):
            trials.experiment(evaluator, value)
        case Noun():
            evaluator.built(value)
        case _:
            pass


def _well_formed(evaluator: Evaluator, declaration: syntax.Declaration, scope: Scope) -> bool:
    """E116 for a declaration in a form that its kind does not have."""
    kind = KINDS.get(declaration.kind)
    if kind is None:
        return False  # reported by the parser
    place = scope.place(declaration.name_span)
    braces = isinstance(declaration.value, syntax.Record)
    if declaration.kind != "flow" and (declaration.params is not None or declaration.of_param):
        evaluator.error(
            "E116",
            f"a {kind.name} takes no parameters",
            place,
            help="only a flow does; a `param` of the file may be used anywhere",
        )
        return False
    if braces and "fields" not in kind.form:
        evaluator.error(
            "E116",
            f"a {kind.name} is an expression, not a block",
            place,
            help=f"write `{kind.name} {declaration.name} = …`",
        )
        return False
    if declaration.value is None and declaration.kind != "param":
        what = "{ … }" if "fields" in kind.form else "= …"
        evaluator.error(
            "E116",
            f"{kind.name} `{declaration.name}` is empty",
            place,
            help=f"write `{kind.name} {declaration.name} {what}`",
        )
        return False
    if declaration.type is not None and declaration.kind != "param":
        evaluator.error("E116", f"a {kind.name} takes no type", scope.place(declaration.type.span))
    return True


def _flow(evaluator: Evaluator, flow: UserFlow) -> None:
    """The flow with every parameter unknown, so that no value can hide a mistake."""
    declaration = flow.declaration
    values: dict[str, Value] = {}
    for param in declaration.params or ():
        place = Place(flow.outer.source, param.name_span)
        if param.name in values:
            evaluator.error("E103", f"parameter `{param.name}` is declared twice", place)
        kind = parameter_type(evaluator, param, flow.outer)
        if param.default is not None:
            evaluator.ruled(param.default, flow.outer, kind, rule(param, flow.outer))
        values[param.name] = Unknown(kind)
    if declaration.of_param is not None:
        place = Place(flow.outer.source, declaration.of_span or declaration.name_span)
        if declaration.of_param in values:
            evaluator.error("E103", f"parameter `{declaration.of_param}` is declared twice", place)
        values[declaration.of_param] = stand_in(declaration.of_param, place)
    evaluator.expand(flow, values, Place(flow.outer.source, declaration.name_span))


def _run(evaluator: Evaluator, module: Module, noun: Noun, before: int, *, runs: bool) -> None:
    """The run with the defaults of all parameters; the checks of a whole run only where its parts are sound."""
    draft = of_run(evaluator, noun)
    if not is_readable(noun):
        return
    if not runs or has_errors(evaluator.problems[before:]) or is_abstract(draft.flow):
        return
    models(evaluator, module, finished(evaluator, draft, final=False), final=False)
