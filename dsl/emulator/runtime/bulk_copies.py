"""Bulk copies on their way: one queue a block, in the order they were started. PTX ISA 9.7.9.25.5, 9.7.9.27.

A copy into shared memory lands when a thread of the cluster looks at an mbarrier; one out of it when its thread waits
for its group, or ends. Hardware may land them earlier; landing late makes a missing wait visible every time.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager

from dsl.emulator import context
from dsl.emulator.builder import Builder, mates
from dsl.emulator.runtime import async_stores, mbarrier_log
from dsl.emulator.runtime.barriers import tell_order

# What an entry is: a copy of bytes or of a box, into shared memory or out of it.
BYTES_IN, BYTES_OUT, BOX_IN, BOX_OUT = range(4)
QUEUE = "{ ptr, i32, i32, [1024 x i32] }"  # entries, their number, room, groups that each thread has closed
QUEUE_BYTES = 16 + 4 * context.MAX_THREADS
# kind, thread, group, bytes; shared memory; memory; the mbarrier; coordinates and offsets of pixels; the tensor map as
# it was when the copy began
ENTRY = "{ i32, i32, i32, i32, i64, i64, i64, [8 x i32], [16 x i64] }"
ENTRY_BYTES = 200
KIND, THREAD, GROUP, SIZE, SMEM, OTHER, BARRIER, COORDS, MAP = range(9)
REDUCTION_SHIFT = 8  # of a kind: above it is the code of bulk_reductions.py, 0 for a copy
EVERY = 0x7FFFFFFF  # of groups

SIGNATURES = {
    "emu_bulk_copy": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64, i32)",
    "emu_bulk_box": f"i32 (ptr, i32, i32, i32, i64, i64, i64, i32, i32{', i32' * 8})",
    "emu_bulk_peer": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64)",
    "emu_bulk_commit": "void (ptr, i32)",
    "emu_bulk_wait": "void (ptr, i32, i32)",
    "emu_bulk_exit": "void (ptr, i32)",
    "emu_bulk_arrive": "void (ptr)",
}


def functions() -> list[str]:
    """The IR text."""
    return [
        _add(),
        _value(),
        _complete(),
        _land(),
        _land_all(),
        _copy(),
        _box(),
        _peer(),
        _commit(),
        _wait(),
        _exit(),
        _arrive(),
    ]


def _queue(f: Builder, slot: str = "%ctx") -> str:
    return f.cast("inttoptr", f.load("bulk", of=slot), "i64", "ptr")


def _part(f: Builder, kind: str, pointer: str, index: int) -> str:
    return f.op(f"getelementptr {kind}, ptr {pointer}, i32 0, i32 {index}")


def _committed(f: Builder, thread: str) -> str:
    return f.op(f"getelementptr {QUEUE}, ptr {_queue(f)}, i32 0, i32 3, i32 {thread}")


def _entry(f: Builder, index: str) -> str:
    return f.op(f"getelementptr {ENTRY}, ptr {f.get(_part(f, QUEUE, _queue(f), 0), 'ptr')}, i32 {index}")


def _add() -> str:
    """A new entry; its coordinates are the caller's to fill in."""
    f = Builder()
    queue = _queue(f)
    count_slot, room_slot = _part(f, QUEUE, queue, 1), _part(f, QUEUE, queue, 2)
    count = f.get(count_slot)
    with f.if_(f.cmp("eq", count, f.get(room_slot))):
        larger = f.add(f.shl(count, 1), 16)
        size = f.mul(f.cast("zext", larger, "i32", "i64"), ENTRY_BYTES, "i64")
        entries = _part(f, QUEUE, queue, 0)
        f.put(entries, f.op(f"call ptr @realloc(ptr {f.get(entries, 'ptr')}, i64 {size})"), "ptr")
        f.put(room_slot, larger)
    entry = _entry(f, count)
    f.put(count_slot, f.add(count, 1))
    for index, value in ((KIND, "%kind"), (THREAD, "%tid"), (GROUP, f.get(_committed(f, "%tid"))), (SIZE, "%size")):
        f.put(_part(f, ENTRY, entry, index), value)
    for index, value in ((SMEM, "%smem"), (OTHER, "%other"), (BARRIER, "%barrier")):
        f.put(_part(f, ENTRY, entry, index), value, "i64")
    f.do("call void @emu_cluster_wake(ptr %ctx)")
    f.do(f"ret ptr {entry}")
    arguments = "i32 %tid, i32 %kind, i32 %size, i64 %smem, i64 %other, i64 %barrier"
    return f.function(f"define internal ptr @bulk_add(ptr %ctx, {arguments})")


def _value() -> str:
    """Where an entry has what is stored: 16 bytes in the place of its coordinates."""
    f = Builder()
    f.do(f"ret ptr {_part(f, ENTRY, '%one', COORDS)}")
    return f.function("define internal ptr @bulk_value(ptr %one)")


def _complete() -> str:
    """complete_tx at an mbarrier; its 64 bits are those of emit/mbarrier.py."""
    f = Builder()
    place = f.cast("inttoptr", "%barrier", "i64", "ptr")
    old = f.get(place, "i64")
    few, bytes_mask = (1 << 20) - 1, ((1 << 21) - 1) << 40
    left = f.sub(f.and_(old, bytes_mask, "i64"), f.shl(f.cast("zext", "%size", "i32", "i64"), 40, "i64"), "i64")
    left = f.and_(left, bytes_mask, "i64")
    ended = f.cmp("eq", f.or_(left, f.and_(old, few, "i64"), "i64"), 0, "i64")
    kept = f.or_(f.and_(old, ~bytes_mask, "i64"), left, "i64")
    again = f.xor(f.or_(kept, f.and_(f.lshr(old, 20, "i64"), few, "i64"), "i64"), -(1 << 63), "i64")
    f.put(place, f.select(ended, again, kept, "i64"), "i64")
    f.do("call void @emu_cluster_wake(ptr %ctx)")
    order = f.load("order_call")
    with f.if_(f.cmp("ne", order, 0, "i64")):
        function, ctx = f.cast("inttoptr", order, "i64", "ptr"), f.cast("ptrtoint", "%ctx", "ptr", "i64")
        what = f"i32 {context.ORDER_MB_LANDED}, i32 %tid, i64 %barrier, i64 {f.cast('zext', ended, 'i1', 'i64')}"
        f.op(f"call i32 {function}(i64 {ctx}, {what})")
    f.do("ret void")
    return f.function("define internal void @complete(ptr %ctx, i64 %barrier, i32 %size, i32 %tid)")


def _land() -> str:
    """One copy happens, or an asynchronous store."""
    f = Builder()
    number, size = f.get(_part(f, ENTRY, "%one", KIND)), f.get(_part(f, ENTRY, "%one", SIZE))
    kind, reduction = f.and_(number, (1 << REDUCTION_SHIFT) - 1), f.lshr(number, REDUCTION_SHIFT)
    smem, other = (f.get(_part(f, ENTRY, "%one", i), "i64") for i in (SMEM, OTHER))
    into = f.cmp("eq", f.and_(kind, 1), 0)
    is_value = f.cmp("uge", kind, async_stores.STORE)
    is_box = f.and_(f.cmp("uge", kind, BOX_IN), f.xor(is_value, "true", "i1"), "i1")
    with f.if_(is_value):
        value, target = f.op("call ptr @bulk_value(ptr %one)"), f.cast("inttoptr", smem, "i64", "ptr")
        f.do(f"call void @land_value(i32 {kind}, ptr {target}, ptr {value}, i32 {size})")
    with f.if_(is_box):
        coords = _part(f, ENTRY, "%one", COORDS)
        form = f.cast("ptrtoint", _part(f, ENTRY, "%one", MAP), "ptr", "i64")
        f.do(f"call void @emu_box_copy(i64 {form}, i64 {smem}, ptr {coords}, i1 {into}, i32 {reduction})")
    with f.if_(f.cmp("ult", kind, BOX_IN)):
        target = f.cast("inttoptr", f.select(into, smem, other, "i64"), "i64", "ptr")
        source = f.cast("inttoptr", f.select(into, other, smem, "i64"), "i64", "ptr")
        wide = f.cast("zext", size, "i32", "i64")
        reduces = f.cmp("ne", reduction, 0)
        with f.if_(reduces):
            f.do(f"call void @bulk_reduce(ptr {target}, ptr {source}, i32 {size}, i32 {reduction})")
        with f.if_(f.xor(reduces, "true", "i1")):
            f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {source}, i64 {wide}, i1 false)")
    landed, tid = f.load("landed"), f.get(_part(f, ENTRY, "%one", THREAD))
    with f.if_(f.cmp("ne", landed, 0, "i64")):
        function, told = (
            f.cast("inttoptr", landed, "i64", "ptr"),
            f.or_(size, f.select(into, context.SIGNALS, context.COPIED_OUT)),
        )
        f.do(f"call void {function}(ptr %ctx, i32 {tid}, i64 {smem}, i32 {told})")
    with f.if_(into):
        barrier = f.get(_part(f, ENTRY, "%one", BARRIER), "i64")
        f.do(f"call void @complete(ptr %ctx, i64 {barrier}, i32 {size}, i32 {tid})")
    f.do("ret void")
    return f.function("define internal void @land(ptr %ctx, ptr %one)")


def _land_all() -> str:
    """Copies into shared memory (tid -1), or those out of it of thread `tid` whose group is below `groups`."""
    f = Builder()
    count_slot = _part(f, QUEUE, _queue(f), 1)
    kept = f.alloca("i32", 4)
    f.put(kept, 0)
    arriving = f.cmp("slt", "%tid", 0)
    with f.for_range(f.get(count_slot)) as index:
        entry = _entry(f, index)
        into = f.cmp("eq", f.and_(f.get(_part(f, ENTRY, entry, KIND)), 1), 0)
        own = f.cmp("eq", f.get(_part(f, ENTRY, entry, THREAD)), "%tid")
        early = f.cmp("slt", f.get(_part(f, ENTRY, entry, GROUP)), "%groups")
        leaves = f.and_(f.and_(own, early, "i1"), f.xor(into, "true", "i1"), "i1")
        lands = f.select(arriving, into, leaves, "i1")
        with f.if_(lands):
            f.do(f"call void @land(ptr %ctx, ptr {entry})")
        with f.if_(f.xor(lands, "true", "i1")):
            target = _entry(f, f.get(kept))
            f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {entry}, i64 {ENTRY_BYTES}, i1 false)")
            f.put(kept, f.add(f.get(kept), 1))
    f.put(count_slot, f.get(kept))
    f.do("ret void")
    return f.function("define internal void @land_all(ptr %ctx, i32 %tid, i32 %groups)")


def _refused(f: Builder, condition: str, status: int, value: str, size: str, detail: int) -> None:
    """A fault of thread %tid at %site, and 0, where `condition` holds."""
    bad, fine = f.fresh("bad"), f.fresh("fine")
    f.do(f"br i1 {condition}, label %{bad}, label %{fine}")
    f.start(bad)
    where = f"i32 {status}, i32 %site, i32 %tid"
    f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {value}, i64 {size}, i64 {detail})")
    f.do("ret i32 0")
    f.start(fine)


def _place(f: Builder, address: str, size: str, alignment: int) -> str:
    """The host address of `size` (i64) bytes at one in shared::cluster, checked."""
    arguments = f"i32 %site, i32 %tid, i64 {address}, i64 {size}, i64 {alignment}"
    place = f.op(f"call i64 @emu_cluster_place(ptr %ctx, {arguments})")
    f.return_if(f.cmp("eq", place, 0, "i64"), "i32 0")
    return place


@contextmanager
def _targets(f: Builder, size: str, alignment: int):
    """Repeats its body for each block that a copy is for, with the host addresses of its bytes and its mbarrier.

    Of a multicast they are those of the blocks in %mask, at the places that %smem and %barrier have in their block.
    """
    many = f.cmp("ne", f.and_("%mask", context.MULTICAST), 0)
    with f.for_bits(f.select(many, f.and_("%mask", context.MULTICAST - 1), 1)) as bit:
        high = f.shl(f.cast("zext", f.add(bit, 1), "i32", "i64"), context.RANK_SHIFT, "i64")
        places = []
        for given, nbytes, align in (("%smem", size, alignment), ("%barrier", "8", 8)):
            inner = f.or_(high, f.and_(given, (1 << context.RANK_SHIFT) - 1, "i64"), "i64")
            places.append(_into(f, f.select(many, inner, given, "i64"), nbytes, align, given == "%barrier"))
        yield places


def _into(f: Builder, address: str, size: str, alignment: int, is_barrier: bool) -> str:
    """`_place`; 0 for the mbarrier of a copy out of shared memory, which has none."""
    if not is_barrier:
        return _place(f, address, size, alignment)
    slot = f.alloca("i64")
    f.put(slot, 0, "i64")
    with f.if_(f.cmp("eq", f.and_("%kind", 1), 0)):
        place = _place(f, address, size, alignment)
        note_copy(f, place)
        f.put(slot, place, "i64")
    return f.get(slot, "i64")


def note_copy(f: Builder, barrier: str) -> None:
    """Thread %tid begins a copy that signals the mbarrier at a host address; a fault where there is none."""
    where = f"i32 %tid, i32 %site, i64 {barrier}, i32 0"
    f.return_if(f.cmp("eq", f.op(f"call i32 @emu_note_{mbarrier_log.COPIES}(ptr %ctx, {where})"), 0), "i32 0")


def _copy() -> str:
    """Start a copy of `size` bytes between %smem, in shared::cluster, and address %other; 0 after a fault."""
    f = Builder()
    size = _size(f)
    with _targets(f, size, 16) as (smem, barrier):
        crooked = f.cmp("ne", f.and_("%other", 15, "i64"), 0, "i64")
        _refused(f, crooked, context.MISALIGNED, "%other", "16", 0)
        arguments = f"i64 %other, i64 {size}, i64 1, i32 {context.GLOBAL}, i32 %site, i32 %tid"
        there = f.op(f"call i1 @emu_range(ptr %ctx, {arguments})")
        f.return_if(f.xor(there, "true", "i1"), "i32 0")
        arguments = f"i32 %tid, i32 %kind, i32 %size, i64 {smem}, i64 %other, i64 {barrier}"
        f.op(f"call ptr @bulk_add(ptr %ctx, {arguments})")
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %site, i32 %kind, i64 %smem, i64 %other, i32 %size, i64 %barrier, i32 %mask"
    return f.function(f"define i32 @emu_bulk_copy(ptr %ctx, {arguments})")


def _size(f: Builder) -> str:
    """%size as i64, checked."""
    size = f.cast("zext", "%size", "i32", "i64")
    _refused(f, f.cmp("ne", f.and_("%size", 15), 0), context.ILLEGAL, size, "0", context.BAD_BULK)
    return size


def _peer() -> str:
    """Start a copy of `size` bytes from %smem of the block to %other in shared::cluster; 0 after a fault."""
    f = Builder()
    size = _size(f)
    source, target = _place(f, "%smem", size, 16), _place(f, "%other", size, 16)
    barrier = _place(f, "%barrier", "8", 8)
    note_copy(f, barrier)
    arguments = f"i32 %tid, i32 %kind, i32 %size, i64 {target}, i64 {source}, i64 {barrier}"
    f.op(f"call ptr @bulk_add(ptr %ctx, {arguments})")
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %site, i32 %kind, i64 %smem, i64 %other, i32 %size, i64 %barrier"
    return f.function(f"define i32 @emu_bulk_peer(ptr %ctx, {arguments})")


def _box() -> str:
    """Start a copy of a box of the tensor of %map; 0 after a fault."""
    f = Builder()
    fine = f.op("call i32 @emu_map_check(ptr %ctx, i64 %map, i32 %rank, i32 %site, i32 %tid)")
    f.return_if(f.cmp("eq", fine, 0), "i32 0")
    reduction = f.lshr("%kind", REDUCTION_SHIFT)
    whole = f.or_(reduction, f.op("call i32 @emu_map_type(i64 %map)"))
    is_wrong = f.xor(f.op(f"call i1 @is_reduction(i32 {whole})"), "true", "i1")
    is_wrong = f.and_(f.cmp("ne", reduction, 0), is_wrong, "i1")
    _refused(f, is_wrong, context.ILLEGAL, f.cast("zext", whole, "i32", "i64"), "0", context.BAD_REDUCTION)
    kind = f.select(f.cmp("ne", reduction, 0), f.or_("%kind", f.shl(f.and_(whole, 15), REDUCTION_SHIFT)), "%kind")
    size = f.op("call i32 @emu_box_bytes(i64 %map)")
    room = f.cast("zext", f.op("call i32 @emu_box_room(i64 %map)"), "i32", "i64")
    coords = f.alloca("[8 x i32]", 4)
    for index in range(8):
        f.put(f.op(f"getelementptr i32, ptr {coords}, i32 {index}"), f"%c{index}")
    straight = f.op(f"call i32 @emu_box_start(ptr %ctx, i64 %map, ptr {coords}, i32 %site, i32 %tid)")
    f.return_if(f.cmp("eq", straight, 0), "i32 0")
    with _targets(f, room, 128) as (smem, barrier):
        there = f.op(f"call i1 @emu_box_range(ptr %ctx, i64 %map, ptr {coords}, i32 %site, i32 %tid)")
        f.return_if(f.xor(there, "true", "i1"), "i32 0")
        arguments = f"i32 %tid, i32 {kind}, i32 {size}, i64 {smem}, i64 %map, i64 {barrier}"
        entry, form = f.op(f"call ptr @bulk_add(ptr %ctx, {arguments})"), f.cast("inttoptr", "%map", "i64", "ptr")
        for part, source, nbytes in ((COORDS, coords, 32), (MAP, form, 128)):
            target = _part(f, ENTRY, entry, part)
            f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 false)")
    f.do("ret i32 1")
    coordinates = ", ".join(f"i32 %c{i}" for i in range(8))
    arguments = (
        f"i32 %tid, i32 %site, i32 %kind, i64 %smem, i64 %map, i64 %barrier, i32 %mask, i32 %rank, {coordinates}"
    )
    return f.function(f"define i32 @emu_bulk_box(ptr %ctx, {arguments})")


def _commit() -> str:
    f = Builder()
    committed = _committed(f, "%tid")
    f.put(committed, f.add(f.get(committed), 1))
    f.do("ret void")
    return f.function("define void @emu_bulk_commit(ptr %ctx, i32 %tid)")


def _wait() -> str:
    """Land what the thread copied out of shared memory in all its groups but the last `keep`."""
    f = Builder()
    groups = f.sub(f.get(_committed(f, "%tid")), "%keep")
    f.do(f"call void @land_all(ptr %ctx, i32 %tid, i32 {groups})")
    f.do("ret void")
    return f.function("define void @emu_bulk_wait(ptr %ctx, i32 %tid, i32 %keep)")


def _exit() -> str:
    """A thread ends: what it copied out of shared memory lands. A checker hears of it."""
    f = Builder()
    with f.if_(f.cmp("ne", f.load("order_call"), 0, "i64")):
        with f.for_range(f.get(_part(f, QUEUE, _queue(f), 1))) as index:
            entry = _entry(f, index)
            out = f.cmp("eq", f.and_(f.get(_part(f, ENTRY, entry, KIND)), 1), 1)
            own = f.cmp("eq", f.get(_part(f, ENTRY, entry, THREAD)), "%tid")
            with f.if_(f.and_(out, own, "i1")):
                tell_order(f, context.ORDER_BULK_LEFT, "%tid", "0")
    f.do(f"call void @land_all(ptr %ctx, i32 %tid, i32 {EVERY})")
    f.do("ret void")
    return f.function("define void @emu_bulk_exit(ptr %ctx, i32 %tid)")


def _arrive() -> str:
    """A thread looks at an mbarrier: what blocks of the cluster copy into shared memory lands."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        with f.if_(f.cmp("ne", f.get(_part(f, QUEUE, _queue(f, slot), 1)), 0)):
            f.do(f"call void @land_all(ptr {slot}, i32 -1, i32 0)")
    f.do("ret void")
    return f.function("define void @emu_bulk_arrive(ptr %ctx)")


def reset() -> str:
    """IR text for the module of the worker's loop: a block begins, so nothing is on its way."""
    f = Builder()
    f.put(_part(f, QUEUE, _queue(f), 1), 0)
    groups = _part(f, QUEUE, _queue(f), 3)
    f.do(f"call void @llvm.memset.p0.i64(ptr {groups}, i8 0, i64 {4 * context.MAX_THREADS}, i1 false)")
    f.do("ret void")
    return f.function("define internal void @reset_bulk(ptr %ctx)")


class BulkQueue:
    """The queue of one slot; `close` frees what native code allocated."""

    def __init__(self) -> None:
        self._bytes = ctypes.create_string_buffer(QUEUE_BYTES)
        self.address = ctypes.addressof(self._bytes)

    def close(self) -> None:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(ctypes.c_void_p.from_address(self.address))
