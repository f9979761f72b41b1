"""Calls of kernels: the types of their parameters."""

import pytest

from dsl.core.number import dtypes
from dsl.core.number.dtypes import BFloat16
from dsl.launch import session


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()


def test_kernel_parameters_take_python_numbers_as_upstream(emulator):
    from dsl import cutlass
    from dsl.cutlass import cute

    seen = []

    @cute.kernel
    def kernel(a: cutlass.Uint8, b: cutlass.Uint16, c: cutlass.Uint32, d: cutlass.Uint64):
        seen.append((a.dtype, b.dtype, c.dtype, d.dtype))

    @cute.jit
    def host():
        kernel(200, 40000, 4000000000, 2**63 + 5).launch(grid=1, block=1)
        kernel(cutlass.Uint8(2), cutlass.Int16(4), cutlass.Uint32(3), cutlass.Int64(2)).launch(grid=1, block=1)

    with pytest.warns(UserWarning, match="becomes -294967296"):
        host()
    assert seen == [
        (dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64),
        (dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64),
    ]


def test_an_annotation_of_a_family_takes_numbers_as_they_are():
    from dsl.cutlass import Float, Integer, Numeric, cute

    kinds = []

    @cute.kernel
    def kernel(a: Float, b: Integer, c: Numeric, d: Float):
        kinds.append([type(value).__name__ for value in (a, b, c, d)])

    @cute.jit
    def host(a: Float, b: Integer, c: Numeric, d: Float):
        kinds.append([type(value).__name__ for value in (a, b, c, d)])
        kernel(a, b, c, d).launch(grid=1, block=1)
        kernel(1.5, 2, c, 3).launch(grid=1, block=1)

    host(1e-6, 3, BFloat16(2), 1)
    assert kinds == [["Float32", "Int32", "BFloat16", "Float32"]] * 2 + [["Float32", "Int32", "BFloat16", "Float32"]]
