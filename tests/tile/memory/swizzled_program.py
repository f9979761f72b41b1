"""Prints slices and partitions of swizzled tensors: their layouts, and where they start in each thread; run under both
compilers by test_swizzled.py."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack

CASES = (
    ((3, 3, 3), (64, 64, 2), (64, 1, 4096)),
    ((3, 3, 3), ((8, 8), (8, 8), 2), ((8, 512), (1, 64), 4096)),
    ((2, 3, 3), (64, 32, 2), (32, 1, 2048)),
    ((3, 3, 3), (64, 64, 2), (1, 64, 4096)),
)


def slices(s, t):
    yield s[3, None, 0]
    yield s[t, None, 1]
    yield s[None, 5, t % 2]
    yield s[None, t, None]
    yield s[None, None, 1]
    yield s[None, None, t % 2]
    yield cute.flat_divide(s[None, None, 1], (8, 8))[t % 8, None, 3, None]
    yield cute.local_tile(s, (8, 8, 1), (2, 3, 1))


def partitions(s, t):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (4, 1, 1), permutation_mnk=(64, 16, 16))
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 2), cutlass.Float16)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    yield cute.make_tiled_copy_C(store, mma).get_slice(t).partition_D(s)
    yield cute.make_tiled_copy_A(load, mma).get_slice(t).partition_S(s)
    if s.layout.outer.stride[1] == 1:  # else two bits that the swizzle joins are left
        yield mma.get_slice(t).partition_C(s)


@cute.kernel
def kernel(out: cute.Tensor, case: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    start = cute.arch.alloc_smem(cutlass.Float16, 8192, alignment=1024)
    swizzle, shape, stride = case
    layout = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, cute.make_layout(shape, stride=stride))
    s = cute.make_tensor(start, layout)
    parts = (*slices(s, t), *(partitions(s, t) if shape == (64, 64, 2) else ()))
    for number, part in enumerate(parts):
        print(number, part.layout)
        out[number, t] = (part.iterator.toint() - start.toint()).to(cutlass.Int32)


@cute.jit
def host(out: cute.Tensor, case: cutlass.Constexpr):
    kernel(out, case).launch(grid=(1, 1, 1), block=(64, 1, 1))


for each in CASES:
    starts = torch.zeros(11, 64, dtype=torch.int32)
    host(from_dlpack(starts), each)
    print(each, starts.tolist())
