"""The guess of a loop round `atom.cas`: the plain load that the loop begins with.

Compilers load plainly what they hand to `cas` as the expected value: `cas` itself tells whether the guess was wrong, so
the load races with nobody. A load is one where its value reaches the compare operand through moves alone, and where it
is not known to be from another place than the one that `cas` changes.
"""

from __future__ import annotations

from ..syntax import Addr, Function, Imm, Instr, Reg, Sym

_MOVES = frozenset({"mov", "cvt", "selp", "cvta"})
_MOST_STEPS = 24


def guesses(functions: list[Function]) -> frozenset[int]:
    """The loads that are guesses, by identity."""
    return frozenset(id(load) for function in functions for load in _of(function))


def _of(function: Function) -> list[Instr]:
    items = [item for item in function.items if isinstance(item, Instr)]
    every = [item for item in items if item.opcode == "atom" and "cas" in item.mods]
    if not every:
        return []
    writers: dict[str, list[Instr]] = {}
    for item in items:
        for name in _names(item.operands[0]) if item.operands else ():
            writers.setdefault(name, []).append(item)
    return [load for cas in every for load in _loads_behind(cas.operands[2], writers)
            if not _surely_apart(load.operands[1], cas.operands[1], writers)]


def _names(operand: object) -> list[str]:
    """The registers of an operand: itself, or the parts of a vector."""
    return [each.name for each in getattr(operand, "items", (operand,)) if isinstance(each, Reg)]


def _loads_behind(value: object, writers: dict[str, list[Instr]]) -> list[Instr]:
    """The loads that `value` may come from through moves."""
    found, seen, waiting = [], set(), _names(value)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for item in writers.get(name, ()):
            if item.opcode == "ld":
                found.append(item)
            elif item.opcode in _MOVES:
                waiting += [each for operand in item.operands[1:] for each in _names(operand)]
    return found


def _surely_apart(one: object, other: object, writers: dict[str, list[Instr]]) -> bool:
    """Whether two addresses are known to differ: another distance from one base, or two variables."""
    (base, offset), (its_base, its_offset) = _place(one, writers), _place(other, writers)
    if base == its_base:
        return offset != its_offset
    return base[0] == its_base[0] == "symbol"


def _place(address: object, writers: dict[str, list[Instr]], steps: int = _MOST_STEPS) -> tuple[tuple, int]:
    """An address as what it is counted from and a distance in bytes. Registers that several instructions set, and what
    else is not followed, stand for themselves."""
    if isinstance(address, Addr):
        base, offset = _place(address.base, writers, steps)
        return base, offset + address.offset
    if isinstance(address, Sym):
        return ("symbol", address.name), address.offset
    if isinstance(address, Imm):
        return ("number",), address.value
    setters = writers.get(address.name, []) if isinstance(address, Reg) else []
    if len(setters) != 1 or setters[0].guard is not None or not steps:
        return ("value", getattr(address, "name", repr(address))), 0
    setter = setters[0]
    sources = setter.operands[1:]
    if setter.opcode in ("mov", "cvta") and len(sources) == 1:
        return _place(sources[0], writers, steps - 1)
    if setter.opcode in ("add", "sub") and isinstance(sources[1], Imm):
        base, offset = _place(sources[0], writers, steps - 1)
        return base, offset + (sources[1].value if setter.opcode == "add" else -sources[1].value)
    if setter.opcode in ("add", "sub", "mul", "mad", "shl", "cvt", "ld") and (setter.opcode != "ld"
                                                                              or "param" in setter.mods):
        return (setter.opcode, setter.mods, *(_place(each, writers, steps - 1) for each in sources)), 0
    return ("value", address.name), 0
