"""Bulk copies and asynchronous stores in threads that run alone: accesses that may come at any time. PTX ISA
9.7.9.12, 9.7.9.25.4, 9.7.13.7.

See translate/traced.py. Copies are of the async proxy, stores of the generic one. A copy inwards ends with a fence of
the proxy and an update of its mbarrier, a store with the update; a copy outwards ends where its thread waits for its
group.
"""

from __future__ import annotations

from dsl.emulator.check.access import unit_shift
from dsl.emulator.families.mbarrier.traced import update
from dsl.emulator.families.memory import atomics
from dsl.emulator.ir.body import kinds_of
from dsl.emulator.machine import context
from dsl.emulator.machine.numbers import told
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.analysis import reachable
from dsl.emulator.ptx.operands import reads
from dsl.emulator.ptx.syntax import TYPE_BITS, Instr, Vec

_SPACES = {"global": "global", "shared::cta": "shared", "shared": "shared", "shared::cluster": "cluster"}
_LEAST_BYTES = 16  # a copy is of a multiple


def bulk_copy(thread, instr: Instr, why: str, fix: str) -> None:
    """cp.async.bulk between global and shared memory, .commit_group, .wait_group."""
    if "commit_group" in instr.mods:
        return thread.event(told.COMMIT, instr)
    if "wait_group" in instr.mods:
        return thread.event(told.WAIT, instr, EXTRA=thread.resize(thread.read(instr.operands[0], 32), 32, 64))
    spaces = [_SPACES[m] for m in instr.mods if m in _SPACES]
    if instr.opcode != "cp" or {"tensor", "reduce", "multicast::cluster"} & {*instr.mods} or len(spaces) != 2:
        raise thread.refuse(instr, why, fix)
    destination, source, size, *rest = instr.operands
    nbytes = thread.resize(thread.read(size, 32), 32, 64)
    _refuse_bytes(thread, instr, nbytes)
    target, origin = (
        _checked(thread, instr, operand, space, nbytes) for operand, space in zip((destination, source), spaces)
    )
    piece = 1 << unit_shift(reachable(thread.module, thread.entry))
    needs = thread.needs(instr, reads(instr))
    thread.event(told.BULK, instr, ADDRESS=target, EXTRA=origin, SIZE=nbytes, VALUE=str(piece), NEEDS=needs)
    if spaces[0] != "global":
        update(thread, instr, thread.shared_place(instr, rest[0], "cluster", 8), "0", thread.read(size, 32), needs)
    return None


def async_store(thread, instr: Instr) -> None:
    """st.async, red.async: accesses of the generic proxy, and then an update of the mbarrier."""
    operand, source, barrier = instr.operands
    kind = next(m for m in instr.mods if m in TYPE_BITS)
    bits, items = TYPE_BITS[kind], source.items if isinstance(source, Vec) else (source,)
    nbytes = bits // 8 * len(items)
    address = thread.shared_place(instr, operand, "cluster", nbytes)
    needs = thread.needs(instr, reads(instr))
    for i, item in enumerate(items):
        place = {"ADDRESS": thread.add(address, i * bits // 8, "i64"), "SIZE": str(bits // 8)}
        value, own_needs = thread.read(item, bits), needs
        if instr.traits & traits.REDUCTION:
            thread.event(told.LATE_READ, instr, NEEDS=needs, **place)
            old, mark = thread.resize(thread.told_back(told.VALUE), 64, bits), thread.told_back(told.NEEDS)
            operation = next(m for m in instr.mods if m in atomics.OPERATIONS)
            value = atomics.OPERATIONS[operation](thread, instr, kind, old, value)
            own_needs = thread.or_(needs, mark, "i64")
        thread.event(told.LATE_WRITE, instr, VALUE=thread.resize(value, bits, 64), NEEDS=own_needs, **place)
    update(thread, instr, thread.shared_place(instr, barrier, "cluster", 8), "0", str(nbytes), needs)


def _refuse_bytes(thread, instr: Instr, nbytes: str) -> None:
    """A fault for a size that is not a multiple of 16."""
    bad, fine = thread.fresh("bad"), thread.fresh("fine")
    is_fine = thread.cmp("eq", thread.and_(nbytes, _LEAST_BYTES - 1, "i64"), 0, "i64")
    thread.do(f"br i1 {is_fine}, label %{fine}, label %{bad}")
    thread.start(bad, keep=True)
    _fault(thread, instr, context.ILLEGAL, nbytes, "0", context.BAD_BULK)
    thread.start(fine, keep=True)


def _checked(thread, instr: Instr, operand, space: str, nbytes: str) -> str:
    """The address of all bytes of one side; a fault if they are outside, or not aligned."""
    if space != "global":
        return thread.shared_place(instr, operand, space, _LEAST_BYTES, nbytes)
    address = thread.address(operand)
    where = f"i32 {kinds_of('global')}, i32 {thread.site(instr)}, i32 {thread.threads['linear']}"
    fine = thread.op(f"call i1 @emu_range(ptr %ctx, i64 {address}, i64 {nbytes}, i64 {_LEAST_BYTES}, {where})")
    thread.stop_unless(fine, "i1")
    return address


def _fault(thread, instr: Instr, status: int, address: str, size: str, detail: int) -> None:
    where = f"i32 {thread.site(instr)}, i32 {thread.threads['linear']}, i64 {address}, i64 {size}, i64 {detail}"
    thread.do(f"call void @emu_fault(ptr %ctx, i32 {status}, {where})")
    thread.branch("stop")
