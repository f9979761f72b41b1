"""MLIR vectors: elements of them, and vectors of elements."""

import pytest

from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Float32, Int32
from dsl.tile.vector.mlir_vector import extract, from_elements, shuffle, splat


@pytest.fixture
def arguments():
    """A vector of 4 floats, an index and a float, in a function whose module is checked after the test."""
    module = mlir.Module()
    _, entry = module.function("f", [mlir.vector(mlir.f32, 4), mlir.i32, mlir.f32])
    with mlir.inside(entry):
        yield list(entry.arguments)
        mlir.op("llvm.return")
    assert module.operation.verify()


def text(value) -> str:
    return str(value.owner)


def test_an_element_by_a_static_and_by_a_dynamic_index(arguments):
    vector, index, _ = arguments
    assert '"vector.extract"(%arg0) <{static_position = array<i64: 3>}>' in text(extract(vector, 3))
    assert '"llvm.extractelement"(%arg0, %arg1)' in text(extract(vector, index))


def test_elements_in_another_order_and_number(arguments):
    result = shuffle(arguments[0], [3, 0, 0])
    assert "(%arg0, %arg0) <{mask = array<i64: 3, 0, 0>}>" in text(result) and str(result.type) == "vector<3xf32>"


def test_a_vector_of_elements(arguments):
    assert str(from_elements([arguments[2]] * 5).type) == "vector<5xf32>"


def test_one_number_in_every_element(arguments):
    assert '"vector.broadcast"(%arg2) : (f32) -> vector<4xf32>' in text(splat(Float32(arguments[2]), 4))
    assert "dense<7> : vector<3xi32>" in text(splat(Int32(7), 3))
    assert "dense<true> : vector<2xi1>" in text(splat(Boolean(True), 2))
