"""A PTX machine: PTX text of any compiler runs on the CPU as native code; device addresses are host addresses.

program = emulator.load(ptx)
memory = emulator.Memory(); memory.register(array.ctypes.data, array.nbytes, "a")
emulator.launch(program, "kernel", (1, 1, 1), (32, 1, 1), [pointer_bytes], memory)
"""

from __future__ import annotations

from dsl.emulator.execute.code import Entry, Param
from dsl.emulator.execute.decisions import BadSchedule, Decisions
from dsl.emulator.execute.launch import check_shape, launch, resident_blocks
from dsl.emulator.execute.object_code import BadObject, key as object_key
from dsl.emulator.execute.program import Program, load
from dsl.emulator.execute.repeats import failure_of, handle
from dsl.emulator.execute.variables import allocate_by as allocate_variables_by
from dsl.emulator.faults import Fault, KernelNote, KernelWarning, SameValueRace
from dsl.emulator.machine.memory import Memory
from dsl.emulator.machine.native import keep_in
from dsl.emulator.ptx.syntax import PtxError, Unsupported

__all__ = [
    "BadObject",
    "BadSchedule",
    "Decisions",
    "Entry",
    "Fault",
    "KernelNote",
    "KernelWarning",
    "Memory",
    "Param",
    "Program",
    "PtxError",
    "SameValueRace",
    "Unsupported",
    "allocate_variables_by",
    "check_shape",
    "failure_of",
    "handle",
    "keep_in",
    "launch",
    "load",
    "object_key",
    "resident_blocks",
]
