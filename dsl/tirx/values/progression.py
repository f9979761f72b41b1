"""The vector base, base + stride, ... of T.ramp, which as an index takes elements that follow each other."""

from __future__ import annotations

from typing import Any

from dsl.core.number.dtypes import Numeric
from dsl.tile.vector import ssa
from dsl.tile.vector.ssa import TensorSSA


class Progression(TensorSSA):
    """A vector that remembers its base and stride."""

    __slots__ = ("base", "stride")

    def __init__(self, base: Numeric, stride: Numeric, lanes: int):
        elements = [base + stride * k for k in range(lanes)]
        super().__init__(ssa.from_elements([number.ir() for number in elements]), lanes, type(base))
        self.base, self.stride = base, stride

    @property
    def is_contiguous(self) -> bool:
        return self.stride.value == 1

    def indices(self) -> tuple[Any, int]:
        """The first index and how many follow."""
        return self.base, self.size
