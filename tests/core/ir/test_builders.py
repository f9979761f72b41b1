"""core.ir.builders: the bindings' builders append where tracing is.

Modules tested here: dsl/core/ir/mlir.py.
"""

import pytest

from dsl.core.errors import DSLUserCodeRuntimeError
from dsl.core.ir import builders, mlir
from dsl.core.number.dtypes import Int32


def test_a_builder_appends_to_the_current_block():
    module = mlir.Module()  # which the block is of
    _, entry = module.function("f", [mlir.i32])
    with mlir.inside(entry):
        total = builders.attribute("arith", "addi")(entry.arguments[0], Int32(2), loc="any", ip="any")
        builders.attribute("arith", "MulIOp")(total, total)
    assert total.type == mlir.i32
    assert [operation.name for operation in entry.operations] == ["arith.constant", "arith.addi", "arith.muli"]


def test_before_a_marker():
    module = mlir.Module()  # which the block is of
    _, entry = module.function("f", [mlir.i32])
    with mlir.inside(entry):
        marker = mlir.op("llvm.return")
    with mlir.inside(mlir.Before(marker)):
        builders.attribute("arith", "addi")(entry.arguments[0], entry.arguments[0])
    assert [operation.name for operation in entry.operations] == ["arith.addi", "llvm.return"]


def test_the_type_that_older_releases_take():
    module = mlir.Module()  # which the block is of
    _, entry = module.function("f", [])
    with mlir.inside(entry):
        assert builders.attribute("nvvm", "read_ptx_sreg_laneid")(mlir.i32).type == mlir.i32


def test_outside_every_function():
    with pytest.raises(DSLUserCodeRuntimeError, match="computes a traced value outside any"):
        builders.attribute("arith", "addi")(1, 2)
