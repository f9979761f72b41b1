"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

_NOTE = "i32 (ptr, i32, i32, i64, i32)"

SIGNATURES = {**{f"emu_note_{what}": _NOTE for what in (0, 1, 2, 4, 6, 8, 16, 32, 64)}, "emu_no_mbarrier": _NOTE}
