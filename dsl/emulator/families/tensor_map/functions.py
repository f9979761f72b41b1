"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {"emu_box_bytes": "i32 (i64, i32)", "emu_map_replace": "i32 (ptr, i64, i32, i32, i64, i32, i32)"}
