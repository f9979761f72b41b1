# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90a"
# params = { kind = ["INTER", "SW32", "SW64", "SW128"] }
# nvidia = { "<4.5" = { xfail = "OperandMajorMode is not there yet" }, "==4.5.*" = { xfail = "refuses n = 8" } }
# ///
"""A matrix descriptor's swizzle xors bits 7 and up of the address into the 16-byte chunk: 0, 1, 2 or 3 bits of it.
Source: PTX ISA, Asynchronous Warpgroup Level Matrix Shared Memory Layout (core matrices, swizzling modes).

What lies in shared memory is made on the host by that rule and copied as plain bytes; only the product tells.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.runtime import from_dlpack

COLUMNS = 64  # of A (64 rows) and of B (8 rows)
BITS = {"INTER": 0, "SW32": 1, "SW64": 2, "SW128": 3}


@cute.kernel
def kernel(image_a: cute.Tensor, image_b: cute.Tensor, c: cute.Tensor, kind: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    f16, major = cutlass.Float16, OperandMajorMode.K
    source = warpgroup.OperandSource.SMEM
    mma = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(f16, cutlass.Float32, (64, 8, 16), source, major, major))
    atom = warpgroup.make_smem_layout_atom(getattr(warpgroup.SmemLayoutAtomKind, "K_" + kind), f16)
    smem, mine = cutlass.utils.SmemAllocator(), mma.get_slice(thread)
    matrices = []
    for image in (image_a, image_b):
        plain = smem.allocate_tensor(f16, cute.make_layout(cute.size(image)), 1024)
        for i in range(thread, cute.size(image), 128):
            plain[i] = image[i]
        layout = cute.tile_to_shape(atom, (cute.size(image) // COLUMNS, COLUMNS), (0, 1))
        swizzled = cute.recast_ptr(plain.iterator, layout.inner, dtype=f16)
        matrices.append(cute.make_tensor(swizzled, layout.outer))
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    of_a = mma.make_fragment_A(mine.partition_A(matrices[0]))
    of_b = mma.make_fragment_B(mine.partition_B(matrices[1]))
    sums = cute.make_rmem_tensor(mine.partition_C(c).shape, cutlass.Float32)
    mma.set(warpgroup.Field.ACCUMULATE, False)
    warpgroup.fence()
    for k in cutlass.range_constexpr(COLUMNS // 16):
        # CHECK-PTX: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
        cute.gemm(mma, sums, of_a[None, None, k], of_b[None, None, k], sums)
        mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(sums, mine.partition_C(c))


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, kind: cutlass.Constexpr):
    kernel(a, b, c, kind).launch(grid=(1, 1, 1), block=(128, 1, 1))


def matrices():
    a = (np.arange(64 * 64) % 7 - 3).reshape(64, 64)
    return a, (np.arange(8 * 64) % 5 - 2).reshape(8, 64)


def image(matrix, kind):
    """The matrix as its bytes lie: atoms of 8 rows, along the rows first, and in each line of 128 bytes the swizzle."""
    columns, rows = 8 << BITS[kind], matrix.shape[0]
    row, column = np.indices(matrix.shape)
    atom = row // 8 + column // columns * (rows // 8)
    byte = 2 * (atom * 8 * columns + row % 8 * columns + column % columns)
    byte ^= (byte >> 7 & (1 << BITS[kind]) - 1) << 4
    flat = np.empty(matrix.size, np.float16)
    flat[byte // 2] = matrix
    return torch.from_numpy(flat).to("cuda")


def run(kind):
    c = torch.full((64, 8), -99.0, device="cuda")
    images = [from_dlpack(image(each, kind), assumed_align=16) for each in matrices()]
    host(*images, from_dlpack(c, assumed_align=16), kind)
    return {"c": c}


def expected(kind):
    a, b = matrices()
    return {"c": (a @ b.T).astype(np.float32)}


if __name__ == "__main__":
    print(run(kind="SW128"))
