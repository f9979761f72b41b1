"""Host memory of a module's .global and .const variables."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from dsl.emulator.machine import context
from dsl.emulator.machine.memory import Allocation
from dsl.emulator.ptx.syntax import PtxError, Sym, Unsupported, Variable

_allocate: Callable[[int], Any] = ctypes.create_string_buffer


def allocate_by(allocate: Callable[[int], Any]) -> None:
    """Let this function give the memory for variables from now on: a cleared ctypes array of a size in bytes."""
    global _allocate
    _allocate = allocate


class Variables:
    """Host memory of .global and .const variables, initialised."""

    def __init__(self, rows: list[Variable]):
        self.rows = rows = sorted(rows, key=lambda variable: variable.space != "const")  # isspacep.const is a window
        self.offsets: dict[str, int] = {}
        end = 0
        for variable in rows:
            if variable.extern and not variable.init:
                raise Unsupported(
                    variable.name, variable.line, why="an .extern variable has no memory: link the module that has it"
                )
            align = max(variable.align, 16)
            end = -(-end // align) * align
            self.offsets[variable.name] = end
            end += variable.size + 16
        self._buffer = _allocate(end + 256)
        self.address = (ctypes.addressof(self._buffer) + 255) // 256 * 256
        kinds = {"global": context.GLOBAL, "const": context.CONST}
        self.allocations = [
            Allocation(self.address + self.offsets[v.name], v.size, v.name, kinds[v.space]) for v in rows if v.size
        ]
        for variable in rows:
            self._initialise(variable)

    def _initialise(self, variable: Variable) -> None:
        start = self.address + self.offsets[variable.name]
        for offset, size, value, shift in variable.init:
            if isinstance(value, Sym):
                if value.name not in self.offsets:
                    raise PtxError(
                        f"`{variable.name}` is initialised with the address of `{value.name}`, not a variable",
                        variable.line,
                    )
                number = self.address + self.offsets[value.name] + value.offset
            else:
                number = value.value
            number = (number >> shift) & ((1 << (8 * size)) - 1)
            if offset + size <= variable.size:
                ctypes.memmove(start + offset, number.to_bytes(size, "little"), size)
