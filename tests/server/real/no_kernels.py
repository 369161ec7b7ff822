"""Stands in for SGLang's CUDA kernels: any name can be imported, none can be called."""

from collections.abc import Callable

__version__ = "0.4.10"


def __getattr__(name: str) -> Callable[..., None]:
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_: object, **__: object) -> None:
        raise NotImplementedError(f"sgl_kernel.{name} is not there: this is SGLang on the CPU")

    return missing
