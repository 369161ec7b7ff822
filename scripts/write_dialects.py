"""Write docs/dialects.md from the tables of dialects and refusals.

python scripts/write_dialects.py            # write the page
python scripts/write_dialects.py --check    # exit 1 where it is out of date
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from podium.engine.clients.dialects import HELP, PROFILES, Profile
from podium.engine.clients.refusals import RULES, Rule

TARGET = Path(__file__).parents[1] / "docs" / "dialects.md"

HEAD = """
# Dialects of inference servers

The servers that speak the OpenAI protocol differ in what they want, what they tell and how they fail.
What is known of each kind is a row of data, its *profile*.
This page is written from those tables (`scripts/write_dialects.py`).

A server is recognised when a run starts: by its host, by the `Server` header, by `owned_by` in its list of models.
One that is none of these is `compatible`.
A `model` block can say otherwise, whole or in part:

    model fast {
      endpoint = openai("qwen3", base_url = "http://10.0.0.7:8000/v1")
      profile  = { name = "vllm", usage = "each", idle_s = 60 }
    }

`profile = "vllm"` names a kind and changes nothing else.
"""

STREAMS = """
## What is made of a stream

- Every call is streamed, and every request carries a cap under the name that the server obeys. A server that
  sends far more than its cap is cut off.
- Three facts are kept apart: a finish reason, usage, the terminator. Without a finish reason the reply is
  cut, however much text came. Without usage its tokens are bounded upwards. A missing `[DONE]` means nothing.
- An error may come inside a 200. It is looked for before anything else, and means what the same refusal would.
- Comments show that a server lives (`idle_s`), but not for ever (`stuck_s`). There is no limit on the whole.
- Tool calls have one form, whatever their fragments looked like: id, name, and arguments that are an object
  or nothing. A call with arguments that were cut or are no object calls no tool.
- Control characters, halves of characters and broken UTF-8 are taken out once, before anything is kept or shown.
- A reply that the server cut off, gave up, or ended without a finish reason is a failure, never an answer.
  One that ended at its cap is an attempt marked as cut, which only a verifier can make a success.
- A structured reply is read against its fields, whatever the server promised; asked for once more where it
  cannot be read and a budget has room; and else is what the program declares: the defaults of its fields, if
  each has one.
"""

ADD = """
## Another dialect

For one program, a few fields in its `model` block are enough.
This server knows only `max_completion_tokens`, no schemas, and says `queue is long` where others answer 429:

    model odd {
      endpoint = openai("m", base_url = "http://10.0.0.7:9000/v1")
      profile  = { cap = "max_completion_tokens", schema = "json_object", busy_says = "queue is long" }
    }

For everybody, it is a row in `engine/clients/dialects.py`, with what differs from the defaults:

    Profile("odd", owners=("odd",), cap="max_completion_tokens", schema="json_object", metrics="/stats")

and, to prove it, two more pieces of data: its refusals in `tests/fixtures/refusals.json`, and a row in
`engine/testing/quirks.py`, which every test of `tests/engine/clients/test_dialects.py` then runs against.

## Fake servers

`podium.engine.testing.dialect` gives a server on loopback that behaves as a kind does, quirks included:
Ollama obeys no cap but
`max_tokens`, drops old messages without a word and loses its errors; SGLang tells a full queue inside a 200
and works on when its
client has gone; llama.cpp closes each connection.

```python
import anyio

from podium.dsl.model import Endpoint, Model
from podium.engine.call import CallError, Message, ModelCall
from podium.engine.clients.http import HttpClient
from podium.engine.testing import Says, dialect


async def main() -> None:
    call = ModelCall("main/agent", "run", "fast", (Message("user", "Say hi."),), max_output=20)
    for says in (Says("hi"), Says("hi and bye", trouble="breaks")):
        async with dialect("ollama", says) as server, HttpClient({}) as client:
            model = Model("fast", (Endpoint("openai", "", server.url),))
            [replica] = await client.probe(model)
            try:
                print((await client.send(call, replica, "1")).text)
            except CallError as problem:
                print(problem.kind)


anyio.run(main)
```

It prints `hi`, then `cut`. `trouble` is `busy`, `breaks`, `ends`, `drops` or `no_usage`; `DIALECTS` has the names.
""".strip()


def page() -> str:
    """The whole page."""
    parts = [HEAD.strip(), "## Fields of a profile", _help(), "## By kind", _values()]
    parts += ["### Samplers", _samplers(), "### Gauges", _gauges()]
    parts += [STREAMS.strip(), "## What refusals mean", REFUSALS.strip(), _refusals(), ADD]
    return "\n\n".join(parts) + "\n"


REFUSALS = """
The first row that fits decides: all rows by their codes, then by their words, then by their status.
What a `profile` says itself (`busy_says`, `overflow_says`) goes first.
A status of 500 and above that is in no row is `server`, one of 400 and above `request`; a page that is none
of this protocol is `protocol`.
`busy` is sent again after the wait that the server wished (`Retry-After` in its forms); `server` is too; the
others are not.
"""


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def _help() -> str:
    rows = ((f"`{name}`", doc, _shown(getattr(Profile(""), name))) for name, doc in HELP.items())
    return _table(("field", "meaning", "default"), rows)


def _values() -> str:
    """Where a kind differs from the defaults."""
    plain = Profile("")
    rows = (
        (
            f"`{name}`",
            *(_differs(getattr(one, name), getattr(plain, name)) for one in PROFILES.values()),
        )
        for name in HELP
        if any(getattr(one, name) != getattr(plain, name) for one in PROFILES.values())
    )
    return "An empty cell is the default.\n\n" + _table(("field", *PROFILES), rows)


def _samplers() -> str:
    rows = (
        (
            one.name,
            ", ".join(f"`{name} = {value:g}`" for name, value in one.defaults.items()),
            ", ".join(f"`{name}`" for name in sorted(one.takes)),
        )
        for one in PROFILES.values()
    )
    return _table(("kind", "sent where a program says nothing", "a program may set"), rows)


def _gauges() -> str:
    names = ("running", "waiting", "cache", "read", "hit")
    rows = (
        (one.name, *(" or ".join(f"`{n}`" for n in getattr(one.gauges, name)) for name in names))
        for one in PROFILES.values()
        if one.metrics
    )
    head = (
        "kind",
        "running",
        "waiting",
        "share of the cache in use",
        "tokens of prompts",
        "found in the cache",
    )
    asked = "`HttpClient.load(replica)` reads them; `HttpClient.count(call, replica)` asks for a prompt's tokens."
    return f"{asked}\n\n{_table(head, rows)}"


def _refusals() -> str:
    return _table(
        ("means", "codes and types", "words, with a status", "statuses"), map(_rule, RULES)
    )


def _rule(rule: Rule) -> tuple[str, ...]:
    said = ", ".join(map(str, sorted(rule.said_with)))
    return (
        f"`{rule.kind}`",
        ", ".join(f"`{code}`" for code in sorted(rule.codes)),
        f"{said}: " + ", ".join(f"`` {word} ``" for word in rule.words) if rule.words else "",
        ", ".join(map(str, sorted(rule.statuses))),
    )


def _differs(value: object, plain: object) -> str:
    return "" if value == plain else _shown(value)


def _shown(value: object) -> str:
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{value:g}`"
        case "":
            return ""
        case _:
            return f"`{value}`"


def main() -> None:
    text = page()
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text("utf-8") != text:
            raise SystemExit(f"{TARGET} is out of date: run scripts/write_dialects.py")
        return
    TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
