"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {
    "emu_wgmma": "void (ptr, i32)",
    "emu_matrix_read": "i32 (ptr, i32, i32, i64)",
    "emu_matrix_written": "i32 (ptr, i32, i32, i64, i32)",
}
