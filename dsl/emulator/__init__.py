"""A PTX machine: PTX text of any compiler runs on the CPU as native code; device addresses are host addresses.

program = emulator.load(ptx)
memory = emulator.Memory(); memory.register(array.ctypes.data, array.nbytes, "a")
emulator.launch(program, "kernel", (1, 1, 1), (32, 1, 1), [pointer_bytes], memory)
"""

from __future__ import annotations

from .check.explain import SameValueRace
from .launch import launch, resident_blocks
from .memory import Memory
from .objects import BadObject, key as object_key
from .program import Entry, Param, Program, load
from .report import Fault
from .syntax import PtxError, Unsupported

__all__ = [
    "BadObject",
    "Entry",
    "Fault",
    "Memory",
    "Param",
    "Program",
    "PtxError",
    "SameValueRace",
    "Unsupported",
    "launch",
    "load",
    "object_key",
    "resident_blocks",
]
