"""Which memory of a program an address points into, asked of the driver."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.capture.arguments.device_memory import DeviceMemory
from harness.capture.arguments.memory import is_torch
from harness.capture.arguments.spelling import LEAST_ADDRESS, PUBLIC, Spelling
from harness.capture.refusal import CannotBeCaptured

MOST_WORDS = 512  # of an allocation that is looked through for addresses
_HOST_MEMORY = 1  # CU_MEMORYTYPE_HOST
KINDS = {"device": "cuda.cuMemAlloc", "managed": "cuda.cuMemAllocManaged, 1", "host": "cuda.cuMemHostAlloc, 2"}


@dataclasses.dataclass
class Place:
    """The allocation around an address. `kind`: one of KINDS."""

    address: int
    nbytes: int
    kind: str


def driver() -> Any:
    """The module cuda.bindings.driver."""
    return sys.modules["cuda.bindings.driver"]


def good(result: tuple) -> Any:
    """The values that a function of the driver returned. Raises CannotBeCaptured if it failed."""
    code, *values = result
    if int(code) != 0:
        raise CannotBeCaptured(f"the driver returned {getattr(code, 'name', code)}")
    return values[0] if len(values) == 1 else values


def covering(address: int) -> Place | None:
    """The driver's allocation that an address is in."""
    cuda = driver()
    kinds = cuda.CUpointer_attribute

    def asked(name: str) -> Any:
        code, value = cuda.cuPointerGetAttribute(getattr(kinds, f"CU_POINTER_ATTRIBUTE_{name}"), address)
        return int(value) if int(code) == 0 and value is not None else None

    start, nbytes = asked("RANGE_START_ADDR"), asked("RANGE_SIZE")
    if start is None or not nbytes or not start <= address < start + nbytes:
        return None
    kind = "managed" if asked("IS_MANAGED") else "host" if asked("MEMORY_TYPE") == _HOST_MEMORY else "device"
    return Place(start, nbytes, kind)


def read(address: int, nbytes: int) -> np.ndarray:
    """A copy of device memory on the host."""
    data = np.empty(nbytes, np.uint8)
    if nbytes:
        good(driver().cuMemcpy(data.ctypes.data, address, nbytes))
    return data


class Allocations:
    """The allocations that one launch reaches, each under one name.

    `making` gives the expression that makes memory of a kind, with `{}` for its contents; `output` the one that reads
    it. `address` writes the address of a name and bytes past it.
    """

    def __init__(
        self,
        spelling: Spelling,
        making: Callable[[str], str],
        output: Callable[[str, int], str],
        address: Callable[[str, int], str],
        names: dict[int, str],
    ):
        self.spelling, self.making, self.output, self.address = spelling, making, output, address
        self.names = names  # the program's variables, by the address that they hold
        self._known: dict[int, DeviceMemory] = {}

    def pointer(self, address: int, hint: str, dtype: str = "uint32") -> str | None:
        """An expression for an address; None where it points into no allocation."""
        if address < LEAST_ADDRESS:
            return None
        owner = self.spelling.memory.covering(address)
        if owner is not None:
            past = address - owner.data_ptr()
            self.spelling.imports[PUBLIC["torch"]] = None
            text = f"{self.spelling.of(owner, hint)}.data_ptr()"
            return text + (f" + {past}" if past > 0 else f" - {-past}" if past else "")
        place = covering(address)
        if place is None:
            return None
        name = self.memory(place, self.names.get(place.address, hint), dtype)
        return self.address(name, address - place.address)

    def memory(self, place: Place, hint: str, dtype: str) -> str:
        """The name of an allocation."""
        memory = self._known.get(place.address)
        if memory is None:
            made = self.making(place.kind)
            memory = DeviceMemory(place.address, place.nbytes, dtype, made, "", read)
            size = np.dtype(memory.dtype).itemsize
            memory.output = self.output(memory.dtype, place.nbytes // size)
            self._known[place.address] = memory
            name = self.spelling.of(memory, hint)
            self._addresses_in(memory)
            return name
        return self.spelling.of(memory, hint)

    def variable(self, address: int, nbytes: int, name: str, dtype: str, making: str) -> None:
        """A variable of the kernel's module as memory of the call."""
        memory = DeviceMemory(address, nbytes, dtype, making, "", read)
        memory.output = self.output(memory.dtype, nbytes // np.dtype(memory.dtype).itemsize)
        self._known[address] = memory
        self.spelling.of(memory, name)

    def _addresses_in(self, memory: DeviceMemory) -> None:
        """Write words that are addresses of other allocations as such."""
        words = memory.bytes()[: memory.nbytes // 8 * 8].view(np.uint64)
        if not 0 < words.size <= MOST_WORDS or memory.nbytes % 8:
            return
        texts, found = [], False
        for word in words.tolist():
            text = self.pointer(word, "pointed_at") if word >= LEAST_ADDRESS and word >> 48 == 0 else None
            found = found or text is not None
            texts.append(text or str(word))
        if found:
            storage = next(each for each in self.spelling.memory.storages if each.owner is memory)
            storage.addresses = texts


def names_around() -> dict[int, str]:
    """Addresses -> the names of variables of the program that hold them, the nearest caller's first."""
    found: dict[int, str] = {}
    frame = sys._getframe(1)
    depth = 0
    while frame is not None and depth < 12:
        if not frame.f_globals.get("__name__", "").startswith(("harness.capture", "cuda.")):
            for name, value in list(frame.f_locals.items()):
                address = _address_of(value)
                if address is not None and name.isidentifier():
                    found.setdefault(address, name)
            depth += 1
        frame = frame.f_back
    return found


def _address_of(value: Any) -> int | None:
    kind = type(value).__name__
    try:
        if kind == "CUdeviceptr":
            return int(value)
        if kind in ("Buffer", "ManagedBuffer") and type(value).__module__.startswith("cuda.core"):
            return int(value.handle)
        if is_torch(value):
            return value.data_ptr() or None
    except (TypeError, ValueError, AttributeError, RuntimeError):
        return None
    return None
