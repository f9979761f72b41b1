"""mbarriers in threads that run alone: a word that arrivals update and waits read. PTX ISA 9.7.13.15.

See translate/traced.py. The word is as in emit.py, with a mark in two bits that are free there: memory that no
mbarrier.init has written has no mark.
"""

from __future__ import annotations

from dsl.emulator.families.mbarrier.emit import State, barrier, next_word
from dsl.emulator.machine import context
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.operands import registers, space_of
from dsl.emulator.ptx.syntax import SINK, Addr, Instr
from dsl.memory_model.events import SCOPES, STRONG

_COUNT, _MARK, _PHASE = 20, 61, 63
_MADE = 2
_IMPLIED = {
    "arrive": "release", "arrive_drop": "release", "async": "release", "test_wait": "acquire", "try_wait": "acquire",
}  # fmt: skip


def counted(thread, instr: Instr) -> None:
    """mbarrier.init, .inval, .arrive, .arrive_drop, .expect_tx, .complete_tx, .pending_count, .test_wait, .try_wait."""
    mods = instr.mods
    if "pending_count" in mods:
        mark = thread.mark_of(registers(instr.operands[1]))
        barrier(thread, instr)
        return thread.put_mark(instr.operands[0], mark, instr.guard is not None)
    at = next(i for i, each in enumerate(instr.operands) if isinstance(each, Addr))
    address, rest = thread.shared_place(instr, instr.operands[at], space_of(instr), 8), instr.operands[at + 1 :]
    if "init" in mods or "inval" in mods:
        return _begin(thread, instr, address, rest)
    if "test_wait" in mods or "try_wait" in mods:
        return _wait(thread, instr, address, rest[0])
    amount = thread.read(rest[0], 32) if rest else "1"
    counts = mods[0].startswith("arrive")
    arrivals = "0" if not counts else "1" if "expect_tx" in mods else amount
    n_bytes = "0" if counts and "expect_tx" not in mods else amount
    needs = thread.needs(instr, [reg for each in rest for reg in registers(each)])
    old, mark = update(thread, instr, address, arrivals, n_bytes, needs)
    if at and instr.operands[0] is not SINK:
        thread.write(instr.operands[0], old, 64)
        thread.put_mark(instr.operands[0], mark, instr.guard is not None)
    return None


def _begin(thread, instr: Instr, address: str, rest) -> None:
    bits, needs = "0", thread.needs(instr)
    if rest:
        count = thread.read(rest[0], 32)
        bad, fine = thread.fresh("bad"), thread.fresh("fine")
        is_bad = thread.cmp("uge", thread.sub(count, 1), context.MOST_ARRIVALS)
        thread.do(f"br i1 {is_bad}, label %{bad}, label %{fine}")
        thread.start(bad, keep=True)
        _fault(thread, instr, context.ILLEGAL, address, thread.resize(count, 32, 64), context.BAD_ARRIVALS)
        thread.start(fine, keep=True)
        number = thread.resize(count, 32, 64)
        bits = _marked(thread, thread.or_(number, thread.shl(number, _COUNT, "i64"), "i64"))
        needs = thread.needs(instr, registers(rest[0]))
    thread.tell_write(instr, address, 8, bits, needs)


def _wait(thread, instr: Instr, address: str, which) -> None:
    if "parity" in instr.mods:
        asked = thread.and_(thread.resize(thread.read(which, 32), 32, 64), 1, "i64")
    else:
        asked = thread.lshr(thread.read(which, 64), _PHASE, "i64")
    held, mark = _made(thread, instr, address)
    thread.write(instr.operands[0], thread.cmp("ne", thread.lshr(held, _PHASE, "i64"), asked, "i64"), 1)
    mark = thread.or_(mark, thread.mark_of(registers(which)), "i64")
    thread.put_mark(instr.operands[0], mark, instr.guard is not None)


def update(thread, instr: Instr, address: str, arrivals: str, n_bytes: str, needs: str) -> tuple[str, str]:
    """Count arrivals and bytes: the word before, and the mark of the reads that it depends on."""
    old, mark = _made(thread, instr, address)
    completes = "complete_tx" in instr.mods or bool(instr.traits & traits.ASYNCHRONOUS)
    after, _, _ = next_word(thread, old, arrivals, n_bytes, completes, "arrive_drop" in instr.mods)
    thread.tell_write(instr, address, 8, _marked(thread, after), thread.or_(needs, mark, "i64"))
    return old, mark


def _marked(thread, word: str) -> str:
    return thread.or_(word, _MADE << _MARK, "i64")


def _made(thread, instr: Instr, address: str) -> tuple[str, str]:
    """The word that the thread reads, and its mark; a fault if no mbarrier is there."""
    held, mark = thread.tell_read(instr, address, 8)
    bad, fine = thread.fresh("bad"), thread.fresh("fine")
    is_made = thread.cmp("eq", thread.and_(thread.lshr(held, _MARK, "i64"), 3, "i64"), _MADE, "i64")
    thread.do(f"br i1 {is_made}, label %{fine}, label %{bad}")
    thread.start(bad, keep=True)
    _fault(thread, instr, context.NOT_INITIALIZED, address)
    thread.start(fine, keep=True)
    return held, mark


def _fault(thread, instr: Instr, status: int, address: str, size: str = "8", detail: int = 0) -> None:
    where = f"i32 {thread.site(instr)}, i32 {thread.threads['linear']}, i64 {address}, i64 {size}, i64 {detail}"
    thread.do(f"call void @emu_fault(ptr %ctx, i32 {status}, {where})")
    thread.branch("stop")


def word(bits: int) -> str:
    """The contents of an mbarrier: the parity of its phase, the arrivals and the bytes that are left."""
    if bits >> _MARK & 3 != _MADE:
        return "no mbarrier"
    state = State.of(bits)
    nbytes = f" and {state.pending_bytes} bytes" if state.pending_bytes else ""
    return f"phase of parity {state.parity}, {state.pending} of {state.count} arrivals{nbytes} left"


def strength(instr: Instr) -> tuple[str, str] | None:
    """The order and the scope of an operation on an mbarrier. Without modifiers an arrival releases and a wait
    acquires, in the block; what completes bytes releases them to the cluster. PTX ISA 9.7.13.15.9, 9.7.9.12,
    9.7.9.25.4.1"""
    if instr.traits & traits.ASYNCHRONOUS and "mbarrier::complete_tx::bytes" in instr.mods:
        return "release", "cluster"
    if not instr.traits & traits.MBARRIER:
        return None
    if instr.traits & traits.INIT:
        return "begins", "cta"
    order = next((m for m in instr.mods if m in STRONG), _IMPLIED.get(instr.mods[0], "relaxed"))
    return order, next((m for m in instr.mods if m in SCOPES), "cta")
