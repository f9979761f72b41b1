"""Native code for lanes of a warp that meet: shuffles, votes, matches, reductions, activemask.

PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, activemask, bar.warp.sync.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder, clear_bits, first_bit, lane_of, set_bits
from dsl.emulator.runtime.barriers import tell_order

# The low byte of a meeting's key; the rest tells apart what may not meet (types, modes).
WARP_SYNC, SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX, VOTE, MATCH_ANY, MATCH_ALL, REDUX, ELECT, COLLECTIVE, WARPGROUP = (
    range(12)
)
REDUX_ROWS = ("add", "and", "or", "xor", "smin", "smax", "umin", "umax")

ABSENT_BIT, ASKED_SHIFT = 9, 16  # of what is left in `c` of a lane that has shuffled

SIGNATURES = {"emu_wait_active": "void (ptr, i32, i32)", "emu_resolve_warp": "i32 (ptr, i32)"}


def functions() -> list[str]:
    """The IR text: `emu_resolve_warp` is what the scheduler calls."""
    return [_wait_active(), _shuffle(), _perform(), _resolve_active(), _resolve_warpgroup(), _resolve_warp()]


def _wait_active() -> str:
    f = Builder()
    warp, bit = lane_of(f)
    f.store("wait_site", "%site", "%tid")
    set_bits(f, "in_active", warp, bit)
    clear_bits(f, "ready", warp, bit)
    f.do("ret void")
    return f.function("define void @emu_wait_active(ptr %ctx, i32 %tid, i32 %site)")


def _shuffle() -> str:
    """What one lane reads, as the ISA's pseudo-code for shfl has it: the source lane (low byte), the predicate (bit 8),
    whether the lane that it asks for takes no part (bit 9), that lane (from bit 16 on)."""
    f = Builder()
    bval, cval = f.and_("%b", 31), f.and_("%c", 31)
    segment = f.and_(f.lshr("%c", 8), 31)
    inverse = f.xor(segment, 31)
    min_lane = f.and_("%lane", segment)
    max_lane = f.or_(min_lane, f.and_(cval, inverse))
    j = f.or_(min_lane, f.and_(bval, inverse))
    sources = {SHFL_UP: f.sub("%lane", bval), SHFL_DOWN: f.add("%lane", bval), SHFL_BFLY: f.xor("%lane", bval)}
    for mode, source in sources.items():
        j = f.select(f.cmp("eq", "%mode", mode), source, j)
    is_up = f.cmp("eq", "%mode", SHFL_UP)
    inside = f.select(is_up, f.cmp("sge", j, max_lane), f.cmp("sle", j, max_lane), "i1")
    lane = f.and_(f.select(inside, j, "%lane"), 31)
    # A source lane that is not part of the meeting: the ISA leaves the value open, here it is the lane's own.
    there = f.cmp("ne", f.and_(f.lshr("%group", lane), 1), 0)
    asked, lane = lane, f.select(there, lane, "%lane")
    flags = f.shl(f.cast("zext", inside, "i1", "i32"), 8)
    flags = f.or_(flags, f.shl(f.cast("zext", f.xor(there, "true", "i1"), "i1", "i32"), 9))
    f.do(f"ret i32 {f.or_(f.or_(lane, flags), f.shl(asked, ASKED_SHIFT))}")
    return f.function("define internal i32 @shuffle(i32 %lane, i32 %mode, i32 %b, i32 %c, i32 %group) alwaysinline")


def _perform() -> str:
    """Give every lane of `group` its result; `base` is the warp's first thread."""
    f = Builder()
    mode = f.and_("%key", 255)
    families = {
        _perform_shuffle: (SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX),
        _perform_vote: (VOTE, ELECT),
        _perform_match: (MATCH_ANY, MATCH_ALL),
        _perform_redux: (REDUX,),
        _perform_collective: (COLLECTIVE,),
    }
    table = " ".join(f"i32 {key}, label %{family.__name__}" for family, keys in families.items() for key in keys)
    f.do(f"switch i32 {mode}, label %out [{table}]")
    for family in families:
        f.start(family.__name__)
        family(f, mode)
        f.do("ret void")
    f.start("out")
    f.do("ret void")
    return f.function("define internal void @perform(ptr %ctx, i32 %base, i32 %group, i32 %key)")


def _perform_shuffle(f: Builder, mode: str) -> None:
    absent = f.alloca("i32", 4)
    f.put(absent, 0)
    with f.for_bits("%group") as lane:
        tid = f.add("%base", lane)
        arguments = f"i32 {lane}, i32 {mode}, i32 {f.load('b', tid)}, i32 {f.load('c', tid)}, i32 %group"
        packed = f.op(f"call i32 @shuffle({arguments})")
        source = f.add("%base", f.and_(packed, 31))
        f.store("out", f.cast("trunc", f.load("a", source), "i64", "i32"), tid)
        f.store("out_pred", f.and_(f.lshr(packed, 8), 1), tid)
        f.store("c", packed, tid)
        f.put(absent, f.or_(f.get(absent), f.and_(f.lshr(packed, ABSENT_BIT), 1)))
    with f.if_(f.cmp("ne", f.load("begin_checks"), 0, "i64")), f.for_bits("%group") as lane:
        tid = f.add("%base", lane)
        f.store("mark_got", f.load("mark_given", f.add("%base", f.and_(f.load("c", tid), 31))), tid)
    f.store("shuffled_absent", f.or_(f.load("shuffled_absent"), f.get(absent)))


def _perform_vote(f: Builder, mode: str) -> None:
    """vote: the ballot, and whether all voted; elect: the lowest lane leads."""
    ballot = f.alloca("i32", 4)
    f.put(ballot, 0)
    with f.for_bits("%group") as lane:
        vote = f.cast("trunc", f.load("a", f.add("%base", lane)), "i64", "i32")
        f.put(ballot, f.or_(f.get(ballot), f.shl(vote, lane)))
    votes = f.get(ballot)
    leader = first_bit(f, "%group")
    elect = f.cmp("eq", mode, ELECT)
    every = f.cmp("eq", votes, "%group")
    result = f.select(elect, leader, votes)
    with f.for_bits("%group") as lane:
        tid = f.add("%base", lane)
        f.store("out", result, tid)
        flag = f.select(elect, f.cmp("eq", lane, leader), every, "i1")
        f.store("out_pred", f.cast("zext", flag, "i1", "i32"), tid)


def _perform_match(f: Builder, mode: str) -> None:
    equal = f.alloca("i32", 4)
    with f.for_bits("%group") as lane:
        tid = f.add("%base", lane)
        mine = f.load("a", tid)
        f.put(equal, 0)
        with f.for_bits("%group") as other:
            same = f.cmp("eq", mine, f.load("a", f.add("%base", other)), "i64")
            f.put(equal, f.or_(f.get(equal), f.shl(f.cast("zext", same, "i1", "i32"), other)))
        equal_lanes = f.get(equal)
        whole = f.cmp("eq", equal_lanes, "%group")
        none = f.and_(f.cmp("eq", mode, MATCH_ALL), f.xor(whole, "true", "i1"), "i1")
        f.store("out", f.select(none, 0, equal_lanes), tid)
        f.store("out_pred", f.cast("zext", whole, "i1", "i32"), tid)


def _perform_redux(f: Builder, mode: str) -> None:
    """All reductions at once; the key's second byte picks one."""
    rows = f.alloca(f"[{len(REDUX_ROWS)} x i32]", 4)
    start = {"and": -1, "smin": 0x7FFFFFFF, "smax": -0x80000000, "umin": -1}
    slots = [f.op(f"getelementptr i32, ptr {rows}, i32 {i}") for i in range(len(REDUX_ROWS))]
    for name, slot in zip(REDUX_ROWS, slots):
        f.put(slot, start.get(name, 0))
    with f.for_bits("%group") as lane:
        value = f.cast("trunc", f.load("a", f.add("%base", lane)), "i64", "i32")
        for name, slot in zip(REDUX_ROWS, slots):
            intrinsic = f"call i32 @llvm.{name}.i32(i32 {f.get(slot)}, i32 {value})"
            plain = f"{name} i32 {f.get(slot)}, {value}"
            f.put(slot, f.op(plain if name in ("add", "and", "or", "xor") else intrinsic))
    row = f.and_(f.lshr("%key", 8), 7)
    result = f.get(f.op(f"getelementptr i32, ptr {rows}, i32 {row}"))
    with f.for_bits("%group") as lane:
        f.store("out", result, f.add("%base", lane))


def _perform_collective(f: Builder, mode: str) -> None:
    """Call the function that the lanes' exchange areas name (collective.py); it takes whole warps only."""
    first = f.add("%base", first_bit(f, "%group"))
    with f.if_(f.cmp("ne", "%group", -1)):
        site, missing = f.load("wait_site", first), f.cast("zext", f.not_("%group"), "i32", "i64")
        where = f"i32 {context.ILLEGAL}, i32 {site}, i32 {first}"
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {missing}, i64 0, i64 {context.PARTIAL_WARP})")
        f.do("ret void")
        f.start(f.fresh("dead"))
    area = f.cast("inttoptr", f.load("a", first), "i64", "ptr")
    f.do(f"call void {f.get(area, 'ptr')}(ptr %ctx, i32 %base)")


def _group(f: Builder, waiting: str, base: str, same) -> str:
    """The waiting lanes for which `same(tid)` holds."""
    slot = f.alloca("i32", 4)
    f.put(slot, 0)
    with f.for_bits(waiting) as lane:
        flag = f.cast("zext", same(f.add(base, lane)), "i1", "i32")
        f.put(slot, f.or_(f.get(slot), f.shl(flag, lane)))
    return f.get(slot)


def _resolve_active() -> str:
    """activemask: the lanes that reached the same instruction before the warp could move no further."""
    f = Builder()
    waiting = f.load("in_active", "%warp")
    f.return_if(f.cmp("eq", waiting, 0), "i32 0")
    base = f.shl("%warp", 5)
    site = f.load("wait_site", f.add(base, first_bit(f, waiting)))
    group = _group(f, waiting, base, lambda tid: f.cmp("eq", f.load("wait_site", tid), site))
    with f.for_bits(group) as lane:
        f.store("out", group, f.add(base, lane))
    clear_bits(f, "in_active", "%warp", group)
    set_bits(f, "ready", "%warp", group)
    f.do("ret i32 1")
    return f.function("define internal i32 @resolve_active(ptr %ctx, i32 %warp)")


def _resolve_warpgroup() -> str:
    """Complete a meeting of four warps where the others wait at it too, and call the function that their areas name; 1
    if they go on. Fewer than 128 threads are a fault."""
    f = Builder()
    first_warp = f.and_("%warp", -4)
    base = f.shl(first_warp, 5)
    here = f.alloca("i32", 4)
    f.put(here, 0)
    with f.for_range("4") as i:
        warp = f.add(first_warp, i)
        running = f.and_(f.load("live", warp), f.not_(f.load("exited", warp)))
        running = f.select(f.cmp("ult", warp, f.load("warps")), running, 0)
        f.put(here, f.add(f.get(here), f.op(f"call i32 @llvm.ctpop.i32(i32 {running})")))
    with f.if_(f.cmp("ne", f.get(here), 128)):
        tid, count = f.shl("%warp", 5), f.cast("zext", f.get(here), "i32", "i64")
        where = f"i32 {context.ILLEGAL}, i32 {f.load('wait_site', tid)}, i32 {tid}, i64 {count}"
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 0, i64 {context.PARTIAL_WARPGROUP})")
        f.store("in_warp", "0", "%warp")
        set_bits(f, "ready", "%warp", f.load("live", "%warp"))
        f.do("ret i32 1")
        f.start(f.fresh("dead"))
    with f.for_range("4") as i:
        f.return_if(f.cmp("ne", f.load("in_warp", f.add(first_warp, i)), -1), "i32 0")
    with f.for_range("128") as i:
        f.return_if(f.cmp("ne", f.load("key", f.add(base, i)), "%key"), "i32 0")
    area = f.cast("inttoptr", f.load("a", base), "i64", "ptr")
    f.do(f"call void {f.get(area, 'ptr')}(ptr %ctx, i32 {base})")
    with f.for_range("4") as i:
        warp = f.add(first_warp, i)
        f.store("in_warp", "0", warp)
        f.store("ready", "-1", warp)
    f.do("ret i32 1")
    return f.function("define internal i32 @resolve_warpgroup(ptr %ctx, i32 %warp, i32 %key)")


def _resolve_warp() -> str:
    """Complete every meeting of a warp whose named, non-exited lanes have all come; 1 if one did."""
    f = Builder()
    base = f.shl("%warp", 5)
    moved, rest = f.alloca("i32", 4), f.alloca("i32", 4)
    f.put(moved, 0)
    f.put(rest, f.load("in_warp", "%warp"))
    running = f.and_(f.load("live", "%warp"), f.not_(f.load("exited", "%warp")))
    with f.loop() as done:
        left = f.get(rest)
        f.break_if(f.cmp("eq", left, 0), done)
        first = f.add(base, first_bit(f, left))
        key, mask = f.load("key", first), f.load("mask", first)

        def same(tid: str) -> str:
            return f.and_(f.cmp("eq", f.load("key", tid), key), f.cmp("eq", f.load("mask", tid), mask), "i1")

        group = _group(f, left, base, same)
        f.put(rest, f.and_(left, f.not_(group)))
        needed = f.and_(mask, running)
        with f.if_(f.cmp("eq", f.and_(group, needed), needed)):
            with f.if_(f.cmp("ne", f.load("order_call"), 0, "i64")):
                gone = f.and_(mask, f.load("exited", "%warp"))
                with f.if_(f.cmp("ne", gone, 0)):
                    tell_order(f, context.ORDER_WARP_MEETING, first, group, more=gone)
            of_four = f.cmp("eq", f.and_(key, 255), WARPGROUP)
            with f.if_(of_four):
                f.put(moved, f.or_(f.get(moved), f.op(f"call i32 @resolve_warpgroup(ptr %ctx, i32 %warp, i32 {key})")))
            with f.if_(f.xor(of_four, "true", "i1")):
                # elect.sync too: pipelines let the leader give back a slot that all lanes have read
                with f.if_(f.or_(f.cmp("eq", key, WARP_SYNC), f.cmp("eq", f.and_(key, 255), ELECT), "i1")):
                    tell_order(f, context.ORDER_WARP, "%warp", group)
                f.do(f"call void @perform(ptr %ctx, i32 {base}, i32 {group}, i32 {key})")
                clear_bits(f, "in_warp", "%warp", group)
                set_bits(f, "ready", "%warp", group)
                f.put(moved, 1)
    result = f.get(moved)
    f.return_if(f.cmp("ne", result, 0), "i32 1")
    f.do(f"ret i32 {f.op('call i32 @resolve_active(ptr %ctx, i32 %warp)')}")
    return f.function("define i32 @emu_resolve_warp(ptr %ctx, i32 %warp)")
