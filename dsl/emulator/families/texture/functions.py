"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {
    "emu_texture": "i32 (ptr, i64, i32, ptr, ptr, i32, i32)",
    "emu_surface": "i32 (ptr, i64, i32, ptr, ptr, i32, i32)",
}
