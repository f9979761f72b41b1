"""Waits at an mbarrier whose answer may be false, and the kernel goes on: to an access of memory, with no other try.

PTX ISA 9.7.13.15.16: test_wait gives false while the phase goes on, and try_wait after a time that the system chooses.
Only an answer of true orders memory, so what runs after either answer has no order from the wait. Ways are followed
with the answer false, and with all that is computed of it (`selp`, `setp`, `and`).
"""

from __future__ import annotations

from typing import Any

from dsl.emulator.ptx.basic_blocks import BasicBlocks
from dsl.emulator.ptx.operands import LEAVES, result, space_of, writes
from dsl.emulator.ptx.syntax import Function, Imm, Instr, Not, Reg
from dsl.emulator.ptx.traits import BULK, COPY, MBARRIER, PRODUCT, READS, UPDATES, WAIT, WRITES

MOST_STATES = 2000  # a wait with more of them counts as one that goes on
_PRIVATE = frozenset({"param", "local", "const"})
_DATA = READS | WRITES | UPDATES | COPY | BULK | PRODUCT
_COMPARED = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b}
_COMBINED = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
Values = dict[str, int]


def goes_on(function: Function, wait: Instr) -> bool:
    """Whether a thread may come from an answer of false to an access of memory without the answer true before."""
    return _Ways(function).goes_on(wait, frozenset())


class _Ways:
    """The ways through a function."""

    def __init__(self, function: Function) -> None:
        self.items, self.blocks = function.items, BasicBlocks(function)
        self.is_entry = function.is_entry

    def goes_on(self, wait: Instr, open_: frozenset[int]) -> bool:
        """`open_`: positions of the waits that this question is part of; each of them is another try."""
        at = next(at for at, item in enumerate(self.items) if item is wait)
        seen: set[tuple] = set()
        waiting = [(at + 1, _after(wait, {}, 0))]
        while waiting:
            position, values = waiting.pop()
            state = position, frozenset(values.items())
            if state in seen:
                continue
            seen.add(state)
            if len(seen) > MOST_STATES:
                return True
            if position == len(self.items):
                continue
            item = self.items[position]
            if not isinstance(item, Instr):
                waiting.append((position + 1, values))
                continue
            runs = _guard(item, values)
            if runs is not False and (item is wait or self._is_retry(item, position, open_ | {at})):
                if runs is None:
                    waiting.append((position + 1, values))
                continue
            if runs is not False and self._touches(item):
                return True
            waiting += [(each, _next(item, values, runs)) for each in self._following(position, item, runs)]
        return False

    def _is_retry(self, item: Instr, position: int, open_: frozenset[int]) -> bool:
        return bool(item.traits & WAIT) and (position in open_ or not self.goes_on(item, open_))

    def _touches(self, item: Instr) -> bool:
        if item.opcode == "call" or (item.opcode in LEAVES and not self.is_entry):
            return True
        return bool(item.traits & _DATA and not item.traits & MBARRIER and space_of(item) not in _PRIVATE)

    def _following(self, position: int, item: Instr, runs: bool | None) -> list[int]:
        """The positions that may come next; `runs`: whether its guard holds, None where that is not known."""
        block = self.blocks.block_of[position]
        if position + 1 < self.blocks.positions(block).stop:
            return [position + 1]
        following = self.blocks.following[block]
        if item.guard is not None and runs is not None and item.opcode in ("bra", "brx", "trap", *LEAVES):
            following = following[:-1] if runs else following[-1:]
        return [self.blocks.starts[each] if each < self.blocks.end else len(self.items) for each in following]


def _after(item: Instr, values: Values, value: int | None) -> Values:
    """The values of registers once an instruction has given its result a value; None: one that is not known."""
    names = [each.name for each in writes(item)]
    values = {name: each for name, each in values.items() if name not in names}
    first = result(item)
    return values | {first.name: value} if value is not None and isinstance(first, Reg) else values


def _next(item: Instr, values: Values, runs: bool | None) -> Values:
    if runs is False:
        return values
    return _after(item, values, _value(item, values) if runs else None)


def _guard(item: Instr, values: Values) -> bool | None:
    if item.guard is None:
        return True
    known = _of(item.guard, values)
    return None if known is None else bool(known)


def _of(operand: Any, values: Values) -> int | None:
    if isinstance(operand, Not):
        known = _of(operand.item, values)
        return None if known is None else 1 - known
    if isinstance(operand, Imm):
        return operand.value
    return values.get(operand.name) if isinstance(operand, Reg) else None


def _value(item: Instr, values: Values) -> int | None:
    """The value that an instruction gives, where it comes from values that are known."""
    known = [_of(each, values) for each in item.operands[1:]]
    if item.opcode == "selp" and known[2] is not None:
        return known[0] if known[2] else known[1]
    if item.opcode in ("and", "or", "xor") and None not in known:
        return _COMBINED[item.opcode](*known)
    if item.opcode in ("and", "or"):
        decides = int(item.opcode == "or")  # of predicates, and 0 of numbers
        return decides if decides in known and (not decides or "pred" in item.mods) else None
    if item.opcode == "not" and "pred" in item.mods and known[0] is not None:
        return 1 - known[0]
    if item.opcode == "setp" and len(known) == 2 and None not in known and item.mods[0] in _COMPARED:
        return int(_COMPARED[item.mods[0]](*known))
    return known[0] if item.opcode in ("mov", "cvt") and len(known) == 1 else None
