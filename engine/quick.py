"""`quick`: a frozen dataclass for values of which every call makes several.

Those who check types see `dataclass` itself, and that such a value never changes. The interpreter does not guard
it: `frozen=True` has each field set by a call of its own, which takes four times as long and was a tenth of all
that the engine does for a call.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as quick
else:
    from dataclasses import dataclass

    def quick(*, frozen: bool, slots: bool):
        """As of `dataclass`; hashed as a frozen one is."""

        def made(cls):
            return dataclass(slots=slots, unsafe_hash=frozen and "__hash__" not in vars(cls))(cls)

        return made


__all__ = ["quick"]
