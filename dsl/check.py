"""Every declaration of a file and of its imports, evaluated with unknown parameters; every run with defaults."""

from collections.abc import Callable

from . import syntax, trials
from .accept import finished, models
from .arguments import parameter_type, rule
from .blame import is_called, named_once, shown_directly
from .draft import is_abstract, of_run
from .evaluate import Evaluator
from .fields import is_readable
from .forms import well_formed
from .problem import Problem, first, has_errors, ordered
from .scope import Files, hidden_by_parameters, unused
from .shapes import stand_in
from .source import Place, Span
from .syntax import part_at
from .types import ANY
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
    is_guessed = _guessed(files)
    found += files.problems + [p for p in evaluator.problems if not is_guessed(p)]
    if not has_errors(found):  # what is broken may be what should use a name
        found += unused(main)
    return in_order(found, main)


_EXACT = {"T004", "T031", "T032"}
"""Mistakes of form that leave no doubt about what is written around them."""


def _is_exact(problem: Problem) -> bool:
    place = problem.place
    one_word = " " not in place.source.text[place.span.start : place.span.end]
    return problem.code in _EXACT or (problem.code == "T006" and bool(problem.edits) and one_word)


def _guessed(files: Files) -> Callable[[Problem], bool]:
    """Whether a problem stands in a field, or covers a place, that could not be read: there all is a guess."""
    wrong = [p for p in files.problems if p.code.startswith("T") and p.severity == "error"]
    unread: dict[str, list[Span]] = {}
    for problem in wrong:
        place, module = problem.place, files.modules.get(problem.place.source.name)
        unread.setdefault(place.source.name, []).append(place.span)
        if module is not None and not _is_exact(problem):
            unread[place.source.name].append(part_at(module.file, place.span.start))

    def is_guessed(problem: Problem) -> bool:
        here, text = problem.place.span, problem.place.source.text
        spans = unread.get(problem.place.source.name, ())
        return any(
            here.start <= span.start < here.end
            or span.start <= here.start < span.end
            or (span.end < here.start and not text[span.end : here.start].strip(" "))
            for span in spans
        )

    return is_guessed


def in_order(problems: list[Problem], main: Module) -> tuple[Problem, ...]:
    """Main's problems first, then those of each import; of one place and code only the first."""
    kept: dict[tuple[str, int, str], Problem] = {}
    for problem in problems:
        key = (problem.place.source.name, problem.place.span.start, problem.code)
        if key not in kept or (is_called(kept[key]) and not is_called(problem)):
            kept[key] = problem
    sorted_ = first(list(named_once(ordered(list(shown_directly(list(kept.values())))))))
    own = [p for p in sorted_ if p.place.source.name == main.source.name]
    return (*own, *(p for p in sorted_ if p.place.source.name != main.source.name))


def _check(
    evaluator: Evaluator, module: Module, declaration: syntax.Declaration, *, runs: bool
) -> None:
    scope = Scope(module, module.source, {})
    if not well_formed(evaluator, declaration, scope):
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


def _flow(evaluator: Evaluator, flow: UserFlow) -> None:
    """The flow with every parameter unknown, so that no value can hide a mistake."""
    declaration = flow.declaration
    values: dict[str, Value] = {}
    for param in declaration.params or ():
        place = Place(flow.outer.source, param.name_span)
        if param.name in values:
            evaluator.error("E103", f"parameter `{param.name}` is declared twice", place)
        kind = parameter_type(evaluator, param, flow.outer)
        if param.default is not None and (kind != ANY or param.type is None):
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
    if not is_readable(noun) or noun.unsure:
        return
    if not runs or has_errors(evaluator.problems[before:]) or is_abstract(draft.flow):
        return
    models(evaluator, module, finished(evaluator, draft, final=False), final=False)
