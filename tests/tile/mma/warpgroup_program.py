"""Prints layouts of a warpgroup's products and what small ones give. Run under both compilers by test_warpgroup.py."""

import itertools

import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int32, Uint8
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.runtime import from_dlpack

K, MN = OperandMajorMode.K, OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
Kind = warpgroup.SmemLayoutAtomKind
N = 32


def operations():
    half = (Float16, Float32, (64, N, 16))
    return (
        *(lambda a=a, b=b: warpgroup.MmaF16BF16Op(*half, SMEM, a, b) for a, b in itertools.product((K, MN), repeat=2)),
        lambda: warpgroup.MmaF16BF16Op(Float16, Float16, (64, N), SMEM, K, K),
        lambda: warpgroup.MmaF16BF16Op(BFloat16, Float32, (64, N, 16), RMEM, K, MN),
        lambda: warpgroup.MmaF16BF16Op(Float16, Float16, (64, N, 16), RMEM, K, K),
        lambda: warpgroup.MmaF8Op(Float8E4M3FN, Float8E5M2, Float32, (64, N, 32), SMEM, K, K),
        lambda: warpgroup.MmaF8Op(Float8E5M2, Float8E5M2, Float16, (64, N, 32), RMEM, K, K),
        lambda: warpgroup.MmaI8Op(Int8, Uint8, Int32, (64, N, 32), SMEM, K, K),
        lambda: warpgroup.MmaI8Op(Uint8, Uint8, Int32, (64, N, 32), RMEM, K, K),
    )


def tile(kind, dtype, extents):
    """(M or N, K) in shared memory."""
    return cute.tile_to_shape(warpgroup.make_smem_layout_atom(kind, dtype), extents, (0, 1))


def show_layouts(op):
    print(op)
    for layout in ((1, 1, 1), (2, 1, 1), (1, 2, 1)):
        mma = cute.make_tiled_mma(op, layout)
        print(mma)
        print(mma.size, [mma.get_tile_size(mode) for mode in range(3)])
        print(mma.tv_layout_A_tiled, mma.tv_layout_B_tiled, mma.tv_layout_C_tiled)
        print(mma.partition_shape_A((128, 64)), mma.partition_shape_B((64, 64)), mma.partition_shape_C((128, 64)))
        mine, matrix = mma.get_slice(mma.size - 3), cute.make_identity_tensor((128, 64))
        print(mine.partition_A(matrix), mine.partition_B(matrix), mine.partition_C(matrix))


def show_descriptors(smem):
    start = smem.allocate_array(Float16, 128 * 128, byte_alignment=1024)
    for kind, major in itertools.product(Kind, (K, MN)):
        if kind.name.startswith(major.name + "_"):
            mma = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(Float16, Float32, (64, 64, 16), SMEM, major, major))
            layout = tile(kind, Float16, (128, 128))
            whole = cute.make_tensor(cute.recast_ptr(start, layout.inner, dtype=Float16), layout.outer)
            part = mma.get_slice(0).partition_A(whole)
            fragment = mma.make_fragment_A(part)
            print(kind, part, fragment.layout, fragment[None, None, 1].layout)
            print(mma.make_fragment_B(mma.get_slice(0).partition_B(whole)).layout)


@cute.kernel
def layouts():
    for make in operations():
        show_layouts(make())
    for kind, dtype in itertools.product(Kind, (Int8, Float16, Float32)):
        print(kind, warpgroup.make_smem_layout_atom(kind, dtype))
    show_descriptors(cutlass.memory.SmemAllocator())
    print(list(warpgroup.Field), list(warpgroup.OperandSource), list(Kind))


@cute.kernel
def product(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, make: cutlass.Constexpr, kinds: cutlass.Constexpr):
    """C = A * B, then C += A * B again, once by a field that is known while running only."""
    thread = cute.arch.thread_idx()[0]
    op = make()
    mma = cute.make_tiled_mma(op)
    smem, mine = cutlass.memory.SmemAllocator(), mma.get_slice(thread)
    layout_a, layout_b = tile(kinds[0], op.a_dtype, a.shape), tile(kinds[1], op.b_dtype, b.shape)
    s_a = smem.allocate_tensor(op.a_dtype, layout_a.outer, 1024, layout_a.inner)
    s_b = smem.allocate_tensor(op.b_dtype, layout_b.outer, 1024, layout_b.inner)
    for i in range(thread, cute.size(a), 128):
        s_a[i] = a[i]
    for i in range(thread, cute.size(b), 128):
        s_b[i] = b[i]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    f_b = mma.make_fragment_B(mine.partition_B(s_b))
    if cutlass.const_expr(op.a_src is SMEM):
        f_a = mma.make_fragment_A(mine.partition_A(s_a))
    else:
        f_a = mma.make_fragment_A(mma.partition_shape_A(a.shape))
        cute.autovec_copy(mine.partition_A(s_a), f_a)
    sums = cute.make_rmem_tensor(mine.partition_C(c).shape, op.acc_dtype)
    mma.set(warpgroup.Field.ACCUMULATE, False)
    for trip in cutlass.range(2, unroll=1):
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(f_a, mode=[2])):
            cute.gemm(mma, sums, f_a[None, None, k], f_b[None, None, k], sums)
            mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
    cute.autovec_copy(sums, mine.partition_C(c))


@cute.jit
def show():
    layouts().launch(grid=1, block=128)


@cute.jit
def multiply(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, make: cutlass.Constexpr, kinds: cutlass.Constexpr):
    product(a, b, c, make, kinds).launch(grid=1, block=128)


def argument(tensor, dtype):
    made = from_dlpack(tensor, assumed_align=16)
    made.element_type = dtype
    return made


TORCH = {Float16: torch.float16, BFloat16: torch.bfloat16, Int8: torch.int8, Uint8: torch.uint8}
TORCH |= {Float32: torch.float32, Int32: torch.int32}
TORCH |= {Float8E4M3FN: torch.float8_e4m3fn, Float8E5M2: torch.float8_e5m2}


def numbers(rows, columns, dtype):
    """Small ones, whose sums are exact."""
    low = 0 if dtype is Uint8 else -3
    return (torch.arange(rows * columns) * 7 % 11 % 6 + low).reshape(rows, columns).to(TORCH[dtype])


def run(make, types, kinds, extent):
    a, b = numbers(128, extent, types[0]), numbers(64, extent, types[1])
    c = torch.zeros(128, 64, dtype=TORCH[types[2]], device="cuda")
    kept = [each.view(torch.uint8) if each.itemsize == 1 else each for each in (a, b)]
    on_device = [argument(each.cuda(), dtype) for each, dtype in zip(kept, types)]
    multiply(*on_device, argument(c, types[2]), make, kinds)
    expected = 2 * a.to(torch.float32) @ b.to(torch.float32).T
    print([each.__name__ for each in types], [kind.name for kind in kinds], bool((c.cpu().float() == expected).all()))
    print(c.cpu().flatten()[::97].tolist()[:12])


def main():
    show()
    makes = operations()
    half = (Float16, Float16, Float32)
    for make, kinds in (
        (makes[0], (Kind.K_SW128, Kind.K_SW64)),
        (makes[0], (Kind.K_INTER, Kind.K_SW32)),
        (makes[1], (Kind.K_SW64, Kind.MN_SW128)),
        (makes[2], (Kind.MN_SW64, Kind.K_SW128)),
        (makes[3], (Kind.MN_SW32, Kind.MN_INTER)),
        (makes[3], (Kind.MN_SW128, Kind.MN_SW64)),
    ):
        run(make, half, kinds, 64)
    run(makes[4], (Float16, Float16, Float16), (Kind.K_SW128, Kind.K_SW128), 64)
    run(makes[5], (BFloat16, BFloat16, Float32), (Kind.K_SW128, Kind.MN_SW64), 64)
    run(makes[6], (Float16, Float16, Float16), (Kind.K_SW128, Kind.K_SW128), 64)
    run(makes[7], (Float8E4M3FN, Float8E5M2, Float32), (Kind.K_SW128, Kind.K_SW64), 128)
    run(makes[8], (Float8E5M2, Float8E5M2, Float16), (Kind.K_SW64, Kind.K_SW32), 64)
    run(makes[9], (Int8, Uint8, Int32), (Kind.K_SW128, Kind.K_INTER), 128)
    run(makes[10], (Uint8, Uint8, Int32), (Kind.K_SW32, Kind.K_SW128), 128)


main()
