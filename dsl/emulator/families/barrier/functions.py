"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {
    "emu_wait_barrier": "i32 (ptr, i32, i32, i32, i32, i32)",
    "emu_arrive": "i32 (ptr, i32, i32, i32, i32)",
    "emu_order_barrier": "void (ptr, i32)",
}
