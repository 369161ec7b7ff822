"""Write docs/problems/ from dsl/problems.toml: a list of all codes, and a page for each.

python scripts/write_problems.py            # writes them
python scripts/write_problems.py --check    # exit code 1 if they are out of date
"""

import sys
from pathlib import Path

from podium.dsl.catalogue import Entry, catalogue, sections

TARGET = Path(__file__).parents[1] / "docs" / "problems"

HEAD = """# Problems

What each code means that Podium reports; `podium explain CODE` prints the same.
`T` is for the text itself, `E` for what it says, `W` for warnings, `F` for the formatter.

Written by `scripts/write_problems.py` from `dsl/problems.toml`; do not edit it by hand.

| code | problem |
|---|---|
"""


def pages() -> dict[str, str]:
    """The text of every page, by file name."""
    entries = catalogue().values()
    rows = [
        f"| [{e.code}]({e.code}.md) | {e.title.replace('|', chr(92) + '|')} |\n" for e in entries
    ]
    return {"README.md": HEAD + "".join(rows), **{f"{e.code}.md": page(e) for e in entries}}


def page(entry: Entry) -> str:
    """The page of one code."""
    parts = [f"# {entry.code}: {entry.title}\n", f"{entry.why}\n"]
    parts += [f"{heading}:\n\n```\n{text}\n```\n" for heading, text in sections(entry)]
    return "\n".join([*parts, "[All problems](README.md)\n"])


def main() -> None:
    wanted = pages()
    found = {path.name: path.read_text("utf-8") for path in TARGET.glob("*.md")}
    if "--check" in sys.argv[1:]:
        if found != wanted:
            raise SystemExit(f"{TARGET} is out of date: run scripts/write_problems.py")
        return
    TARGET.mkdir(exist_ok=True)
    for name in found.keys() - wanted.keys():
        (TARGET / name).unlink()
    for name, text in wanted.items():
        (TARGET / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
