"""Predicates of copies: a tensor of Boolean or of integers, one for every vector, or for every element of one."""

from __future__ import annotations

from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn
from dsl.core.number.dtypes import Boolean, Numeric
from dsl.layout.int_tuple import text
from dsl.tile.tensor.element_address import element_iterator, static_size
from dsl.tile.tensor.modes import append_ones, group_modes
from dsl.tile.tensor.tensor import Tensor


def vectors_and_rest(tensor: Tensor) -> Tensor:
    """The tensor with the modes (V, rest): what one call of an atom copies, and how often."""
    return group_modes(append_ones(tensor, 2) if lay.rank(tensor) < 2 else tensor, 1)


class Predicates:
    """The predicates of a copy of tensors (V, rest): which element of `pred` decides the vector at a coordinate.

    If V is (v, rest_v), one decides v elements, and pred is (rest_v, rest); otherwise each element has its own, and
    the predicate of a vector's first element decides the vector. Raises DSLUserCodeError for other sizes.
    """

    def __init__(self, pred: Any, shape: Any, copied: Any) -> None:
        self.pred = _require(pred)
        vector = shape[0]
        if isinstance(vector, tuple) and len(vector) > 1:
            self.together, each = lay.size(vector[0]), vector[1:]
        else:
            self.together, each = 1, vector
        wanted = (each, *(copied[1:] if isinstance(copied, tuple) else ()))
        modes = vectors_and_rest(pred).shape
        if [lay.size(mode) for mode in modes] != [lay.size(vector) // self.together, lay.size(shape[1])]:
            shown = tuple(mode[0] if isinstance(mode, tuple) and len(mode) == 1 else mode for mode in wanted)
            raise DSLUserCodeError(
                f"pred must have a shape like {text(shown)} for a copy of {text(copied)}, got {text(pred.shape)}",
                fix=f"cute.make_rmem_tensor({text(shown)}, cutlass.Boolean)",
            )
        self.pred = vectors_and_rest(pred)

    def at(self, coord: tuple[int, int], lowest_bit: bool) -> Numeric:
        """The condition of the vector that starts there: not zero, or for cp.async the lowest bit of an integer."""
        element = element_iterator(self.pred, (coord[0] // self.together, coord[1])).load()
        return condition(element, lowest_bit)

    def tell_of_bits(self) -> None:
        """Warn that cp.async looks at one bit of an integer: 2 is false."""
        if self.pred.element_type is not Boolean:
            warn(
                f"cp.async looks at the lowest bit of a predicate of {self.pred.element_type}: 2 is false. "
                "Store `x != 0` in a tensor of cutlass.Boolean",
                "PREDICATE_LOWEST_BIT",
            )


def _require(pred: Any) -> Tensor:
    if not isinstance(pred, Tensor):
        raise DSLUserCodeTypeError(
            f"pred must be a tensor of Boolean, got a {type(pred).__name__}",
            fix="pred = cute.make_fragment_like(dst, cutlass.Boolean); pred.fill(condition)",
        )
    if not pred.element_type.is_integer or pred.element_type.is_packed:
        raise DSLUserCodeTypeError(
            f"pred must be a tensor of Boolean, got a tensor of {pred.element_type}",
            fix="make it with `cutlass.Boolean`, and store conditions such as `x != 0` in it",
        )
    static_size(pred, "copy")
    return pred


def condition(value: Numeric, lowest_bit: bool = False) -> Numeric:
    """A predicate as a Boolean."""
    if type(value) is Boolean:
        return value
    return Boolean((value & 1) != 0) if lowest_bit else Boolean(value != 0)
