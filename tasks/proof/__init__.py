"""Formal proofs: of a statement in Metamath, checked here as data, or in Agda, checked by `agda --safe` apart.

The statement is ours to the last symbol: what is handed in is added to a theory that ships, and what is proved at
the end is compared with what was asked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from podium.dsl.library import ArgumentError
from podium.dsl.names import did_you_mean
from podium.dsl.program import Compare, Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.value import Attempt, Verdict
from podium.engine.verify import answered

from ..arguments import Text, Truth, only, truth
from ..harness import chosen, source, verifier
from .database import fitting, statements
from .metamath import ADDED, Database, Wrong

_PROBLEM = Text("problem")
_CONTROL = Truth("control")
_THEORIES = ("logic", "strings")
_MOST_CHARACTERS = 100_000
_PASS = Compare("score", ">=", 1.0)
_SECTION = re.compile(r"^\$\( @ (\S+) \$\)$", re.MULTILINE)
_PROOF = re.compile(r"\$=[^$]*\$\.")
# No puzzle's solution: the number of I is never divisible by three, as no rule changes that.
_IMPOSSIBLE = "impossible $p |- M U $= ? $."
_FALSE = "(n : Nat) -> n == suc n"


@dataclass(frozen=True, slots=True)
class Problem:
    """proof: ours. wanted: what is to be proved, in Metamath without its proof, in Agda the type of `proof`.

    theory: what comes before it.
    """

    theory: str
    wanted: str
    proof: str
    is_agda: bool = False


def make(**args: Scalar) -> Task:
    """The statement `problem` (by name).

    control = true: one in the same language that cannot be proved. Raises ArgumentError.
    """
    only(args, _PROBLEM, _CONTROL)
    shipped = _shipped()
    name, problem = chosen(args, "proof", {name: (name, one) for name, one in shipped.items()})
    if truth(args, _CONTROL):
        if problem.is_agda:
            return _agda("agda-control", Problem(problem.theory, _FALSE, "", is_agda=True))
        return _metamath("control", Problem(shipped["middle"].theory, _IMPOSSIBLE, ""))
    return _agda(name, problem) if problem.is_agda else _metamath(name, problem)


def load(text: str, **args: Scalar) -> list[Task]:
    """Of a Metamath database the theorem `problem`, else all without a proof, else all. Raises ArgumentError."""
    only(args, _PROBLEM)
    try:
        found = statements(text)
    except Wrong as wrong:
        raise ArgumentError("file", f"it is no Metamath database that holds: {wrong}") from wrong
    if "problem" in args:
        wanted = str(args["problem"])
        known = [one.label for one in found]
        if wanted not in known:
            help_ = did_you_mean(wanted, known)
            raise ArgumentError("problem", f"it has no theorem {wanted}", help=help_)
        found = [one for one in found if one.label == wanted]
    found = [one for one in found if one.is_open] or found
    if why := fitting(found):
        raise ArgumentError("file", why)
    return [_metamath(one.label, Problem(one.theory, one.wanted, "")) for one in found]


def names() -> tuple[str, ...]:
    """The statements that ship."""
    return tuple(_shipped())


def _shipped() -> Mapping[str, Problem]:
    found: dict[str, Problem] = {}
    for theory in _THEORIES:
        before, *parts = _SECTION.split(_text(f"{theory}.mm"))
        for name, block in zip(parts[::2], parts[1::2], strict=True):
            proof = block.strip()
            found[name] = Problem(before.strip(), _PROOF.sub("$= ? $.", proof), proof)
            before = f"{before.rstrip()}\n\n{proof}\n"
    theory, *parts = re.split(r"^-- @ (\S+) : (.*)$", _text("agda.txt"), flags=re.MULTILINE)
    for name, wanted, proof in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        found[name] = Problem(theory.strip(), wanted, proof.strip(), is_agda=True)
    return found


def _text(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def _metamath(name: str, problem: Problem) -> Task:
    checks = {
        "ref": "podium.tasks.proof:verify",
        "theory": problem.theory,
        "wanted": problem.wanted,
    }
    return Task(
        f"proof/{name}",
        "Prove the last statement of this Metamath database: hand it in again, with all of the `${` `$}` around "
        "it if there is any, in one fenced block, with a proof in place of the question mark. Lemmas with their "
        "proofs may stand before it; constants, variables, axioms and includes may not.\n\n"
        f"```\n{problem.theory}\n\n{problem.wanted}\n```",
        Verifier("proof", "python", checks),
        _PASS,
    )


def _agda(name: str, problem: Problem) -> Task:
    given = {"theory": problem.theory, "wanted": problem.wanted}
    return Task(
        f"proof/{name}",
        "Prove this in Agda:\n\n"
        f"    proof : {problem.wanted}\n\n"
        "The module `Theory`, which is opened for you, is below; nothing else can be imported, and there are no "
        "pragmas. Answer with declarations, the last of which define `proof`, in one fenced block; without "
        f"`module` and `import` lines.\n\n```agda\n{problem.theory}\n```",
        verifier("proof", "proof.agda", given),
        _PASS,
        # Scored before anything is paid: so a run ends at once where there is no Agda.
        baseline="nothing",
    )


def verify(attempt: Attempt, task: Task) -> Verdict:
    """1 where the Metamath proof holds, else 0. Raises ValueError on other tasks."""
    if task.verify is None:
        raise ValueError(f"the task {task.name} has no verifier")
    theory, wanted = (task.verify.args.get(name) for name in ("theory", "wanted"))
    if not isinstance(theory, str) or not isinstance(wanted, str):
        raise ValueError(f"the verifier of {task.name} needs theory and wanted (texts)")
    return judge(source.code(answered(attempt.answer, attempt.text)), theory, wanted)


def judge(text: str, theory: str, wanted: str) -> Verdict:
    """Judge text, an addition to theory, by the rules in the family's README."""
    if len(text) > _MOST_CHARACTERS:
        return Verdict(0.0, False, f"there are more than {_MOST_CHARACTERS:,} characters")
    asked, given = Database(), Database()
    asked.read(f"{theory}\n{wanted}", check=False)
    given.read(theory, check=False)
    last = next(reversed(asked.assertions.values()))
    own = {"$v", "$f"} & {*wanted.split()}
    try:
        given.read(text, allowed=ADDED | own)
    except Wrong as wrong:
        flags = (f"{wrong.keyword} in a proof",) if wrong.keyword else ()
        return Verdict(0.0, False, str(wrong), flags=flags)
    found = given.assertions.get(last.label)
    if found is None:
        return Verdict(0.0, False, f"there is no theorem {last.label} in the answer")
    if found.statement != last.statement:
        why = f"{last.label} is not what was asked: hypotheses, $d and statement stay as they are"
        return Verdict(0.0, False, why, flags=("another statement",))
    return Verdict(1.0, True)


def reference(task: Task) -> str:
    """Our proof. Raises ArgumentError for the control, which has none."""
    name = task.name.partition("/")[2]
    if name not in _shipped():
        raise ArgumentError("problem", f"{name} has no proof")
    return f"```\n{_shipped()[name].proof}\n```"
