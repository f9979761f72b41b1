"""Kernels in Gluon that Triton compiles for sm_100a, for test_gluon.py: they place layouts, copies and mbarriers."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tcgen05_mma_scaled,
    tma,
)


@gluon.jit
def _offsets(rows: gl.constexpr, columns: gl.constexpr, layout: gl.constexpr):
    """Of the elements of a matrix, row by row."""
    row = gl.arange(0, rows, gl.SliceLayout(1, layout))
    column = gl.arange(0, columns, gl.SliceLayout(0, layout))
    return row[:, None] * columns + column[None, :]


@gluon.jit
def _in_shared(pointer, rows: gl.constexpr, columns: gl.constexpr):
    """A matrix in shared memory, from global memory by way of registers."""
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    kind: gl.constexpr = pointer.dtype.element_ty
    shape: gl.constexpr = gl.NVMMASharedLayout.get_default_for([rows, columns], kind)
    return gl.allocate_shared_memory(kind, [rows, columns], shape, gl.load(pointer + _offsets(rows, columns, layout)))


@gluon.jit
def chained_products(a_ptr, b_ptr, v_ptr, o_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, D: gl.constexpr):
    """O = max(A * B^T, 0) * V; the first product is A of the second one, in tensor memory."""
    a, b, v = _in_shared(a_ptr, M, K), _in_shared(b_ptr, N, K), _in_shared(v_ptr, N, D)
    fence_async_shared()
    ready = mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    s = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    tcgen05_mma(a, b.permute((1, 0)), s, use_acc=False, mbarriers=[ready])
    mbarrier.wait(ready, 0)
    kept = gl.maximum(s.load(), 0.0).to(gl.float16)
    p = allocate_tensor_memory(gl.float16, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    p.store(kept)
    o = allocate_tensor_memory(gl.float32, [M, D], TensorMemoryLayout([M, D], col_stride=1))
    tcgen05_mma(p, v, o, use_acc=False)
    tcgen05_commit(ready)
    mbarrier.wait(ready, 1)
    mbarrier.invalidate(ready)
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [gl.num_warps(), 1], [1, 0])
    gl.store(o_ptr + _offsets(M, D, layout), gl.convert_layout(o.load(), layout))


@gluon.jit
def _load_tiles(a, b, row, column, step, a_tiles, b_tiles, loaded, BK: gl.constexpr, STAGES: gl.constexpr):
    stage = step % STAGES
    bar = loaded.index(stage)
    mbarrier.expect(bar, a.block_type.nbytes + b.block_type.nbytes)
    tma.async_load(a, [row, step * BK], bar, a_tiles.index(stage))
    tma.async_load(b, [column, step * BK], bar, b_tiles.index(stage))


@gluon.jit
def _barriers(count: gl.constexpr):
    made = mbarrier.allocate_mbarrier(batch=count)
    for i in gl.static_range(count):
        mbarrier.init(made.index(i), count=1)
    fence_async_shared()  # PTX asks for a fence between this and the copies that signal them
    return made


@gluon.jit
def pipelined_product(a, b, c, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    """C = A * B^T; boxes come by TMA some steps ahead, and a product gives its stage back by its mbarrier."""
    row, column, steps = gl.program_id(0) * BM, gl.program_id(1) * BN, gl.cdiv(K, BK)
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES, BN, BK], b.layout)
    loaded, used = _barriers(STAGES), _barriers(STAGES)
    total = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    for step in gl.static_range(STAGES - 1):
        if step < steps:
            _load_tiles(a, b, row, column, step, a_tiles, b_tiles, loaded, BK, STAGES)
    for step in range(steps):
        ahead = step + STAGES - 1
        if ahead < steps:
            mbarrier.wait(used.index(ahead % STAGES), ahead // STAGES + 1 & 1)
            _load_tiles(a, b, row, column, ahead, a_tiles, b_tiles, loaded, BK, STAGES)
        stage = step % STAGES
        mbarrier.wait(loaded.index(stage), step // STAGES & 1)
        of_b = b_tiles.index(stage).permute((1, 0))
        tcgen05_mma(a_tiles.index(stage), of_b, total, use_acc=step > 0, mbarriers=[used.index(stage)])
    mbarrier.wait(used.index((steps - 1) % STAGES), (steps - 1) // STAGES & 1)
    out = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    out.store(total.load().to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [row, column], out)
    tma.store_wait(0)


@gluon.jit
def _loads(a, b, tiles, columns, steps, a_tiles, b_tiles, loaded, used, BM: gl.constexpr, BN: gl.constexpr,
           BK: gl.constexpr, STAGES: gl.constexpr):  # fmt: skip
    count = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        row, column = tile // columns * BM, tile % columns * BN
        for step in range(steps):
            stage, bar = count % STAGES, loaded.index(count % STAGES)
            mbarrier.wait(used.index(stage), count // STAGES + 1 & 1)
            mbarrier.expect(bar, a.block_type.nbytes + b.block_type.nbytes)
            tma.async_load(a, [row, step * BK], bar, a_tiles.index(stage))
            tma.async_load(b, [column, step * BK], bar, b_tiles.index(stage))
            count += 1


@gluon.jit
def _products(tiles, steps, a_tiles, b_tiles, loaded, used, totals, full, empty, STAGES: gl.constexpr):
    count, number = 0, 0
    for _ in range(gl.program_id(0), tiles, gl.num_programs(0)):
        half = number % 2
        mbarrier.wait(empty.index(half), number // 2 + 1 & 1)
        for step in range(steps):
            stage = count % STAGES
            mbarrier.wait(loaded.index(stage), count // STAGES & 1)
            of_b = b_tiles.index(stage).permute((1, 0))
            tcgen05_mma(a_tiles.index(stage), of_b, totals.index(half), use_acc=step > 0, mbarriers=[used.index(stage)])
            count += 1
        tcgen05_commit(full.index(half))
        number += 1


@gluon.jit
def _stores(c, tiles, columns, totals, full, empty, BM: gl.constexpr, BN: gl.constexpr):
    out = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    number = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        half = number % 2
        mbarrier.wait(full.index(half), number // 2 & 1)
        total = totals.index(half).load()
        mbarrier.arrive(empty.index(half), count=1)
        tma.store_wait(0)
        out.store(total.to(c.dtype))
        fence_async_shared()
        tma.async_store(c, [tile // columns * BM, tile % columns * BN], out)
        number += 1
    tma.store_wait(0)


@gluon.jit
def specialised_product(a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    """Few blocks go over all tiles of C; some warps load, one multiplies into two accumulators, the others store."""
    columns, steps = gl.cdiv(N, BN), gl.cdiv(K, BK)
    tiles = gl.cdiv(M, BM) * columns
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES, BN, BK], b.layout)
    totals = allocate_tensor_memory(gl.float32, [2, BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    loaded, used, full, empty = _barriers(STAGES), _barriers(STAGES), _barriers(2), _barriers(2)
    gl.warp_specialize(
        [
            (_stores, (c, tiles, columns, totals, full, empty, BM, BN)),
            (_loads, (a, b, tiles, columns, steps, a_tiles, b_tiles, loaded, used, BM, BN, BK, STAGES)),
            (_products, (tiles, steps, a_tiles, b_tiles, loaded, used, totals, full, empty, STAGES)),
        ],
        [1, 1],
        [24, 24],
    )


@gluon.jit
def _scales(pointer, rows: gl.constexpr, count: gl.constexpr):
    """Scales of rows in tensor memory."""
    made = allocate_tensor_memory(pointer.dtype.element_ty, [rows, count], TensorMemoryScalesLayout())
    layout: gl.constexpr = made.get_reg_layout()
    made.store(gl.load(pointer + _offsets(rows, count, layout)))
    return made


@gluon.jit
def scaled_product(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr,
                   PACKED: gl.constexpr):  # fmt: skip
    """C = A * B^T, each 32 elements of a row with their scale; elements of 8 or, two a byte, of 4 bits."""
    kind: gl.constexpr = "e2m1" if PACKED else "e4m3"
    a, b = _in_shared(a_ptr, M, K // (1 + PACKED)), _in_shared(b_ptr, N, K // (1 + PACKED))
    a_scale, b_scale = _scales(a_scale_ptr, M, K // 32), _scales(b_scale_ptr, N, K // 32)
    fence_async_shared()
    ready = mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    total = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    tcgen05_mma_scaled(a, b.permute((1, 0)), total, a_scale, b_scale, kind, kind, use_acc=False, mbarriers=[ready])
    mbarrier.wait(ready, 0)
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [gl.num_warps(), 1], [1, 0])
    gl.store(c_ptr + _offsets(M, N, layout), gl.convert_layout(total.load(), layout))


@gluon.jit
def gathered_product(a, b, rows_ptr, c_ptr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    """C = A[rows] * B^T; the rows come by TMA, four at a time."""
    layout: gl.constexpr = gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, gl.num_warps()], [1, 0]))
    rows = gl.load(rows_ptr + gl.arange(0, BM, layout))
    a_tile = gl.allocate_shared_memory(a.dtype, [BM, BK], a.layout)
    b_tile = gl.allocate_shared_memory(b.dtype, [BN, BK], b.layout)
    ready = _barriers(2)
    mbarrier.expect(ready.index(0), BM * a.block_type.nbytes + b.block_type.nbytes)
    tma.async_gather(a, rows, 0, ready.index(0), a_tile)
    tma.async_load(b, [0, 0], ready.index(0), b_tile)
    mbarrier.wait(ready.index(0), 0)
    total = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    tcgen05_mma(a_tile, b_tile.permute((1, 0)), total, use_acc=False, mbarriers=[ready.index(1)])
    mbarrier.wait(ready.index(1), 0)
    out: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [gl.num_warps(), 1], [1, 0])
    gl.store(c_ptr + _offsets(BM, BN, out), gl.convert_layout(total.load(), out))


@gluon.jit
def tiles_by_cancelling(a, c, M, BM: gl.constexpr, BN: gl.constexpr):
    """C = 2 * A by way of tensor memory; a block takes the tiles of blocks that have not begun (cluster launch control)."""
    tile = gl.allocate_shared_memory(a.dtype, [BM, BN], a.layout)
    held = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    bars = _barriers(2)
    row, phase, more = gl.program_id(0), 0, True
    while more:
        mbarrier.expect(bars.index(1), 16)
        blackwell.clc.try_cancel(answer, bars.index(1))
        mbarrier.expect(bars.index(0), a.block_type.nbytes)
        tma.async_load(a, [row * BM, 0], bars.index(0), tile)
        mbarrier.wait(bars.index(0), phase)
        layout: gl.constexpr = held.get_reg_layout()
        held.store(tile.load(layout).to(gl.float32))
        tma.store_wait(0)
        tile.store((held.load() * 2).to(a.dtype))
        fence_async_shared()
        tma.async_store(c, [row * BM, 0], tile)
        tma.store_wait(0)
        mbarrier.wait(bars.index(1), phase)
        result = blackwell.clc.load_result(answer)
        more = result.is_canceled()
        row = result.program_id(0)
        phase ^= 1
