"""cutlass._mlir.ir: the bindings' own classes."""

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.cutlass._mlir import ir


def test_classes_are_the_bindings():
    assert ir.Value is mlir.ir.Value and ir.IntegerType is mlir.ir.IntegerType


def test_nvidias_classes_are_refused_where_they_are_used():
    missing = ir.FloatNV8E5M3FNUType
    with pytest.raises(DSLUserCodeError, match=r"cutlass\._mlir\.ir\.FloatNV8E5M3FNUType is not part of this compiler"):
        missing.get()
