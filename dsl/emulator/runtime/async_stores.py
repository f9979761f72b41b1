"""Stores and reductions in another block's shared memory that are on their way: entries of the queue of bulk copies.
PTX ISA 9.7.9.12 (st.async), 9.7.13.8 (red.async).

They land as copies do: when a thread of the cluster looks at an mbarrier.
"""

from __future__ import annotations

from dsl.emulator.builder import Builder
from dsl.emulator.runtime import mbarrier_log

SIGNATURES = {"emu_async_store": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64, i64)"}
# Kinds of entries, even as those of all that goes into shared memory: a store, and the reductions with their LLVM text.
STORE = 32
REDUCTIONS = {
    "add.32": "add i32 {old}, {new}",
    "min.u32": "call i32 @llvm.umin.i32(i32 {old}, i32 {new})",
    "max.u32": "call i32 @llvm.umax.i32(i32 {old}, i32 {new})",
    "min.s32": "call i32 @llvm.smin.i32(i32 {old}, i32 {new})",
    "max.s32": "call i32 @llvm.smax.i32(i32 {old}, i32 {new})",
    "and.32": "and i32 {old}, {new}",
    "or.32": "or i32 {old}, {new}",
    "xor.32": "xor i32 {old}, {new}",
    "inc.32": "select i1 {full}, i32 0, i32 {more}",
    "dec.32": "select i1 {wraps}, i32 {new}, i32 {less}",
    "add.64": "",
}
KINDS = {name: STORE + 2 * i for i, name in enumerate(("store", *REDUCTIONS))}


def functions() -> list[str]:
    """The IR text; it belongs to the module of bulk_copies.py."""
    return [_start(), _land(), _reduced()]


def _start() -> str:
    """Start the store or reduction of `size` bytes of %low and %high at %address, and of their complete_tx; 0 after a
    fault."""
    f = Builder()
    size = f.cast("zext", "%size", "i32", "i64")
    places = []
    for address, nbytes in (("%address", size), ("%barrier", "8")):
        arguments = f"i32 %site, i32 %tid, i64 {address}, i64 {nbytes}, i64 {nbytes}"
        places.append(f.op(f"call i64 @emu_cluster_place(ptr %ctx, {arguments})"))
        f.return_if(f.cmp("eq", places[-1], 0, "i64"), "i32 0")
    where = f"i32 %tid, i32 %site, i64 {places[1]}, i32 0"
    noted = f.op(f"call i32 @emu_note_{mbarrier_log.COPIES}(ptr %ctx, {where})")
    f.return_if(f.cmp("eq", noted, 0), "i32 0")
    arguments = f"i32 %tid, i32 %kind, i32 %size, i64 {places[0]}, i64 %site.wide, i64 {places[1]}"
    f.do("%site.wide = zext i32 %site to i64")
    entry = f.op(f"call ptr @bulk_add(ptr %ctx, {arguments})")
    value = f.op(f"call ptr @bulk_value(ptr {entry})")
    f.put(value, "%low", "i64")
    f.put(f.op(f"getelementptr i64, ptr {value}, i32 1"), "%high", "i64")
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %site, i32 %kind, i64 %address, i64 %barrier, i32 %size, i64 %low, i64 %high"
    return f.function(f"define i32 @emu_async_store(ptr %ctx, {arguments})")


def _land() -> str:
    """The bytes are written, or the reduction is made."""
    f = Builder()
    with f.if_(f.cmp("eq", "%kind", KINDS["store"])):
        wide = f.cast("zext", "%size", "i32", "i64")
        f.do(f"call void @llvm.memmove.p0.p0.i64(ptr %place, ptr %value, i64 {wide}, i1 false)")
        f.do("ret void")
        f.start(f.fresh("dead"))
    with f.if_(f.cmp("eq", "%kind", KINDS["add.64"])):
        f.put("%place", f.add(f.get("%place", "i64"), f.get("%value", "i64"), "i64"), "i64")
        f.do("ret void")
        f.start(f.fresh("dead"))
    f.put("%place", f.op(f"call i32 @reduced(i32 %kind, i32 {f.get('%place')}, i32 {f.get('%value')})"))
    f.do("ret void")
    return f.function("define internal void @land_value(i32 %kind, ptr %place, ptr %value, i32 %size)")


def _reduced() -> str:
    """What a reduction of 32 bits leaves."""
    f = Builder()
    old, new = "%old", "%new"
    names = {
        "old": old, "new": new, "more": f.add(old, 1), "less": f.sub(old, 1), "full": f.cmp("uge", old, new),
        "wraps": f.or_(f.cmp("eq", old, 0), f.cmp("ugt", old, new), "i1"),
    }  # fmt: skip
    result = old
    for name, text in REDUCTIONS.items():
        if text:
            value = f.op(text.format(**names))
            result = f.select(f.cmp("eq", "%kind", KINDS[name]), value, result)
    f.do(f"ret i32 {result}")
    return f.function("define internal i32 @reduced(i32 %kind, i32 %old, i32 %new)")
