"""Write docs/stdlib.md: the pages of `podium doc` for every module of the standard library.

python scripts/write_stdlib.py            # writes it
python scripts/write_stdlib.py --check    # exit code 1 if it is out of date
"""

import sys
from pathlib import Path

from podium.dsl.doc import page_of
from podium.dsl.doc_page import as_markdown
from podium.dsl.library import MemoryLibrary, modules, standard

TARGET = Path(__file__).parents[1] / "docs" / "stdlib.md"

HEAD = """# Standard library

What is written in the language itself, in `stdlib/`: read it, copy it, change it.
`podium doc std.flows` prints the page of a module, `podium doc FILE` that of your own file.

Types are what goes in and what comes out: a `Task`, an `Attempt` or `Many` attempts; `A` is whatever comes in.

Written by `scripts/write_stdlib.py` from the files; do not edit it by hand.
"""


def page() -> str:
    """The whole page."""
    pages = (page_of(standard(name), MemoryLibrary()) for name in modules())
    return "\n".join([HEAD, *(as_markdown(one, level=2) for one in pages)])


def main() -> None:
    text = page()
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text("utf-8") != text:
            raise SystemExit(f"{TARGET} is out of date: run scripts/write_stdlib.py")
        return
    TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
