"""Swizzle: index bits xored into lower ones, so that columns of a tile fall into different banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl.layout.int_tuple import LayoutError
from dsl.layout.layout import ComposedLayout, Layout, cosize, size


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Index bits YYY are xored into bits ZZZ: `bits` bits wide, ZZZ starting at bit `base`, YYY `shift` bits above it.

    A negative shift has YYY below ZZZ. Raises LayoutError where the two ranges would overlap.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if any(not isinstance(v, int) for v in (self.bits, self.base, self.shift)):
            raise LayoutError("a swizzle has static parameters", fix="write the three in integers")
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise LayoutError(
                f"{self}: bits and base must not be negative, and the shift must not be less than the bits",
                fix="for example make_swizzle(3, 4, 3)",
            )

    @classmethod
    def from_name(cls, name: str) -> Swizzle:
        """The swizzle of byte addresses that TMA has: none, s32b, s64b or s128b."""
        if name not in _NAMED:
            raise LayoutError(f"swizzle must be one of {', '.join(_NAMED)}, got {name!r}", fix='from_name("s128b")')
        return cls(*_NAMED[name])

    def __call__(self, index: Any) -> Any:
        if self.bits == 0:
            return index
        mask = ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))
        selected = index & mask
        return index ^ (selected >> self.shift if self.shift >= 0 else selected << -self.shift)

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    static_parts = ()

    def __flatten__(self) -> tuple[tuple, Any]:
        """No dynamic leaves: control flow and calls of kernels carry it as it is (core.pytree)."""
        return (), self

    @classmethod
    def __unflatten__(cls, key: Any, children: Any) -> Swizzle:
        return key

    @property
    def period(self) -> int:
        """How many indices it permutes among themselves, a power of two."""
        return 1 << (self.base + self.bits + abs(self.shift))

    @property
    def num_bits(self) -> int:
        return self.bits

    @property
    def num_base(self) -> int:
        return self.base

    @property
    def num_shift(self) -> int:
        return self.shift

    def with_base(self, base: int) -> Swizzle:
        """The same swizzle of bits that begin at `base`."""
        return Swizzle(self.bits, max(base, 0), self.shift)


_NAMED = {"none": (0, 4, 3), "s32b": (1, 4, 3), "s64b": (2, 4, 3), "s128b": (3, 4, 3)}


def make_swizzle(b: int, m: int, s: int) -> Swizzle:
    """The swizzle of `b` bits at base bit `m`, shifted by `s`."""
    return Swizzle(b, m, s)


def get_swizzle_portion(layout: Layout | ComposedLayout) -> Swizzle:
    """The swizzle of a composed layout; of any other layout one that changes nothing."""
    inner = getattr(layout, "inner", None)
    return inner if isinstance(inner, Swizzle) else Swizzle(0, 4, 3)


def get_nonswizzle_portion(layout: Layout | ComposedLayout) -> Layout | ComposedLayout:
    """The layout without its swizzle."""
    return layout.outer if isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle) else layout


def storage_elements(layout: Layout | ComposedLayout) -> int:
    """The elements of memory a static layout reaches; under a swizzle, whole periods of its permutation."""
    if not isinstance(layout, ComposedLayout):
        return cosize(layout)
    if not isinstance(layout.inner, Swizzle):
        return max(layout(i) for i in range(size(layout))) + 1
    period = 1 << (layout.inner.base + layout.inner.bits + max(0, -layout.inner.shift))
    return -(-cosize(layout.outer) // period) * period
