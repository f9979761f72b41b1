"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {
    **dict.fromkeys(
        (f"emu_tensor_{what}" for what in ("alloc", "dealloc", "relinquish", "ld", "st")), "void (ptr, i32)"
    ),
    "emu_tensor_issue": "i32 (ptr, i32, i32, ptr)",
    "emu_tensor_look": "void (ptr, i64)",
    "emu_tensor_waited": "void (ptr, i32, i32, i32)",
}
