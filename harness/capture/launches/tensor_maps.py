"""Tensor maps that a program had encoded, so that a file can have them encoded for its own memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.capture.launches.allocations import Allocations

NBYTES = 128
_ENCODERS = ("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapEncodeIm2colWide")
_ADDRESS = 2  # the place of the address among the arguments of an encoder
MOST_KEPT = 4096


@dataclass
class _Encoded:
    function: str
    args: tuple


_by_bytes: dict[bytes, _Encoded] = {}
_by_object: dict[int, _Encoded] = {}


def watch(module: ModuleType, after: Callable[[ModuleType, str, Callable[[tuple, Any], None]], None]) -> None:
    """Note every map that is encoded from now on."""
    for name in _ENCODERS:
        after(module, name, _noting(name))
    after(module, "cuTensorMapReplaceAddress", _replaced)


def _noting(name: str) -> Callable[[tuple, Any], None]:
    def note(args: tuple, made: Any) -> None:
        _keep(made, _Encoded(name, tuple(list(each) if isinstance(each, (list, tuple)) else each for each in args)))

    return note


def _replaced(args: tuple, _result: Any) -> None:
    """A map with another address is as one that was encoded with it: the map that its object had before."""
    before = _by_object.get(args[0].getPtr())
    if before is not None:
        words = list(before.args)
        words[_ADDRESS] = args[1]
        _keep(args[0], _Encoded(before.function, tuple(words)))


def _keep(made: Any, encoded: _Encoded) -> None:
    if len(_by_bytes) < MOST_KEPT:
        _by_bytes[_bytes(made)] = encoded
        _by_object[made.getPtr()] = encoded


def _bytes(value: Any) -> bytes:
    return ctypes.string_at(value.getPtr(), NBYTES)


def text_of(data: bytes, memory: Allocations, hint: str) -> str | None:
    """An expression that encodes the map again; None where no such map was seen."""
    encoded = _by_bytes.get(data) if len(data) == NBYTES else None
    if encoded is None:
        return None
    words = [
        _word(memory, each, hint if place == _ADDRESS else "", place == _ADDRESS)
        for place, each in enumerate(encoded.args)
    ]
    return f"_ok(cuda.{encoded.function}({', '.join(words)}))"


def _word(memory: Allocations, value: Any, hint: str, is_address: bool) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_word(memory, each, hint, False) for each in value)}]"
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return f"cuda.{type(value).__name__}.{name}"
    kind = type(value).__name__
    if kind.startswith("cuuint"):
        return f"cuda.{kind}({int(value)})"
    if is_address:
        pointer = memory.pointer(int(value), memory.names.get(int(value), hint), "uint32")
        if pointer is not None:
            return pointer
    return str(int(value))
