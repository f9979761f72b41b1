"""Clusters whose blocks meet: a worker takes a cluster from the grid and has a slot for each of its blocks.

The slots of a cluster are a ring (`mate`). One block runs until it has ended or none of its threads can do more than
wait; then the next one runs, or the one a seed chooses. So blocks of a cluster never run at the same time, and need no
atomic operation of the host where they meet.

An address in shared memory of the cluster has the block's rank + 1 in bits 24 and up, and says whose memory it is; one
with 0 there is the executing block's. The host's addresses of the memory of a cluster differ in the same bits.
PTX ISA: 5.1.8 (state space .shared), 9.7.13.3 (barrier.cluster), 9.7.9.23 (mapa).
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder, is_absent, mates
from dsl.emulator.runtime import blocks, schedule
from dsl.emulator.runtime.barriers import tell_order

SIGNATURES = {
    "emu_run_clusters": "void (ptr, ptr)",
    "emu_cluster_bad": "void (ptr, i32, i32, i64, i64, i1)",
    "emu_cluster_rank": "i32 (ptr, i64)",
    "emu_cluster_place": "i64 (ptr, i32, i32, i64, i64, i64)",
}
FINISHED, BAD, QUIET = range(3)  # how a cluster's turn ended
MOST_QUIET = 256  # turns of each block in which it did nothing but poll, before another cluster begins


def functions() -> list[str]:
    """The IR text; what takes and begins blocks is here too."""
    return [
        schedule.random(),
        *blocks.shared_functions(),
        _bad(),
        _rank(),
        _place(),
        _reach(),
        _depart(),
        _begin_cluster(),
        _end_cluster(),
        _run_cluster(),
        _run_clusters(),
    ]


def _bad() -> str:
    """The fault of an access of `size` bytes at a bad address in shared::cluster; `crooked`: it is misaligned."""
    f = Builder()
    rank = f.lshr("%address", context.RANK_SHIFT, "i64")
    nobody = f.cmp("ugt", rank, f.cast("zext", f.load("cluster_blocks"), "i32", "i64"), "i64")
    limited = f.select(nobody, 63, rank, "i64")
    gone = f.cmp("ne", f.and_(f.lshr(f.load("absent"), limited, "i64"), 1, "i64"), 0, "i64")
    status = f.select("%crooked", context.MISALIGNED, context.OUT_OF_BOUNDS)
    status = f.select(gone, context.EXITED, status)
    status = f.select(nobody, context.ILLEGAL, status)
    detail = f.select(nobody, context.BAD_RANK, context.CLUSTER, "i64")
    value = f.select(nobody, f.sub(rank, 1, "i64"), "%address", "i64")
    where = f"i32 {status}, i32 %site, i32 %tid, i64 {value}, i64 %size, i64 {detail}"
    f.do(f"call void @emu_fault(ptr %ctx, {where})")
    f.do("ret void")
    arguments = "i32 %site, i32 %tid, i64 %address, i64 %size, i1 %crooked"
    return f.function(f"define void @emu_cluster_bad(ptr %ctx, {arguments}) noinline cold")


def _rank() -> str:
    """The rank + 1 of the block whose shared memory a generic address is in; 0 where it is in that of none."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        offset = f.sub("%address", f.load("smem", of=slot), "i64")
        inside = f.cmp("ult", offset, f.load("smem_bytes", of=slot), "i64")
        f.return_if(inside, f"i32 {f.add(f.load('cluster_rank', of=slot), 1)}")
    f.do("ret i32 0")
    return f.function("define i32 @emu_cluster_rank(ptr %ctx, i64 %address)")


def _place() -> str:
    """The host address of `size` bytes at an address in shared::cluster, aligned to `alignment`; 0 and a fault where
    they are not all there. What emit/cluster.py does inline, for what is no access of a power of two."""
    f = Builder()
    rank = f.lshr("%address", context.RANK_SHIFT, "i64")
    offset = f.and_("%address", (1 << context.RANK_SHIFT) - 1, "i64")
    limited = f.select(f.cmp("ult", rank, 63, "i64"), rank, 63, "i64")
    absent = f.cmp("ne", f.and_(f.lshr(f.load("absent"), limited, "i64"), 1, "i64"), 0, "i64")
    outside = f.cmp("ugt", f.add(offset, "%size", "i64"), f.load("smem_bytes"), "i64")
    crooked = f.cmp("ne", f.and_(offset, f.sub("%alignment", 1, "i64"), "i64"), 0, "i64")
    bad = f.or_(f.or_(absent, outside, "i1"), crooked, "i1")
    with f.if_(bad):
        reported = f.select(crooked, "%alignment", "%size", "i64")
        f.do(f"call void @emu_cluster_bad(ptr %ctx, i32 %site, i32 %tid, i64 %address, i64 {reported}, i1 {crooked})")
    own = f.cmp("eq", rank, 0, "i64")
    address = f.add("%address", f.select(own, f.load("smem"), f.load("cluster_base"), "i64"), "i64")
    f.do(f"ret i64 {f.select(bad, 0, address, 'i64')}")
    arguments = "i32 %site, i32 %tid, i64 %address, i64 %size, i64 %alignment"
    return f.function(f"define i64 @emu_cluster_place(ptr %ctx, {arguments})")


# ** a cluster begins and ends


def _reach() -> str:
    """Let a block reach what lies at `smem`, the shared memory of another one, as `kind`; 0: no more."""
    f = Builder()
    rows = f.cast("inttoptr", f.load("intervals"), "i64", "ptr")
    with f.for_range(f.cast("trunc", f.load("interval_count"), "i64", "i32")) as index:
        row = f.op(f"getelementptr [3 x i64], ptr {rows}, i32 {index}")
        with f.if_(f.cmp("eq", f.get(row, "i64"), "%smem", "i64")):
            f.put(f.op(f"getelementptr i64, ptr {row}, i32 2"), "%kind", "i64")
    start = f.cast("inttoptr", f.load("sites"), "i64", "ptr")
    f.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 0, i64 {f.load('sites_bytes')}, i1 false)")
    f.do("ret void")
    return f.function("define internal void @reach(ptr %ctx, i64 %smem, i64 %kind)")


def _depart() -> str:
    """The block has ended: its shared memory is nobody's any more."""
    f = Builder()
    f.store("state", str(context.GONE))
    bit = f.shl(1, f.cast("zext", f.add(f.load("cluster_rank"), 1), "i32", "i64"), "i64")
    f.do("call void @emu_cluster_wake(ptr %ctx)")
    f.store("idle", "-1")
    smem = f.load("smem")
    with mates(f, "%ctx") as slot:
        f.store("absent", f.or_(f.load("absent", of=slot), bit, "i64"), of=slot)
        f.do(f"call void @reach(ptr {slot}, i64 {smem}, i64 0)")
    f.do("ret void")
    return f.function("define internal void @depart(ptr %ctx)")


def _begin_cluster() -> str:
    """Make the slots of %ctx, that of the first block, ready for cluster `number`; 0 where a lower block has ended
    badly meanwhile."""
    f = Builder()
    shape, grid = ([f.load(name, str(i)) for i in range(3)] for name in ("cluster", "grid"))
    wide = [[f.cast("zext", each, "i32", "i64") for each in row] for row in (shape, grid)]
    across = [f.op(f"udiv i64 {g}, {c}") for c, g in zip(*wide)]
    row = f.op(f"udiv i64 %number, {across[0]}")
    first = (
        f.op(f"urem i64 %number, {across[0]}"),
        f.op(f"urem i64 {row}, {across[1]}"),
        f.op(f"udiv i64 {row}, {across[1]}"),
    )
    well = f.alloca("i1", 1)
    f.put(well, "true", "i1")
    blocks = f.cast("zext", f.load("cluster_blocks"), "i32", "i64")
    absent = f.xor(f.sub(f.shl(2, blocks, "i64"), 1, "i64"), -1, "i64")
    with mates(f, "%ctx") as slot:
        rank = f.cast("zext", f.load("cluster_rank", of=slot), "i32", "i64")
        line = f.op(f"udiv i64 {rank}, {wide[0][0]}")
        inner = (
            f.op(f"urem i64 {rank}, {wide[0][0]}"),
            f.op(f"urem i64 {line}, {wide[0][1]}"),
            f.op(f"udiv i64 {line}, {wide[0][1]}"),
        )
        x, y, z = (f.add(f.mul(a, c, "i64"), b, "i64") for a, b, c in zip(first, inner, wide[0]))
        block = f.add(f.mul(f.add(f.mul(z, wide[1][1], "i64"), y, "i64"), wide[1][0], "i64"), x, "i64")
        begun = f.op(f"call i1 @begin(ptr {slot}, i64 {block})")
        f.put(well, f.and_(f.get(well, "i1"), begun, "i1"), "i1")
        f.store("absent", absent, of=slot)
        f.store("mbarrier_idle", "0", of=slot)
        f.store("idle", "0", of=slot)
        _forget_threads(f, slot)
        with mates(f, "%ctx") as other:
            f.do(f"call void @reach(ptr {slot}, i64 {f.load('smem', of=other)}, i64 {context.SHARED})")
    f.do(f"ret i1 {f.get(well, 'i1')}")
    return f.function("define internal i1 @begin_cluster(ptr %ctx, i64 %number)")


def _forget_threads(f: Builder, slot: str) -> None:
    """Of a block whose threads have not begun, others are to see that none of them has arrived or left."""
    masks = 4 * context.MAX_WARPS
    for name, byte, size in (
        ("live", -1, masks),
        ("exited", 0, masks),
        ("ready", 0, masks),
        ("in_barrier", 0, masks),
        ("in_warp", 0, masks),
        ("arrived", 0, masks * context.BARRIERS),
    ):
        f.do(f"call void @llvm.memset.p0.i64(ptr {f.field(name, of=slot)}, i8 {byte}, i64 {size}, i1 false)")


def _end_cluster() -> str:
    """The slots of a cluster are all in `state` now."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        f.store("state", "%state", of=slot)
    f.do("ret void")
    return f.function("define internal void @end_cluster(ptr %ctx, i32 %state)")


def _next(f: Builder, place: str, seeded: str) -> None:
    """Go on to the next block of the ring; a seed skips some."""
    with f.if_(seeded):
        steps = f.op(f"urem i32 {f.op('call i32 @random(ptr %ctx)')}, {f.load('cluster_blocks')}")
        with f.for_range(steps):
            f.put(place, f.load("mate", of=f.get(place, "ptr")), "i64")
    f.put(place, f.load("mate", of=f.get(place, "ptr")), "i64")


def _run_cluster() -> str:
    """Blocks of the cluster of %ctx in turn: until all have ended (FINISHED), one ends badly (BAD), or all have for
    long done nothing but poll, and others may run (QUIET)."""
    f = Builder()
    place, quiet = f.alloca("ptr"), f.alloca("i32", 4)
    f.put(place, "%ctx", "ptr")
    f.put(quiet, 0)
    seeded = f.cmp("ne", f.load("order"), 0)
    limit = f.mul(f.load("cluster_blocks"), MOST_QUIET)
    others = f.cmp("ne", f.load("more", of=blocks.shared_grid(f)), 0, "i64")
    with f.loop() as done:
        _next(f, place, seeded)  # the second block begins: the first one then goes on first from where they meet
        slot = f.get(place, "ptr")
        with f.if_(f.xor(is_absent(f, slot), "true", "i1")):
            f.do(f"call void %block(ptr {slot})")
            waits = f.cmp("eq", f.load("state", of=slot), context.WAITING)
            with f.if_(f.xor(waits, "true", "i1")):
                tell_order(f, context.ORDER_EXIT, "0", "0", slot)
            status = f.load("status", of=slot)
            with f.if_(f.cmp("ne", status, 0)):
                f.do(f"call void @end_cluster(ptr %ctx, i32 {context.DEAD})")
                with f.if_(f.cmp("ne", status, context.INTERRUPTED)):
                    f.do(f"call void @blame(ptr {slot})")
                f.do(f"ret i32 {BAD}")
                f.start(f.fresh("dead"))
            still = f.cmp("ugt", f.load("idle", of=slot), schedule.SEEDED_PATIENCE + 1)
            f.put(quiet, f.select(f.and_(waits, still, "i1"), f.add(f.get(quiet), 1), 0))
            with f.if_(f.xor(waits, "true", "i1")):
                f.do(f"call void @depart(ptr {slot})")
                with f.if_(_all_gone(f)):
                    f.do(f"call void @end_cluster(ptr %ctx, i32 {context.IDLE})")
                    f.do(f"ret i32 {FINISHED}")
                    f.start(f.fresh("dead"))
        f.break_if(f.and_(f.cmp("ugt", f.get(quiet), limit), others, "i1"), done)
    f.store("state", str(context.WAITING))
    f.do(f"ret i32 {QUIET}")
    return f.function("define internal i32 @run_cluster(ptr %ctx, ptr %block)")


def _all_gone(f: Builder) -> str:
    return f.cmp("eq", f.or_(f.load("absent"), 1, "i64"), -1, "i64")


def _run_clusters() -> str:
    """As blocks.py `emu_run_grid`, of clusters. %ctx is the slot of the first block of the worker's first cluster."""
    f = Builder()
    place = f.alloca("ptr")
    f.put(place, "%ctx", "ptr")
    with f.loop() as done:
        first = f.get(place, "ptr")
        idle, on, run, ended, elsewhere, again = map(f.fresh, ("idle", "on", "run", "ended", "elsewhere", "again"))
        f.do(f"br i1 {f.cmp('eq', f.load('state', of=first), context.IDLE)}, label %{idle}, label %{run}")
        f.start(idle)
        number = f.op("call i64 @take(ptr %ctx)")
        f.do(f"br i1 {f.cmp('slt', number, 0, 'i64')}, label %{elsewhere}, label %{on}")
        f.start(on)
        well = f.op(f"call i1 @begin_cluster(ptr {first}, i64 {number})")
        with f.if_(f.xor(well, "true", "i1")):
            f.do(f"call void @end_cluster(ptr {first}, i32 {context.IDLE})")
        f.do(f"br i1 {well}, label %{run}, label %{elsewhere}")

        f.start(run)
        outcome = f.op(f"call i32 @run_cluster(ptr {first}, ptr %block)")
        f.do(f"br i1 {f.cmp('eq', outcome, FINISHED)}, label %{again}, label %{ended}")
        f.start(ended)
        halted = f.op(f"call i1 @halted(ptr {first})")
        with f.if_(f.and_(f.cmp("eq", outcome, QUIET), halted, "i1")):
            f.do(f"call void @end_cluster(ptr {first}, i32 {context.DEAD})")
        f.do(f"br label %{elsewhere}")
        f.start(elsewhere)
        other = f.op(f"call ptr @other(ptr {first}, ptr %ctx)")
        f.break_if(f.cmp("eq", other, "null", "ptr"), done)
        f.put(place, other, "ptr")
        f.do(f"br label %{again}")
        f.start(again)
    f.do("ret void")
    return f.function("define void @emu_run_clusters(ptr %ctx, ptr %block)")
