"""Kernels for code_quality.py: `code_quality_kernels.py NAME` compiles one of them with whichever cutlass is installed.

Extents are dynamic unless the kernel's docstring states otherwise; nothing is launched.
"""

import sys

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

WARP, THREADS = 32, 256


@cute.kernel
def row_sums_kernel(x: cute.Tensor, out: cute.Tensor):
    """out[row] = sum of x[row, :] (M, N) -> (M), a block a row, a loop of dynamic length."""
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    partial = smem.allocate_tensor(cutlass.Float32, cute.make_layout(THREADS // WARP), 16)
    total = cutlass.Float32(0)
    for column in range(thread, x.shape[1], THREADS):
        total += x[row, column]
    total = cute.arch.warp_reduction_sum(total)
    if thread % WARP == 0:
        partial[thread // WARP] = total
    cute.arch.barrier()
    if thread == 0:
        total = cutlass.Float32(0)
        for warp in cutlass.range_constexpr(THREADS // WARP):
            total += partial[warp]
        out[row] = total


@cute.jit
def row_sums(x: cute.Tensor, out: cute.Tensor):
    row_sums_kernel(x, out).launch(grid=(x.shape[0], 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def softmax_kernel(x: cute.Tensor, out: cute.Tensor):
    """out[row, :] = softmax(x[row, :]) (M, 1024) of bf16, a warp a row, 8 elements an access; N is static."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = block * (THREADS // WARP) + thread // WARP
    lane = thread % WARP
    if row < x.shape[0]:
        parts = cute.local_tile(x[row, None], (8,), (None,))
        results = cute.local_tile(out[row, None], (8,), (None,))
        values = cute.make_rmem_tensor((8, 4), cutlass.Float32)
        for part in cutlass.range_constexpr(4):
            loaded = cute.make_rmem_tensor((8,), cutlass.BFloat16)
            cute.autovec_copy(parts[None, part * WARP + lane], loaded)
            values[None, part].store(loaded.load().to(cutlass.Float32))
        largest = values.load().reduce(cute.ReductionOp.MAX, cutlass.Float32(-1e30), 0)
        largest = cute.arch.warp_reduction_max(largest)
        weights = cute.math.exp(values.load() - largest, fastmath=True)
        total = weights.reduce(cute.ReductionOp.ADD, cutlass.Float32(0), 0)
        total = cute.arch.warp_reduction_sum(total)
        values.store(weights * cute.arch.rcp_approx(total))
        for part in cutlass.range_constexpr(4):
            stored = cute.make_rmem_tensor((8,), cutlass.BFloat16)
            stored.store(values[None, part].load().to(cutlass.BFloat16))
            cute.autovec_copy(stored, results[None, part * WARP + lane])


@cute.jit
def softmax(x: cute.Tensor, out: cute.Tensor):
    rows = THREADS // WARP
    softmax_kernel(x, out).launch(grid=(cute.ceil_div(x.shape[0], rows), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def transpose_kernel(x: cute.Tensor, out: cute.Tensor):
    """out (N, M) = transpose of x (M, N), tiles of 32 x 32 through shared memory, bounds checked."""
    column, line, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(33, 1)), 16)
    for step in cutlass.range_constexpr(4):
        i, j = down * 32 + line + step * 8, across * 32 + column
        if i < x.shape[0] and j < x.shape[1]:
            tile[line + step * 8, column] = x[i, j]
    cute.arch.barrier()
    for step in cutlass.range_constexpr(4):
        i, j = across * 32 + line + step * 8, down * 32 + column
        if i < x.shape[1] and j < x.shape[0]:
            out[i, j] = tile[column, line + step * 8]


@cute.jit
def transpose(x: cute.Tensor, out: cute.Tensor):
    grid = (cute.ceil_div(x.shape[1], 32), cute.ceil_div(x.shape[0], 32), 1)
    transpose_kernel(x, out).launch(grid=grid, block=(32, 8, 1))


@cute.kernel
def stencil_kernel(x: cute.Tensor, out: cute.Tensor, scale: cutlass.Float32):
    """out[i, j] = scale * mean of x[i, j] and its four neighbours, (M, N), clamped at the edges; a loop over rows."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    rows, columns = x.shape
    j = block * THREADS + thread
    if j < columns:
        left = cutlass.max(j - 1, 0)
        right = cutlass.min(j + 1, columns - 1)
        above = x[0, j]
        here = above
        for i in range(rows):
            below = x[cutlass.min(i + 1, rows - 1), j]
            out[i, j] = scale * (above + below + x[i, left] + x[i, right] + here) * cutlass.Float32(0.2)
            above, here = here, below


@cute.jit
def stencil(x: cute.Tensor, out: cute.Tensor, scale: cutlass.Float32):
    stencil_kernel(x, out, scale).launch(grid=(cute.ceil_div(x.shape[1], THREADS), 1, 1), block=(THREADS, 1, 1))


def tensor(dtype: type, *shape) -> cute.Tensor:
    """A row-major tensor without memory."""
    return make_fake_compact_tensor(dtype, shape, stride_order=tuple(reversed(range(len(shape)))), assumed_align=16)


def compiled(name: str) -> object:
    m, n = cute.sym_int(), cute.sym_int()
    f32, bf16 = cutlass.Float32, cutlass.BFloat16
    if name == "row_sums":
        return cute.compile(row_sums, tensor(f32, m, n), tensor(f32, m))
    if name == "softmax":
        return cute.compile(softmax, tensor(bf16, m, 1024), tensor(bf16, m, 1024))
    if name == "transpose":
        return cute.compile(transpose, tensor(f32, m, n), tensor(f32, n, m))
    if name == "stencil":
        return cute.compile(stencil, tensor(f32, m, n), tensor(f32, m, n), f32(1.0))
    raise SystemExit(f"no kernel is called {name}")


if __name__ == "__main__":
    compiled(sys.argv[1])
