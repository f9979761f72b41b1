"""Pageable memory of the host that kernels get: the emulator can access it, and a GPU cannot.

Managed, pinned and mapped memory is known to the device, as memory of the GPU is.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import weakref
from collections.abc import Sequence
from types import CodeType
from typing import Any

from dsl import span
from dsl.core.errors import PortabilityWarning, warn_at
from dsl.exceptions import KernelFault, finding, related_place
from dsl.finding_kinds import KINDS

TAKEN, WARNED, REFUSED = range(3)
NAME = "HOST_MEMORY"
_REMEMBERED = 8192  # tensors whose place is known
_VIEWS = 4  # of a tensor that are remembered
Storage = tuple[int, int, str]  # address, bytes, and the parameter that it comes by


class PageableMemory(KernelFault):
    """A launch that was refused; `place`: where the tensor was made, or else passed."""

    kind = KINDS[NAME].outcome

    def __init__(self, place: span.Span, message: str, fix: str, also: list[tuple[span.Span, str]]):
        super().__init__(text := span.render(place, NAME, message, fix, also))
        self.place = place
        self.repro_outcome = {
            "outcome": "fault", "kind": self.kind, "file": place.file, "line": place.line, "text": text,
            "finding": finding(NAME, message, fix, place, [related_place(*each) for each in also]),
        }  # fmt: skip


class HostMemory:
    """How a device reacts to it: `reaction`. `made` notes where tensors were made, by the address of their memory."""

    def __init__(self) -> None:
        self.looks = ctypes.c_int32()  # whether `look` is of use, for machine code that makes launches
        self._reaction = TAKEN
        self._made: dict[int, tuple[list[weakref.ref], CodeType, int]] = {}
        self._between: dict[str, bool] = {}
        self._lent: dict[int, Storage] = {}
        self._warned: set[tuple] = set()

    @property
    def reaction(self) -> int:
        """Whether it is taken, warned of, or refused."""
        return self._reaction

    @reaction.setter
    def reaction(self, reaction: int) -> None:
        self._reaction = reaction
        self._note()

    def _note(self) -> None:
        self.looks.value = self._reaction != TAKEN and bool(self._lent or self._made)

    def made(self, tensor: Any, address: int) -> None:
        """Note that the author's code has made a tensor on the CPU with its own memory, at an address."""
        frame, made = sys._getframe(1), self._made
        while frame is not None and self._is_between(frame.f_code):
            frame = frame.f_back
        if frame is not None:
            made[address] = [weakref.ref(tensor)], frame.f_code, frame.f_lasti
            self._note()
            if len(made) > _REMEMBERED:
                for old in list(made)[: _REMEMBERED // 2]:
                    del made[old]

    def seen(self, tensor: Any, address: int) -> None:
        """A view has been made of the memory at an address, which lives as long as it does."""
        row = self._made.get(address)
        if row is not None:
            row[0][:] = [each for each in row[0] if each() is not None][:_VIEWS] + [weakref.ref(tensor)]

    def _is_between(self, code: CodeType) -> bool:
        """Whether `code` is of this package or of a library."""
        between = self._between.get(code.co_filename)
        if between is None:
            between = span.is_between(code) or span.is_installed_file(code.co_filename)
            self._between[code.co_filename] = between
        return between

    def lend(self, storages: Sequence[Storage], memory: Any) -> list[Storage]:
        """Look for these in launches, until `take_back`, if they are not memory of the device; returns those."""
        if self.reaction == TAKEN:
            return []
        lent = [each for each in storages if each[1] and not memory.holds(each[0])]
        self._lent |= {each[0]: each for each in lent}
        self._note()
        return lent

    def take_back(self, lent: Sequence[Storage]) -> None:
        for address, *_ in lent:
            self._lent.pop(address, None)
        self._note()

    def look(self, kernel: str, params: Sequence[bytes], memory: Any) -> None:
        """Warn of a pointer to it among the parameters of a launch, or refuse the launch. Raises PageableMemory."""
        if not self.looks.value:
            return
        for param in params:
            for (word,) in struct.iter_unpack("<Q", param[: len(param) // 8 * 8]):
                for address, nbytes, name in list(self._lent.values()):
                    if address <= word < address + nbytes:
                        self._react(kernel, address, name)
                if self._origin(word) and word not in self._lent and not memory.holds(word):
                    self._react(kernel, word, "")  # a pointer that the program took of a tensor

    def _origin(self, address: int) -> span.Span | None:
        """The place where the tensor was made whose memory begins there, if it still lives."""
        row = self._made.get(address)
        return span.of_code(*row[1:]) if row and any(each() is not None for each in row[0]) else None

    def _react(self, kernel: str, address: int, name: str) -> None:
        call, origin = span.here(), self._origin(address)
        place = origin or call
        which = f"parameter `{name}` of this call" if origin is None else "this tensor"
        message = f"{which} is pageable memory of the host, and `{kernel}` gets it: a GPU cannot access it"
        if origin:
            fix = 'make it with device="cuda", or move it with .cuda()'
        elif "torch" in sys.modules:
            fix = "copy it to the GPU: torch.from_numpy(array).cuda()"
        else:
            fix = "copy it into memory of cudaMallocManaged (cuda.bindings.runtime), as `repro new --numpy` shows"
        if self.reaction == WARNED:
            if (place, kernel) in self._warned:
                return
            self._warned.add((place, kernel))
            try:
                warn_at(f"{NAME}: {message}; fix: {fix}", PortabilityWarning, place)
                return
            except PortabilityWarning:  # the author made it an error
                pass
        also = [(call, "it is passed here")] if origin else []
        raise PageableMemory(place, message, fix, also)
