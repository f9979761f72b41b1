"""Requests of a kernel to the hardware about its launch: kernels after it, and registers a thread.

PTX ISA: griddepcontrol, setmaxnreg.
"""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeError, DSLUserCodeValueError
from dsl.core.phrase import Phrase
from dsl.gpu.inline import ptx

LEAST_REGISTERS, MOST_REGISTERS = 24, 256


def griddepcontrol_wait() -> None:
    """Wait until the kernels this one depends on have ended and their writes can be seen.  PTX ISA: griddepcontrol."""
    ptx("griddepcontrol.wait;", None, "")


def griddepcontrol_launch_dependents() -> None:
    """Let kernels that depend on this one begin.  PTX ISA: griddepcontrol."""
    ptx("griddepcontrol.launch_dependents;", None, "")


def setmaxregister_increase(reg_count: int) -> None:
    """Wait for, and take, registers until each thread of the warpgroup has `reg_count`.  PTX ISA: setmaxnreg.inc."""
    set_registers("inc", reg_count)


def setmaxregister_decrease(reg_count: int) -> None:
    """Give back registers until each thread of the warpgroup has `reg_count`.  PTX ISA: setmaxnreg.dec."""
    set_registers("dec", reg_count)


def set_registers(how: str, reg_count: int) -> None:
    """`how`: inc or dec. Raises DSLUserCodeError for a count that is dynamic, or none.  PTX ISA: setmaxnreg."""
    if not isinstance(reg_count, int):
        raise DSLUserCodeError(
            "register count must be known while compiling, got a dynamic value",
            fix=Phrase("pass it as cutlass.Constexpr", "PASS_AS_STATIC"),
            id="ARG_NON_CONSTANT",
        )
    if reg_count % 8 or not LEAST_REGISTERS <= reg_count <= MOST_REGISTERS:
        raise DSLUserCodeValueError(
            f"register count must be a multiple of 8 from {LEAST_REGISTERS} to {MOST_REGISTERS}, got {reg_count}",
            fix=Phrase("setmaxregister_increase(232), for example", "REGISTER_COUNT"),
            id="SETMAXNREG",
        )
    ptx(f"setmaxnreg.{how}.sync.aligned.u32 {reg_count};", None, "")
