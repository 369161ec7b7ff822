"""Says where total.py is wrong."""

from total import total

KNOWN = {
    "tea 2.50": 250,
    "nails 0.29": 29,
    "rolls 3 x 0.40\ntea 2.50": 370,
    "tea 2.50\n\nnails 0.29\n": 279,
}

for receipt, right in KNOWN.items():
    try:
        found = total(receipt)
    except Exception as error:  # a check goes on, whatever breaks
        found = repr(error)
    print("right" if found == right else "WRONG", repr(receipt), found, "of", right)
