"""The accesses and fences of a thread that runs alone, for the memory model. PTX ISA 9.7.9, 9.7.13."""

from __future__ import annotations

from dsl.emulator.families.memory import atomics
from dsl.emulator.families.memory.emit import checked, host_address, shape
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.operands import registers, space_of
from dsl.emulator.ptx.syntax import FLOATS, SIGNED, SINK, Addr, Instr, Vec
from dsl.memory_model.events import SCOPES, STRONG

WHY = "the memory model here has no such instruction"
FIX = "`repro run FILE --seed N` runs the kernel in another order"
_SCOPE_NAMES = {"gl": "gpu", **{each: each for each in SCOPES}}


def access(thread, instr: Instr) -> None:
    """ld, st, atom or red: an event for each element."""
    _, bits, count, size_bytes = shape(instr)
    space = space_of(instr)
    if bits > 64 or {"nc", "async"} & {*instr.mods} or (instr.traits & traits.UPDATES and count > 1):
        raise thread.refuse(instr, WHY, FIX)
    operand = next(each for each in instr.operands if isinstance(each, Addr))
    if space == "cluster":
        address = thread.shared_place(instr, operand, space, size_bytes)
    else:
        address = thread.cast("ptrtoint", host_address(thread, instr, operand, space, size_bytes), "ptr", "i64")
    if instr.traits & traits.UPDATES:
        return _update(thread, instr, address)
    other = instr.operands[0 if instr.traits & traits.LOAD else 1]
    for i, item in enumerate(other.items if isinstance(other, Vec) else (other,)):
        place = thread.add(address, i * bits // 8, "i64")
        if instr.traits & traits.STORE:
            needs = thread.needs(instr, registers(item))
            thread.tell_write(instr, place, bits // 8, thread.read(item, bits), needs)
            continue
        value, mark = thread.tell_read(instr, place, bits // 8)
        thread.write(item, value, bits, instr.mods[-1] in SIGNED)
        thread.put_mark(item, mark, instr.guard is not None)


def checked_shared(thread, instr: Instr, offset: str, size_bytes: int) -> str:
    """The pointer for an offset in the block's own shared memory; a fault if it is outside, or not aligned."""
    return checked(thread, instr, offset, "shared", size_bytes)


def _update(thread, instr: Instr, address: str) -> None:
    kind, bits, _, size_bytes = shape(instr)
    if kind.endswith("x2") or (kind in FLOATS and kind not in ("f32", "f64")):
        raise thread.refuse(instr, WHY, FIX)
    has_result = bool(instr.traits & traits.ATOMIC)
    values = [each for each in instr.operands[has_result:] if not isinstance(each, Addr)]
    operation = next(m for m in instr.mods if m in atomics.OPERATIONS)
    values = values[: 2 if operation == "cas" else 1]
    old, mark = thread.tell_read(instr, address, size_bytes)
    operands = [thread.read(each, bits) for each in values]
    new = atomics.OPERATIONS[operation](thread, instr, kind, old, *operands)
    needs = thread.needs(instr, [reg for each in values for reg in registers(each)])
    if operation != "exch":
        needs = thread.or_(needs, mark, "i64")
    skips = "0"
    if operation == "cas":
        skips = thread.cast("zext", thread.cmp("ne", old, operands[0], f"i{bits}"), "i1", "i64")
    thread.tell_write(instr, address, size_bytes, new, needs, skips)
    if has_result and instr.operands[0] is not SINK:
        thread.write(instr.operands[0], old, bits, kind in SIGNED)
        thread.put_mark(instr.operands[0], mark, instr.guard is not None)


def strength(instr: Instr) -> tuple[str, str] | None:
    """The order and the scope of an access or a fence. PTX ISA 9.7.9.8, 9.7.13.4, 9.7.13.5: volatile is relaxed at
    system scope, an atomic operation that names none is relaxed at GPU scope, membar is fence.sc."""
    if not instr.traits & (traits.LOAD | traits.STORE | traits.UPDATES | traits.FENCE):
        return None
    if {"volatile", "mmio"} & {*instr.mods}:
        return "relaxed", "sys"
    scope = next((_SCOPE_NAMES[m] for m in instr.mods if m in _SCOPE_NAMES), "gpu")
    if instr.traits & traits.FENCE:
        return _named_order(instr, ("sc", *STRONG), "sc" if instr.opcode == "membar" else "acq_rel"), scope
    return _named_order(instr, STRONG, "relaxed" if instr.traits & traits.UPDATES else "weak"), scope


def _named_order(instr: Instr, orders, default: str) -> str:
    return next((m for m in instr.mods if m in orders), default)
