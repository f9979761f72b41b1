"""Loops over several axes as blocks that are boxes of iterations: a thread finds its place without a division.

x of a block varies along the loop's fastest axis, y and z along the two before it. The blocks follow one another, in
the loop's order, along x of the grid, because the other sides of a grid end at 65 535: only the number of a block is
divided. The host chooses the sides of a block at the launch if it knows the extents only then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl.core.number.dtypes import Int32, Int64, Uint32, is_dynamic
from dsl.core.number.operators import operate, select
from dsl.gpu.threads import index
from dsl.quadrants.functions.task import BLOCK_DIM
from dsl.quadrants.syntax.iterate import Domain

MOST_DEEP = 64  # threads along z. CUDA guide, compute capabilities
TOO_MANY = 1 << 31  # blocks of a grid. CUDA guide, compute capabilities
FEW = 32  # threads of a block: with fewer, a block is not worth its start


@dataclass(frozen=True)
class Boxes:
    """How a loop is cut into blocks; extents, and threads and blocks along an axis, in the loop's order."""

    extents: list
    threads: list
    blocks: list

    @property
    def block(self) -> tuple:
        """The threads of a block along x, y and z."""
        return (*self.threads[:-4:-1], 1)[:3]

    def grid(self) -> Any:
        """The number of blocks, at least one; for the host. Too many become -2^31, which a launch refuses."""
        total: Any = 1
        for blocks in self.blocks:
            if is_dynamic(total) or is_dynamic(blocks):
                total = operate("min", operate("mul", Int64(total), Int64(blocks)), Int64(TOO_MANY))
            else:
                total = min(total * blocks, TOO_MANY)
        return Int32(total)

    def position(self) -> list[Int32]:
        """The place of this thread along each axis."""
        places, rest = [], Uint32(index.block_idx()[0])
        for blocks in reversed(self.blocks[1:]):
            quotient = operate("floordiv", rest, Uint32(blocks))
            places.append(rest - quotient * Uint32(blocks))
            rest = quotient
        sides = zip(places + [rest], reversed(self.threads), (*index.thread_idx(), *[None] * len(places)))
        return [_place(*side) for side in sides][::-1]

    def inside(self, position: list[Int32]) -> Any:
        """Whether an iteration is at this place; None if there is one for every thread."""
        flags = [
            operate("lt", place, Int32(extent))
            for place, extent, threads in zip(position, self.extents, self.threads)
            if is_dynamic(extent) or extent < 1 or is_dynamic(threads) or extent % threads
        ]
        whole = flags[0] if flags else None
        for flag in flags[1:]:
            whole = operate("and", whole, flag)
        return whole

    def number(self, position: list[Int32]) -> Int32:
        """The number of the iteration at this place, in the loop's order."""
        number, *rest = position
        for place, extent in zip(rest, self.extents[1:]):
            number = number * Int32(extent) + place
        return number


def _place(block: Uint32, threads: Any, thread: Int32 | None) -> Int32:
    """The place along one axis of thread `thread` of block `block`."""
    if not is_dynamic(threads) and threads == 1:
        return Int32(block)
    return Int32(block * Uint32(threads)) + thread


def boxes_of(domain: Domain) -> Boxes | None:
    """How to cut a loop, for the host; None if its blocks would be small, or if it has one axis."""
    extents = domain.extents()
    if len(extents) < 2:
        return None
    extents = [extents[axis] for axis in domain.order]
    if len(extents) > 3 and any(map(is_dynamic, extents[-3:])):
        return None
    threads, left = [], BLOCK_DIM
    for extent, most in zip(reversed(extents), (BLOCK_DIM, BLOCK_DIM, MOST_DEEP)):
        threads.append(_at_most(_power_above(extent), _at_most(left, most)))
        left = _quotient(left, threads[-1])
    if len(extents) > 3 and left > BLOCK_DIM // FEW:
        return None
    threads = [1] * (len(extents) - 3) + threads[::-1]
    return Boxes(extents, threads, [_blocks(*sides) for sides in zip(extents, threads)])


def _power_above(extent: Any) -> Any:
    """The least power of two that is not below the extent, up to BLOCK_DIM."""
    if not is_dynamic(extent):
        return min(BLOCK_DIM, 1 << max(extent - 1, 0).bit_length())
    power = Int32(1)
    for step in range(1, BLOCK_DIM.bit_length()):
        power = select(operate("gt", extent, Int32(1 << (step - 1))), Int32(1 << step), power)
    return power


def _at_most(a: Any, b: Any) -> Any:
    return operate("min", Int32(a), Int32(b)) if is_dynamic(a) or is_dynamic(b) else min(a, b)


def _quotient(a: Any, b: Any) -> Any:
    return operate("floordiv", Int32(a), Int32(b)) if is_dynamic(a) or is_dynamic(b) else a // b


def _blocks(extent: Any, threads: Any) -> Any:
    """How many blocks are along an axis, at least one."""
    if not is_dynamic(extent) and not is_dynamic(threads):
        return max(1, -(-extent // threads))
    wide = operate("floordiv", Int64(extent) + (Int64(threads) - Int64(1)), Int64(threads))
    return Int32(operate("max", wide, Int64(1)))
