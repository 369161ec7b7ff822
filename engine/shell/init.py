"""`podium init`: a small project to start from."""

from pathlib import Path

import click

from .called import called
from .exits import ShellError
from .safe import safe

MAIN = r'''## Many writers, and the best of their sentences. Change anything; `podium check` says what is wrong.

edition 2026

## What the sentence is about.
param topic: text = "a bridge at night"

# A role says what one agent is asked. {{ ... }} is filled in when it runs.
role writer {
  max_output = 100 tokens
  prompt     = """{{ task.statement }}"""
  sampling   = { temperature = 0.8, stop = ["\n"] }
}

## Scored by the share of these words that the sentence contains.
task sentence {
  statement = """Write a sentence about {{ topic }} that contains the words: river, moon, boat."""
  verify    = contains("river", "moon", "boat")
}

## The same, scored by the function `short` in checks.py, which podium.toml allows.
task short_sentence {
  statement = """Write a short sentence about {{ topic }} with the words: river, moon, boat."""
  verify    = python("checks:short")
  pass      = score >= 1
}

# `of` wraps, `->` means then: n writers side by side, then the best of their sentences.
## n writers on the same task; the best by its verifier.
flow writers(n: int(1 to 100) = 8) = parallel(n) of writer -> best

# No model is named, so the small embedded one is used; --model URL takes another.
run main {
  task   = sentence
  flow   = writers(8)
  budget = [20k tokens, 5m]
}

run short {
  task   = short_sentence
  flow   = writers(8)
  budget = [20k tokens, 5m]
}
'''
CHECKS = '''"""What scores the sentences of main.team: Podium calls it with each attempt and its task."""

import re

WORDS = ("river", "moon", "boat")
LONGEST = 15  # words


def short(attempt, task):
    """The share of WORDS that the sentence contains; 0 where it is too long."""
    words = re.findall(r"[a-z]+", attempt.text.lower())
    if len(words) > LONGEST:
        return 0.0
    return sum(word in words for word in WORDS) / len(WORDS)
'''
PROJECT = """# The folder with this file is the project: programs in it may not read outside it.
# What programs may use beyond their own text, as patterns; everything else is refused.

[allow]
python = ["checks:*"]               # functions named by python(...)
# env    = ["FAST_KEY"]             # environment variables, for keys
# file   = ["issue.md", "data/*"]   # files named by file(...) and rows(...)
# host   = ["10.0.0.7"]             # servers outside this machine
"""
README = """# Agent teams

- `main.team` says who does what, and under which budget.
- `checks.py` scores an answer.
- `podium.toml` says what programs here may use.

From this folder:

    podium check main.team          # what is wrong with it; nothing is called
    podium plan main.team           # what a run may cost; nothing is called
    podium run main.team            # the run `main`
    podium run main.team short      # the run `short`, scored by checks.py
    podium show                     # all runs so far
    podium doc main.team            # what the file declares

A run without a model uses the small one that Podium serves itself (`pip install 'podium[local]'`).
For another one name its server: `podium run main.team --model http://127.0.0.1:8000/v1`.
"""
FILES = {
    "podium.toml": PROJECT,
    "main.team": MAIN,
    "checks.py": CHECKS,
    "README.md": README,
    ".gitignore": ".podium/\n__pycache__/\n",
}


@click.command(short_help="Write a small project.", epilog="Example: podium init my-teams")
@click.argument("folder", default=".", type=click.Path())
def command(folder: str) -> None:
    """Write a program, a verifier, podium.toml, a README and .gitignore into FOLDER (default: here).

    A file that is there already is left as it is.
    """
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            click.echo(_write(root / name, text), err=True)
    except OSError as error:
        raise ShellError(f"cannot write into {folder}: {error.strerror or error}") from error
    click.echo(f"Next: {called()} run {safe(str(root / 'main.team'))}", err=True)


def _write(path: Path, text: str) -> str:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return f"kept  {safe(str(path))} (it was there)"
    return f"wrote {safe(str(path))}"
