"""Reads of memory that nobody wrote, told where the value is used.

Beside shared and local memory, and beside allocations known to be new, lies a byte for each byte: 1 once it is written.
A load of bytes that are not marks the register it sets with its origin: the load and the address. The mark goes where
the value goes, through registers and through shared and local memory, and is a finding where it decides something: a
branch, a guard, an address, or what leaves the thread (global memory, atomics, shuffles, votes, prints). So a vector
load that reaches into padding, and a load that a compiler moved before its condition, are none.

A mark is an i64: the number of the load + 1, then 48 bits of its address; 0 where all is well. What a shuffle gives a
lane that asks for a lane which takes no part is marked too: SHUFFLED and that lane are in the place of an address.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder

SIGNATURES = {
    "emu_unwritten": "i32 (ptr, i64, i32)",
    "emu_written": "void (ptr, i32, i32, i64, i32, i64)",
    "emu_undefined": "i32 (ptr, i32, i32, i64, i32)",
    "emu_landed": "void (ptr, i32, i64, i32)",
}
SITE_SHIFT, ADDRESS_MASK, MOST_SITES = 48, (1 << 48) - 1, (1 << 15) - 2
SHUFFLED = 1 << 47


def functions() -> list[str]:
    """The IR text."""
    return [_valid(), _unwritten(), _undefined(), _written(), _landed()]


def _valid() -> str:
    """Where the bytes about the memory at an address are, or null."""
    f = Builder()
    threads = f.cast("zext", f.load("threads"), "i32", "i64")
    local_bytes = f.mul(f.load("local_bytes"), threads, "i64")
    owner = f.op("call ptr @owner(ptr %ctx, i64 %address)")
    with f.if_(f.cmp("ne", owner, "null", "ptr")):
        offset, valid = f.sub("%address", f.load("smem", of=owner), "i64"), f.load("smem_valid", of=owner)
        f.return_if(f.cmp("eq", valid, 0, "i64"), "ptr null")
        f.do(f"ret ptr {f.cast('inttoptr', f.add(valid, offset, 'i64'), 'i64', 'ptr')}")
        f.start(f.fresh("dead"))
    offset, valid = f.sub("%address", f.load("local"), "i64"), f.load("local_valid")
    inside = f.cmp("ult", offset, local_bytes, "i64")
    with f.if_(f.and_(inside, f.cmp("ne", valid, 0, "i64"), "i1")):
        f.do(f"ret ptr {f.cast('inttoptr', f.add(valid, offset, 'i64'), 'i64', 'ptr')}")
        f.start(f.fresh("dead"))
    near = f.sub("%address", f.load("near_lo"), "i64")
    with f.if_(f.cmp("uge", near, f.load("near_bytes"), "i64")):
        f.do("call void @emu_near(ptr %ctx, i64 %address)")
    valid = f.load("near_valid")
    f.return_if(f.cmp("eq", valid, 0, "i64"), "ptr null")
    offset = f.sub("%address", f.load("near_lo"), "i64")
    f.do(f"ret ptr {f.cast('inttoptr', f.add(valid, offset, 'i64'), 'i64', 'ptr')}")
    return f.function("define internal ptr @valid(ptr %ctx, i64 %address)")


def _unwritten() -> str:
    """Which of `size` (at most 32) bytes at an address nobody wrote, a bit a byte."""
    f = Builder()
    valid = f.op("call ptr @valid(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", valid, "null", "ptr"), "i32 0")
    unwritten = f.alloca("i32", 4)
    f.put(unwritten, 0)
    with f.for_range("%size") as i:
        written = f.get(f.op(f"getelementptr i8, ptr {valid}, i32 {i}"), "i8")
        bad = f.cast("zext", f.cmp("eq", written, 0, "i8"), "i1", "i32")
        f.put(unwritten, f.or_(f.get(unwritten), f.shl(bad, i)))
    f.do(f"ret i32 {f.get(unwritten)}")
    return f.function("define i32 @emu_unwritten(ptr %ctx, i64 %address, i32 %size)")


def _undefined() -> str:
    """A marked value decides something at %site: 0 where the launch ends with it, else 1.

    A branch or an address of garbage may lead anywhere. A value that is only passed on is kept for the launch's end:
    behind it may be a race, which says more.
    """
    f = Builder()
    with f.if_(f.cmp("ne", "%ends", 0)):
        f.store("undefined_mark", "0")
        f.store("other_site", f.sub(f.cast("trunc", f.lshr("%mark", SITE_SHIFT, "i64"), "i64", "i32"), 1))
        address = f.and_("%mark", ADDRESS_MASK, "i64")
        where = f"i32 {context.UNDEFINED}, i32 %site, i32 %tid, i64 {address}"
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 0, i64 0)")
        f.do("ret i32 0")
        f.start(f.fresh("dead"))
    with f.if_(f.cmp("eq", f.load("undefined_mark"), 0, "i64")):
        f.store("undefined_mark", "%mark")
        f.store("undefined_block", f.load("block"))
        f.store("undefined_site", "%site")
        f.store("undefined_thread", "%tid")
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %site, i64 %mark, i32 %ends"
    return f.function(f"define i32 @emu_undefined(ptr %ctx, {arguments}) noinline cold")


def _written() -> str:
    """`size` bytes are written with a value of this mark, which is a finding where others than this
    block may read it."""
    f = Builder()
    valid = f.op("call ptr @valid(ptr %ctx, i64 %address)")
    fine = f.cmp("eq", "%mark", 0, "i64")
    local_bytes = f.mul(f.load("local_bytes"), f.cast("zext", f.load("threads"), "i32", "i64"), "i64")
    own = f.cmp("ult", f.sub("%address", f.load("local"), "i64"), local_bytes, "i64")
    shared = f.cmp("ne", f.op("call ptr @owner(ptr %ctx, i64 %address)"), "null", "ptr")
    stays = f.or_(fine, f.or_(own, shared, "i1"), "i1")
    with f.if_(f.xor(stays, "true", "i1")):
        f.op("call i32 @emu_undefined(ptr %ctx, i32 %tid, i32 %site, i64 %mark, i32 0)")
    with f.if_(f.cmp("ne", valid, "null", "ptr")):
        byte = f.cast("zext", f.or_(fine, f.xor(stays, "true", "i1"), "i1"), "i1", "i8")
        wide = f.cast("zext", "%size", "i32", "i64")
        f.do(f"call void @llvm.memset.p0.i64(ptr {valid}, i8 {byte}, i64 {wide}, i1 false)")
    f.do("ret void")
    arguments = "i32 %tid, i32 %site, i64 %address, i32 %size, i64 %mark"
    return f.function(f"define void @emu_written(ptr %ctx, {arguments})")


def _landed() -> str:
    """A copy of `size` bytes that the thread has waited for, for both checkers."""
    f = Builder()
    nbytes = f.and_("%size", context.SIGNALS - 1)
    is_known = f.cmp("eq", f.and_("%size", context.SIGNALS), 0)
    with f.if_(f.and_(f.cmp("ne", f.load("labels"), 0, "i64"), is_known, "i1")):
        f.do(f"call void @emu_race_landed(ptr %ctx, i32 %tid, i64 %address, i32 {nbytes})")
    f.return_if(f.cmp("slt", "%size", 0), "void")
    valid = f.op("call ptr @valid(ptr %ctx, i64 %address)")
    with f.if_(f.cmp("ne", valid, "null", "ptr")):
        wide = f.cast("zext", nbytes, "i32", "i64")
        f.do(f"call void @llvm.memset.p0.i64(ptr {valid}, i8 1, i64 {wide}, i1 false)")
    f.do("ret void")
    return f.function("define void @emu_landed(ptr %ctx, i32 %tid, i64 %address, i32 %size)")
