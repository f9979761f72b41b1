"""wmma as products of mma, and which element of a matrix a register of a lane holds. PTX ISA 9.7.14.4.1 leaves it open.

ptxas 13.0 makes it so for sm_80 to sm_90: fragments are as in mma, whatever the layout in memory. A product with 16
columns of B is two of mma with 8 each, one with 32 rows of A two with 16 each; where A has 8 rows and B 32 columns,
they change places, and mma makes the transposed matrix.
"""

from __future__ import annotations

from typing import NamedTuple

from dsl.emulator.tensor_core.fragments import BITS, Mma

_REGISTERS_OF_HALVES = 8  # of A and of B of f16 in every shape: those that there are, again and again


class Product(NamedTuple):
    """wmma.mma of a shape: `tiles` products of mma, each with its own part of one operand and of C."""

    shape: tuple[int, int, int]
    kind: str  # of A and B

    @property
    def turned(self) -> bool:
        """Whether B has the place of mma's A."""
        return self.shape[:2] == (8, 32)

    @property
    def tiles(self) -> int:
        return max(self.shape[0] * self.shape[1] // 128, 1)

    @property
    def split(self) -> str:
        """The operand of which each tile has its own part; "" where there is one."""
        if self.tiles == 1:
            return ""
        return "a" if self.shape[0] == 32 else "b"

    def mma(self, accumulator: str, saturates: bool = False, operation: str = "") -> Mma:
        """The product of a tile."""
        m = 8 if self.tiles == 1 else 16
        return Mma(m, 8, self.shape[2], self.kind, self.kind, accumulator, saturates, operation)

    def part(self, matrix: str, tile: int, accumulator: str) -> tuple[int, int]:
        """(first, after the last) of the registers of a matrix that a tile has."""
        of_a, of_b, of_c = self.mma(accumulator).registers
        count = of_c if matrix == "c" else of_a if (matrix == "a") != self.turned else of_b
        first = tile * count if matrix in ("c", self.split) else 0
        return first, first + count


class Fragment(NamedTuple):
    """The registers of a matrix. Lane 4 g + t has in a register with the place (x, y) the elements at y + step * t and,
    where `pack` is more than 1, those after it, of line g + x. Lines are rows, of `by_columns` columns."""

    places: tuple[tuple[int, int], ...]
    step: int
    pack: int
    by_columns: bool


def fragment(product: Product, matrix: str, kind: str) -> Fragment:
    """The fragment of A, B or C, whose elements are of a type."""
    form = product.mma(kind if matrix == "c" else {"f64": "f64"}.get(kind, "f32"))
    pack = max(32 // BITS[kind], 1)
    if matrix == "c":
        return Fragment(_accumulators(product, form.m // 8, pack), 2, pack, product.turned)
    is_first = (matrix == "a") != product.turned
    halves = form.m // 8 if is_first else 1
    count = form.registers[0 if is_first else 1]
    tiles = product.tiles if matrix == product.split else 1
    lines = 8 * halves
    places = [
        (8 * (r % halves) + lines * tile, 4 * pack * (r // halves)) for tile in range(tiles) for r in range(count)
    ]
    if kind == "f16":
        places *= _REGISTERS_OF_HALVES // len(places)
    return Fragment(tuple(places), pack, pack, matrix == "b")


def _accumulators(product: Product, halves: int, pack: int) -> tuple[tuple[int, int], ...]:
    """Tiles are side by side along the columns of 16 x 16, else one below the other."""
    across = product.shape[:2] == (16, 16)
    return tuple(
        (8 * half + (0 if across else 16 * tile), y + 8 * tile * across)
        for tile in range(product.tiles)
        for half in range(halves)
        for y in range(0, 2, pack)
    )
