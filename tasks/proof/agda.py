"""Judges a proof in Agda: two modules of ours around the candidate's, checked together by `agda --safe`.

The last module gives the candidate's `proof` the type that was asked for, in names of ours alone.
"""

from __future__ import annotations

import re
from typing import Any

from ..harness import exchange, source

SECONDS = 30.0
_OWN = "{-# OPTIONS --safe --without-K #-}\n"
# Read in comments too: what an honest proof says there can be said otherwise.
_REFUSED = {
    "a pragma": r"\{-#",
    "an import or a module": r"\b(?:import|module|open)\b",
    "an axiom": r"\b(?:postulate|primitive|unquote\w*|macro|syntax)\b",
}
_MISSING = "agda is not installed where the sandbox looks (Debian: apt install agda-bin)"


def main() -> None:
    asked, problem = exchange.asked(), exchange.problem()
    code = source.code(asked["text"]).strip("\n")
    refused = [what for what, pattern in _REFUSED.items() if re.search(pattern, code)]
    if "runs" in asked:
        judged(asked["runs"][0])
    elif refused or source.too_long(code):
        why = f"it has {refused[0]}" if refused else source.too_long(code)
        exchange.verdict(0.0, False, why, flags=refused)
    else:
        exchange.ask([_program(problem, code)], None)


def _program(problem: dict[str, str], code: str) -> dict[str, Any]:
    inside = "".join(f"  {line}\n" for line in code.splitlines())
    check = f"module Check where\nopen import Theory\nimport Proof\n\ncheck : {problem['wanted']}\n"
    texts = {
        "Theory.agda": f"{_OWN}{problem['theory']}\n",
        "Proof.agda": f"{_OWN}module Proof where\nopen import Theory\nmodule Inside where\n{inside}"
        "\nopen Inside public\n",
        "Check.agda": f"{_OWN}{check}check = Proof.proof\n",
    }
    # That Agda says so by its code alone is not believed: it writes what it has checked.
    line = "command -v agda >/dev/null || exit 77; agda --safe Check.agda && test -s Check.agdai && echo checked"
    return {"argv": ["sh", "-c", line], "files": texts, "seconds": SECONDS}


def judged(run: dict[str, Any]) -> None:
    """The verdict on what Agda said."""
    said = str(run["out"]).strip()
    if run["code"] == 77:
        exchange.error(_MISSING)
    elif run["code"] == 0 and said.endswith("\nchecked"):
        exchange.verdict(1.0, True, "")
    elif run["ended"] != "exit":
        exchange.verdict(0.0, False, exchange.ended(run))
    else:
        exchange.verdict(0.0, False, said[-600:] or exchange.ended(run))


if __name__ == "__main__":
    main()
