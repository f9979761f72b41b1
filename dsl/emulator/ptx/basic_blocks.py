"""The basic blocks of a function, which block may follow which, and the loops among them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

from dsl.emulator.ptx.operands import LEAVES, reads, writes
from dsl.emulator.ptx.syntax import Function, Instr, Label


class BasicBlocks:
    """Blocks are numbered in the order of the text; `end` comes after the last one. A branch to no label goes nowhere
    (it is refused where it is translated)."""

    def __init__(self, function: Function):
        self.items = function.items
        self.starts = [
            at
            for at, item in enumerate(self.items)
            if at == 0 or isinstance(item, Label) or (_ends(self.items[at - 1]) and not isinstance(item, Label))
        ]
        self.block_of: list[int] = []  # by position
        for number, (start, end) in enumerate(itertools.pairwise([*self.starts, len(self.items)])):
            self.block_of += [number] * (end - start)
        self.end = len(self.starts)
        self.following = self._successors(function)

    def positions(self, block: int) -> range:
        """The positions of a block's items in the text."""
        return range(self.starts[block], self.starts[block + 1] if block + 1 < self.end else len(self.items))

    def instructions(self, block: int) -> list[Instr]:
        """Those of one block."""
        return [item for i in self.positions(block) if isinstance(item := self.items[i], Instr)]

    def _successors(self, function: Function) -> list[list[int]]:
        labels = {item.name: self.block_of[at] for at, item in enumerate(self.items) if isinstance(item, Label)}
        rows = []
        for number in range(self.end):
            last = self.items[self.positions(number)[-1]]
            following = number + 1
            if not _ends(last):
                rows.append([following])
                continue
            targets = []
            if last.opcode in LEAVES or last.opcode == "trap":
                targets = [self.end]
            elif last.opcode == "bra":
                targets = [labels[name] for name in [_name(last, 0)] if name in labels]
            elif last.opcode == "brx":
                targets = [labels[name] for name in function.targets.get(_name(last, -1), ()) if name in labels]
            rows.append(targets if last.guard is None else [*targets, following])
        return rows

    @functools.cached_property
    def _before(self) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in range(self.end + 1)]
        for number, targets in enumerate(self.following):
            for each in targets:
                rows[each].append(number)
        return rows

    def reach(self, blocks: Iterable[int], without: int | None = None, inside: frozenset | None = None) -> set[int]:
        """The blocks that can run from the start of one of these on, not through `without`; only those `inside`."""
        seen: set[int] = set()
        waiting = list(blocks)
        while waiting:
            one = waiting.pop()
            if one in seen or one == without or one >= self.end or (inside is not None and one not in inside):
                continue
            seen.add(one)
            waiting += self.following[one]
        return seen

    def is_read(self, name: str, at: int) -> bool:
        """Whether a way on from a position may read a register before it is set again."""
        seen: set[int] = set()
        waiting = [(self.block_of[at], at + 1)]
        while waiting:
            block, start = waiting.pop()
            for position in range(start, self.positions(block).stop):
                item = self.items[position]
                if isinstance(item, Instr) and any(reg.name == name for reg in reads(item)):
                    return True
                if isinstance(item, Instr) and item.guard is None and any(reg.name == name for reg in writes(item)):
                    break
            else:
                on = {*self.following[block]} - seen - {self.end}
                seen |= on
                waiting += [(each, self.starts[each]) for each in on]
        return False

    def loop(self, head: int, sources: Iterable[int]) -> frozenset[int]:
        """The blocks of the loop in which `sources` branch back to `head`: what leads from it to them. Empty where
        nothing does."""
        seen, waiting = {head}, list(sources)
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += self._before[one]
        inside = frozenset(seen)  # what leads to them without the head: perhaps from outside
        loop = self.reach(self.following[head], head, inside) | {head}
        return frozenset(loop) if any(head in self.following[each] for each in loop) else frozenset()


def _name(branch: Instr, operand: int) -> str:
    return getattr(branch.operands[operand], "name", "") if branch.operands else ""


def is_asked(function: Function, instr: Instr) -> bool:
    """Whether anything may read what an instruction of the function sets."""
    at = next(at for at, item in enumerate(function.items) if item is instr)
    blocks = BasicBlocks(function)
    return any(blocks.is_read(each.name, at) for each in writes(instr))


def _ends(item) -> bool:
    return isinstance(item, Instr) and item.opcode in ("bra", "brx", "trap", *LEAVES)
