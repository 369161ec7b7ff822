"""Judges a total.py by receipts drawn anew each time, which it adds up in a sandbox of its own.

Podium starts this program twice: it first asks for the candidate's to be run, and is then told what that printed.
"""

import json
import random
import sys

ASKS = """
import json, sys
from total import total
print(json.dumps([total(one) for one in json.load(sys.stdin)]))
"""


def drawn(count: int) -> list[tuple[str, int]]:
    """So many receipts, each with its sum in cents."""
    receipts: list[tuple[str, int]] = []
    for _ in range(count):
        lines, cents = [], 0
        for _ in range(random.randint(1, 6)):
            number, price = random.randint(1, 9), random.randint(1, 999)
            often = f"{number} x " if number > 1 else ""
            lines.append(f"thing {often}{price / 100:.2f}")
            cents += number * price
        receipts.append(("\n".join(lines), cents))
    return receipts


def main() -> None:
    asked = json.load(sys.stdin)
    if "runs" not in asked:
        receipts = drawn(20)
        given = json.dumps([text for text, _ in receipts])
        run = {"argv": ["python3", "asks.py"], "files": {"asks.py": ASKS}, "stdin": given}
        keep = [cents for _, cents in receipts]
        print(json.dumps({"run": [{**run, "attempt": True, "seconds": 5}], "keep": keep}))
        return
    ran, right = asked["runs"][0], asked["keep"]
    try:
        found = json.loads(ran["out"])
    except ValueError:
        found = None
    if not isinstance(found, list) or len(found) != len(right):
        told = ran["err"].strip().rpartition("\n")[2][:200] or "it printed no sums"
        print(json.dumps({"score": 0.0, "passed": False, "evidence": told}))
        return
    good = sum(one == other for one, other in zip(found, right, strict=True))
    told = f"{good} of {len(right)} receipts are right"
    print(json.dumps({"score": good / len(right), "passed": good == len(right), "evidence": told}))


main()
