"""Pending cp.async copies: a queue a thread, in groups; bytes land when the thread waits for their group.

PTX ISA: cp.async, cp.async.commit_group, cp.async.wait_group. Hardware may land them earlier; landing at the wait
makes a missing wait visible every time. A queue is {entries, count, capacity, head, committed}, an entry {destination,
source, size, source size, group}.
"""

from __future__ import annotations

import ctypes

from dsl.emulator import context
from dsl.emulator.builder import Builder

QUEUE = "{ ptr, i32, i32, i32, i32 }"
ENTRY = "{ i64, i64, i32, i32, i32 }"
QUEUE_BYTES, ENTRY_BYTES = 24, 32

SIGNATURES = {
    "emu_queue_copy": "void (ptr, i32, i64, i64, i32, i32)",
    "emu_queue_commit": "void (ptr, i32)",
    "emu_queue_wait": "void (ptr, i32, i32)",
}


def functions() -> list[str]:
    """The IR text of the queue's operations."""
    return [_copy(), _commit(), _wait()]


def _queue(f: Builder, thread: str = "%tid") -> str:
    base = f.cast("inttoptr", f.load("queues"), "i64", "ptr")
    return f.op(f"getelementptr {QUEUE}, ptr {base}, i32 {thread}")


def _part(f: Builder, kind: str, pointer: str, index: int) -> str:
    return f.op(f"getelementptr {kind}, ptr {pointer}, i32 0, i32 {index}")


def _copy() -> str:
    f = Builder()
    queue = _queue(f)
    count = f.get(_part(f, QUEUE, queue, 1))
    capacity = f.get(_part(f, QUEUE, queue, 2))
    with f.if_(f.cmp("eq", count, capacity)):
        larger = f.add(f.shl(count, 1), 16)
        size = f.mul(f.cast("zext", larger, "i32", "i64"), ENTRY_BYTES, "i64")
        old = f.get(_part(f, QUEUE, queue, 0), "ptr")
        f.put(_part(f, QUEUE, queue, 0), f.op(f"call ptr @realloc(ptr {old}, i64 {size})"), "ptr")
        f.put(_part(f, QUEUE, queue, 2), larger)
    entry = f.op(f"getelementptr {ENTRY}, ptr {f.get(_part(f, QUEUE, queue, 0), 'ptr')}, i32 {count}")
    f.put(_part(f, ENTRY, entry, 0), "%destination", "i64")
    f.put(_part(f, ENTRY, entry, 1), "%source", "i64")
    f.put(_part(f, ENTRY, entry, 2), "%size")
    f.put(_part(f, ENTRY, entry, 3), "%source_size")
    f.put(_part(f, ENTRY, entry, 4), f.get(_part(f, QUEUE, queue, 4)))
    f.put(_part(f, QUEUE, queue, 1), f.add(count, 1))
    f.do("ret void")
    arguments = "i64 %destination, i64 %source, i32 %size, i32 %source_size"
    return f.function(f"define void @emu_queue_copy(ptr %ctx, i32 %tid, {arguments})")


def _commit() -> str:
    f = Builder()
    committed = _part(f, QUEUE, _queue(f), 4)
    f.put(committed, f.add(f.get(committed), 1))
    f.do("ret void")
    return f.function("define void @emu_queue_commit(ptr %ctx, i32 %tid)")


def _wait() -> str:
    """Land every copy whose group is followed by at least `keep` committed groups."""
    f = Builder()
    queue = _queue(f)
    head_slot, count_slot = _part(f, QUEUE, queue, 3), _part(f, QUEUE, queue, 1)
    committed = f.cast("zext", f.get(_part(f, QUEUE, queue, 4)), "i32", "i64")
    keep = f.cast("zext", "%keep", "i32", "i64")
    with f.loop() as done:
        head = f.get(head_slot)
        f.break_if(f.cmp("uge", head, f.get(count_slot)), done)
        entry = f.op(f"getelementptr {ENTRY}, ptr {f.get(_part(f, QUEUE, queue, 0), 'ptr')}, i32 {head}")
        group = f.cast("zext", f.get(_part(f, ENTRY, entry, 4)), "i32", "i64")
        f.break_if(f.cmp("uge", f.add(group, keep, "i64"), committed, "i64"), done)
        destination = f.cast("inttoptr", f.get(_part(f, ENTRY, entry, 0), "i64"), "i64", "ptr")
        source = f.cast("inttoptr", f.get(_part(f, ENTRY, entry, 1), "i64"), "i64", "ptr")
        size = f.cast("zext", f.get(_part(f, ENTRY, entry, 2)), "i32", "i64")
        source_bytes = f.cast("zext", f.get(_part(f, ENTRY, entry, 3)), "i32", "i64")
        with f.if_(f.cmp("ne", source_bytes, 0, "i64")):
            f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {destination}, ptr {source}, i64 {source_bytes}, i1 false)")
        rest = f.op(f"getelementptr i8, ptr {destination}, i64 {source_bytes}")
        f.do(f"call void @llvm.memset.p0.i64(ptr {rest}, i8 0, i64 {f.sub(size, source_bytes, 'i64')}, i1 false)")
        landed = f.load("landed")
        with f.if_(f.cmp("ne", landed, 0, "i64")):
            size32 = f.cast("trunc", size, "i64", "i32")
            address = f.cast("ptrtoint", destination, "ptr", "i64")
            function = f.cast("inttoptr", landed, "i64", "ptr")
            f.do(f"call void {function}(ptr %ctx, i32 %tid, i64 {address}, i32 {size32})")
        f.put(head_slot, f.add(head, 1))
    with f.if_(f.cmp("eq", f.get(head_slot), f.get(count_slot))):
        f.put(head_slot, 0)
        f.put(count_slot, 0)
    f.do("ret void")
    return f.function("define void @emu_queue_wait(ptr %ctx, i32 %tid, i32 %keep)")


def reset() -> str:
    """IR text for the module of the worker's loop: a block begins, so forget what is pending.

    Copies that nobody waited for never land.
    """
    f = Builder()
    with f.for_range(f.load("threads")) as thread:
        queue = _queue(f, thread)
        for index in (1, 3, 4):
            f.put(_part(f, QUEUE, queue, index), 0)
    f.do("ret void")
    return f.function("define internal void @reset_queues(ptr %ctx)")


class Queues:
    """The queues of one slot; `close` frees what native code allocated."""

    def __init__(self) -> None:
        self._bytes = ctypes.create_string_buffer(QUEUE_BYTES * context.MAX_THREADS)
        self.address = ctypes.addressof(self._bytes)

    def close(self) -> None:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        for thread in range(context.MAX_THREADS):
            free(ctypes.c_void_p.from_address(self.address + QUEUE_BYTES * thread))
