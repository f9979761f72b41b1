"""Which threads a comparison of linear values picks: the first ones, the last ones, one, all but one, or others."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dsl.emulator.ir.affine import Linear

FIRST, LAST, ONE, BUT_ONE, OTHERS = "first", "last", "one", "but one", "others"
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_LESS, _GREATER = frozenset({"lt", "le", "lo", "ls"}), frozenset({"gt", "ge", "hi", "hs"})
ORDERS = _LESS | _GREATER | {"eq", "ne"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`a order b`, as PTX names orders, of integers of `bits`."""

    order: str
    a: Linear
    b: Linear
    bits: int = 32
    is_signed: bool = True

    @property
    def compares_signed(self) -> bool:
        """Whether the values are signed for it."""
        return self.is_signed and self.order not in _UNSIGNED

    @property
    def ordinary(self) -> str:
        """The order without how it compares."""
        return _UNSIGNED.get(self.order, self.order)

    @property
    def name(self) -> str:
        """The order as LLVM names it."""
        if self.order in ("eq", "ne"):
            return self.order
        return ("s" if self.compares_signed else "u") + self.ordinary

    def axes(self, block: tuple[int, int, int]) -> int:
        """Along how many axes the difference of the sides may vary, in a block of at most that shape."""
        pairs = zip(self.a.strides, self.b.strides, block)
        return sum(count > 1 and (not isinstance(a, int) or a != b) for a, b, count in pairs)

    def negated(self) -> Comparison:
        """It holds where this one does not."""
        return replace(self, order=_NEGATED[self.ordinary], is_signed=self.compares_signed)

    def staying(self, holds: bool) -> str:
        """The threads for which it holds, or does not: FIRST if they have the lowest coordinates, LAST the highest."""
        if self.order in ("eq", "ne"):
            return ONE if (self.order == "eq") == holds else BUT_ONE
        signs = {_sign(x, y) for x, y in zip(self.a.strides, self.b.strides)} - {0}
        up = 1 if (self.order in _LESS) == holds else -1
        return FIRST if signs <= {up} else LAST if signs <= {-up} else OTHERS


def _sign(a, b) -> int:
    """Of a - b; strides that only the launch knows count as positive."""
    if isinstance(a, int) and isinstance(b, int):
        return (a > b) - (a < b)
    return 1 if isinstance(b, int) else -1 if isinstance(a, int) else 0
