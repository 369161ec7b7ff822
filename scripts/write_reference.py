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
from podium.engine.shell.project import KEYS as PROJECT_KEYS
from podium.engine.shell.project import NAME as PROJECT

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
| 3 | a budget ended first (the best attempt is kept, unless it is set to fail), or the run is paused |
| 4 | endpoint, credentials, sandbox or verifier failed; or the disk refused the store, or what was to be printed |
| 5 | a mistake in Podium itself |
| 130 | interrupted; the run can be resumed |

Answers go to standard output, everything else to standard error.
In a printed answer, characters that control a terminal are written out (`\\x1b`), also in a pipe, which may end at one; `--json` and `--out` keep the answer as it is.
"""

RESULT = """
`podium run --json`, `podium resume --json` and `podium show RUN --json` print one object:

| field | what it is |
|---|---|
| `schema` | 1; raised when a field changes its meaning or goes |
| `run` | the run's name in the store |
| `outcome` | `passed`, `finished`, `exhausted`, `stopped`, `failed`, `cancelled`, `paused`, or null: not ended |
| `reason` | why, as a short clause; empty where there is nothing to add. Of a paused run: `budget`, `outage`, `verifier`, `disk` or `user`, behind which `: ` and what was said of it may stand; of a stopped one: `ceo`, `plateau` or `user`; of one that was stopped and passed: `stopped by the user` |
| `resumable` | whether `podium resume` can take it up |
| `answer`, `score`, `passed` | of what the run gave, or of the best so far |
| `baseline` | `score` and `passed` of the task's baseline, of several tasks the mean and whether all did; or null |
| `seconds` | how long it was live |
| `spent` | of the whole run, resends and failures included |
| `budget` | the run's upper bounds |
| `held` | calls that still hold money: 0 after a run |
| `failures` | `address`, `outcome` and `reason` of what failed or ran out, the lowest address first |
| `early` | what ending early saved, and what was wasted on the losers of races |
| `nodes` | `address`, `kind`, `outcome`, `reason` and `spent` of every node, what lies below included |
| `store` | the file it is kept in |
| `notes` | of `podium show RUN --json` alone: `time` and `text` of each note, in their order |

`early` has `branches_not_begun` and `rounds_not_begun`; `saved_calls`, `at_least` and `at_most`: what those would
have asked by what their like did, or null where nothing like them ran; `losers`, and what they `wasted`.

`spent` is of a node with all below it, and always the sum of what the node spent itself and what its children did:

| field | what it is |
|---|---|
| `usd` | dollars, or null where a model without a known price was called |
| `calls` | requests that reached a server, resends included: what budgets count |
| `tokens` | by kind, and their `total`, which is what budgets count |
| `tries` | requests by what became of them |
| `rent_usd` | what of `usd` is rent of models, and no call's |
| `unknown_calls` | calls of which no server told the usage |
| `bounds` | what those are counted as, in `usd` and `tokens`: upper bounds, part of the figures above |

Of the tokens `fresh`, `cached` and `cache_write` are disjoint and make up `input`; `reasoning` is part of
`output`.
A try was `answered`; `cut` by the cap on its reply; `repaired`, which is unreadable and asked once more; `reused`
from an earlier run; `retried`, which is failed and sent again; `failed`; `cancelled` in the air; or `lost` with
the process.
"""

PLAN = """
`podium plan --json` prints one object:

| field | what it is |
|---|---|
| `schema` | 1; raised when a field changes its meaning or goes |
| `run` | the run's name |
| `nodes` | the parts of the flow, parents first, each with the figures of one copy |
| `total` | the figures of the whole run |
| `binding` | the outermost budget below what could be spent under it, or null where all fits |
| `settings` | what the run itself is set to, defaults included |
| `models` | the models by name: `context`, whether that is `assumed`, `usd_per_million`, `inflight` |
| `parameters` | `name`, `value` and `source`: `--set`, a file, an environment variable, or `default` |
| `touches` | the `hosts`, `variables` (by name), `files`, `python` and `programs` (in the sandbox) that a run would use, and what it `writes` |
| `unknown` | the models of which nobody told the `prices`, or the `windows` |
| `baselines` | how many tasks have one, which is scored before anything is sent |
| `lacks` | the budget that a run on models that are not free needs before it begins, as a sentence; else null |

A part has an `address`, a `kind`, a `label`, its `count` of copies, its figures, the `seconds` that it may take
at most (null where nothing bounds them), its own `binding` budget, and the `settings` in force in it.

Figures are `agents` (at most), `depth` (calls one after another, at most, were nothing to wait for a free slot)
and `calls`, `tokens` and `usd`, each with `at_least`, `expected` and `at_most`. `usd` is in dollars, and its
three are null where a price is unknown. `input` is how many of the expected tokens are read, and `cached`, with
the same three, how many of those may come from servers' caches; `usd_cached` is what is expected in dollars if
all of them do, null where no price tells. A binding budget has an `address`, a `dimension` (`usd`, `tokens` or
`calls`) and its `limit`. In an address `3-12.squad` stands for the branches 3 to 12, which are alike: what is
said of it is said of each.

- **At least**: without it the part gives no answer. Where a budget may run out before the flow's own end, the
  best so far is the answer and one reply will do: any budget with a time, a deadline by the clock, and any that
  the worst holds of all calls do not fit. Elsewhere it is what is asked before anything can end the part, in a
  run in which every reply can be used. Of a prompt only its constant text counts, at 128 bytes a token, of a
  reply nothing.
- **Expected**: an estimate. All branches, rounds and parts; 4 bytes a token; replies of half their caps; of a
  route the mean of its cases, of a fallback its first option.
- **At most**: a byte of constant text is a token; a reply is as long as its cap and is read again by its count
  of tokens; no call reads more than its model's window, which is the model's `context`, else 8,192 tokens,
  which the plan then says; a structured reply is asked for twice, but those of a CEO and a recruiter once;
  every budget around clips.
- **Cached**: a bound, "up to". Expected are the tokens that repeat the beginning of an earlier call of the run: a
  role's prefix, the task, what a team's earlier rounds have shown. At least is 0, as servers need not cache,
  drop what was long unused, count in blocks, and share nothing with other replicas; at most is all that is read,
  as an earlier run may have left it there. `usd` counts on none of it, but for at least, which counts on all.

At most is promised for calls that are answered at the first try, by servers that report their usage and whose
models share a tokenizer. What may come on top, at each call by itself:

- a try that is sent again after a failure counts as one more call, and costs what the failed one is charged:
  its usage where the server told it, all of its hold where it may have been paid, else nothing. A call is tried
  8 times at most where the server is busy, 5 times where it fails or falls silent;
- a reply without a report of usage is charged a token for each byte of its prompt and of its text, up to its
  hold;
- a reply that another model reads may be longer in that model's tokens.

A budget keeps its limit with these too: what may be paid is held before it is sent. A hold counts bytes where
the plan counts tokens, so a budget just above the plan's at most may still refuse a call.

Verifiers cost nothing.
"""

TEST = """
`podium test --json` prints one object:

| field | what it is |
|---|---|
| `schema` | 1; raised when a field changes its meaning or goes |
| `file`, `seed` | as given |
| `kept` | whether nothing that was tried broke a promise, and all could be tried |
| `complete` | whether all cases were tried; false where the time was up |
| `subjects` | the tests and then the runs of the file, or those named |

Each of them has a `name`, a `kind` (`test` or `run`), the `cases` that were tried and that were `wanted`, whether
it `kept` its promises, `stuck` (why its verifier gave no verdict, or null) and a `failure`, or null. A failure has

| field | what it is |
|---|---|
| `case` | its number; 1 is the first |
| `promise` | `always`, `never`, `at_most`, or the engine's that was broken, such as `cap` |
| `message` | the broken promise with its values |
| `program` | the smallest file that still breaks it, or null where it could not be made smaller |
| `given` | its faults, as a test writes them |
| `seed` | with which `--case 1` of a test in that file shows it |
| `command` | what shows it again in the file itself |
"""

PLAN_DIFF = """
`podium plan --diff OLD NEW --json` prints one object:

| field | what it is |
|---|---|
| `schema` | 1; raised when a field changes its meaning or goes |
| `runs` | the names of the two runs, `before` and `after` |
| `nodes` | the parts of both, parents first: `change`, `before`, `after` and `own` |
| `total` | the figures of the whole run `before` and `after`, and their `difference` |
| `own` | what of the totals' difference no part explains: the run's own budget, and sums over tasks |
| `binding` | the binding budget `before` and `after` |
| `parameters` | the parameters that changed: `name`, `before`, `after` |
| `settings` | what else changed, `of` the `run` or of a `model NAME`: `name`, `before`, `after` |
| `touches` | what only the new run touches (`added`) and what only the old one did (`removed`), by kind |

`change` is `added`, `removed`, `changed` or `same`; `before` and `after` are the part as in the plan, with the
`times` that it stands in the whole run at most, or null where there is none. A part is the same part before and
after by its place: the first sibling of the same kind, name and figures, else of the same kind and name, else
of the same kind. Its number among its siblings may change. A prompt that changed without a change of figures is
no change.

`own` is what the part itself adds to the difference of the totals (`calls`, `tokens`, `usd`), all its copies
together and what its own parts explain left out. All `own` together are the difference of the totals. Where a
price is unknown, differences in dollars are null.
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
    parts += ["## The project file\n", *_project()]
    parts += ["## Commands\n", *_commands(), "### Completion\n", COMPLETION.strip() + "\n"]
    parts += ["## Exit codes\n", EXITS.strip() + "\n"]
    parts += ["## The result as JSON\n", RESULT.strip() + "\n"]
    parts += ["## The plan as JSON\n", PLAN.strip() + "\n"]
    parts += ["## A test as JSON\n", TEST.strip() + "\n"]
    parts += ["## The difference of two plans as JSON\n", PLAN_DIFF.strip() + "\n"]
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


def _project() -> Iterator[str]:
    yield (
        f"The folder with a `{PROJECT}` is the project: its programs read nothing outside it. The file may be "
        "empty. What it holds is all that programs may use beyond their own text; `--allow KIND:PATTERN` adds to "
        "it for one command, and `podium plan` shows it. In a pattern `*` stands for anything.\n"
    )
    for table, keys in PROJECT_KEYS.items():
        rows = [f"| `{name}` | {_cell(doc)} |" for name, doc in keys.items()]
        head = [f"### [{table}]\n", "| key | a list of patterns |", "|---|---|"]
        yield "\n".join([*head, *rows]) + "\n"


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
