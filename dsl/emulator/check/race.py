"""Races: accesses of one place by two threads, at least one a write, that nothing orders.

Memory that threads share has cells beside it, one for as many bytes as the kernel's narrowest access has (1, 2 or 4).
A cell keeps the accesses that a later one may race with: who (block and warp), what kind, the instruction, a label and
the lanes of the warp that made it under this label. A thread's label names the stretch of its code between two
meetings; order.py says which labels a thread has seen the end of. An access leaves those kept that are ordered before
it and that whatever races with them also races with it. So what is found does not depend on who happened to run first.

PTX ISA, memory consistency model: two accesses that are both strong (atomics, volatile, relaxed, acquire, release) in
a scope that has both threads are not a race. Bytes of a cp.async are written at some time until its wait. Two plain
writes of one value from one line of the author's are a race to PTX too; they are noted, and the launch goes on.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

from dsl.emulator import context
from dsl.emulator.builder import Builder, mates
from dsl.emulator.check.access import ASKED_SHIFT, ASYNC, CTA, OBJECT, ORDERS, SILENT, STRONG, WRITE
from dsl.emulator.check.observed_writes import is_observed, may_be_observed

SIGNATURES = {
    "emu_race": "i32 (ptr, i32, i32, i64, i32, i32)",
    "emu_order": "i32 (ptr, i32, i32, i64, i64)",
    "emu_free_entries": "void (ptr)",
    "emu_race_landed": "void (ptr, i32, i64, i32)",
}
# A cell: how many entries it has, where those beyond the first two are, two entries.
CELL_BYTES, ENTRY_BYTES, INLINE, CHUNK_BYTES, MOST = 48, 16, 2, 1024, 64
# An entry: i64 of warp (5 bits), block (31), kind (4), site (24); i32 label; i32 lanes.
KIND_SHIFT, SITE_SHIFT, PLACE_MASK = 36, 40, (1 << 36) - 1
STEPS = 1 << 31  # a bit of a site's number in `site_lines`: a volatile access of shared memory
PENDING = -1  # the label of a copy that was not waited for


def functions() -> list[str]:
    """The IR text."""
    kept = [_is_mate(), _cell(), _entry(), _seen(), _touch(), _race(), _keep_landed(), _landed()]
    return [*kept, _order(), _free()]


def _is_mate() -> str:
    """Whether a block runs in the cluster now."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        f.return_if(f.cmp("eq", f.load("block", of=slot), "%block", "i64"), "i1 true")
    f.do("ret i1 false")
    return f.function("define internal i1 @is_mate(ptr %ctx, i64 %block)")


def _cell() -> str:
    """The cell of an address, or null where it has none."""
    f = Builder()
    shift = f.cast("zext", f.load("race_shift"), "i32", "i64")
    owner = f.op("call ptr @owner(ptr %ctx, i64 %address)")
    with f.if_(f.cmp("ne", owner, "null", "ptr")):
        offset, cells = f.sub("%address", f.load("smem", of=owner), "i64"), f.load("smem_cells", of=owner)
        index = f.mul(f.op(f"lshr i64 {offset}, {shift}"), CELL_BYTES, "i64")
        f.do(f"ret ptr {f.cast('inttoptr', f.add(cells, index, 'i64'), 'i64', 'ptr')}")
        f.start(f.fresh("dead"))
    near = f.sub("%address", f.load("near_lo"), "i64")
    with f.if_(f.cmp("uge", near, f.load("near_bytes"), "i64")):
        f.do("call void @emu_near(ptr %ctx, i64 %address)")
    cells = f.load("near_cells")
    f.return_if(f.cmp("eq", cells, 0, "i64"), "ptr null")
    offset = f.sub("%address", f.load("near_lo"), "i64")
    index = f.mul(f.op(f"lshr i64 {offset}, {shift}"), CELL_BYTES, "i64")
    f.do(f"ret ptr {f.cast('inttoptr', f.add(cells, index, 'i64'), 'i64', 'ptr')}")
    return f.function("define internal ptr @cell(ptr %ctx, i64 %address)")


def _entry() -> str:
    """Entry %i of a cell; room for it is made."""
    f = Builder()
    with f.if_(f.cmp("ult", "%i", INLINE)):
        wide = f.cast("zext", f.add(f.mul("%i", ENTRY_BYTES), CELL_BYTES - INLINE * ENTRY_BYTES), "i32", "i64")
        f.do(f"ret ptr {f.op(f'getelementptr i8, ptr %cell, i64 {wide}')}")
        f.start(f.fresh("dead"))
    slot = f.op("getelementptr i8, ptr %cell, i64 8")
    with f.if_(f.cmp("eq", f.get(slot, "ptr"), "null", "ptr")):
        chunk = f.op(f"call ptr @aligned_alloc(i64 64, i64 {CHUNK_BYTES})")
        f.put(chunk, f.load("chunks"), "i64")
        f.store("chunks", f.cast("ptrtoint", chunk, "ptr", "i64"))
        f.put(slot, chunk, "ptr")
    wide = f.cast("zext", f.mul(f.sub("%i", INLINE - 1), ENTRY_BYTES), "i32", "i64")
    chunk = f.get(slot, "ptr")
    f.do(f"ret ptr {f.op(f'getelementptr i8, ptr {chunk}, i64 {wide}')}")
    return f.function("define internal ptr @entry(ptr %ctx, ptr %cell, i32 %i)")


def _free() -> str:
    """Give the entries back; the cells are forgotten too."""
    f = Builder()
    with f.loop() as done:
        chunk = f.load("chunks")
        f.break_if(f.cmp("eq", chunk, 0, "i64"), done)
        pointer = f.cast("inttoptr", chunk, "i64", "ptr")
        f.store("chunks", f.get(pointer, "i64"))
        f.do(f"call void @free(ptr {pointer})")
    f.do("ret void")
    return f.function("define void @emu_free_entries(ptr %ctx)")


@contextmanager
def each_write(f: Builder, first: str, size: str):
    """The writes to `size` (i32) bytes whose first cell is `first`: yields a Write."""
    shift = f.load("race_shift")
    with f.for_range(f.op(f"lshr i32 {size}, {shift}")) as i:
        step = f.mul(f.cast("zext", i, "i32", "i64"), CELL_BYTES, "i64")
        cell = f.op(f"getelementptr i8, ptr {first}, i64 {step}")
        with f.for_range(f.get(cell)) as number:
            entry = f.op(f"call ptr @entry(ptr %ctx, ptr {cell}, i32 {number})")
            meta = f.get(entry, "i64")
            label, lanes = (f.get(f.op(f"getelementptr i8, ptr {entry}, i64 {n}")) for n in (8, 12))
            place = f.and_(meta, PLACE_MASK, "i64")
            kind = f.and_(f.cast("trunc", f.lshr(meta, KIND_SHIFT, "i64"), "i64", "i32"), 15)
            with f.if_(f.cmp("ne", f.and_(kind, WRITE), 0)):
                warp = f.and_(f.cast("trunc", place, "i64", "i32"), 31)
                site = f.cast("trunc", f.lshr(meta, SITE_SHIFT, "i64"), "i64", "i32")
                yield Write(meta, f.lshr(place, 5, "i64"), warp, lanes, label, kind, site)


class Write(NamedTuple):
    """A write that a cell keeps, as values of the IR: i64 `meta` (its entry's first 8 bytes) and `block`, else i32."""

    meta: str
    block: str
    warp: str
    lanes: str
    label: str
    kind: str
    site: str


def report_write(f: Builder, write: Write, lane: str, mark: int, size: str) -> None:
    """End with 0 and a race: %tid reads, on its way, what a lane wrote; `mark` is set in its kind, `size` is an i64."""
    f.store("other_block", write.block)
    f.store("other_thread", f.add(f.shl(write.warp, 5), lane))
    f.store("other_site", write.site)
    f.store("other_kind", f.or_(write.kind, mark))
    f.store("other_label", write.label)
    where = f"i32 {context.RACE}, i32 %site, i32 %tid, i64 %address, i64 {size}"
    f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {ASYNC})")
    f.do("ret i32 0")
    f.start(f.fresh("dead"))


def _seen() -> str:
    """The lanes of an entry that thread %tid has not seen the end of: those not ordered before it."""
    f = Builder()
    block, own = f.load("block"), f.fresh("own")
    f.do(f"br i1 {f.cmp('eq', '%block', block, 'i64')}, label %{own}, label %foreign")
    f.start("foreign")
    across = f.cmp("ne", f.and_(f.load("order_kinds"), context.BLOCKS_ORDERED), 0)
    f.return_if(f.xor(across, "true", "i1"), "i32 %mask")
    where = f.or_(f.shl("%block", 5, "i64"), f.cast("zext", "%warp", "i32", "i64"), "i64")
    low = f.cast("zext", "%label", "i32", "i64")
    what = f.or_(f.shl(low, 32, "i64"), f.cast("zext", "%mask", "i32", "i64"), "i64")
    asked = f"i32 {context.ORDER_ACROSS}, i32 %tid, i64 {where}, i64 {what}"
    f.do(f"ret i32 {f.op(f'call i32 @emu_order(ptr %ctx, {asked})')}")
    f.start(own)
    f.return_if(f.cmp("ult", "%label", f.load("epoch")), "i32 0")
    fine = f.cmp("ne", f.and_(f.load("order_kinds"), context.THREADS_ORDERED), 0)
    f.return_if(f.xor(fine, "true", "i1"), "i32 %mask")
    seen = f.cast("inttoptr", f.load("known"), "i64", "ptr")
    row = f.add(f.mul("%tid", f.load("threads")), f.shl("%warp", 5))
    left = f.alloca("i32", 4)
    f.put(left, "%mask")
    with f.for_bits("%mask") as lane:
        cell = f.op(f"getelementptr i32, ptr {seen}, i32 {f.add(row, lane)}")
        unseen = f.cast("zext", f.cmp("ult", f.get(cell), "%label"), "i1", "i32")
        bit = f.shl(1, lane)
        f.put(left, f.and_(f.get(left), f.or_(f.not_(bit), f.shl(unseen, lane))))
    f.do(f"ret i32 {f.get(left)}")
    return f.function("define internal i32 @unseen(ptr %ctx, i32 %tid, i64 %block, i32 %warp, i32 %label, i32 %mask)")


def _covers(f: Builder, mine: str, other: str) -> str:
    """Whether what races with an access of kind `other`, that is ordered before one of kind `mine`,
    races with it too."""
    table = 0
    reach = {0: {0, STRONG}, WRITE: {0, WRITE, STRONG, STRONG | WRITE}, STRONG: {STRONG},
             STRONG | WRITE: {STRONG, STRONG | WRITE}}  # fmt: skip
    for a, row in reach.items():
        for b in row:
            table |= 1 << (a << 2 | b)
    index = f.or_(f.shl(f.and_(mine, 3), 2), f.and_(other, 3))
    covered = f.cmp("ne", f.and_(f.lshr(table, index), 1), 0)
    narrower = f.and_(f.and_(other, f.not_(mine)), CTA)
    loses = f.and_(f.cmp("ne", narrower, 0), f.cmp("ne", f.and_(mine, STRONG), 0), "i1")
    return f.and_(covered, f.xor(loses, "true", "i1"), "i1")


def _touch() -> str:
    """One cell: 1, or 0 and a fault where the access races with one of those kept."""
    f = Builder()
    count_slot = "%cell"
    block = f.load("block")
    warp, lane = f.lshr("%tid", 5), f.and_("%tid", 31)
    bit = f.shl(1, lane)
    place = f.or_(f.shl(block, 5, "i64"), f.cast("zext", warp, "i32", "i64"), "i64")
    pending = f.cmp("ne", f.and_("%kind", ASYNC), 0)
    label = f.select(pending, PENDING, f.op("call i32 @label(ptr %ctx, i32 %tid)"))
    own_meta = _meta(f, place)
    merged, index, alike, alike_mine, last = (f.alloca("i32", 4) for _ in range(5))
    for slot, value in ((merged, -1), (index, 0), (alike, 0), (alike_mine, 0), (last, 0)):
        f.put(slot, value)
    ordered = f.alloca("i1", 1)
    with f.loop() as done:
        i = f.get(index)
        count = f.get(count_slot)
        f.break_if(f.cmp("uge", i, count), done)
        entry = f.op(f"call ptr @entry(ptr %ctx, ptr %cell, i32 {i})")
        meta = f.get(entry, "i64")
        label_at, mask_at = (f.op(f"getelementptr i8, ptr {entry}, i64 {n}") for n in (8, 12))
        its_label, mask = f.get(label_at), f.get(mask_at)
        its_place = f.and_(meta, PLACE_MASK, "i64")
        its_block = f.lshr(its_place, 5, "i64")
        its_warp = f.and_(f.cast("trunc", its_place, "i64", "i32"), 31)
        its_kind = f.and_(f.cast("trunc", f.lshr(meta, KIND_SHIFT, "i64"), "i64", "i32"), 15)
        same_place, same_block = f.cmp("eq", its_place, place, "i64"), f.cmp("eq", its_block, block, "i64")
        arguments = f"i32 %tid, i64 {its_block}, i32 {its_warp}, i32 {its_label}, i32 {mask}"
        unseen = f.op(f"call i32 @unseen(ptr %ctx, {arguments})")
        is_async = f.cmp("ne", f.and_(its_kind, ASYNC), 0)
        mine = f.and_(same_place, f.xor(is_async, "true", "i1"), "i1")
        unseen = f.and_(unseen, f.select(mine, f.not_(bit), -1))
        either, both = f.or_("%kind", its_kind), f.and_("%kind", its_kind)
        writes = f.cmp("ne", f.and_(either, WRITE), 0)
        strong = f.cmp("ne", f.and_(both, STRONG), 0)
        reaches = f.or_(same_block, f.cmp("eq", f.and_(either, CTA), 0), "i1")
        clash = f.and_(writes, f.xor(f.and_(strong, reaches, "i1"), "true", "i1"), "i1")
        open_ = f.cmp("ne", unseen, 0)
        f.put(ordered, f.xor(open_, "true", "i1"), "i1")
        in_step = f.and_(f.and_(writes, strong, "i1"), f.and_(same_place, open_, "i1"), "i1")
        with f.if_(f.and_(in_step, f.cmp("eq", f.load("step_site"), 0), "i1")):
            _note_steps(f, its_warp, unseen, f.cast("trunc", f.lshr(meta, SITE_SHIFT, "i64"), "i64", "i32"))
        bad, fine = f.fresh("race"), f.fresh("fine")
        f.do(f"br i1 {f.and_(clash, open_, 'i1')}, label %{bad}, label %{fine}")
        f.start(bad)
        with f.if_(may_be_observed(f, its_kind)):
            f.put(ordered, is_observed(f, its_block, its_warp, its_label, unseen), "i1")
            reported = f.fresh("reported")
            f.do(f"br i1 {f.get(ordered, 'i1')}, label %{fine}, label %{reported}")
            f.start(reported)
        lane_of = f.op(f"call i32 @llvm.cttz.i32(i32 {unseen}, i1 false)")
        its_thread = f.add(f.shl(its_warp, 5), lane_of)
        its_site = f.cast("trunc", f.lshr(meta, SITE_SHIFT, "i64"), "i64", "i32")
        plain = f.and_(f.cmp("eq", "%kind", WRITE), f.cmp("eq", its_kind, WRITE), "i1")
        with f.if_(f.and_(plain, f.cmp("ne", "%silent", 0), "i1")):
            with f.if_(f.cmp("eq", _line(f, its_site), _line(f, "%site"))):
                _note(f, its_block, its_thread)
                f.do(f"br label %{fine}")
                f.start(f.fresh("dead"))
        f.store("other_block", its_block)
        f.store("other_thread", its_thread)
        f.store("other_site", its_site)
        f.store("other_kind", its_kind)
        f.store("other_label", its_label)
        where = f"i32 {context.RACE}, i32 %site, i32 %tid, i64 %address, i64 %size"
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {f.cast('zext', '%kind', 'i32', 'i64')})")
        f.do("ret i32 0")
        f.start(fine)
        gone = f.and_(f.get(ordered, "i1"), _covers(f, "%kind", its_kind), "i1")
        drop, keep, next_ = f.fresh("drop"), f.fresh("keep"), f.fresh("next")
        f.do(f"br i1 {gone}, label %{drop}, label %{keep}")
        f.start(drop)
        less = f.sub(count, 1)
        from_ = f.op(f"call ptr @entry(ptr %ctx, ptr %cell, i32 {less})")
        f.put(entry, f.get(from_, "i128"), "i128")
        f.put(count_slot, less)
        f.do(f"br label %{next_}")
        f.start(keep)
        same_kind = f.cmp("eq", its_kind, "%kind")
        joins = f.and_(f.cmp("eq", meta, own_meta, "i64"), f.cmp("eq", its_label, label), "i1")
        f.put(merged, f.select(joins, i, f.get(merged)))
        f.put(last, f.select(same_kind, i, f.get(last)))
        f.put(alike, f.add(f.get(alike), f.cast("zext", same_kind, "i1", "i32")))
        both_mine = f.cast("zext", f.and_(same_kind, same_block, "i1"), "i1", "i32")
        f.put(alike_mine, f.add(f.get(alike_mine), both_mine))
        f.put(index, f.add(i, 1))
        f.do(f"br label %{next_}")
        f.start(next_)
    with f.if_(f.cmp("sge", f.get(merged), 0)):
        entry = f.op(f"call ptr @entry(ptr %ctx, ptr %cell, i32 {f.get(merged)})")
        at = f.op(f"getelementptr i8, ptr {entry}, i64 12")
        f.put(at, f.or_(f.get(at), bit))
        f.do("ret i32 1")
        f.start(f.fresh("dead"))
    _append(f, count_slot, own_meta, label, bit, alike, alike_mine, last)
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %site, i32 %kind, i32 %silent, i32 %asked, i64 %address, i64 %size"
    return f.function(f"define internal i32 @touch(ptr %ctx, ptr %cell, {arguments})")


def _line(f: Builder, site: str) -> str:
    """The number of the author's line that a site is of."""
    lines = f.cast("inttoptr", f.load("site_lines"), "i64", "ptr")
    return f.get(f.op(f"getelementptr i32, ptr {lines}, i32 {site}"))


def _note(f: Builder, its_block: str, its_thread: str) -> None:
    """Keep that two threads write one value from one line, the first time."""
    with f.if_(f.cmp("eq", f.load("note_site"), 0)):
        f.store("note_site", f.add("%site", 1))
        f.store("note_thread", "%tid")
        f.store("note_block", f.load("block"))
        f.store("note_address", "%address")
        f.store("note_other_thread", its_thread)
        f.store("note_other_block", its_block)


def _note_steps(f: Builder, warp: str, lanes: str, its_site: str) -> None:
    """Keep that two lanes of a warp exchange a value by volatile accesses that nothing orders."""
    both = f.and_(_line(f, its_site), _line(f, "%site"))
    with f.if_(f.cmp("slt", both, 0)):
        lane = f.op(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")
        f.store("step_site", f.add("%site", 1))
        f.store("step_other_site", its_site)
        f.store("step_thread", "%tid")
        f.store("step_other_thread", f.add(f.shl(warp, 5), lane))
        f.store("step_address", "%address")
        f.store("step_block", f.load("block"))


def _meta(f: Builder, place: str) -> str:
    """The first 8 bytes of an entry for this access."""
    kind = f.shl(f.cast("zext", "%kind", "i32", "i64"), KIND_SHIFT, "i64")
    site = f.shl(f.cast("zext", "%site", "i32", "i64"), SITE_SHIFT, "i64")
    return f.or_(place, f.or_(kind, site, "i64"), "i64")


def _append(f: Builder, count_slot, meta, label, bit, alike, alike_mine, last) -> None:
    """Keep this access too. Where only barriers of whole blocks order threads, two of a kind show every race with that
    kind, of two blocks if there are two."""
    target = f.alloca("i32", 4)
    count = f.get(count_slot)
    f.put(target, count)
    coarse = f.cmp("eq", f.and_(f.load("order_kinds"), ORDERS), 0)
    with f.if_(f.and_(coarse, f.cmp("uge", f.get(alike), 2), "i1")):
        f.return_if(f.cmp("ne", f.get(alike_mine), 0), "i32 1")
        f.put(target, f.get(last))
    f.return_if(f.cmp("uge", f.get(target), MOST), "i32 1")
    entry = f.op(f"call ptr @entry(ptr %ctx, ptr %cell, i32 {f.get(target)})")
    f.put(entry, meta, "i64")
    f.put(f.op(f"getelementptr i8, ptr {entry}, i64 8"), label)
    f.put(f.op(f"getelementptr i8, ptr {entry}, i64 12"), bit)
    with f.if_(f.cmp("eq", f.get(target), count)):
        f.put(count_slot, f.add(count, 1))


def _race() -> str:
    """An access of `size` bytes at `address`: 1, or 0 and a fault where it is part of a race."""
    f = Builder()
    f.do("call void @emu_trail(ptr %ctx, i32 %tid, i32 %site, i64 %address)")
    with f.if_(f.cmp("ne", f.and_("%kind", WRITE), 0)):
        where = "i32 %tid, i32 %site, i64 %address, i32 %size"
        fine = f.op(f"call i32 @emu_matrix_written(ptr %ctx, {where})")
        f.return_if(f.cmp("eq", fine, 0), "i32 0")
    kind, silent = f.and_("%kind", ~SILENT & OBJECT - 1), f.and_("%kind", SILENT)
    asked = f.lshr("%kind", ASKED_SHIFT)
    first = f.op("call ptr @cell(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", first, "null", "ptr"), "i32 1")
    shift = f.load("race_shift")
    wide = f.cast("zext", "%size", "i32", "i64")
    owner = f.op("call ptr @owner(ptr %ctx, i64 %address)")
    in_smem = f.cmp("ne", owner, "null", "ptr")
    is_data = f.cmp("eq", f.and_("%kind", WRITE | OBJECT), WRITE)
    with f.if_(f.and_(in_smem, is_data, "i1")):
        free = f.op("call i32 @emu_no_mbarrier(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %size)")
        f.return_if(f.cmp("eq", free, 0), "i32 0")
    unit = f.shl(1, shift)
    cells = f.op(f"lshr i32 {f.add('%size', f.sub(unit, 1))}, {shift}")
    with f.for_range(cells) as i:
        step = f.cast("zext", i, "i32", "i64")
        cell = f.op(f"getelementptr i8, ptr {first}, i64 {f.mul(step, CELL_BYTES, 'i64')}")
        with f.if_(f.and_(in_smem, f.cmp("ne", f.get(cell), 0), "i1")):  # what an earlier block of this slot left
            meta = f.get(f.op(f"getelementptr i8, ptr {cell}, i64 {CELL_BYTES - INLINE * ENTRY_BYTES}"), "i64")
            block = f.lshr(f.and_(meta, PLACE_MASK, "i64"), 5, "i64")
            with f.if_(f.cmp("ne", block, f.load("block"), "i64")):
                with f.if_(f.xor(f.op(f"call i1 @is_mate(ptr %ctx, i64 {block})"), "true", "i1")):
                    f.put(cell, 0)
        kinds = f"i32 {kind}, i32 {silent}, i32 {asked}"
        at = f.add("%address", f.op(f"shl i64 {step}, {f.cast('zext', shift, 'i32', 'i64')}"), "i64")
        well = f.op(f"call i32 @touch(ptr %ctx, ptr {cell}, i32 %tid, i32 %site, {kinds}, i64 {at}, i64 {wide})")
        f.return_if(f.cmp("eq", well, 0), "i32 0")
    waited_for = f.cmp("eq", f.and_("%kind", ASYNC), 0)  # a copy has its own way to be on: ORDER_COPY
    foreign = f.and_(in_smem, f.cmp("ne", owner, "%ctx", "ptr"), "i1")
    with f.if_(f.and_(foreign, waited_for, "i1")):
        where = f"i32 {context.ORDER_VISIT}, i32 %tid, i64 %address, i64 {f.cast('zext', '%site', 'i32', 'i64')}"
        f.op(f"call i32 @emu_order(ptr %ctx, {where})")
    f.do("ret i32 1")
    return f.function("define i32 @emu_race(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %size, i32 %kind)")


def _landed() -> str:
    """The copy of a thread to or from `address` was waited for: it is an access of now. Copies of other lanes of its
    warp, which share an entry with it while they are on their way, are not."""
    f = Builder()
    first = f.op("call ptr @cell(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", first, "null", "ptr"), "void")
    shift = f.load("race_shift")
    label, bit = f.op("call i32 @label(ptr %ctx, i32 %tid)"), f.shl(1, f.and_("%tid", 31))
    place = f.or_(f.shl(f.load("block"), 5, "i64"), f.cast("zext", f.lshr("%tid", 5), "i32", "i64"), "i64")
    with f.for_range(f.op(f"lshr i32 %size, {shift}")) as i:
        step = f.cast("zext", i, "i32", "i64")
        cell = f.op(f"getelementptr i8, ptr {first}, i64 {f.mul(step, CELL_BYTES, 'i64')}")
        with f.for_range(f.get(cell)) as number:
            entry = f.op(f"call ptr @entry(ptr %ctx, ptr {cell}, i32 {number})")
            meta = f.get(entry, "i64")
            label_at, lanes_at = (f.op(f"getelementptr i8, ptr {entry}, i64 {n}") for n in (8, 12))
            same = f.cmp("eq", f.and_(meta, PLACE_MASK, "i64"), place, "i64")
            lanes, pending = f.get(lanes_at), f.cmp("eq", f.get(label_at), PENDING)
            own = f.cmp("ne", f.and_(lanes, bit), 0)
            with f.if_(f.and_(own, f.and_(same, pending, "i1"), "i1")):
                landed = f.and_(meta, ~(ASYNC << KIND_SHIFT), "i64")
                alone = f.cmp("eq", lanes, bit)
                with f.if_(alone):
                    f.put(entry, landed, "i64")
                    f.put(label_at, label)
                with f.if_(f.xor(alone, "true", "i1")):
                    f.put(lanes_at, f.and_(lanes, f.not_(bit)))
                    f.do(f"call void @keep_landed(ptr %ctx, ptr {cell}, i64 {landed}, i32 {label}, i32 {bit})")
    f.do("ret void")
    return f.function("define void @emu_race_landed(ptr %ctx, i32 %tid, i64 %address, i32 %size)")


def _keep_landed() -> str:
    """A lane's access of now in a cell: with those of its warp at that label, or an entry of its own."""
    f = Builder()
    count = f.get("%cell")
    with f.for_range(count) as number:
        entry = f.op(f"call ptr @entry(ptr %ctx, ptr %cell, i32 {number})")
        its_label, lanes_at = (f.op(f"getelementptr i8, ptr {entry}, i64 {n}") for n in (8, 12))
        alike = f.and_(f.cmp("eq", f.get(entry, "i64"), "%meta", "i64"), f.cmp("eq", f.get(its_label), "%label"), "i1")
        with f.if_(alike):
            f.put(lanes_at, f.or_(f.get(lanes_at), "%bit"))
            f.do("ret void")
            f.start(f.fresh("dead"))
    f.return_if(f.cmp("uge", count, MOST), "void")
    entry = f.op(f"call ptr @entry(ptr %ctx, ptr %cell, i32 {count})")
    for offset, value, kind in ((0, "%meta", "i64"), (8, "%label", "i32"), (12, "%bit", "i32")):
        f.put(f.op(f"getelementptr i8, ptr {entry}, i64 {offset}"), value, kind)
    f.put("%cell", f.add(count, 1))
    f.do("ret void")
    arguments = "ptr %cell, i64 %meta, i32 %label, i32 %bit"
    return f.function(f"define internal void @keep_landed(ptr %ctx, {arguments})")


# ** order


def _order() -> str:
    """Tell order.py what happened, or ask it. A look at an mbarrier whose phase goes on orders nothing."""
    f = Builder()
    looks = f.cmp("eq", "%what", context.ORDER_MB_WAIT)
    f.return_if(f.and_(looks, f.cmp("eq", f.and_("%b", 1, "i64"), 0, "i64"), "i1"), "i32 0")
    function = f.cast("inttoptr", f.load("order_call"), "i64", "ptr")
    address = f.cast("ptrtoint", "%ctx", "ptr", "i64")
    f.do(f"ret i32 {f.op(f'call i32 {function}(i64 {address}, i32 %what, i32 %tid, i64 %a, i64 %b)')}")
    label = Builder("%l")
    labels = label.cast("inttoptr", label.load("labels"), "i64", "ptr")
    own = label.get(label.op(f"getelementptr i32, ptr {labels}, i32 %tid"))
    epoch = label.load("epoch")
    label.do(f"ret i32 {label.op(f'call i32 @llvm.umax.i32(i32 {own}, i32 {epoch})')}")
    return "\n\n".join([
        label.function("define internal i32 @label(ptr %ctx, i32 %tid)"),
        f.function("define i32 @emu_order(ptr %ctx, i32 %what, i32 %tid, i64 %a, i64 %b)"),
    ])  # fmt: skip
