"""Operands of T's functions: numbers of one dtype, and vectors lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, numeric
from dsl.tile.vector import ssa
from dsl.tile.vector.ssa import TensorSSA
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.values.promotion import converted, instead_of, number_of, promote
from dsl.tirx.values.vector_lanes import as_vector


def together(name: str, *operands: Any) -> list[Numeric]:
    """Operands as numbers of their common dtype. Raises DSLUserCodeTypeError for one that is not a number."""
    numbers = []
    for operand in operands:
        number = numeric(operand)
        if number is None:
            raise DSLUserCodeTypeError(
                f"T.{name} takes numbers, got {type_name(operand)}", id="OPERAND_TYPE", fix=instead_of(operand)
            )
        numbers.append(number)
    dtype = type(numbers[0])
    for number in numbers[1:]:
        dtype = promote(dtype, type(number))
    return [converted(number, dtype) for number in numbers]


def elementwise(function: Callable, *operands: Any) -> Any:
    """`function` of numbers, or lane by lane."""
    operands = tuple(map(as_vector, operands))
    vectors = [operand for operand in operands if isinstance(operand, TensorSSA)]
    if not vectors:
        return function(*operands)
    lanes = vectors[0].size
    every = [
        [ssa_lane(operand, k) if isinstance(operand, TensorSSA) else operand for operand in operands]
        for k in range(lanes)
    ]
    results = [number_of(function(*lane)) for lane in every]
    return TensorSSA(ssa.from_elements([number.ir() for number in results]), lanes, type(results[0]))


def ssa_lane(vector: TensorSSA, k: int) -> Numeric:
    """Lane `k` of a vector."""
    return vector.dtype(ssa.extract(vector.ir(), k))
