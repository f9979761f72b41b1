"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {
    "emu_bulk_copy": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64, i32)",
    "emu_bulk_box": f"i32 (ptr, i32, i32, i32, i64, i64, i64, i32, i32{', i32' * 8})",
    "emu_bulk_peer": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64)",
    "emu_async_store": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64, i64)",
    "emu_bulk_commit": "void (ptr, i32)",
    "emu_bulk_wait": "void (ptr, i32, i32, i32)",
    "emu_bulk_exit": "void (ptr, i32)",
    "emu_bulk_arrive": "void (ptr)",
    "emu_bulk_arrive_at": "void (ptr, i64)",
    "emu_bulk_proxied": "i32 (ptr, i32, i32, i64, i32)",
    "emu_bulk_begins": "i32 (ptr, i32, i32, i64, i32, i32, i64, i32, i64)",
    "emu_map_asked": "i32 (ptr, i32, i32, i64, i32)",
}
