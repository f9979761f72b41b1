"""Which instructions run or not by the outcome of a branch: those between it and where its paths meet again."""

from __future__ import annotations

from dsl.emulator.ptx.basic_blocks import BasicBlocks
from dsl.emulator.ptx.syntax import Function, Label


class Regions(BasicBlocks):
    """The basic blocks of a function, and for a branch those that it decides about."""

    def __init__(self, function: Function):
        super().__init__(function)
        self._meets: list[int] | None = None  # of each block: the blocks that every path from it passes, as bits
        self._decided: dict[int, list[int]] = {}

    def decided(self, block: int) -> list[int]:
        """The blocks that run by the outcome of the branch that ends this one, the loop round it included."""
        if block not in self._decided:
            self._decided[block] = self._between(block)
        return self._decided[block]

    def after(self, block: int) -> list[int]:
        """The blocks that may run after this one; it is one of them if a loop goes round it."""
        return self._reached(block, 1 << self.end)

    def _between(self, block: int) -> list[int]:
        meets = self._post_dominators()
        both = (1 << self.end + 1) - 1
        for successor in self.following[block]:
            both &= meets[successor]
        return self._reached(block, both)

    def _reached(self, block: int, ends: int) -> list[int]:
        """The blocks on the paths from this one to those in `ends`, as bits."""
        reached, todo = set(), list(self.following[block])
        while todo:
            one = todo.pop()
            if one not in reached and not ends >> one & 1:
                reached.add(one)
                todo += self.following[one]
        return sorted(reached)

    def order(self) -> tuple[list[int], set[int]]:
        """A rank for each block, each after those that lead to it except round a loop; and the heads of loops."""
        rank, heads = [self.end] * self.end, set()
        on_way, finished, left = {0}, [], [(0, iter(self.following[0]))] if self.end else []
        seen = {0}
        while left:
            block, targets = left[-1]
            for to in targets:
                if to in on_way:
                    heads.add(to)
                elif to not in seen and to < self.end:
                    seen.add(to)
                    on_way.add(to)
                    left.append((to, iter(self.following[to])))
                    break
            else:
                left.pop()
                on_way.discard(block)
                finished.append(block)
        for number, block in enumerate(reversed(finished)):
            rank[block] = number
        return rank, heads

    def _post_dominators(self) -> list[int]:
        if self._meets is None:
            everything = (1 << self.end + 1) - 1
            self._meets = [everything] * self.end + [1 << self.end]
            changed = True
            while changed:
                changed = False
                for number in range(self.end - 1, -1, -1):
                    common = everything
                    for successor in self.following[number]:
                        common &= self._meets[successor]
                    common |= 1 << number
                    if common != self._meets[number]:
                        self._meets[number], changed = common, True
        return self._meets


def program_order(function: Function) -> tuple[list[int], set[str]]:
    """For each item the rank of its block in the order in which a thread comes by, and the labels of loops. Compilers
    lay blocks out in other orders."""
    regions = Regions(function)
    ranks, heads = regions.order()
    labels = {item.name for at, item in enumerate(function.items) if isinstance(item, Label)
              and regions.block_of[at] in heads}  # fmt: skip
    return [ranks[block] for block in regions.block_of], labels
