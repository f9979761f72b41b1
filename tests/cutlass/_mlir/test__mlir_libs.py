"""cutlass._mlir._mlir_libs: the compiled bindings' `ir`, by its whole name."""

import importlib

from dsl.cutlass._mlir import _mlir_libs, ir


def test_ir_has_its_whole_name():
    whole = importlib.import_module(f"{_mlir_libs.__name__}._cutlass_ir._mlir.ir")
    assert whole.IntegerType is ir.IntegerType and whole.Value is ir.Value
