"""The common parts of an API's functions: C types, results, handles, and how a method becomes a C function."""

from __future__ import annotations

import ctypes
import inspect
import itertools
from collections.abc import Callable
from typing import Annotated, Any

from dsl.interrupts import called_by_machine_code, heard_in_caller
from dsl.launch.driver import results

# Annotations of the arguments of a method that C calls.
Pointer = Annotated[int | None, ctypes.c_void_p]
Text = Annotated[bytes | None, ctypes.c_char_p]
Int = Annotated[int, ctypes.c_int]
Unsigned = Annotated[int, ctypes.c_uint]
Long = Annotated[int, ctypes.c_uint64]
Byte = Annotated[int, ctypes.c_ubyte]
Short = Annotated[int, ctypes.c_ushort]


class Refused(Exception):
    """A call that fails; `code` is its CUresult."""

    def __init__(self, code: int):
        super().__init__(code)
        self.code = code


def refuse_if(holds: object, code: int = results.INVALID_VALUE) -> None:
    """Raise Refused where `holds`."""
    if holds:
        raise Refused(code)


def put(address: int | None, kind: Any, value: Any) -> None:
    """Write a result through a pointer; a null pointer is refused."""
    refuse_if(not address)
    kind.from_address(address).value = value


def put_if(address: int | None, kind: Any, value: Any) -> None:
    """Write a result that the caller may not want."""
    if address:
        kind.from_address(address).value = value


def array(address: int | None, kind: Any, count: int) -> tuple[int, ...]:
    """`count` numbers at an address; a null pointer is refused."""
    refuse_if(not address)
    return tuple((kind * count).from_address(address))


class Handles:
    """Objects that C knows by numbers."""

    def __init__(self) -> None:
        self._next = itertools.count(0x10000, 0x10)
        self._objects: dict[int, Any] = {}

    def add(self, value: Any) -> int:
        handle = next(self._next)
        self._objects[handle] = value
        return handle

    def get(self, handle: int | None, kind: type, code: int = results.INVALID_HANDLE) -> Any:
        """The object of this kind that a handle names; refused if there is none."""
        value = self._objects.get(handle or 0)
        refuse_if(not isinstance(value, kind), code)
        return value

    def items(self) -> list[tuple[int, Any]]:
        return list(self._objects.items())

    def remove(self, handle: int | None, kind: type) -> Any:
        value = self.get(handle, kind)
        del self._objects[handle or 0]
        return value


def c_function(name: str, method: Callable, call: Callable[..., int]) -> Any:
    """`call` as the C function `name`: its arguments are annotated at `method`. A signal ends a launch, which may run
    long, and its handler runs in the caller; elsewhere what a handler raises is printed, and the call fails."""
    hints = inspect.get_annotations(inspect.unwrap(method), eval_str=True)
    hints.pop("return", None)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *(hint.__metadata__[0] for hint in hints.values()))
    return kind(heard_in_caller(call, results.UNKNOWN) if "Launch" in name else called_by_machine_code(call))
