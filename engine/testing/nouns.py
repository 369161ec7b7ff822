"""What a generated program declares besides flows: each role, model, parameter and verifier when it is first used.

So nothing is declared in vain, and a program shrinks to what its flow needs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar, cast

from hypothesis import strategies as st

from podium.dsl import syntax as s

from . import trees as t
from .rooms import WHOLE, Room, budget

T = TypeVar("T")
YES = "yes"
ROWS = '{"q": "Say yes.", "a": "yes"}\n{"q": "Say no.", "a": "no"}\n'
_AUTHORS = ("agent", "writer", "careful", "shaped", "solver", "engineer")
_MEMBERS = (*_AUTHORS, "member", "critic")
_STANDARD = frozenset({"solver", "engineer", "critic", "reviser", "debater", "merger", "splitter"})


@cache
def _sampled(choices: tuple[object, ...]) -> st.SearchStrategy[object]:
    return st.sampled_from(choices)


@dataclass
class Nouns:
    """draw: of the strategy being drawn. budgets: whether there are any. verifiers: the kinds to choose from."""

    draw: st.DrawFn
    budgets: bool = True
    verifiers: tuple[str, ...] = ()
    declared: dict[str, s.Declaration] = field(default_factory=dict[str, s.Declaration])
    taken: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    whole: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, str] = field(default_factory=dict[str, str])
    allow: list[str] = field(default_factory=list[str])
    room: Room = field(default_factory=Room)
    verified: bool = True
    passes: bool = True
    hidden: bool = False

    # --- choices ---------------------------------------------------------------------------------

    def pick(self, *choices: T) -> T:
        """One of the choices; the first is the simplest."""
        return cast(T, self.draw(_sampled(choices)))  # it samples from these

    def maybe(self, chance: int = 3) -> bool:
        """Rarely true: one in chance."""
        return self.draw(_sampled((False,) * (chance - 1) + (True,))) is True

    def one(self, makes: Iterable[Callable[[], T]]) -> T:
        """What one of the functions makes."""
        return self.pick(*makes)()

    # --- declarations ----------------------------------------------------------------------------

    def declare(self, kind: str, name: str, value: s.Expr | None, **more: object) -> s.Expr:
        """Declare name, once; the expression that names it."""
        if name not in self.declared:
            doc = "Does its part.\nAnd no more." if self.maybe(8) else ""
            made = t.declare(kind, name, value, doc=doc, **more)  # type: ignore[arg-type]  # declare's own words
            self.declared[name] = made
        return t.name(name)

    def standard(self, module: str, name: str) -> s.Expr:
        """A name of the standard library, imported by itself or with its module."""
        module = f"std.{module}"
        if module not in self.whole and name not in self.taken.get(module, ()):
            if module not in self.taken and self.maybe(4):
                self.whole[module] = f"std_{module.removeprefix('std.')}"
            else:
                self.taken.setdefault(module, []).append(name)
        alias = self.whole.get(module)
        return t.name(name if alias is None else f"{alias}.{name}")

    def imports(self) -> tuple[s.Import, ...]:
        taken = [t.imports(module, *names) for module, names in self.taken.items()]
        return (*taken, *(t.imported_as(module, alias) for module, alias in self.whole.items()))

    def count(self, most: int = 3) -> s.Expr:
        """A small number, or a parameter of the file that is one."""
        if self.maybe(6):
            whole = t.kind("int", 1, 3)
            return self.declare("param", "copies", t.number(2), type_=whole)
        return t.number(self.pick(*range(1, most + 1)))

    def effort(self) -> s.Expr:
        """A condition on a parameter of the file."""
        effort = self.declare("param", "effort", t.string("quick"), type_=t.words("quick", "deep"))
        return t.compare(effort, "==", t.string(self.pick("quick", "deep")))

    # --- models ----------------------------------------------------------------------------------

    def models(self) -> None:
        """The file's model, or none: then it is the embedded one."""
        if not self.maybe(2):
            return
        self._model("fast", priced=self.budgets and self.maybe(2))

    def _model(self, name: str, *, priced: bool) -> s.Expr:
        at = t.call("openai", t.string(name), base_url=t.string("http://127.0.0.1:1/v1"))
        fields: dict[str, s.Expr] = {"endpoint": at}
        if priced and self.maybe(4):
            fields["rent"] = t.rate(t.money(self.pick(3_000_000, 90_000_000)), t.time(3_600))
        elif priced:
            fields["price"] = t.record(
                input=t.rate(t.money(1_000_000), t.tokens(1_000_000)),
                output=t.rate(t.money(4_000_000), t.tokens(1_000_000)),
            )
        elif self.maybe(3):
            fields["price"] = t.none()
        if self.maybe(3):
            fields["context"] = t.tokens(self.pick(16_000, 128_000))
        if self.maybe(3):
            fields["limits"] = t.record(inflight=t.number(self.pick(4, 1)))
        if self.maybe(4):
            fields["sampling"] = t.record(temperature=t.number(self.pick(0, 0.5)))
        return self.declare("model", name, t.record(**fields))

    def model(self) -> s.Expr:
        """A model other than the file's first, which is there."""
        priced = any(f.name == "price" for f in _fields(self.declared["fast"]))
        return self._model("strong", priced=priced and self.budgets)

    # --- roles -----------------------------------------------------------------------------------

    def author(self) -> s.Expr:
        """A role that takes a task."""
        return self._role(self.pick(*_AUTHORS, "worker"))

    def member(self, *, works: bool = False) -> s.Expr:
        """A role for a seat in a team. works: it may have a folder."""
        return self._role(self.pick(*_MEMBERS, *(("worker",) * 4 if works else ())))

    def _role(self, name: str) -> s.Expr:
        if name in _STANDARD:
            return self.standard("roles", name)
        match name:
            case "agent":
                return t.name(name)
            case "careful":
                changes = t.record(max_output=t.tokens(self.pick(100, 300)))
                return self.declare("role", name, t.amended(self._role("engineer"), changes))
            case "shaped":
                risk = t.words("low", "high")
                output = t.record(answer=t.kind("text"), risk=risk)
                return self._own(name, t.prompt("{task.statement}"), output=output)
            case "worker":
                return self._own(name, t.prompt("{task.statement}"), **self._tools())
            case "member":
                said = t.prompt("{task.statement}", "\nSo far: ", "{team.digest|clip(200)}")
                return self._own(name, said)
            case _:
                asked = self.pick(
                    ("{task.statement}",), ("{task.statement|clip(400)}", "\nYou are ", "{self.name}", ".")
                )  # fmt: skip
                return self._own(name, t.prompt(*asked))

    def _tools(self) -> dict[str, s.Expr]:
        """What goes with a role that has tools."""
        tools: list[s.Expr] = [t.name("notes")]
        if self.maybe(2):
            tools.append(t.call("submit", t.number(2)) if self.maybe(2) else t.name("submit"))
        if self.maybe(2):
            tools += [t.name("write"), t.name("read")]
        if self.maybe(2):
            self.allow.append("python:textwrap:dedent")
            tools.append(t.call("python", t.string("textwrap:dedent")))
        made: dict[str, s.Expr] = {"tools": t.listed(*tools), "turns": t.number(self.pick(2, 5))}
        if self.maybe(2):
            made["context"] = t.name(self.pick("drop_oldest", "summarise", "restart"))
        return made

    def reviser(self) -> s.Expr:
        """A role that takes an attempt."""
        if self.maybe(2):
            return self.standard("roles", "reviser")
        return self._own("better", t.prompt("Better than: ", "{attempt.answer|clip(200)}"))

    def debater(self) -> s.Expr:
        """A role that takes an attempt among many."""
        if self.maybe(2):
            return self.standard("roles", "debater")
        every = t.prompt("{attempt.answer|clip(99)}", " among ", "{attempts|bullets|clip(300)}")
        return self._own("again", every)

    def merger(self) -> s.Expr:
        """A role that makes one of many."""
        if self.maybe(2):
            return self.standard("roles", "merger")
        if self.maybe(2):
            own: dict[str, s.Expr] = {
                "tools": t.listed(t.name("attempts")), "turns": t.number(3)
            }  # fmt: skip
            return self._own("looker", t.prompt("Join: {task.statement}"), **own)
        return self._own("joiner", t.prompt("Join: ", "{attempts|json|clip(300)}"))

    def _referee(self) -> s.Expr:
        """A judge; it has no budget, as it is asked once."""
        shown = self.pick(("Judge.",), ("{task.statement}", "\nAnd: ", "{attempt.answer|clip(99)}"))
        made: dict[str, s.Expr] = {"prompt": t.prompt(*shown)}
        if self.maybe(2):
            made["max_output"] = t.tokens(self.pick(60, 200))
        return self.declare("role", "referee", t.record(**made))

    def triage(self) -> s.Expr:
        output = t.record(case=t.words("easy", "hard"))
        return self._own("triage", t.prompt("Is it easy? ", "{task.statement}"), output=output)

    def assessor(self) -> s.Expr:
        """A role that evaluates a team's solution."""
        if self.maybe(2):
            return t.name("agent")
        output = t.record(accepted=t.kind("bool"), advice=t.kind("text"))
        said = t.prompt("Is it right? ", "{attempt.answer|clip(200)}")
        looks: dict[str, s.Expr] = {}
        if self.maybe(2):
            looks = {"tools": t.listed(t.name("notes"), t.name("read")), "turns": t.number(2)}
        return self._own("assessor", said, output=output, **looks)

    def splitter(self) -> s.Expr:
        if self.maybe(2):
            return self.standard("roles", "splitter")
        output = t.record(parts=t.many(t.kind("text")))
        return self._own("cutter", t.prompt("Parts of: ", "{task.statement}"), output=output)

    def _own(self, name: str, prompt: s.Prompt, **fields: s.Expr) -> s.Expr:
        if name in self.declared:
            return t.name(name)
        made: dict[str, s.Expr] = {"prompt": prompt}
        if self.maybe(4):
            brief, long = t.string("You are brief."), t.prompt("In JSON: {}\n\nNow.")
            made["system"] = brief if self.pick(True, False) else long
        if "fast" in self.declared and self.maybe(4):
            made["model"] = self.model()
        made |= fields
        if self.maybe(2):
            made["max_output"] = t.tokens(self.pick(60, 200))
        if self.maybe(5):
            made["sampling"] = t.record(temperature=t.number(0.2), stop=t.listed(t.string("END")))
        if self.budgets and self.maybe(6):
            made["budget"] = budget({"tokens": 4_000})
        return self.declare("role", name, t.record(**made))

    # --- the task --------------------------------------------------------------------------------

    def verifier(self) -> s.Expr:
        """A verifier of its own, for `by =`."""
        return self.declare("verifier", "right", self._call(self.pick(*self.verifiers)))

    def task(self) -> s.Expr:
        """The run's task; afterwards it is known what conditions may ask."""
        if "exact" in self.verifiers and self.maybe(10):
            return self._rows()
        kind = self.pick(*self.verifiers, "")
        self.verified = self.passes = kind != ""
        fields: dict[str, s.Expr] = {"statement": self._statement()}
        if kind:
            shared = self.maybe(5)
            call = self._call(kind)
            fields["verify"] = self.declare("verifier", "right", call) if shared else call
            self._rules(kind, fields)
        if self.maybe(6):
            fields |= self._kit()
        return self.declare("task", "hello", t.record(**fields))

    def _kit(self) -> dict[str, s.Expr]:
        """Files that agents with a folder begin with. Teams go about it as they say: some cannot be at work."""
        self.files |= {"kit/a": "one\ntwo", "notes": "see a"}
        self.allow += ["file:kit", "file:notes"]
        several: list[s.Expr] = [t.string("kit"), t.listed(t.string("kit"), t.string("notes"))]
        files = self.pick(*several)
        return {"files": files, "style": t.name("discuss")}

    def _rows(self) -> s.Expr:
        self.files["set.jsonl"] = ROWS
        self.allow.append("file:set.jsonl")
        made = t.record(statement=t.name("row.q"), verify=t.call("exact", t.name("row.a")))
        self.hidden = True
        return self.declare("task", "hello", t.amended(t.call("rows", t.string("set.jsonl")), made))

    def _statement(self) -> s.Expr:
        if self.maybe(6):
            self.declare("param", "topic", t.string("yes"), type_=t.kind("text"))
            return t.prompt("Say ", "{topic}", ".")
        return t.string("Say yes.")

    def _call(self, kind: str) -> s.Expr:
        match kind:
            case "number":
                return t.call(kind, t.number(4))
            case "choice":
                return t.call(kind, t.string("B"))
            case "contains":
                return t.call(kind, t.string(YES), *([t.string("no")] if self.maybe(2) else []))
            case "all_of" | "any_of":
                return t.call(kind, t.call("exact", t.string(YES)), self._call("contains"))
            case "weighted":
                parts = t.listed(t.call("exact", t.string(YES)), self._call("contains"))
                return t.call(kind, parts, t.listed(t.number(1), t.number(self.pick(2, 0.5))))
            case "judge":
                return t.call(kind, self._referee(), rubric=t.string("Is it kind?"))
            case "panel":
                return t.call(kind, t.listed(t.of(t.number(2), self._referee())))
            case "http":
                at = t.string("http://127.0.0.1:1/verdict")
                return t.call(kind, at, timeout=t.time(10), inflight=t.number(2))
            case "command":
                return t.call(kind, t.listed(t.string("check"), t.string("-q")), timeout=t.time(10))
            case "python":
                self.allow.append("python:operator:ne")
                more = {"finalists": t.number(2)} if self.maybe(3) else {}
                return t.call(kind, t.string("operator:ne"), timeout=t.time(10), **more)
            case _:
                return t.call(kind, t.string(YES))

    def _rules(self, kind: str, fields: dict[str, s.Expr]) -> None:
        self.passes = kind not in ("weighted", "judge", "panel")
        if kind in ("judge", "panel") and self.maybe(2):
            fields["pass"] = t.compare(t.name("score"), ">=", t.number(0.5))
            self.passes = True
        self.hidden = kind in ("exact", "number", "choice", "all_of", "any_of", "weighted")
        if kind == "contains" and self.maybe(3):
            fields["pass"] = t.compare(t.name("score"), ">=", t.number(0.5))
        if kind == "contains" and self.maybe(6):
            fields["better"] = t.name("lower")
        if self.maybe(4):
            use = self.pick("always", "final")
            fields["use"] = t.name(use)
            self.hidden = use == "final"

    def run(self, task: s.Expr, flow: s.Expr, chosen: dict[str, int]) -> None:
        """The run `main`."""
        fields: dict[str, s.Expr] = {"task": task, "flow": flow}
        if "strong" in self.declared:
            fields["model"] = t.name("fast")
        if chosen:
            fields["budget"] = budget(chosen)
            if self.maybe(3):
                fields["on_exhausted"] = self.exhausted()
        if "set.jsonl" in self.files and self.maybe(2):
            fields["split"] = t.name("even")
        if self.maybe(6):
            fields["seed"] = t.number(self.pick(0, 7))
        self.declare("run", "main", t.record(**fields))

    def exhausted(self) -> s.Expr:
        return t.name(self.pick("best", "vote", "shrink", "fail", "pause"))

    def whole_budget(self) -> dict[str, int]:
        """The run's budget: some where its model is not free."""
        paid = any(f.name in ("price", "rent") for f in _fields(self.declared.get("fast")))
        if not self.budgets or not (paid or self.maybe(2)):
            return {}
        mix = self.pick(("tokens",), ("calls",), ("usd",), ("usd", "tokens", "seconds"))
        return {name: self.pick(*WHOLE[name]) for name in mix}


def _fields(one: s.Declaration | None) -> tuple[s.Field, ...]:
    return one.value.fields if one is not None and isinstance(one.value, s.Record) else ()
