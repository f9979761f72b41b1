"""Native code for a stop flag that is set: stop, or hear signals and go on."""

from __future__ import annotations

import ctypes

from dsl.emulator import context
from dsl.emulator.builder import Builder

# It touches nothing that a kernel's code reads otherwise, so that loops keep in registers what they had there.
SIGNATURES = {"emu_take_signals": "i32 (i64) nounwind memory(inaccessiblemem: readwrite)"}
_PYTHON = {"PyGILState_Ensure": "i32 ()", "PyGILState_Release": "void (i32)", "PyErr_CheckSignals": "i32 ()",
           "PyErr_Fetch": "void (ptr, ptr, ptr)", "PyErr_NormalizeException": "void (ptr, ptr, ptr)"}  # fmt: skip


def python() -> dict[str, int]:
    """The addresses of what it calls in Python."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}


def functions() -> list[str]:
    """The IR text."""
    declared = [f"declare {text.partition(' ')[0]} @{name}{text.partition(' ')[2]}" for name, text in _PYTHON.items()]
    return [*declared, _take_signals()]


def _take_signals() -> str:
    """0 to go on. Where it was asked to, signals are handled; what a handler raises is kept, and ends the launch.

    A handler's exception cannot go through a callback: it is raised before the callback's first statement.
    """
    f = Builder()
    f.do("%ctx = inttoptr i64 %address to ptr")
    pair = f.op(f"cmpxchg volatile ptr {f.field('stop')}, i32 {context.ASKED}, i32 0 seq_cst seq_cst")
    asked = f.op(f"extractvalue {{ i32, i1 }} {pair}, 1")
    f.return_if(f.xor(asked, "true", "i1"), f"i32 {f.op(f'extractvalue {{ i32, i1 }} {pair}, 0')}")
    grid = f.cast("inttoptr", f.load("shared_grid"), "i64", "ptr")
    lock = f.op("call i32 @PyGILState_Ensure()")
    raised = f.op("call i32 @PyErr_CheckSignals()")
    with f.if_(f.cmp("ne", raised, 0)):
        parts = ", ".join(f"ptr {f.field(f'raised_{part}', of=grid)}" for part in ("type", "value", "trace"))
        f.do(f"call void @PyErr_Fetch({parts})")
        f.do(f"call void @PyErr_NormalizeException({parts})")
        f.store_shared("halt", "1", grid)
    f.do(f"call void @PyGILState_Release(i32 {lock})")
    # a stop at the same time
    late = f.cmp("ugt", f.load("block"), f.load_shared("first_fault", grid, "seq_cst"), "i64")
    over = f.or_(late, f.cmp("ne", f.load_shared("halt", grid), 0), "i1")
    f.do(f"ret i32 {f.cast('zext', over, 'i1', 'i32')}")
    return f.function("define i32 @emu_take_signals(i64 %address)")
