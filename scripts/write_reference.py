"""Write docs/reference.md from the tables that the program itself reads.

python scripts/write_reference.py            # writes it
python scripts/write_reference.py --check    # exit code 1 if it is out of date
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import click

from podium.dsl.calls import ACCOUNT, FORMS, Form
from podium.dsl.faults import FAULTS
from podium.dsl.kinds import FILTERS, KINDS, PROMPT_NAMES, RECORDS, Spec
from podium.dsl.types import FLOW, VERIFIER, Type, describe
from podium.engine import event
from podium.engine.shell.cli import main as podium

TARGET = Path(__file__).parents[1] / "docs" / "reference.md"

HEAD = """# Reference

Written by `scripts/write_reference.py` from the tables in the code; do not edit it by hand.
What the words mean is in the [tutorial](tutorial.md), why it is so in [design](design.md).
"""

EXITS = """
| code | meaning |
|---|---|
| 0 | passed; or nothing to verify, and finished |
| 1 | finished, not passed |
| 2 | wrong program, or wrong use of the command |
| 3 | a budget ended first (the best attempt is kept), or the run is paused |
| 4 | endpoint, credentials, sandbox or verifier failed |
| 5 | a mistake in Podium itself |
| 130 | interrupted; the run can be resumed |

Answers go to standard output, everything else to standard error.
"""

RESULT = """
`podium run --json`, `podium resume --json` and `podium show RUN --json` print one object:

| field | what it is |
|---|---|
| `schema` | 1; raised when a field changes its meaning or goes |
| `run` | the run's name in the store |
| `outcome` | `passed`, `finished`, `exhausted`, `stopped`, `failed`, `cancelled`, `paused`, or null: not ended |
| `reason` | why, as a short clause; empty where there is nothing to add |
| `resumable` | whether `podium resume` can take it up |
| `answer`, `score`, `passed` | of what the run gave, or of the best so far |
| `baseline` | `score` and `passed` of the task's baseline, of several tasks the mean and whether all did; or null |
| `seconds` | how long it was live |
| `spent` | of the whole run, resends and failures included |
| `budget` | the run's upper bounds |
| `held` | calls that still hold money: 0 after a run |
| `nodes` | `address`, `kind`, `outcome`, `reason` and `spent` of every node, what lies below included |
| `store` | the file it is kept in |
"""

PLAN = """
`podium plan --json` prints one object:

| field | what it is |
|---|---|
| `schema` | 1; raised when a field changes its meaning or goes |
| `nodes` | the parts of the flow, parents first: `address`, `kind` and the figures of one copy |
| `total` | the figures of the whole run |
| `binding` | the outermost budget below what could be spent under it, or null where all fits |

Figures are `agents` (at most) and `calls`, `tokens` and `usd`, each with `at_least`, `expected` and `at_most`.
`usd` is in dollars, and its three are null where a price is unknown. A binding budget has an `address`, a
`dimension` (`usd`, `tokens` or `calls`) and its `limit`. In an address `3-12.squad` stands for the branches 3 to
12, which are alike: what is said of it is said of each.

- **At least**: without it the part gives no answer. Where a budget may run out before the flow's own end, the best
  so far is the answer and one reply will do: any budget with a time, and any that the worst holds of all calls do
  not fit. Elsewhere it is what is asked before anything can end the part, in a run in which every reply can be
  used. Of a prompt only its constant text counts, at 128 bytes a token, of a reply nothing.
- **Expected**: an estimate. All branches, rounds and parts; 4 bytes a token; replies of half their caps; of a
  route the mean of its cases, of a fallback its first option.
- **At most**: a byte of constant text is a token; a reply is as long as its cap and is read again by its count of
  tokens; no call reads more than its model's window, which is the model's `context`, else 8,192 tokens, which the
  plan then says; a structured reply is asked for twice; every budget around clips. Not in it: tries that are sent
  again after a failure, replies that another model's tokenizer takes for longer, and what a server does not report
  and is therefore charged at our own bound. A budget keeps its limit with these too.

Verifiers cost nothing.
"""

DOC = """
`podium doc FILE --json` prints one object:

| field | what it is |
|---|---|
| `schema` | 1; raised when a field changes its meaning or goes |
| `name`, `doc` | of the file: its name, and the `##` lines that open it |
| `imports` | its imports, as written |
| `entries` | its declarations in order |

An entry has `kind`, `name`, `signature` (the name with its parameters), `type` (of flows and roles:
`Task -> Attempt`), `doc`, `examples` (the lines of `doc` that are indented by four), `parameters` and `output`
(each with `name`, `type`, `default` and `doc`; a default of null must be given), `fields` (`name` and `value` as
written), and `size`: `agents` and `calls` with the defaults of all parameters, or null where they cannot be
counted. Where `for_each_attempt` is true they are those of each attempt that comes in; where
`inner_is_one_agent` is true, what follows `of` was one agent.
"""
COMPLETION = """
With one line in its start-up file a shell completes commands, options and files:

    eval "$(_PODIUM_COMPLETE=bash_source podium)"      # bash: ~/.bashrc
    eval "$(_PODIUM_COMPLETE=zsh_source podium)"       # zsh: ~/.zshrc
    _PODIUM_COMPLETE=fish_source podium | source       # fish: ~/.config/fish/config.fish
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, "## Kinds\n", *_kinds(), "## Records\n", *_records()]
    parts += ["## Flows\n", *_forms(f for f in FORMS.values() if f.gives == FLOW)]
    parts += ["Every form that gives a flow takes these too.\n", _specs(ACCOUNT)]
    parts += ["## Verifiers\n", *_forms(f for f in FORMS.values() if f.gives == VERIFIER)]
    others = (f for f in FORMS.values() if f.gives not in (FLOW, VERIFIER))
    parts += ["## Other calls\n", *_forms(others), "## Faults\n", *_faults()]
    parts += ["## Prompts\n", *_prompts()]
    parts += ["## Commands\n", *_commands(), "### Completion\n", COMPLETION.strip() + "\n"]
    parts += ["## Exit codes\n", EXITS.strip() + "\n"]
    parts += ["## The result as JSON\n", RESULT.strip() + "\n"]
    parts += ["## The plan as JSON\n", PLAN.strip() + "\n"]
    parts += ["## The reference page as JSON\n", DOC.strip() + "\n"]
    parts += ["## Events\n", *_events()]
    return "\n".join(parts)


def _kinds() -> Iterator[str]:
    for kind in KINDS.values():
        yield f"### {kind.name}\n\n{kind.doc}.\n"
        if kind.fields:
            yield _specs(kind.fields)


def _records() -> Iterator[str]:
    for name, specs in RECORDS.items():
        yield f"### {name}\n"
        yield _specs(specs)


def _forms(forms: Iterable[Form]) -> Iterator[str]:
    for form in forms:
        of = (
            f", with {'an' if form.of[0] in 'aeiou' else 'a'} {form.of} after `of`"
            if form.of
            else ""
        )
        yield f"### {form.name}\n\n{form.doc}{of}.\n"
        if form.params:
            yield _specs(form.params)
        if form.rest is not None:
            named = "by name, " if form.rest_named else ""
            yield f"Further arguments, {named}are each {describe(form.rest)}.\n"


def _faults() -> Iterator[str]:
    yield "What goes wrong in a `test`; the names are known only in its `given`.\n"
    for fault in FAULTS.values():
        yield f"### {fault.name}\n\n{fault.doc}.\n"
        yield _specs(fault.params)


def _specs(specs: Iterable[Spec]) -> str:
    rows = [
        f"| `{spec.name}` | {_cell(_type(spec.type))} | {_default(spec)} | {_cell(spec.doc)} |"
        for spec in specs
    ]
    return "\n".join(["| name | type | default | meaning |", "|---|---|---|---|", *rows]) + "\n"


def _type(kind: Type) -> str:
    return describe(kind)


def _default(spec: Spec) -> str:
    if spec.required:
        return "**required**"
    match spec.default:
        case None | "":
            return ""
        case bool():
            return f"`{str(spec.default).lower()}`"
        case _:
            return f"`{spec.default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _prompts() -> Iterator[str]:
    yield "Between `{{` and `}}` a prompt may name:\n"
    for name, parts in PROMPT_NAMES.items():
        inside = ", ".join(f"`{name}.{part}`" for part in parts)
        yield f"- `{name}`" + (f": {inside}" if inside else "")
    filters = ", ".join(
        f"`{name}({', '.join(spec.name for spec in specs)})`" if specs else f"`{name}`"
        for name, specs in FILTERS.items()
    )
    yield f"\nand put behind `|` one of the filters {filters}.\n"


def _commands() -> Iterator[str]:
    context = click.Context(podium)
    for name in podium.list_commands(context):
        command = podium.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=f"podium {name}")
        yield f"### podium {name}\n"
        yield f"`{command.get_usage(inner).removeprefix('Usage: ')}`\n"
        yield f"{_paragraphs(command.help or '')}\n"
        yield _options(command, inner)


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _options(command: click.Command, context: click.Context) -> str:
    records = [param.get_help_record(context) for param in command.get_params(context)]
    rows = [f"| `{_cell(record[0])}` | {_cell(record[1])} |" for record in records if record]
    return "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"


def _events() -> Iterator[str]:
    yield "`--events PATH` writes one line of JSON for each event of a run, in order.\n"
    for name, kind in event.KINDS.items():
        names = ", ".join(f"`{part.name.rstrip('_')}`" for part in fields(kind))
        yield f"### {name}\n\n{_paragraphs(kind.__doc__ or '')}\n\nFields: {names}.\n"


def main() -> None:
    text = page()
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text("utf-8") != text:
            raise SystemExit(f"{TARGET} is out of date: run scripts/write_reference.py")
        return
    TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
