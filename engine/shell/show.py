"""`podium show`: the runs of a store, one run, or one node of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from podium.dsl.names import did_you_mean

from ..answer import result_json
from ..artifacts import artifacts_json, artifacts_of, trees_of
from ..early import early
from ..fold import Fold, Node, Spend
from ..places import is_within
from ..spend import MICRO, NO_SPEND, rent_share, total_of
from ..store import RunRecord, Store
from ..workspace import File
from .artifacts import write_artifacts
from .books import books
from .called import called
from .calls import Tried, line, tries
from .early_view import saved_and_wasted
from .ending import answer_text, files_told, store_option_of, table_of, what_and_price
from .exits import ShellError
from .options import json_option, store_option
from .output import stdout_console
from .reading import find_run, fold_of, is_planned, limits, open_store
from .run_file import write_page
from .runs import STATES, Filters, list_runs, notes_json
from .safe import safe, safe_json, safe_line
from .summary import (
    Row,
    against_baseline,
    best_team,
    dollars,
    headline,
    measured_again,
    one_agent,
    problems,
    suspicions,
    unsafe,
    what_next,
)
from .units import show_calls, show_count, show_tokens, show_usd
from .why import why

_FULL_TEXTS = 3  # calls whose whole text is shown; of more, a line each


@click.command(
    short_help="List runs, or show one, or one node of it.",
    epilog="Examples: podium show --since 2d --state passed; podium show 2026-11-30-0c1b7a1b3 --html run.html",
)
@click.argument("run", required=False)
@click.argument("address", required=False)
@click.option(
    "--html", "html_path", metavar="PATH", help="Also write a page of RUN: all of it, in one file."
)
@click.option("--out", metavar="DIR", help="Also write the files of RUN's answer to DIR/files.")
@click.option("--name", metavar="TEXT", help="List runs with TEXT in their name, file or flow.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    metavar="STATE",
    help=f"List runs in this state: {', '.join(STATES)}.",
)
@click.option("--since", metavar="WHEN", help="List runs started since then: 2h, 3d, 2026-12-01.")
@click.option("--task", metavar="TEXT", help="List runs with TEXT in the name of a task.")
@click.option(
    "--note", metavar="TEXT", help="List runs with TEXT in a note, such as a tag: '#keep'."
)
@click.option("--last", type=click.IntRange(1), metavar="N", help="List the newest N of them.")
@store_option
@json_option
def command(
    run: str | None,
    address: str | None,
    html_path: str | None,
    out: str | None,
    name: str | None,
    states: tuple[str, ...],
    since: str | None,
    task: str | None,
    note: str | None,
    last: int | None,
    store: str,
    as_json: bool,
) -> None:
    """List the runs of the store, or show RUN, or the node at ADDRESS of RUN."""
    filters = Filters(name, states, since, task, note, last)
    _refuse(run, address, html_path, out, filters)
    with open_store(Path(store)) as opened:
        if run is None:
            list_runs(opened, filters, as_json=as_json)
            return
        record = find_run(opened, run)
        folded = fold_of(opened, record)
        if address is not None:
            _node(folded, opened, record, address.rstrip("/"), as_json=as_json)
            return
        files = artifacts_of(trees_of(folded), opened.blob)
        written = None if out is None else _written(Path(out), files, record)
        _run(folded, opened, record, store, files, written, as_json=as_json)
        if html_path is not None:
            write_page(Path(html_path), opened, record)


def _refuse(
    run: str | None,
    address: str | None,
    html_path: str | None,
    out: str | None,
    filters: Filters,
) -> None:
    """Raise ShellError on words that do not go together."""
    if run is not None and not filters.is_empty:
        raise ShellError(
            "--name, --state, --since, --task, --note and --last are for the list: leave RUN out"
        )
    if html_path is not None and (run is None or address is not None):
        raise ShellError("--html writes the page of a whole run: podium show RUN --html PATH")
    if out is not None and (run is None or address is not None):
        raise ShellError(
            "--out writes the files of a whole run's answer: podium show RUN --out DIR"
        )


# --- a run -------------------------------------------------------------------------------------


def _written(out: Path, files: Mapping[str, File], record: RunRecord) -> Path:
    if not files:
        raise ShellError(f"no files came with the answer of run {record.id}")
    return write_artifacts(out, files)


def _run(
    folded: Fold,
    opened: Store,
    record: RunRecord,
    store: str,
    files: Mapping[str, File],
    written: Path | None,
    *,
    as_json: bool,
) -> None:
    notes = opened.notes(record.id)
    if as_json:
        found = result_json(record.id, folded, store, artifacts_json(files))
        click.echo(safe_json({**found, "notes": notes_json(notes)}))
        return
    console = stdout_console()
    console.print(Text(f"Run {record.id} ({safe_line(record.name, 60)})", style="bold"))
    console.print(Text(headline(folded)), soft_wrap=True)
    what_and_price(console, folded)
    said = (
        problems(folded),
        *suspicions(folded),
        unsafe(folded),
        measured_again(folded),
        against_baseline(folded),
        one_agent(folded),
        best_team(folded),
        saved_and_wasted(early(folded)),
        *books(folded.total),
        files_told(files, record.id, store=store, written=written),
        *(f"Note of {note.day}: {safe(note.text)}" for note in notes),
    )
    for words in filter(None, said):
        console.print(Text(words), soft_wrap=True)
    if (answer := answer_text(folded)) is not None:
        console.print(Text(f"\n{safe(answer)}"), soft_wrap=True)
    click.echo(
        what_next(folded, record.id, podium=called(), store=store_option_of(store)), err=True
    )


# --- a node ------------------------------------------------------------------------------------


def _node(folded: Fold, store: Store, record: RunRecord, address: str, *, as_json: bool) -> None:
    calls = [
        t for t in tries(store.events(record.id), folded.unpriced) if is_within(t.address, address)
    ]
    node = folded.nodes.get(address)
    said: tuple[str, ...] = ()
    if node is not None or not calls:
        said = why(folded, address, limits(store, record))
    if node is None and not calls:
        _not_run(folded, record, address, said, as_json=as_json)
        return
    spend = folded.totals().get(address)
    if spend is None:
        spend = total_of(call.spend for call in calls)
    own = [t for t in calls if node is None or folded.owner(t.address) == address]
    share = rent_share(spend, folded.total)
    if as_json:
        click.echo(
            safe_json(
                {
                    "schema": 1,
                    "run": record.id,
                    "address": address,
                    "kind": node.kind if node is not None else "call",
                    "outcome": None if node is None else node.outcome,
                    "reason": "" if node is None else node.reason,
                    "why": list(said),
                    "score": None if node is None else node.score,
                    "spent": spend.as_json(),
                    "rent_share_usd": None if share is None else share / MICRO,
                    "calls": [call.as_json() for call in own],
                }
            )
        )
        return
    _node_text(folded, store, address, spend=spend, own=own, said=said)


def _not_run(
    folded: Fold, record: RunRecord, address: str, said: Sequence[str], *, as_json: bool
) -> None:
    """What is to be told of a node of the program that did not run; of any other address an error."""
    if not said or not is_planned(record, address):
        raise ShellError(_unknown(folded, record, address))
    if as_json:
        shown = {"schema": 1, "run": record.id, "address": address, "kind": None, "outcome": None}
        nothing = {"reason": "", "why": list(said), "score": None, "spent": NO_SPEND.as_json()}
        click.echo(safe_json({**shown, **nothing, "calls": []}))
        return
    console = stdout_console()
    console.print(Text(safe_line(address, 200), style="bold"), soft_wrap=True)
    for words in said:
        console.print(Text(words), soft_wrap=True)


def _node_text(
    folded: Fold,
    store: Store,
    address: str,
    *,
    spend: Spend,
    own: list[Tried],
    said: Sequence[str],
) -> None:
    console = stdout_console()
    node = folded.nodes.get(address)
    title = safe_line(address, 200) + ("" if node is None else f"  ({safe_line(node.kind, 20)})")
    console.print(Text(title, style="bold"), soft_wrap=True)
    ended = () if node is None else (_how(node), *said)
    for told in (*ended, _price(folded, spend), *books(spend)):
        console.print(Text(told), soft_wrap=True)
    if rows := _below(folded, address):
        console.print(table_of(rows))
    for call in own:
        console.print(Text(line(call, width=console.width)), soft_wrap=True)
    if len(own) <= _FULL_TEXTS:
        for call in own:
            _whole_text(console, store, call)


def _how(node: Node) -> str:
    """How the node stands: outcome, reason, score."""
    reason = "" if node.reason == node.outcome else safe_line(node.reason, 300)
    score = "" if node.score is None else f"score {node.score:.6g}"
    return ", ".join(word for word in (node.outcome or "running", reason, score) if word)


def _price(folded: Fold, spend: Spend) -> str:
    amount = spend.amount
    price = f"{show_calls(amount.calls)}, {show_tokens(amount.tokens)}, {dollars(spend)}"
    share = rent_share(spend, folded.total)
    if share is None:
        return price
    return f"{price}; {show_usd(share)} of the rent is its share, by the time of its calls"


def _below(folded: Fold, address: str) -> tuple[Row, ...]:
    """What each node directly below cost."""
    totals = folded.totals()
    return tuple(
        Row(
            safe_line(child.address.removeprefix(f"{address}/"), 60),
            child.outcome or "running",
            show_count(totals[child.address].amount.calls),
            show_count(totals[child.address].amount.tokens),
            dollars(totals[child.address]),
        )
        for child in folded.tree().get(address, [])
    )


def _whole_text(console: Console, store: Store, call: Tried) -> None:
    for message in store.listed(call.messages):
        role = message.partition(":")[0]
        try:
            text = store.blob(message)
        except KeyError:
            text = "(not kept)"
        console.print(Text(f"\n[{safe_line(role, 20)}]", style="dim"))
        console.print(Text(safe(text)), soft_wrap=True)
    if call.text:
        console.print(Text("\n[reply]", style="dim"))
        console.print(Text(safe(call.text)), soft_wrap=True)


def _unknown(folded: Fold, record: RunRecord, address: str) -> str:
    meant = did_you_mean(address, folded.nodes)
    hint = meant or f"`podium show {record.id}` lists them"
    return f"run {record.id} has no node {address}; {hint}"
