"""Which instructions run or not by the outcome of a branch: those between it and where its paths meet again."""

from __future__ import annotations

import itertools

from dsl.emulator.ptx.syntax import Function, Instr, Label

_LEAVES = ("ret", "exit")


class Regions:
    """The basic blocks of a function, and for a branch those that it decides about."""

    def __init__(self, function: Function):
        self.items = function.items
        self._starts = [
            at
            for at, item in enumerate(self.items)
            if at == 0 or isinstance(item, Label) or (_ends(self.items[at - 1]) and not isinstance(item, Label))
        ]
        self.block_of: list[int] = []  # by position
        for number, (start, end) in enumerate(itertools.pairwise([*self._starts, len(self.items)])):
            self.block_of += [number] * (end - start)
        self._end = len(self._starts)
        self._next = self._successors(function)
        self._meets: list[int] | None = None  # of each block: the blocks that every path from it passes, as bits
        self._decided: dict[int, list[int]] = {}

    def decided(self, block: int) -> list[int]:
        """The blocks that run by the outcome of the branch that ends this one, the loop round it included."""
        if block not in self._decided:
            self._decided[block] = self._between(block)
        return self._decided[block]

    def _between(self, block: int) -> list[int]:
        meets = self._post_dominators()
        both = (1 << self._end + 1) - 1
        for successor in self._next[block]:
            both &= meets[successor]
        reached, todo = set(), list(self._next[block])
        while todo:
            one = todo.pop()
            if one not in reached and not both >> one & 1:
                reached.add(one)
                todo += self._next[one]
        return sorted(reached)

    def order(self) -> tuple[list[int], set[int]]:
        """A rank for each block, each after those that lead to it but for ways round a loop; and the heads of loops."""
        rank, heads = [self._end] * self._end, set()
        on_way, finished, left = {0}, [], [(0, iter(self._next[0]))] if self._end else []
        seen = {0}
        while left:
            block, targets = left[-1]
            for to in targets:
                if to in on_way:
                    heads.add(to)
                elif to not in seen and to < self._end:
                    seen.add(to)
                    on_way.add(to)
                    left.append((to, iter(self._next[to])))
                    break
            else:
                left.pop()
                on_way.discard(block)
                finished.append(block)
        for number, block in enumerate(reversed(finished)):
            rank[block] = number
        return rank, heads

    def _successors(self, function: Function) -> list[list[int]]:
        labels = {item.name: self.block_of[at] for at, item in enumerate(self.items) if isinstance(item, Label)}
        rows = []
        for number in range(self._end):
            last = self.items[(self._starts[number + 1] if number + 1 < self._end else len(self.items)) - 1]
            following = number + 1
            if not _ends(last):
                rows.append([following])
                continue
            targets = []
            if last.opcode in _LEAVES or last.opcode == "trap":
                targets = [self._end]
            elif last.opcode == "bra":
                targets = [labels[last.operands[0].name]]
            elif last.opcode == "brx":
                targets = [labels[name] for name in function.targets[last.operands[-1].name]]
            rows.append(targets if last.guard is None else [*targets, following])
        return rows

    def _post_dominators(self) -> list[int]:
        if self._meets is None:
            everything = (1 << self._end + 1) - 1
            self._meets = [everything] * self._end + [1 << self._end]
            changed = True
            while changed:
                changed = False
                for number in range(self._end - 1, -1, -1):
                    common = everything
                    for successor in self._next[number]:
                        common &= self._meets[successor]
                    common |= 1 << number
                    if common != self._meets[number]:
                        self._meets[number], changed = common, True
        return self._meets


def program_order(function: Function) -> tuple[list[int], set[str]]:
    """For each item the rank of its block in the order in which a thread comes by, and the labels of loops. Compilers
    lay blocks out in other orders."""
    try:
        regions = Regions(function)
    except (KeyError, AttributeError):  # a branch to no label, which is refused where it is translated
        return [0] * len(function.items), set()
    ranks, heads = regions.order()
    labels = {item.name for at, item in enumerate(function.items) if isinstance(item, Label)
              and regions.block_of[at] in heads}  # fmt: skip
    return [ranks[block] for block in regions.block_of], labels


def _ends(item) -> bool:
    return isinstance(item, Instr) and item.opcode in ("bra", "brx", "trap", *_LEAVES)
