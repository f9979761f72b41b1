"""mbarrier: barriers in shared memory that count arrivals and bytes. PTX ISA 9.7.13.15.

The 64 bits, which the ISA leaves open: pending arrivals in bits 0-19, the count of a phase in bits 20-39, bytes still
to come in bits 40-60, the phase's parity in bit 63. Threads of a cluster run in turn: a read and a write are
one step.
"""

from __future__ import annotations

from typing import NamedTuple

from dsl.emulator.check.ordering import scope_of
from dsl.emulator.families.mbarrier import numbers
from dsl.emulator.families.mbarrier.numbers import seen
from dsl.emulator.families.mbarrier.retries import goes_on
from dsl.emulator.families.memory.emit import host_address
from dsl.emulator.machine import context
from dsl.emulator.ptx.basic_blocks import is_asked
from dsl.emulator.ptx.operands import space_of
from dsl.emulator.ptx.syntax import SINK, Addr, Instr, PtxError

_COUNT, _BYTES, _PHASE = 20, 40, 63
_COUNT_MASK, _BYTES_MASK = (1 << 20) - 1, (1 << 21) - 1


class State(NamedTuple):
    """The current phase in an mbarrier's 64 bits: arrivals left of `count`,
    bytes left (negative: too many)."""

    parity: int
    pending: int
    count: int
    pending_bytes: int

    @classmethod
    def of(cls, word: int) -> State:
        n_bytes = word >> _BYTES & _BYTES_MASK
        n_bytes -= (n_bytes >> 20) << 21
        return cls(word >> _PHASE & 1, word & _COUNT_MASK, word >> _COUNT & _COUNT_MASK, n_bytes)

    @property
    def came(self) -> int:
        """The arrivals of the phase; more than `count` where bytes were missing and threads went on arriving."""
        over = 1 << _COUNT if self.pending >> _COUNT - 1 else 0
        return self.count - self.pending + over


def barrier(body, instr):
    """mbarrier.init, .inval, .arrive, .arrive_drop, .expect_tx, .complete_tx, .pending_count, .test_wait, .try_wait."""
    mods = instr.mods
    if "pending_count" in mods:
        destination, state = instr.operands
        count = body.and_(body.read(state, 64), _COUNT_MASK, "i64")
        return body.write(destination, body.resize(count, 64, 32), 32)
    if "init" in mods:
        return _init(body, instr)
    if "test_wait" in mods or "try_wait" in mods:
        return _wait(body, instr)
    if "inval" in mods:
        return _inval(body, instr)
    if "arrive" in mods or "arrive_drop" in mods:
        return _arrive(body, instr)
    address, amount = instr.operands  # .expect_tx, .complete_tx
    how = seen.RELAXED | body.site(instr) << seen.SITE_SHIFT  # bytes order nothing
    word_at, amount = place(body, instr, address), body.read(amount, 32)
    what = numbers.mbarrier.EXPECTS if "expect_tx" in mods else numbers.mbarrier.LOOKS
    note(body, instr, what, body.cast("ptrtoint", word_at, "ptr", "i64"), amount)
    update(body, word_at, "0", amount, "complete_tx" in mods, how=how)
    return _wake(body)


def place(body, instr, address) -> str:
    """The checked pointer to an mbarrier."""
    return host_address(body, instr, address, space_of(instr), 8)


def _init(body, instr) -> None:
    address, count = instr.operands
    word_at = place(body, instr, address)
    given = body.read(count, 32)
    note(body, instr, numbers.mbarrier.INITS, body.cast("ptrtoint", word_at, "ptr", "i64"), given)
    number = body.resize(given, 32, 64)
    word = body.or_(number, body.shl(number, _COUNT, "i64"), "i64")
    body.do(f"store i64 {word}, ptr {word_at}, align 8")
    body.ordered(context.ORDER_MB_INIT, body.cast("ptrtoint", word_at, "ptr", "i64"), str(body.site(instr)))


def _inval(body, instr) -> None:
    """The bits stay: nobody may look at them."""
    word_at = place(body, instr, instr.operands[0])
    address = body.cast("ptrtoint", word_at, "ptr", "i64")
    note(body, instr, numbers.mbarrier.INVALIDATES, address)
    body.ordered(context.ORDER_MB_INVAL, address, str(body.site(instr)))


def _arrive(body, instr) -> None:
    state, address, *rest = instr.operands if not isinstance(instr.operands[0], Addr) else (SINK, *instr.operands)
    if space_of(instr) == "cluster" and state != SINK:
        raise PtxError("an arrival in shared::cluster has no state: its destination is _")
    amount = body.read(rest[0], 32) if rest else "1"
    arrivals, n_bytes = ("1", amount) if "expect_tx" in instr.mods else (amount, "0")
    how = _asked(body, instr)
    word_at = place(body, instr, address)
    if state != SINK and space_of(instr) == "generic":
        note(body, instr, numbers.mbarrier.GIVES, body.cast("ptrtoint", word_at, "ptr", "i64"))
    what = numbers.mbarrier.ARRIVES | numbers.mbarrier.EXPECTS * ("expect_tx" in instr.mods)
    note(body, instr, what, body.cast("ptrtoint", word_at, "ptr", "i64"), n_bytes)
    old = update(body, word_at, arrivals, n_bytes, False, "arrive_drop" in instr.mods, how)
    _wake(body)
    if state != SINK:
        body.write(state, old, 64)


def note(body, instr, what: int, address: str, amount: str = "0") -> None:
    """Note the use of the mbarrier at a host address by an instruction; stop with a fault if it is not allowed."""
    body.uses.add("mbarrier")
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {address}, i32 {amount}"
    body.stop_unless(body.op(f"call i32 @emu_note_{what}(ptr %ctx, {where})"))


def _asked(body, instr) -> int:
    """The order that an arrival or a look asks for."""
    relaxed = seen.RELAXED * ("relaxed" in instr.mods)
    return relaxed | scope_of(instr) << seen.SCOPE_SHIFT | body.site(instr) << seen.SITE_SHIFT


def _how(body, ended: str, how: int) -> str:
    return body.or_(body.cast("zext", ended, "i1", "i64"), how, "i64")


def _wake(body) -> None:
    """Blocks of the cluster that wait look again: the mbarrier may be theirs."""
    if body.clustered:
        body.do("call void @emu_cluster_wake(ptr %ctx)")


def update(body, word_at: str, arrivals: str, n_bytes: str, completes: bool, drops: bool = False, how: int = 0) -> str:
    """Arrivals and bytes counted, and the phase ended where none are left; the word as it was before. Arrivals that are
    dropped are not expected in later phases either; `how` is for families/mbarrier/check.py."""
    old = body.op(f"load i64, ptr {word_at}, align 8")
    word, ended, change = next_word(body, old, arrivals, n_bytes, completes, drops)
    body.do(f"store i64 {word}, ptr {word_at}, align 8")
    body.store("mbarrier_idle", "0")
    address = body.cast("ptrtoint", word_at, "ptr", "i64")
    expected = "0" if completes else body.shl(body.and_(change, _COUNT_MASK, "i64"), seen.BYTES_SHIFT, "i64")
    body.ordered(context.ORDER_MB_ARRIVE, address, body.or_(_how(body, ended, how), expected, "i64"))
    return old


def next_word(body, old: str, arrivals: str, n_bytes: str, completes: bool, drops: bool) -> tuple[str, str, str]:
    """The word after one, whether the phase has ended, and `n_bytes` as i64."""
    pending = body.sub(body.and_(old, _COUNT_MASK, "i64"), body.resize(arrivals, 32, 64), "i64")
    pending = body.and_(pending, _COUNT_MASK, "i64")
    left = body.lshr(old, _BYTES, "i64")
    change = body.resize(n_bytes, 32, 64)
    left = body.sub(left, change, "i64") if completes else body.add(left, change, "i64")
    left = body.and_(left, _BYTES_MASK, "i64")
    ended = body.cmp("eq", body.or_(pending, left, "i64"), 0, "i64")
    count = body.and_(body.lshr(old, _COUNT, "i64"), _COUNT_MASK, "i64")
    if drops:
        count = body.and_(body.sub(count, body.resize(arrivals, 32, 64), "i64"), _COUNT_MASK, "i64")
    pending = body.select(ended, count, pending, "i64")
    phase = body.lshr(old, _PHASE, "i64")
    phase = body.xor(phase, body.cast("zext", ended, "i1", "i64"), "i64")
    word = body.or_(pending, body.shl(count, _COUNT, "i64"), "i64")
    word = body.or_(word, body.or_(body.shl(left, _BYTES, "i64"), body.shl(phase, _PHASE, "i64"), "i64"), "i64")
    return word, ended, change


def _wait(body, instr) -> None:
    """Whether the phase of a parity, or of a state that arrive gave, has ended.
    Loops around it let other threads run."""
    destination, address, which, *_ticks = instr.operands
    word_at = place(body, instr, address)
    if "parity" in instr.mods:
        asked = body.and_(body.resize(body.read(which, 32), 32, 64), 1, "i64")
    else:
        asked = body.lshr(body.read(which, 64), _PHASE, "i64")
    _land_copies(body, word_at, asked)
    ended = _has_ended(body, word_at, asked)
    linear, failed = body.threads["linear"], body.cast("zext", body.xor(ended, "true", "i1"), "i1", "i32")
    body.set_bits("in_mbarrier", body.lshr(linear, 5), body.shl(failed, body.and_(linear, 31)))
    address_at = body.cast("ptrtoint", word_at, "ptr", "i64")
    body.store("wait_site", str(body.site(instr)), linear)
    body.store("a", address_at, linear)  # for the report of a deadlock
    body.store("b", body.cast("trunc", asked, "i64", "i32"), linear)
    if body.order_kinds and instr.group:
        body.ordered(context.ORDER_MB_PEEK, address_at, _how(body, ended, _asked(body, instr)))
    is_followed = body.order_kinds and is_asked(body.frame.function, instr)
    if is_followed and goes_on(body.frame.function, instr):
        ended = _answer(body, instr, address_at, ended)
    passes = body.cast("zext", ended, "i1", "i32")
    note(body, instr, numbers.mbarrier.WAITS, address_at, passes)
    # without a reader of the answer the thread goes on also if the phase has not ended
    if is_followed and instr.group >= 0:
        body.ordered(context.ORDER_MB_WAIT, address_at, _how(body, ended, _asked(body, instr)))
    body.write(destination, ended, 1)


def _answer(body, instr, address: str, ended: str) -> str:
    """The answer of a look after whose false the thread goes on: false as well where that may be in another order."""
    how = _how(body, ended, _asked(body, instr))
    where = f"i32 {context.ORDER_MB_LOOK}, i32 {body.threads['linear']}, i64 {address}, i64 {how}"
    return body.and_(ended, body.cmp("eq", body.op(f"call i32 @emu_order(ptr %ctx, {where})"), 0), "i1")


def _land_copies(body, word_at: str, asked: str) -> None:
    """Let copies that signal mbarriers land before a look. A checked launch lands those that signal this one, if the
    look would fail: as late as they may, so that a thread that waits for a wrong phase goes on before the copy."""
    copies = _copies(body)
    if not copies:
        return
    look, signalled = body.fresh("look"), "0"
    if body.order_kinds:
        land, signalled = body.fresh("land"), body.cast("ptrtoint", word_at, "ptr", "i64")
        body.do(f"br i1 {_has_ended(body, word_at, asked)}, label %{look}, label %{land}")
        body.start(land, keep=True)
    for kind, function in copies.items():
        body.uses.add(kind)
        body.do(f"call void @{function}(ptr %ctx, i64 {signalled})")
    body.branch(look)
    body.start(look, keep=True)


def _has_ended(body, word_at: str, asked: str) -> str:
    word = body.op(f"load volatile i64, ptr {word_at}, align 8")
    return body.cmp("ne", body.lshr(word, _PHASE, "i64"), asked, "i64")


def _copies(body) -> dict[str, str]:
    """The kinds of copies of the kernel that signal mbarriers (bulk copies and asynchronous stores; cp.async), each
    with the function that lands them."""
    if not hasattr(body, "copies_that_signal"):
        items = [item for f in body.module.functions.values() for item in f.items if isinstance(item, Instr)]
        comes = [each for each in items if "async" in each.mods]
        bulk = any({"bulk", "mbarrier::complete_tx::bytes"} & {*each.mods} for each in comes)
        body.copies_that_signal = {"bulk": "emu_bulk_arrive_at"} if bulk else {}
        if any("mbarrier" in each.mods for each in comes):
            body.copies_that_signal["cp.async"] = "emu_queue_look"
        if any("commit" in each.mods and each.opcode == "tcgen05" for each in items):
            body.copies_that_signal["tensor memory"] = "emu_tensor_look"
    return body.copies_that_signal
