"""Prints the layouts of mma atoms, tiled mmas and the copies that fit them, and counts what PTX has of each.

Run under both compilers by test_mma.py.
"""

import re

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32
from cutlass.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, warp
from cutlass.cute.runtime import make_fake_compact_tensor

OPERATIONS = (
    lambda: warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)),
    lambda: warp.MmaF16BF16Op(Float16, Float16, (16, 8, 8)),
    lambda: warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 8)),
    lambda: warp.MmaTF32Op((16, 8, 4)),
    lambda: warp.MmaTF32Op((16, 8, 8)),
    lambda: warp.MmaFP8Op(Float8E4M3FN, Float32, (16, 8, 32)),
    lambda: warp.MmaFP8Op(Float8E5M2, Float16, (16, 8, 16)),
    lambda: MmaUniversalOp(Float32),
)


def tilings():
    half = cute.make_layout((2, 4, 2), stride=(1, 4, 2))
    return (
        ((1, 1, 1), None),
        ((2, 2, 1), None),
        ((2, 2, 1), (32, 32, 32)),
        ((4, 1, 1), (64, 16, 32)),
        ((1, 2, 2), None),
        (cute.make_layout((2, 2, 1), stride=(2, 1, 0)), None),
        ((2, 1, 1), (None, half, None)),
    )


def show_operation(op):
    atom = cute.make_mma_atom(op)
    print(op)
    print(atom)
    for layout, permutation in tilings():
        tiled = cute.make_tiled_mma(op, layout, permutation_mnk=permutation)
        print(tiled)
        print(tiled.shape_mnk, tiled.size, tiled.thr_layout_vmnk, [tiled.get_tile_size(i) for i in range(3)])
        print(tiled.tv_layout_A_tiled, tiled.tv_layout_B_tiled, tiled.tv_layout_C_tiled)
        print(
            tiled.partition_shape_A((128, 64)), tiled.partition_shape_B((128, 64)), tiled.partition_shape_C((128, 64))
        )
        mine = tiled.get_slice(tiled.size * 5 // 7)
        matrix, batch = cute.make_identity_tensor((128, 64)), cute.make_identity_tensor((128, 64, 3))
        print(mine.partition_A(matrix), mine.partition_B(batch), mine.partition_C(batch))
        for order in ((1, 128), (64, 1)):
            data = cute.make_rmem_tensor(cute.make_layout((128, 64), stride=order), Float32)
            parts = mine.partition_A(data), mine.partition_B(data), mine.partition_C(data)
            print(
                *(part.layout for part in parts),
                tiled.make_fragment_A(parts[0]).layout,
                tiled.make_fragment_B(parts[1]).layout,
                tiled.make_fragment_C(parts[2]).layout,
            )


def copies():
    for transpose in (False, True):
        for count in (1, 2, 4):
            yield warp.LdMatrix8x8x16bOp(transpose, count), {}
            yield warp.StMatrix8x8x16bOp(transpose, count), {}
    for bits in (32, 64):
        yield CopyUniversalOp(), {"num_bits_per_copy": bits}


def show_copies(op, options):
    atom = cute.make_copy_atom(op, Float16, **options)
    print(op if not options else options, atom)
    for layout, permutation in (((2, 2, 1), (32, 32, 16)), ((1, 4, 1), (16, 64, 16))):
        mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), layout, permutation_mnk=permutation)
        makers = (cute.make_tiled_copy_A, cute.make_tiled_copy_B, cute.make_tiled_copy_C, cute.make_tiled_copy_C_atom)
        fragments = (
            mma.make_fragment_A(mma.partition_shape_A((128, 64))),
            mma.make_fragment_B(mma.partition_shape_B((128, 64))),
            *[mma.make_fragment_C(mma.partition_shape_C((128, 64)))] * 2,
        )
        for make, fragment in zip(makers, fragments):
            tiled = make(atom, mma)
            print(tiled)
            mine = tiled.get_slice(77)
            whole = cute.make_identity_tensor((128, 64, 2))
            print(
                tiled.layout_src_tv_tiled,
                tiled.layout_dst_tv_tiled,
                tiled.size,
                mine.partition_S(whole),
                mine.partition_D(whole),
                mine.retile(fragment).layout,
            )
            if make is cute.make_tiled_copy_C:
                other = cute.make_copy_atom(CopyUniversalOp(), Float16, num_bits_per_copy=32)
                print(cute.make_tiled_copy_S(other, tiled), cute.make_tiled_copy_D(other, tiled))


def show_cotiled():
    atom = cute.make_copy_atom(CopyUniversalOp(), Float16, num_bits_per_copy=64)
    threads = cute.make_layout((32, 4), stride=(4, 1))
    for data in (cute.make_layout((16, 32)), cute.make_layout((32, 32), stride=(32, 1))):
        print(cute.make_cotiled_copy(atom, threads, data))


@cute.jit
def layouts():
    for operation in OPERATIONS:
        show_operation(operation())
    for op, options in copies():
        show_copies(op, options)
    show_cotiled()


@cute.kernel
def product(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, transpose: cutlass.Constexpr, store: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float16, (16, 8, 16)), (2, 2, 1), permutation_mnk=(32, 32, 16))
    memory = cutlass.memory.SmemAllocator()
    order = (0, 1) if transpose else (1, 0)
    s_a = memory.allocate_tensor(Float16, cute.make_ordered_layout((64, 64), order), 1024, cute.make_swizzle(3, 4, 3))
    s_c = memory.allocate_tensor(Float16, cute.make_ordered_layout((64, 64), (1, 0)), 128)
    mine = mma.get_slice(thread)
    mine.partition_A(s_a).fill(0.0)
    cute.autovec_copy(mine.partition_A(a), mine.partition_A(s_a))
    cute.arch.sync_threads()
    load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, 4), Float16), mma)
    f_a, f_b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(b))
    f_c = mma.make_fragment_C(mine.partition_C(c))
    cute.copy(load, load.get_slice(thread).partition_S(s_a), load.get_slice(thread).retile(f_a))
    cute.autovec_copy(mine.partition_B(b), f_b)
    f_c.fill(0.0)
    cute.gemm(mma, f_c, f_a, f_b, f_c)
    back = cute.make_tiled_copy_C(cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, store), Float16), mma)
    cute.copy(back, back.get_slice(thread).retile(f_c), back.get_slice(thread).partition_D(s_c))
    cute.arch.sync_threads()
    cute.autovec_copy(mine.partition_C(s_c), mine.partition_C(c))


@cute.jit
def multiply(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, transpose: cutlass.Constexpr, store: cutlass.Constexpr):
    product(a, b, c, transpose, store).launch(grid=(1, 1, 1), block=(128, 1, 1))


def counts(transpose, store, folder):
    fakes = [make_fake_compact_tensor(Float16, (64, 64), stride_order=(1, 0), assumed_align=16) for _ in range(3)]
    compiled = cute.compile(
        multiply, *fakes, transpose, store, options=f"--keep-ptx --gpu-arch sm_90a --dump-dir {folder}"
    )
    found = re.findall(r"(?:mma\.sync|ldmatrix|stmatrix|(?:ld|st)\.shared)[\w.:]*", compiled.__ptx__)
    for name in sorted(set(found)):
        print(transpose, store, name.replace("shared::cta", "shared"), found.count(name))


if __name__ == "__main__":
    import tempfile

    layouts()
    with tempfile.TemporaryDirectory() as kept:
        counts(False, 4, kept)
        counts(True, 2, kept)
