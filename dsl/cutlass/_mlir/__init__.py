"""`cutlass._mlir`: MLIR's Python bindings, which authors of ops import from upstream's package."""

from dsl.cutlass._mlir import dialects, extras, ir

__all__ = ["dialects", "extras", "ir"]
