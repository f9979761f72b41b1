"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {
    "emu_queue_copy": "void (ptr, i32, i64, i64, i32, i32)",
    "emu_queue_commit": "void (ptr, i32)",
    "emu_queue_wait": "void (ptr, i32, i32)",
    "emu_queue_arrive": "void (ptr, i32, i32, i64, i32)",
    "emu_queue_look": "void (ptr, i64)",
    "emu_queue_seen": "void (ptr, i32, i64, i32)",
}
