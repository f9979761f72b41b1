"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.control import call, emit as control, stack
from dsl.emulator.ir.rows import NONE, Rows, nothing
from dsl.emulator.ptx.traits import IDLE, NO_EFFECT, NO_RESULT, POLLS, TIMED

ROWS = Rows()
_row = ROWS.add

_row("bra", "9.7.12.3", "?uni", control.branch, traits=IDLE)
_row("brx", "9.7.12.4", "^idx ?uni", control.branch_indexed, traits=IDLE | NO_RESULT)
_row("call", "9.7.12.5", "?uni", call.call, traits=IDLE)
_row("ret", "9.7.12.6", "?uni", control.leave, traits=IDLE)
_row("exit", "9.7.12.7", "", control.leave_thread, traits=IDLE)
_row("brkpt trap", "9.7.19.1", "", control.trap)
_row("nanosleep", "9.7.19.2", "u32", control.nanosleep, traits=IDLE | NO_RESULT | POLLS)
_row("pmevent", "9.7.19.3", "?mask", nothing, traits=NO_EFFECT)
_row("griddepcontrol", "9.7.13.13", "^launch_dependents @90", nothing, traits=NO_EFFECT | TIMED)
_row("griddepcontrol", "9.7.13.13", "^wait @90", control.wait_for_grids, traits=NO_EFFECT | TIMED)
_row("setmaxnreg", "9.7.19.5", "inc/dec sync aligned u32 @90a+", control.set_registers, traits=NO_EFFECT)
_row("alloca", "9.7.17.3", "u32/u64 @:7.3", stack.allocate, operands="* * * *?", traits=IDLE)
_row("stacksave", "9.7.17.1", "u32/u64 @:7.3", stack.save, operands="=1 *", traits=IDLE)
_row("stackrestore", "9.7.17.2", "u32/u64 @:7.3", stack.restore, operands="* 1", traits=IDLE)

OPERANDS = {
    NONE: "ret exit trap brkpt griddepcontrol",
    "*": "bra",
    "u32": "nanosleep",
    "n": "pmevent setmaxnreg",
    "* *": "brx",
}
