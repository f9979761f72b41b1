"""Columns of pixels by TMA: the matrix of a convolution, its layouts and values, a line a case."""

import itertools

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

# pixels (N, D, H, W as there are), channels, taps, padding, stride and dilation along D, H and W, tile (pixels, channels)
CASES = [
    dict(pixels=(2, 6, 7), channels=32, taps=(3, 3), padding=(1, 1), stride=(2, 2), tile=(16, 16)),
    dict(pixels=(2, 9, 7), channels=64, taps=(3, 2), padding=(2, 1), dilation=(2, 3), tile=(32, 64), bits=3),
    dict(pixels=(3, 20), channels=16, taps=(5,), padding=(2,), stride=(3,), tile=(8, 16), bits=1),
    dict(pixels=(2, 4, 3, 5), channels=16, taps=(2, 1, 3), padding=(1, 0, 1), stride=(1, 2, 1), tile=(16, 16)),
    dict(pixels=(2, 6, 7), channels=32, taps=(3, 3), padding=(1, 1), stride=(2, 1), tile=(16, 32), dynamic=True),
    dict(pixels=(1, 6, 7), channels=16, taps=(2, 3), padding=(0, 1), tile=(16, 16), transposed=True),
    dict(pixels=(1, 6, 7), channels=16, taps=(3, 3), padding=(1, 0), dilation=(1, 2), tile=(16, 16), backwards=True),
    dict(pixels=(2, 6, 7), channels=32, taps=(3, 3), padding=(1, 1), tile=(16, 16), blocks=2),
]


def geometry(case):
    """Outputs along each dimension, corners and the rest of W, H and D as the atom takes them."""
    count = len(case["taps"])
    stride, dilation = (tuple(case.get(name, (1,) * count)) for name in ("stride", "dilation"))
    spans = [(taps - 1) * step for taps, step in zip(case["taps"], dilation)]
    reach = [(p - s, -p) if case.get("backwards") else (-p, p - s) for p, s in zip(case["padding"], spans)]
    pixels = case["pixels"][1:]
    outputs = [(e - 1 + high - low) // step + 1 for e, (low, high), step in zip(pixels, reach, stride)]
    lower, upper = (tuple(each[side] for each in reach)[::-1] for side in (0, 1))
    first_tap = tuple(spans[::-1]) if case.get("backwards") else (0,) * count
    steps = tuple(-step if case.get("backwards") else step for step in dilation)[::-1]
    padding = tuple(case["padding"][::-1])
    return outputs, (lower, upper, padding, padding, stride[::-1], first_tap, steps)


def expected(array, case):
    """The matrix (output pixels, taps and channels): of each tap, what a filter there multiplies."""
    outputs, (lower, _, _, _, stride, first_tap, steps) = geometry(case)
    count, room = len(outputs), 16
    padded = np.pad(array, [(0, 0), *[(room, room)] * count, (0, 0)])
    columns = []
    for taps in itertools.product(*(range(taps) for taps in case["taps"])):
        first = [room + lower[::-1][i] + first_tap[::-1][i] + tap * steps[::-1][i] for i, tap in enumerate(taps)]
        cut = [slice(f, f + (n - 1) * s + 1, s) for f, n, s in zip(first, outputs, stride[::-1])]
        columns.append(padded[(slice(None), *cut)].reshape(-1, array.shape[-1]))
    return np.concatenate(columns, axis=1)


def smem_layout(case):
    rows, columns = case["tile"]
    if case.get("transposed"):
        layout = cute.make_layout((columns, rows), stride=(1, columns))
    else:
        layout = cute.make_layout((rows, columns), stride=(columns, 1))
    return cute.make_composed_layout(cute.make_swizzle(case.get("bits", 0), 4, 3), 0, layout)


@cute.kernel
def kernel(load: cute.CopyAtom, matrix: cute.Tensor, out: cute.Tensor, case: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    rows, columns = case["tile"]
    blocks = case.get("blocks", 1)
    smem = cutlass.memory.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    layout = smem_layout(case)
    box = smem.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
    transposed = cutlass.const_expr(case.get("transposed", False))
    tile = (columns, rows) if transposed else (rows, columns)
    tiles = cute.local_tile(matrix, tile, (None, None))
    grouped, tiles = cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    to, start = cpasync.tma_partition(load, rank if blocks > 1 else 0, cute.make_layout(blocks), grouped, tiles)
    print(tiles)
    print(to.layout, start)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    phase = cutlass.Int32(0)
    row_tiles, column_tiles = out.shape[1] // rows, out.shape[2] // columns
    for at in cutlass.range(row_tiles * column_tiles):
        row, column = at % row_tiles, at // row_tiles
        if tidx == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, rows * columns * 2)
        if cutlass.const_expr(blocks > 1):
            cute.arch.cluster_arrive()
            cute.arch.cluster_wait()
        place = (None, column, row) if transposed else (None, row, column)
        if cutlass.const_expr(blocks > 1):
            cute.copy(load, start[place], to, tma_bar_ptr=barrier, mcast_mask=cutlass.Int16(3))
        else:
            cute.copy(load, start[place], to, tma_bar_ptr=barrier)
        cute.arch.mbarrier_wait(barrier, phase)
        phase = phase ^ 1
        for i in cutlass.range(tidx, rows * columns, 32):
            m, k = i // columns, i % columns
            element = box[k, m] if transposed else box[m, k]
            out[rank, row * rows + m, column * columns + k] = element
        cute.arch.sync_threads()


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, zero: cutlass.Int32, case: cutlass.Constexpr):
    last = len(case["pixels"])
    order, channels = (*range(last - 1, 0, -1), 0), case["channels"]  # W, H, D, N
    extents, strides = tuple(a.shape[i] for i in order), tuple(a.stride[i] for i in order)
    numbers = geometry(case)[1]
    if cutlass.const_expr(case.get("dynamic", False)):
        numbers = [tuple(each + zero for each in group) for group in numbers]
    if cutlass.const_expr(case.get("transposed", False)):
        pixels_of = cute.make_tensor(a.iterator, cute.make_layout((channels, extents), stride=(1, strides)))
    else:
        pixels_of = cute.make_tensor(a.iterator, cute.make_layout((extents, channels), stride=(strides, 1)))
    layout, tile = smem_layout(case), case["tile"]
    if cutlass.const_expr(case.get("transposed", False)):
        tile = tile[::-1]
    blocks = case.get("blocks", 1)
    op = cpasync.CopyBulkTensorIm2ColG2SOp()
    if cutlass.const_expr(blocks > 1):
        op = cpasync.CopyBulkTensorIm2ColG2SMulticastOp()
    made = cpasync.make_im2col_tma_atom(op, pixels_of, layout, tile, *numbers, blocks)
    print(made.tma_tensor, made.atom.layout_src_tv)
    kernel(made.atom, made.tma_tensor, out, case).launch(grid=(blocks, 1, 1), block=(32, 1, 1), cluster=(blocks, 1, 1))


@cute.kernel
def round_trip(load: cute.CopyAtom, matrix: cute.Tensor, store: cute.CopyAtom, target: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    at, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Float16, cute.make_layout((16, 16), stride=(16, 1)), 128)
    parts = [
        cpasync.tma_partition(
            atom, 0, cute.make_layout(1), cute.group_modes(box, 0, 2),
            cute.group_modes(cute.local_tile(tensor, (16, 16), (None, None)), 0, 2),
        )
        for atom, tensor in ((load, matrix), (store, target))
    ]  # fmt: skip
    print(parts[1][1])
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 512)
    cute.arch.sync_threads()
    cute.copy(load, parts[0][1][(None, at, 1)], parts[0][0], tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    if tidx == 0:
        cute.copy(store, parts[1][0], parts[1][1][(None, at, 0)])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def host_of_round_trip(a: cute.Tensor, b: cute.Tensor):
    smem = cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, cute.make_layout((16, 16), stride=(16, 1)))
    pixels, one, none = ((7, 6, 2), (32, 224, 1344)), (1, 1), (0, 0)
    a, b = (cute.make_tensor(t.iterator, cute.make_layout((pixels[0], 32), stride=(pixels[1], 1))) for t in (a, b))
    load = cpasync.make_im2col_tma_atom(
        cpasync.CopyBulkTensorIm2ColG2SOp(), a, smem, (16, 16), none, none, none, none, one, none, one
    )
    store = cpasync.make_im2col_tma_atom(cpasync.CopyBulkTensorIm2ColS2GOp(), b, smem, (16, 16))
    print(store.tma_tensor)
    round_trip(*load, *store).launch(grid=(6, 1, 1), block=(32, 1, 1))


def main():
    for case in CASES:
        rng = np.random.default_rng(0)
        a = rng.integers(1, 1000, (*case["pixels"], case["channels"])).astype(np.float16)
        wanted = expected(a, case)
        rows, blocks = -(-wanted.shape[0] // case["tile"][0]) * case["tile"][0], case.get("blocks", 1)
        out = torch.full((blocks, rows, wanted.shape[1]), -1.0, dtype=torch.float16, device="cuda")
        source = from_dlpack(torch.from_numpy(a).to("cuda"), assumed_align=16)
        if case.get("dynamic"):
            source = source.mark_layout_dynamic()
        host(source, from_dlpack(out), 0, case)
        got = out.cpu().numpy()
        print(all((block[: len(wanted)] == wanted).all() and not block[len(wanted) :].any() for block in got))
    a = torch.arange(2 * 6 * 7 * 32, device="cuda").reshape(2, 6, 7, 32).to(torch.float16)
    b = torch.zeros_like(a)
    host_of_round_trip(from_dlpack(a, assumed_align=16), from_dlpack(b, assumed_align=16))
    print(torch.equal(b[..., :16], a[..., 16:]), not b[..., 16:].any())


main()
