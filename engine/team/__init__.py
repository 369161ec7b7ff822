"""Teams: a protocol machine of tables, and the driver that walks it."""

from .drive import drive

__all__ = ["drive"]
