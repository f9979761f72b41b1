"""Facts about PTX before it is translated: calls, loops, polling, and whether the order of blocks shows."""

from __future__ import annotations

from dsl.emulator.ptx.operands import given
from dsl.emulator.ptx.syntax import (
    FLOATS,
    SINK,
    Addr,
    FloatImm,
    Function,
    Instr,
    Label,
    Module,
    Not,
    Pair,
    Reg,
    Sym,
    Vec,
)
from dsl.emulator.ptx.traits import ARITHMETIC, ATOMIC, CLUSTER, COPY, FENCE, MOVES, UPDATES

_FLOATS = FLOATS | {"f16x2", "bf16x2"}


def reachable(module: Module, entry: Function) -> list[Function]:
    """The entry and every function it can call, each once."""
    functions, queue = [entry], [entry]
    while queue:
        for item in queue.pop().items:
            if isinstance(item, Instr) and item.opcode == "call":
                for operand in item.operands:
                    callee = module.functions.get(getattr(operand, "name", None))
                    if callee is not None and callee not in functions:
                        functions.append(callee)
                        queue.append(callee)
    return functions


def is_clustered(functions: list[Function]) -> bool:
    """Whether blocks of a cluster meet, or may reach each other's shared memory: then they run together.

    A bulk copy into shared::cluster and a fence of it alone are what kernels without clusters have too.
    """
    return any(map(_is_of_cluster, (item for f in functions for item in f.items if isinstance(item, Instr))))


def _is_of_cluster(item: Instr) -> bool:
    if item.traits & CLUSTER:
        return True
    if item.traits & COPY:
        return "multicast::cluster" in item.mods or {"shared::cta", "shared::cluster"}.issubset(item.mods)
    return "shared::cluster" in item.mods and not item.traits & FENCE


def back_edges(function: Function):
    """(label, its position, the branch's position) of every branch that goes back."""
    positions = {item.name: i for i, item in enumerate(function.items) if isinstance(item, Label)}
    for i, item in enumerate(function.items):
        if isinstance(item, Instr) and item.opcode in ("bra", "brx") and item.operands:
            target = item.operands[0 if item.opcode == "bra" else -1]
            if not isinstance(target, Sym):
                continue
            names = [target.name] if item.opcode == "bra" else function.targets.get(target.name, ())
            for name in names:
                if positions.get(name, i + 1) <= i:
                    yield name, positions[name], i


def loops(function: Function) -> list[tuple[int, int]]:
    """The positions of the first and the last item of each loop."""
    return [(start, end) for _, start, end in back_edges(function)]


def has_loops(function: Function) -> bool:
    """Whether a thread may run an instruction twice."""
    return next(back_edges(function), None) is not None


def order_matters(function: Function) -> bool:
    """Whether an atomic on memory that blocks share gives another result when blocks come in another order.

    Floating-point ones round by order; what an atomic returns, if it is read, and what exch and cas leave depend on it.
    """
    read = None
    for item in function.items:
        if not isinstance(item, Instr) or not item.traits & UPDATES:
            continue
        if any(each.split("::")[0] == "shared" for each in item.mods):
            continue
        if not _FLOATS.isdisjoint(item.mods) or "exch" in item.mods or "cas" in item.mods:
            return True
        if item.traits & ATOMIC and item.operands and item.operands[0] != SINK:
            read = _registers_read(function) if read is None else read
            if getattr(item.operands[0], "name", None) in read:
                return True
    return False


_ZERO = FloatImm(0, 32)


def is_chained(instr: Instr) -> bool:
    """Whether it is f32 arithmetic for which one NaN is as good as another."""
    return bool(instr.traits & ARITHMETIC) and "f32" in instr.mods


def any_nan_registers(entry: Function) -> frozenset[str]:
    """Registers that only f32 arithmetic and moves of zero set: what they hold may be any NaN where only f32
    arithmetic reads it, if everything else that reads it makes it the canonical one."""
    names, others = set(), set()
    for item in entry.items:
        if not isinstance(item, Instr) or not item.operands:
            continue
        if item.opcode == "call":
            return frozenset()
        first = item.operands[0]
        if is_chained(item) and isinstance(first, Reg) and first.bits == 32:
            names.add(first.name)
        elif not (item.traits & MOVES and item.operands[1:] == [_ZERO]):
            others.update(_set_by(item))
    return frozenset(names - others)


def _set_by(instr: Instr):
    first = instr.operands[0]
    if isinstance(first, Pair):
        yield from names(first.first)
        yield from names(first.second)
    else:
        yield from names(first)


def _registers_read(function: Function) -> set[str]:
    """Names of the registers that some instruction may read: of every operand but a first one that is written."""
    registers: set[str] = set()
    for item in function.items:
        if isinstance(item, Instr):
            registers.update(names(item.guard))
            for operand in item.operands if item.opcode == "call" else given(item):
                registers.update(names(operand))
    return registers


def names(operand):
    """Names of the registers in an operand."""
    if isinstance(operand, Reg):
        yield operand.name
    elif isinstance(operand, Addr):
        yield from names(operand.base)
        yield from names(operand.coords)
    elif isinstance(operand, Not):
        yield from names(operand.item)
    elif isinstance(operand, Vec):
        for each in operand.items:
            yield from names(each)
