"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {"emu_fill": "i32 (ptr, i32, i32, i64, i64)", "emu_discard": "void (ptr, ptr, i64)"}
