"""Adds up a receipt: a line for each thing, `NAME PRICE` or `NAME COUNT x PRICE`. Prices are such as 0.29."""


def total(receipt: str) -> int:
    """The sum in cents."""
    cents = 0
    for line in receipt.splitlines():
        words = line.split()
        cents += int(float(words[-1]) * 100)
    return cents
