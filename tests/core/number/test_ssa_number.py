"""SSA values with operators: the operations and types, and the typed numbers that decide the type."""

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Float32, Int32, numeric
from dsl.core.number.ssa_number import SsaNumber, with_operators


@pytest.fixture
def values():
    """An i32 and an f32 of a function that ops are appended to, and the names of those ops."""
    module = mlir.Module()
    _, entry = module.function("f", [mlir.i32, mlir.f32])
    with mlir.inside(entry):
        yield (*map(with_operators, entry.arguments), lambda: [each.name for each in entry.operations])
    del module


def test_operators_of_values(values):
    v, f, names = values
    results = [v + 1, 1 - v, v * 2.0, v << 1, ~v, -f, f * f, f / 2, v < 3, v == v, abs(v)]
    assert [str(each.type) for each in results] == ["i32"] * 5 + ["f32"] * 3 + ["i1"] * 2 + ["i32"]
    assert all(isinstance(each, SsaNumber) for each in results)
    assert {"arith.addi", "arith.subi", "arith.muli", "arith.mulf", "arith.cmpi"} <= set(names())


def test_a_typed_number_decides(values):
    v, f, _ = values
    assert [type(each) for each in (v + Int32(1), Int32(1) + v, f + Float32(2), Float32(2) * v, Int32(v), numeric(f))] == [
        *(Int32,) * 2, *(Float32,) * 2, Int32, Float32,
    ]  # fmt: skip
    assert not isinstance(Int32(v).value, SsaNumber)  # `==` of what numbers hold compares values
    assert len({v, v}) == 1


def test_values_without_operators(values):
    v, f, _ = values
    with pytest.raises(DSLUserCodeError, match="an operator of two SSA values needs one type, got i32 and f32"):
        v + f
    with pytest.raises(TypeError):
        v + "1"
    assert with_operators(None) is None and with_operators(v) is v
