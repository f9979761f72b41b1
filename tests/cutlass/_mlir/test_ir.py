"""cutlass._mlir.ir: the bindings' own classes."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.cutlass import cute
from dsl.cutlass._mlir import ir
from dsl.cutlass._mlir.dialects import math
from dsl.launch import session


def test_classes_are_the_bindings():
    assert ir.Value is mlir.ir.Value and ir.IntegerType is mlir.ir.IntegerType


def test_nvidias_classes_are_refused_where_they_are_used():
    missing = ir.FloatNV8E5M3FNUType
    with pytest.raises(DSLUserCodeError, match=r"cutlass\._mlir\.ir\.FloatNV8E5M3FNUType is not part of this compiler"):
        missing.get()


def test_a_value_of_an_own_op_is_a_number():
    """`math.log` returns an SSA value, which can be added to a number; it equals `cute.math.log`."""

    @cute.kernel
    def kernel(x: cute.Tensor, y: cute.Tensor):
        y[0] = x[0] + math.log(x[0])
        y[1] = x[0] + cute.math.log(x[0])

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor):
        kernel(x, y).launch(grid=1, block=1)

    x, y = np.array([3.7], np.float32), np.zeros(2, np.float32)
    session.start("emulator")
    try:
        host(x, y)
    finally:
        session.stop()
    assert y[0] == y[1] and abs(y[0] - (3.7 + np.log(3.7))) < 1e-5
