"""`podium init`: a small project to start from."""

from pathlib import Path

import click

from .called import called
from .exits import ShellError
from .safe import safe

HELLO = r'''edition 2026

## What the sentence is about.
param topic: text = "a bridge at night"

# A role says what one agent is asked. {{ ... }} is filled in when it runs.
role writer {
  max_output = 100 tokens
  prompt     = """{{ task.statement }}"""
  sampling   = { temperature = 0.8, stop = ["\n"] }
}

# A task says what is to be done, and how an attempt is scored: by the share of these words that it contains.
task sentence {
  statement = """Write a sentence about {{ topic }} that contains the words: river, moon, boat."""
  verify    = contains("river", "moon", "boat")
}

# `of` wraps, `->` means then: n writers side by side, then the best of their sentences.
flow writers(n: int = 8) = parallel(n) of writer -> best

# No model is named, so the small embedded one is used; --model URL takes another.
run main {
  task   = sentence
  flow   = writers(8)
  budget = [20k tokens, 5m]
}
'''
PROJECT = """# The folder with this file is the project: programs in it may not read outside it.
# What programs may use beyond their own text, as patterns; everything else is refused.

[allow]
# env    = ["FAST_KEY"]               # environment variables, for keys
# file   = ["issue.md", "data/*"]     # files named by file(...) and rows(...)
# python = ["checks.unit:*"]          # functions named by python(...)
# host   = ["10.0.0.7"]               # servers outside this machine
"""
FILES = {"podium.toml": PROJECT, "hello.team": HELLO, ".gitignore": ".podium/\n"}


@click.command(short_help="Write a small project.", epilog="Example: podium init my-teams")
@click.argument("folder", default=".")
def command(folder: str) -> None:
    """Write podium.toml, hello.team and .gitignore into FOLDER (default: here).

    A file that is there already is left as it is.
    """
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            click.echo(_write(root / name, text), err=True)
    except OSError as error:
        raise ShellError(f"cannot write into {folder}: {error.strerror or error}") from error
    click.echo(f"Next: {called()} run {safe(str(root / 'hello.team'))}", err=True)


def _write(path: Path, text: str) -> str:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return f"kept  {safe(str(path))} (it was there)"
    return f"wrote {safe(str(path))}"
