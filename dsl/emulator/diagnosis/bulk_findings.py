"""What checkers found of bulk copies, in words: buffers that they still use, phases not waited for, fences missing."""

from __future__ import annotations

from dsl.emulator.check.access import ASYNC, WRITE
from dsl.emulator.check.bulk_flight import OF_MAP
from dsl.emulator.check.wgmma_reads import UNPROXIED
from dsl.emulator.diagnosis.phases import Order
from dsl.emulator.ptx.syntax import Instr

_READ_WAIT = "cp.async.bulk.wait_group.read (`cute.arch.cp_async_bulk_wait_group(0, read=True)`)"
_PROXY = "fence.proxy.async (`cute.arch.fence_proxy`)"


_NOUNS = {"cp": "bulk copy", "st": "asynchronous store", "red": "asynchronous reduction"}


def is_copy(instr: Instr) -> bool:
    """Whether it copies or stores on its own: cp.async.bulk, cp.reduce.async.bulk, st.async, red.async."""
    return (instr.opcode == "cp" and "bulk" in instr.mods) or (instr.opcode in ("st", "red") and "async" in instr.mods)


def is_bulk(instr: Instr) -> bool:
    return is_copy(instr) or instr.opcode == "tensormap"


def left_in_flight(verb: str, what: str, block: tuple) -> tuple[str, str]:
    """The message and the fix of a copy into a block that ends before it has waited for the copy."""
    return f"{verb} {what} of block {block}, which ends before the copy has landed: no thread of it waits for that", (
        "let a thread of that block wait, before the block ends, for the phase of the mbarrier that the copy signals "
        "(`pipeline.consumer_wait`), and load no stage that nobody reads"
    )


def race(
    mine: Instr, other: Instr, kinds: tuple[int, int], words: tuple[str, str, str], lines: tuple[str, str], order: Order
) -> tuple[str, str]:
    """The message and the fix of a race with a bulk copy. `kinds` of this access and the other; `words`: what this one
    does, who made the other one, what that did; `lines`: where the other one is, and what this one comes after."""
    (my_kind, its_kind), (does, who, did), (at, here) = kinds, words, lines
    if its_kind & OF_MAP:
        return f"uses a tensor map that {who} changed at {at}: no fence.proxy.tensormap between", (
            f"put fence.proxy.tensormap::generic.acquire of the map's 128 bytes between {at} and {here}, in a thread "
            "of each block that uses it"
        )
    if is_bulk(other) and its_kind & ASYNC and not its_kind & WRITE and "shared::cluster" in other.mods:
        return f"{does}, which the copy at {at} to another block still reads: it was not waited for", (
            f"let that block wait for the phase of its mbarrier, and then arrive at one of this block "
            f"(mapa, mbarrier.arrive.release.cluster) that {here} waits for"
        )
    if is_bulk(other) and its_kind & ASYNC and not its_kind & WRITE:
        return f"{does}, which the bulk store at {at} still reads: it was not waited for", (
            f"let the thread of the store wait for it, {_READ_WAIT}, and then a barrier (or the arrival at the empty "
            f"mbarrier) that {here} comes after"
        )
    if is_bulk(other) and its_kind & ASYNC:
        noun = _NOUNS[other.opcode]
        message = f"{does}, which the {noun} at {at} still writes: nobody has waited for it"
        return message, order.fix_of_wait(noun.split()[-1], at, here)
    if is_bulk(mine) and its_kind & UNPROXIED:
        return f"{does}, which {who} {did} at {at}: no fence.proxy.async between", (
            f"put {_PROXY} after the writes at {at}, before the barrier that {here} comes after"
        )
    if is_bulk(mine) and my_kind & WRITE:
        return f"{does}, which {who} {did} at {at}: the slot was not given back", order.fix_of_slot(at, here)
    if is_bulk(mine):
        return f"{does}, which {who} {did} at {at}: no barrier between", (
            f"put {_PROXY} and then a barrier between {at} and {here}"
        )
    if not its_kind & WRITE:
        return f"{does}, which the bulk store at {at} read: no barrier between", (
            f"put a barrier between {at} and {here}: after the wait for the store, {_READ_WAIT}, or before the store "
            "if this is what it stores"
        )
    message = f"{does}, which {who} {did} at {at}: this thread has not waited for it"
    return message, order.fix_of_wait(_NOUNS[other.opcode].split()[-1], at, here)
