"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {"emu_multimem": "i64 (ptr, i64, i64, i32, i32)"}
