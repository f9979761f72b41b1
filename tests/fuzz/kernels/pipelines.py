"""Generated pipelines: rings of threads, of cp.async, of TMA into and out of shared memory, and turns; with numbers of
stages, of warps on both sides and of trips, handles or states, waits that were tried before.
"""

from __future__ import annotations

from tests.fuzz.kernels.choices import Choices
from tests.fuzz.kernels.text import FLOAT16, FLOAT32, HEAD, INT8, INT32

COMMON = """
STAGES, TRIPS = {stages}, {trips}
Thread, Warp = pipeline.Agent.Thread, pipeline.Agent.Warp
"""

RING = (
    COMMON
    + """

@cute.kernel
def kernel(out: cute.Tensor, trips: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    buffer = smem.allocate_tensor(cutlass.Int32, cute.make_layout(({producers} * 32, STAGES)), 16)
    pipe = pipeline.PipelineAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup({producer_group}),
        consumer_group=pipeline.CooperativeGroup({consumer_group}),
        barrier_storage=smem.allocate_array(cutlass.Int64, 2 * STAGES),
    )
{participants}
    if warp < {producers}:
        for i in {producer_loop}:
{acquire}
            buffer[thread, {producer_index}] = thread * 10 + i
{commit}
{tail}
    if warp >= {producers} and warp < {producers} + {consumers}:
        total = cutlass.Int32(0)
        for i in {consumer_loop}:
{wait}
            total += buffer[(thread * {stride} + i) % ({producers} * 32), {consumer_index}] * (i + 1)
{release}
        out[thread - {producers} * 32] = total


@cute.jit
def host(out: cute.Tensor, trips: cutlass.Int32):
    kernel(out, trips).launch(grid=(1, 1, 1), block=(({producers} + {consumers} + {idle}) * 32, 1, 1))


def run():
    out = device(np.full({consumers} * 32, -1), torch.int32)
    host(from_dlpack(out), TRIPS)
    return {{"out": plain(out)}}


def expected():
    threads, total = np.arange({consumers} * 32) + {producers} * 32, 0
    for i in range(TRIPS):
        total = total + ((threads * {stride} + i) % ({producers} * 32) * 10 + i) * (i + 1)
    return {{"out": np.zeros({consumers} * 32) + total}}
"""
)

STATES = """\
    filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
    emptying = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)"""
HANDLES = "    producer, consumer = pipe.make_participants()"


def ring(pick: Choices) -> str:
    """Producer threads fill stages with numbers, which consumer threads add up."""
    producers, consumers = pick(1, 2, 3), pick(1, 2, 4)
    parts = _participation(pick) | _loops(pick, pick(1, 2, 3, 4, 7, 11))
    return HEAD.format(title="A ring of stages.") + RING.format(
        producers=producers, consumers=consumers, idle=pick(0, 1), producer_group=f"Thread, {producers * 32}",
        consumer_group=pick(f"Thread, {consumers * 32}", f"Warp, {consumers}"), stride=pick(1, 3, 7), **parts,
    )  # fmt: skip


def _loops(pick: Choices, trips: int) -> dict:
    options = ("cutlass.range_constexpr(TRIPS)", "range(TRIPS)", "range(trips)", "cutlass.range(trips, unroll=2)")
    return dict(trips=trips, stages=pick(1, 2, 3, 5), producer_loop=pick(*options), consumer_loop=pick(*options))


def _participation(pick: Choices) -> dict:
    """Who acquires, commits, waits and releases: states or handles, on either side."""
    indent = " " * 12
    if pick(False, True):
        tries = pick(False, True)
        token = ", pipe.producer_try_acquire(filling)" if tries else ""
        other = ", pipe.consumer_try_wait(emptying)" if pick(False, True) else ""
        return dict(
            participants=STATES, acquire=f"{indent}pipe.producer_acquire(filling{token})", producer_index="filling.index",
            commit=f"{indent}pipe.producer_commit(filling)\n{indent}filling.advance()", tail="        pipe.producer_tail(filling)",
            wait=f"{indent}pipe.consumer_wait(emptying{other})", consumer_index="emptying.index",
            release=f"{indent}pipe.consumer_release(emptying)\n{indent}emptying.advance()",
            barrier="pipe.producer_get_barrier(filling)",
        )  # fmt: skip
    token, other = pick("", "producer.try_acquire()"), pick("", "consumer.try_wait()")
    acquire, wait = (
        f"{indent}handle = producer.acquire_and_advance({token})",
        f"{indent}handle = consumer.wait_and_advance({other})",
    )
    commit, release = f"{indent}handle.commit()", f"{indent}handle.release()"
    if pick(False, False, True):
        acquire, commit = f"{indent}handle = producer.acquire({token})", f"{commit}\n{indent}producer.advance()"
    if pick(False, False, True):
        wait, release = f"{indent}handle = consumer.wait({other})", f"{release}\n{indent}consumer.advance()"
    return dict(
        participants=HANDLES, acquire=acquire, producer_index="handle.index", commit=commit, tail=pick("        producer.tail()", "        pass"),
        wait=wait, consumer_index="handle.index", release=release, barrier="handle.barrier",
    )  # fmt: skip


BY_TMA = (
    COMMON
    + """TILE = {tile}


def smem_layout():
    return {layout}


@cute.kernel
def kernel(load: cute.CopyAtom, source: cute.Tensor, store: cute.CopyAtom, target: cute.Tensor, trips: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    layout = smem_layout()
    smem = cutlass.utils.SmemAllocator()
    box_in = smem.allocate_tensor({type}, {box})
    box_out = smem.allocate_tensor({type}, {box})
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(Thread),
        consumer_group=pipeline.CooperativeGroup(Thread, {consumers}),
        tx_count={n_bytes},
        barrier_storage=smem.allocate_array(cutlass.Int64, 2 * STAGES),{more}
    )
{participants}
    stores = pipeline.PipelineTmaStore.create(
        num_stages={store_stages}, producer_group=pipeline.CooperativeGroup(Thread, {consumers} * 32)
    )
{begin}    tiles_in, tiles_out = (cute.group_modes(cute.local_tile(each, TILE, (None, None)), 0, 2) for each in (source, target))
    to, begin = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(box_in, 0, 2), tiles_in)
    done, end = cpasync.tma_partition(store, 0, cute.make_layout(1), cute.group_modes(box_out, 0, 2), tiles_out)
    if warp == {consumers}:
        for i in {producer_loop}:
{acquire}
            cute.copy(load, begin[(None, block, i)], to[(None, {producer_index})], tma_bar_ptr={barrier})
{commit}
{tail}
    if warp < {consumers}:
        meet = pipeline.NamedBarrier(barrier_id=1, num_threads={consumers} * 32)
        for i in {consumer_loop}:
{wait}
            for j in range(thread, {size}, {consumers} * 32):
                value = box_in[j % {rows}, j // {rows}, {consumer_index}]
                box_out[j % {rows}, j // {rows}, {slot}] = {value}
            cute.arch.sync_warp()
{release}
            cute.arch.fence_proxy("async.shared", space="cta")
            meet.arrive_and_wait()
            if warp == 0:
                cute.copy(store, done[(None, {slot})], end[(None, block, i)])
                stores.producer_commit()
                stores.producer_acquire()
            meet.arrive_and_wait()
        if warp == 0:
            stores.producer_tail()


@cute.jit
def host(source: cute.Tensor, target: cute.Tensor, trips: cutlass.Int32):
    load, coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, smem_layout(), TILE)
    store, out_coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), target, smem_layout(), TILE)
    kernel(load, coords, store, out_coords, trips).launch(grid=({blocks}, 1, 1), block=(({consumers} + 1) * 32, 1, 1))


def run():
    source = device(numbers({count}, -50, 50, {seed}).reshape({shape}), {torch}, {tensor_stride})
    target = device(np.zeros({shape}), {torch}, {tensor_stride})
    host(from_dlpack(source, assumed_align=16), from_dlpack(target, assumed_align=16), TRIPS)
    return {{"target": plain(target)}}


def expected():
    value = numbers({count}, -50, 50, {seed}).reshape({shape})
    return {{"target": {value}}}
"""
)


def by_tma(pick: Choices) -> str:
    """A warp loads tiles by TMA, others change them, and one of these stores them by TMA."""
    kind = pick(FLOAT32, FLOAT16, INT32, INT8)
    line, trips, blocks, consumers = 128 // kind.bits, pick(1, 2, 3, 5, 6), pick(1, 2), pick(1, 2, 4)
    tile, major = [8 * pick(1, 2, 4), 8 * pick(1, 2, 4)], pick(1, 0)
    tile[major] = line * pick(1, 2, 4)
    parts = _participation(pick) | _loops(pick, trips)
    stages = parts["stages"]
    shape = [tile[0] * blocks - pick(0, 0, 1, 3), tile[1] * trips - min(pick(0, 0, 2, 5), tile[1] - 1)]
    row = -(-shape[major] // line) * line + pick(0, line)
    tensor_stride = (row, 1) if major else (1, row)
    step = -(-tile[0] * tile[1] * kind.bits // 1024) * 1024 // kind.bits
    bits = pick(0, 1, 2, 3)
    layout = f"cute.make_layout({(*tile, stages)}, stride={(tile[1], 1, step) if major else (1, tile[0], step)})"
    swizzled = bits and tile[major] * kind.bits // 8 <= 16 << bits
    if swizzled:
        layout = f"cute.make_composed_layout(cute.make_swizzle({bits}, 4, 3), 0, {layout})"
    deferred = pick(False, True)
    begin = (
        "    pipeline.pipeline_init_arrive(cluster_shape_mn=(1, 1), is_relaxed=True)\n"
        "    pipeline.pipeline_init_wait(cluster_shape_mn=(1, 1))\n"
    )
    store_stages = pick(1, *([2] if stages > 1 else []))
    return HEAD.format(title="A pipeline that TMA fills, and one that TMA empties.") + BY_TMA.format(
        type=kind, torch=kind.torch, tile=tuple(tile), layout=layout, box="layout.outer, 1024, layout.inner" if swizzled else "layout, 1024",
        consumers=consumers, n_bytes=tile[0] * tile[1] * kind.bits // 8, more="\n        defer_sync=True," if deferred else "",
        begin=begin if deferred else "", store_stages=store_stages, size=tile[0] * tile[1], rows=tile[0],
        slot="0" if store_stages == 1 else "i % 2", value=pick("value", "value + value"), blocks=blocks, shape=tuple(shape),
        count=shape[0] * shape[1], seed=pick(*range(9)), tensor_stride=tensor_stride, **parts,
    )  # fmt: skip


BY_CP_ASYNC = (
    COMMON
    + """

@cute.kernel
def kernel(source: cute.Tensor, out: cute.Tensor, trips: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    buffer = smem.allocate_tensor({type}, cute.make_layout(({vector}, {producers} * 32, STAGES)), 16)
    pipe = pipeline.PipelineCpAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(Thread, {producers} * 32),
        consumer_group=pipeline.CooperativeGroup(Thread, {consumers} * 32),
        barrier_storage=smem.allocate_array(cutlass.Int64, 2 * STAGES),
    )
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), {type}, num_bits_per_copy={bits})
{participants}
    if warp < {producers}:
        for i in {producer_loop}:
{acquire}
            cute.copy(atom, source[None, thread, i], buffer[None, thread, {producer_index}])
{commit}
{tail}
    if warp >= {producers}:
        mine = thread - {producers} * 32
        for i in {consumer_loop}:
{wait}
            for j in range(mine, {producers} * 32, {consumers} * 32):
                for v in cutlass.range_constexpr({vector}):
                    out[v, j, i] = buffer[v, {producers} * 32 - 1 - j, {consumer_index}]
{release}


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor, trips: cutlass.Int32):
    kernel(source, out, trips).launch(grid=(1, 1, 1), block=(({producers} + {consumers}) * 32, 1, 1))


def run():
    shape = ({vector}, {producers} * 32, TRIPS)
    source = device(numbers(np.prod(shape), -50, 50, {seed}).reshape(shape), {torch}, (1, {vector}, {vector} * {producers} * 32))
    out = device(np.zeros(shape), {torch})
    host(from_dlpack(source, assumed_align=16), from_dlpack(out), TRIPS)
    return {{"out": plain(out)}}


def expected():
    shape = ({vector}, {producers} * 32, TRIPS)
    return {{"out": numbers(np.prod(shape), -50, 50, {seed}).reshape(shape)[:, ::-1]}}
"""
)


def by_cp_async(pick: Choices) -> str:
    """Producer threads fill stages by cp.async."""
    kind, bits = pick(FLOAT32, FLOAT16, INT32, INT8), pick(32, 64, 128)
    parts = _participation(pick) | _loops(pick, pick(1, 2, 4, 5, 9))
    return HEAD.format(title="A ring that cp.async fills.") + BY_CP_ASYNC.format(
        type=kind, torch=kind.torch, bits=bits, vector=bits // kind.bits, producers=pick(1, 2), consumers=pick(1, 2, 3), seed=pick(*range(9)), **parts
    )  # fmt: skip


TURNS = """
DEPTH, LENGTH, TRIPS = {depth}, {length}, {trips}


@cute.kernel
def kernel(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    barriers = smem.allocate_array(cutlass.Int64, DEPTH * LENGTH)
    place = smem.allocate_tensor(cutlass.Int32, cute.make_layout(DEPTH), 4)
    if thread < DEPTH:
        place[thread] = 0
    order = pipeline.PipelineOrder.create(
        depth=DEPTH,
        length=LENGTH,
        group_id=warp // {warps},
        barrier_storage=barriers,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32 * {warps}),
    )
    meet = pipeline.NamedBarrier(barrier_id={barrier}, num_threads=32 * {warps} * LENGTH)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(TRIPS):
        order.wait()
        if thread % (32 * {warps}) == {lane}:
            out[i % DEPTH, place[i % DEPTH]] = warp // {warps} * 100 + i
            place[i % DEPTH] = place[i % DEPTH] + 1
        order.arrive()
    meet.arrive_and_wait()
    if thread == {lane}:
        for stage in cutlass.range_constexpr(DEPTH):
            out[stage, TRIPS * LENGTH] = place[stage]


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32 * {warps} * LENGTH, 1, 1))


def run():
    out = device(np.full((DEPTH, TRIPS * LENGTH + 1), -1), torch.int32)
    host(from_dlpack(out))
    return {{"out": plain(out)}}


def expected():
    out = np.full((DEPTH, TRIPS * LENGTH + 1), -1)
    for stage in range(DEPTH):
        taken = [group * 100 + i for i in range(stage, TRIPS, DEPTH) for group in range(LENGTH)]
        out[stage, : len(taken)], out[stage, -1] = taken, len(taken)
    return {{"out": out}}
"""


def turns(pick: Choices) -> str:
    """Groups of warps take turns at each stage; a group may be ahead at the next."""
    warps = pick(1, 2)
    return HEAD.format(title="Groups take turns.") + TURNS.format(
        depth=pick(1, 2, 3),
        length=pick(2, 3, 4),
        trips=pick(1, 2, 3, 5),
        warps=warps,
        barrier=pick(1, 2, 7),
        lane=pick(0, 5, 32 * warps - 1),
    )


def program(pick: Choices) -> str:
    return pick(ring, by_tma, ring, by_tma, by_cp_async, turns)(pick)
