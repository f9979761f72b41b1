"""What checkers found of bulk copies, in words: buffers that they still use, phases not waited for, fences missing."""

from __future__ import annotations

from dsl.emulator.check.access import ASYNC, WRITE
from dsl.emulator.check.bulk_flight import OF_MAP
from dsl.emulator.check.wgmma_reads import UNPROXIED
from dsl.emulator.ptx.syntax import Instr

_READ_WAIT = "cp.async.bulk.wait_group.read (`cute.arch.cp_async_bulk_wait_group(0, read=True)`)"
_PROXY = "fence.proxy.async (`cute.arch.fence_proxy`)"
_FULL = "the phase of the full mbarrier that the copy at {at} signals (`pipeline.consumer_wait`)"
_EMPTY = "the slot's empty mbarrier (`pipeline.producer_acquire`)"


def is_bulk(instr: Instr) -> bool:
    return (instr.opcode == "cp" and "bulk" in instr.mods) or instr.opcode == "tensormap"


def race(mine: Instr, other: Instr, kinds: tuple[int, int], words: tuple[str, str, str], lines: tuple[str, str]):
    """The message and the fix of a race with a bulk copy. `kinds` of this access and the other; `words`: what this one
    does, who made the other one, what that did; `lines`: where the other one is, and what this one comes after."""
    (my_kind, its_kind), (does, who, did), (at, here) = kinds, words, lines
    if its_kind & OF_MAP:
        return f"uses a tensor map that {who} changed at {at}: no fence.proxy.tensormap between", (
            f"put fence.proxy.tensormap::generic.acquire of the map's 128 bytes between {at} and {here}, in a thread "
            "of each block that uses it"
        )
    if is_bulk(other) and its_kind & ASYNC and not its_kind & WRITE:
        return f"{does}, which the bulk store at {at} still reads: it was not waited for", (
            f"let the thread of the store wait for it, {_READ_WAIT}, and then a barrier (or the arrival at the empty "
            f"mbarrier) that {here} comes after"
        )
    if is_bulk(other) and its_kind & ASYNC:
        return f"{does}, which the bulk copy at {at} still writes: nobody has waited for it", (
            f"wait for {_FULL.format(at=at)} before {here}"
        )
    if is_bulk(mine) and its_kind & UNPROXIED:
        return f"{does}, which {who} {did} at {at}: no fence.proxy.async between", (
            f"put {_PROXY} after the writes at {at}, before the barrier that {here} comes after"
        )
    if is_bulk(mine) and my_kind & WRITE:
        return f"{does}, which {who} {did} at {at}: the slot was not given back", (
            f"let {here} wait for {_EMPTY}; who reads or writes the slot arrives there after {at}"
        )
    if is_bulk(mine):
        return f"{does}, which {who} {did} at {at}: no barrier between", (
            f"put {_PROXY} and then a barrier between {at} and {here}"
        )
    if not its_kind & WRITE:
        return f"{does}, which the bulk store at {at} read: no barrier between", (
            f"put a barrier between {at} and {here}: after the wait for the store, {_READ_WAIT}, or before the store "
            "if this is what it stores"
        )
    return f"{does}, which {who} {did} at {at}: this thread has not waited for it", (
        f"wait for {_FULL.format(at=at)} before {here}"
    )
