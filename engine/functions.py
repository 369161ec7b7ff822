"""Functions of the user's that a program names: `python("pkg.mod:attr")`."""

import importlib
from collections.abc import Callable, Mapping
from typing import Literal

from .call import CallError

# Of a verifier what it returns is checked, of a tool it is told.
Function = Callable[..., object]
# Verifiers, and tools of agents, by the name that a program's `python("name")` uses.
Bindings = Mapping[str, Function]


def load(ref: str, bindings: Bindings, kind: Literal["verifier", "tool"]) -> Function:
    """The function that ref names. Raises CallError of this kind where there is none."""
    if ref in bindings:
        return bindings[ref]
    module, _, attribute = ref.partition(":")
    try:
        found: object = importlib.import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except Exception as error:  # what a module does while it is imported is its author's
        said = f"python({ref!r}) cannot be loaded: {error!r}"
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            said += (
                "; a module lies beside the program, or in its project's folder, or is installed"
            )
        raise CallError(kind, said) from error
    if not callable(found):
        raise CallError(kind, f"python({ref!r}) is no function but {type(found).__name__}")
    return found
