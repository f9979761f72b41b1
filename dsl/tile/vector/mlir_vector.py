"""MLIR vectors: their elements, and vectors of elements."""

from __future__ import annotations

from dsl.core.ir import arithmetic, mlir
from dsl.core.number.dtypes import Numeric, is_dynamic


def extract(value: mlir.Value, index: int | mlir.Value) -> mlir.Value:
    """One element of a vector."""
    dynamic = not isinstance(index, int)
    position = mlir.ir.DenseI64ArrayAttr.get([-(1 << 63) if dynamic else index], mlir.context)
    if not dynamic:
        return mlir.op(
            "vector.extract", [arithmetic.element(value.type)], [value], {"static_position": position}
        ).results[0]
    return mlir.result("llvm.extractelement", arithmetic.element(value.type), value, index)


def shuffle(value: mlir.Value, indices: list[int]) -> mlir.Value:
    """The elements of a vector at `indices`."""
    mask = mlir.ir.DenseI64ArrayAttr.get(indices, mlir.context)
    type_ = mlir.vector(arithmetic.element(value.type), len(indices))
    return mlir.op("vector.shuffle", [type_], [value, value], {"mask": mask}).results[0]


def from_elements(values: list[mlir.Value]) -> mlir.Value:
    return mlir.result("vector.from_elements", mlir.vector(values[0].type, len(values)), *values)


def splat(number: Numeric, count: int) -> mlir.Value:
    """A vector with `number` in every element."""
    type_ = mlir.vector(number.mlir_type, count)
    if is_dynamic(number):
        return mlir.result("vector.broadcast", type_, number.ir())
    return arithmetic.constant(type(number).constant_of(number.value), type_)
