"""How torch's programs name a device: there is one GPU, and its number is 0."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def names_cuda(torch: ModuleType, value: Any) -> bool:
    """Whether a `device=` argument means the GPU; a number is its index. Raises torch's error for another GPU."""
    index = _index(torch, value)
    if index:
        raise getattr(torch, "AcceleratorError", RuntimeError)(
            f"CUDA error: invalid device ordinal\nthere is one device here, cuda:0, got {_named(value)}"
        )
    return index is not None


def of_device(torch: ModuleType, answer: Callable) -> Callable:
    """`answer`, a function whose argument `device` may name the GPU."""

    def ask(device: Any = None, *args, **kwargs):
        names_cuda(torch, device)
        return answer(device, *args, **kwargs)

    ask.__name__ = answer.__name__
    return ask


def of_known_device(torch: ModuleType, answer: Callable) -> Callable:
    """As `of_device`, for functions that look a device up: torch raises another error in those."""

    def ask(device: Any = None):
        if _index(torch, device):
            raise AssertionError(f"Invalid device id: there is one device here, cuda:0, got {_named(device)}")
        return answer()

    ask.__name__ = answer.__name__
    return ask


def _index(torch: ModuleType, value: Any) -> int | None:
    """The number of the GPU that `value` means; None: it means no GPU."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        kind, _, number = value.partition(":")
        return (int(number) if number.isdecimal() else 0) if kind == "cuda" else None
    if isinstance(value, torch.device):
        return (value.index or 0) if value.type == "cuda" else None
    return None


def _named(value: Any) -> str:
    return f"cuda:{value}" if isinstance(value, int) else str(value)
