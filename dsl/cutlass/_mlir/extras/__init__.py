"""`cutlass._mlir.extras`."""

from dsl.cutlass._mlir.extras import types

__all__ = ["types"]
