"""The native loop of one worker: it takes blocks from the grid, in order or as a seed says, and runs each in a slot.

A worker has one slot, and begins a second block only when the first does nothing but poll memory: then some other
block must move, as it does on hardware where both are resident. The lowest block that ends badly is the launch's
fault: higher ones are stopped, lower ones run on until they end or wait for others.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder, is_absent, mates
from dsl.emulator.runtime import bulk_copies, cp_async_queue, schedule
from dsl.emulator.runtime.barriers import tell_order

SIGNATURES = {"emu_run_grid": "void (ptr, ptr)", "emu_cluster_over": "i1 (ptr)", "emu_cluster_wake": "void (ptr)"}


def functions() -> list[str]:
    """The IR text of the worker's loop, and what the scheduler asks of clusters (see clusters.py)."""
    return [*shared_functions(), _run_grid(), _over(), _wake()]


def shared_functions() -> list[str]:
    """The IR text of what the loop over clusters has too."""
    resets = cp_async_queue.reset(), bulk_copies.reset()
    return [*resets, _take(), _begin(), _blame(), _halted(), _waiting(), _other()]


def shared_grid(f: Builder) -> str:
    """The fields that all slots of a launch share."""
    return f.cast("inttoptr", f.load("shared_grid"), "i64", "ptr")


def _take() -> str:
    """The next block for this worker, or -1."""
    f = Builder()
    grid = shared_grid(f)
    place = f.alloca("i64")
    f.put(place, f.load("chunk_next"), "i64")
    with f.if_(f.cmp("uge", f.get(place, "i64"), f.load("chunk_end"), "i64")):
        chunk, blocks = f.load("chunk", of=grid), f.load("blocks", of=grid)
        first = f.op(f"atomicrmw add ptr {f.field('next_block', of=grid)}, i64 {chunk} monotonic")
        f.return_if(f.cmp("uge", first, blocks, "i64"), "i64 -1")
        end = f.add(first, chunk, "i64")
        f.store("chunk_end", f.select(f.cmp("ult", end, blocks, "i64"), end, blocks, "i64"))
        f.put(place, first, "i64")
    number = f.get(place, "i64")
    f.store("chunk_next", f.add(number, 1, "i64"))
    block = f.alloca("i64")
    f.put(block, number, "i64")
    step = f.load("block_step", of=grid)
    with f.if_(f.cmp("ne", step, 0, "i64")):
        place_of = f.add(f.mul(number, step, "i64"), f.load("block_start", of=grid), "i64")
        f.put(block, f.op(f"urem i64 {place_of}, {f.load('blocks', of=grid)}"), "i64")
    block = f.get(block, "i64")
    late = f.cmp("uge", block, f.load_shared("first_fault", grid, "seq_cst"), "i64")
    halted = f.cmp("ne", f.load_shared("halt", grid), 0)
    f.do(f"ret i64 {f.select(f.or_(late, halted, 'i1'), -1, block, 'i64')}")
    return f.function("define internal i64 @take(ptr %ctx)")


def _begin() -> str:
    """Make a slot ready for a block; 0 where a lower block has ended badly meanwhile."""
    f = Builder()
    f.store_shared("block", "%block", "%ctx", "seq_cst")
    wide = [f.cast("zext", f.load("grid", str(i)), "i32", "i64") for i in range(2)]
    row = f.op(f"udiv i64 %block, {wide[0]}")
    parts = f.op(f"urem i64 %block, {wide[0]}"), f.op(f"urem i64 {row}, {wide[1]}"), f.op(f"udiv i64 {row}, {wide[1]}")
    for i, part in enumerate(parts):
        f.store("block_index", f.cast("trunc", part, "i64", "i32"), str(i))
    # Memory of a block starts as garbage on hardware; here as 0xFF bytes: NaN as a float, -1 as an integer.
    threads = f.cast("zext", f.load("threads"), "i32", "i64")
    local_bytes = f.mul(f.load("local_bytes"), threads, "i64")
    for name, size in (("smem", f.load("smem_bytes")), ("local", local_bytes)):
        with f.if_(f.cmp("ne", size, 0, "i64")):
            start = f.cast("inttoptr", f.load(name), "i64", "ptr")
            f.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 -1, i64 {size}, i1 false)")
    with f.if_(f.cmp("ne", f.load("queues"), 0, "i64")):
        f.do("call void @reset_queues(ptr %ctx)")
    with f.if_(f.cmp("ne", f.load("bulk"), 0, "i64")):
        f.do("call void @reset_bulk(ptr %ctx)")
    checks = f.load("begin_checks")
    with f.if_(f.cmp("ne", checks, 0, "i64")):
        f.do(f"call void {f.cast('inttoptr', checks, 'i64', 'ptr')}(ptr %ctx)")
    f.store("state", str(context.RUNNING))
    f.do(f"ret i1 {f.cmp('ult', '%block', f.load_shared('first_fault', shared_grid(f), 'seq_cst'), 'i64')}")
    return f.function("define internal i1 @begin(ptr %ctx, i64 %block)")


def _blame() -> str:
    """This slot's block ended badly: no higher block is to go on."""
    f = Builder()
    grid = shared_grid(f)
    block = f.load("block")
    f.op(f"atomicrmw umin ptr {f.field('first_fault', of=grid)}, i64 {block} seq_cst")
    place = f.alloca("i64")
    f.put(place, f.load_shared("slots", grid, "acquire"), "i64")
    with f.loop() as done:
        address = f.get(place, "i64")
        f.break_if(f.cmp("eq", address, 0, "i64"), done)
        slot = f.cast("inttoptr", address, "i64", "ptr")
        with f.if_(f.cmp("ugt", f.load_shared("block", slot, "seq_cst"), block, "i64")):
            f.store_shared("stop", "1", slot)
        f.put(place, f.load("every", of=slot), "i64")
    f.do("ret void")
    return f.function("define internal void @blame(ptr %ctx) noinline cold")


def _halted() -> str:
    """Whether blocks that wait for other blocks are to give up."""
    f = Builder()
    grid = shared_grid(f)
    faulted = f.cmp("ne", f.load_shared("first_fault", grid), context.NO_FAULT - 2**64, "i64")
    f.do(f"ret i1 {f.or_(faulted, f.cmp('ne', f.load_shared('halt', grid), 0), 'i1')}")
    return f.function("define internal i1 @halted(ptr %ctx)")


def _walk(f: Builder, state: int) -> None:
    """Return the first slot after %ctx in its worker's ring, itself last, that is in `state`."""
    place = f.alloca("ptr")
    f.put(place, "%ctx", "ptr")
    with f.loop() as done:
        slot = f.cast("inttoptr", f.load("next", of=f.get(place, "ptr")), "i64", "ptr")
        f.put(place, slot, "ptr")
        f.return_if(f.cmp("eq", f.load("state", of=slot), state), f"ptr {slot}")
        f.break_if(f.cmp("eq", slot, "%ctx", "ptr"), done)


def _waiting() -> str:
    f = Builder()
    _walk(f, context.WAITING)
    f.do("ret ptr null")
    return f.function("define internal ptr @waiting(ptr %ctx)")


def _other() -> str:
    """The slot to go on with when the block of this one cannot: one for a new block, or one that waits; null."""
    f = Builder()
    grid = shared_grid(f)
    mine = f.cmp("ult", f.load("chunk_next", of="%worker"), f.load("chunk_end", of="%worker"), "i64")
    shared = f.cmp("ult", f.load_shared("next_block", grid), f.load("blocks", of=grid), "i64")
    going = f.op("call i1 @halted(ptr %ctx)")
    with f.if_(f.and_(f.or_(mine, shared, "i1"), f.xor(going, "true", "i1"), "i1")):
        _walk(f, context.IDLE)
        more = f.cast("inttoptr", f.load("more", of=grid), "i64", "ptr")
        new = f.op(f"call ptr {more}(ptr %worker)")
        f.return_if(f.cmp("ne", new, "null", "ptr"), f"ptr {new}")
    f.do(f"ret ptr {f.op('call ptr @waiting(ptr %ctx)')}")
    return f.function("define internal ptr @other(ptr %ctx, ptr %worker) noinline cold")


def _run_grid() -> str:
    """Blocks in order, until none is left, one ends badly, or the launch is halted. %ctx is the worker's first slot."""
    f = Builder()
    place = f.alloca("ptr")
    f.put(place, "%ctx", "ptr")
    with f.loop() as done:
        slot = f.get(place, "ptr")
        names = ("idle", "on", "run", "bad", "ended", "stays", "finished", "elsewhere", "again")
        idle, on, run, bad, ended, stays, finished, elsewhere, again = map(f.fresh, names)
        f.do(f"br i1 {f.cmp('eq', f.load('state', of=slot), context.IDLE)}, label %{idle}, label %{run}")
        f.start(idle)
        block = f.op("call i64 @take(ptr %ctx)")
        f.do(f"br i1 {f.cmp('slt', block, 0, 'i64')}, label %{elsewhere}, label %{on}")
        f.start(on)
        well = f.op(f"call i1 @begin(ptr {slot}, i64 {block})")
        with f.if_(f.xor(well, "true", "i1")):
            f.store("state", str(context.IDLE), of=slot)
        f.do(f"br i1 {well}, label %{run}, label %{elsewhere}")

        f.start(run)
        f.do(f"call void %block(ptr {slot})")
        with f.if_(f.cmp("ne", f.load("state", of=slot), context.WAITING)):
            tell_order(f, context.ORDER_EXIT, "0", "0", slot)
        status = f.load("status", of=slot)
        f.do(f"br i1 {f.cmp('eq', status, 0)}, label %{ended}, label %{bad}")
        f.start(bad)
        f.store("state", str(context.DEAD), of=slot)
        with f.if_(f.cmp("ne", status, context.INTERRUPTED)):
            f.do(f"call void @blame(ptr {slot})")
        f.do(f"br label %{elsewhere}")
        f.start(ended)
        waits = f.cmp("eq", f.load("state", of=slot), context.WAITING)
        f.do(f"br i1 {waits}, label %{stays}, label %{finished}")
        f.start(stays)
        with f.if_(f.op(f"call i1 @halted(ptr {slot})")):
            f.store("state", str(context.DEAD), of=slot)
        f.do(f"br label %{elsewhere}")

        f.start(elsewhere)
        other = f.op(f"call ptr @other(ptr {slot}, ptr %ctx)")
        f.break_if(f.cmp("eq", other, "null", "ptr"), done)
        f.put(place, other, "ptr")
        f.do(f"br label %{again}")
        f.start(finished)
        f.store("state", str(context.IDLE), of=slot)
        f.do(f"br label %{again}")
        f.start(again)
    f.do("ret void")
    return f.function("define void @emu_run_grid(ptr %ctx, ptr %block)")


def _over() -> str:
    """Whether no block of the cluster can go on: each has ended, or its threads wait and have for long."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        waits = f.cmp("ugt", f.load("mbarrier_idle", of=slot), schedule.MBARRIER_LOOKS)
        goes = f.xor(f.or_(waits, is_absent(f, slot), "i1"), "true", "i1")
        f.return_if(goes, "i1 false")
    f.do("ret i1 true")
    return f.function("define i1 @emu_cluster_over(ptr %ctx)")


def _wake() -> str:
    """Something happened that blocks of the cluster may wait for."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        f.store("mbarrier_idle", "0", of=slot)
        f.store("idle", "0", of=slot)
    f.do("ret void")
    return f.function("define void @emu_cluster_wake(ptr %ctx)")
