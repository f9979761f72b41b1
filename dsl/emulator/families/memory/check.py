"""The guess of a loop round `atom.cas`: the plain load that the loop begins with.

Compilers load plainly what they hand to `cas` as the expected value: `cas` itself tells whether the guess was wrong, so
the load races with nobody. A load is one where its value reaches the compare operand through moves alone, also as an
argument of a function, and where it is not known to be from another place than the one that `cas` changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from dsl.emulator.check.numbers import access
from dsl.emulator.families.memory import old_values
from dsl.emulator.ptx.syntax import Addr, Function, Imm, Instr, Reg, Sym, Vec

events, reads_old = old_values.rows, old_values.how

_MOVES = frozenset({"mov", "cvt", "selp", "cvta"})
_COMPUTES = frozenset({"add", "sub", "mul", "mad", "shl", "cvt"})
_MOST_STEPS = 24


def kinds(functions: list[Function]) -> dict[int, int]:
    """The loads that are guesses, by identity: they are strong."""
    every = [
        (f.name, item)
        for f in functions
        for item in f.items
        if isinstance(item, Instr) and item.opcode == "atom" and "cas" in item.mods
    ]
    if not every:
        return {}
    flow = _Flow(functions)
    return {
        id(load): access.STRONG
        for where, cas in every
        for place, load in flow.loads_behind(where, cas.operands[2])
        if not (place == where and flow.apart(where, load.operands[1], cas.operands[1]))
    }


class _Flow:
    """Which instructions set a register or a .param variable. A name is (function, name)."""

    def __init__(self, functions: list[Function]):
        self.setters: dict[tuple[str, str], list[Instr]] = defaultdict(list)
        self.arguments: dict[tuple[str, str], list[tuple[str, Any]]] = defaultdict(list)
        by_name = {f.name: f for f in functions}
        for function in functions:
            for item in function.items:
                if isinstance(item, Instr) and item.operands:
                    for name in _set_by(item):
                        self.setters[function.name, name].append(item)
                    if item.opcode == "call":
                        self._call(function.name, item, by_name)

    def _call(self, caller: str, item: Instr, functions: dict[str, Function]) -> None:
        callee = next(
            (functions[each.name] for each in item.operands if getattr(each, "name", None) in functions), None
        )
        arguments = item.operands[-1]
        if callee is not None and isinstance(arguments, Vec):
            for formal, actual in zip(callee.params, arguments.items):
                self.arguments[callee.name, formal.name].append((caller, actual))

    def loads_behind(self, function: str, value: Any) -> Iterator[tuple[str, Instr]]:
        """The loads that `value` may come from through moves, each with its function."""
        waiting, seen = [(function, name) for name in _names(value)], set()
        while waiting:
            where = waiting.pop()
            if where in seen:
                continue
            seen.add(where)
            waiting += [(caller, name) for caller, actual in self.arguments[where] for name in _names(actual)]
            for item in self.setters[where]:
                if item.opcode == "ld" and "param" not in item.mods:
                    yield where[0], item
                elif item.opcode in _MOVES or "param" in item.mods:
                    waiting += [(where[0], name) for operand in item.operands[1:] for name in _names(operand)]

    def apart(self, function: str, one: Any, other: Any) -> bool:
        """Whether two addresses are known to differ: another distance from one base, or two variables."""
        (base, offset), (its_base, its_offset) = self._place(function, one), self._place(function, other)
        if base == its_base:
            return offset != its_offset
        return base[0] == its_base[0] == "symbol"

    def _place(self, function: str, address: Any, steps: int = _MOST_STEPS) -> tuple[tuple, int]:
        """An address as what it is counted from and a distance in bytes. Registers that several instructions set, and
        what else is not followed, stand for themselves."""
        if isinstance(address, Addr):
            base, offset = self._place(function, address.base, steps)
            return base, offset + address.offset
        if isinstance(address, Sym):
            return ("symbol", address.name), address.offset
        if isinstance(address, Imm):
            return ("number",), address.value
        setters = self.setters[function, address.name] if isinstance(address, Reg) else []
        if len(setters) != 1 or setters[0].guard is not None or not steps:
            return ("value", getattr(address, "name", repr(address))), 0
        setter = setters[0]
        sources = setter.operands[1:]
        if setter.opcode in ("mov", "cvta") and len(sources) == 1:
            return self._place(function, sources[0], steps - 1)
        if setter.opcode in ("add", "sub") and isinstance(sources[1], Imm):
            base, offset = self._place(function, sources[0], steps - 1)
            return base, offset + (sources[1].value if setter.opcode == "add" else -sources[1].value)
        if setter.opcode in _COMPUTES or (setter.opcode == "ld" and "param" in setter.mods):
            return (setter.opcode, setter.mods, *(self._place(function, each, steps - 1) for each in sources)), 0
        return ("value", address.name), 0


def _set_by(item: Instr) -> list[str]:
    """The registers, or the .param variable, that an instruction sets."""
    if item.opcode == "st":
        return _names(item.operands[0]) if "param" in item.mods else []
    return [each.name for each in getattr(item.operands[0], "items", item.operands[:1]) if isinstance(each, Reg)]


def _names(operand: Any) -> list[str]:
    """The registers and variables of an operand."""
    if isinstance(operand, Addr):
        return _names(operand.base)
    return [each.name for each in getattr(operand, "items", (operand,)) if isinstance(each, (Reg, Sym))]
