"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from dsl.emulator.families.arithmetic.rounding import SIGNATURES

__all__ = ["SIGNATURES"]
