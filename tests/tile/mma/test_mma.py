"""Tiled mma, gemm and the copies that fit them: layouts and instructions agree with upstream, products with numpy.

Modules tested here: dsl/cutlass/cute/nvgpu/warp.py, dsl/gpu/matrix/mma.py, dsl/tile/copy/matrix_copy.py,
dsl/tile/mma/gemm.py, dsl/tile/mma/registers.py, dsl/tile/mma/tiled_mma.py, dsl/tile/tensor/major.py.
"""

from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, TFloat32, Uint8, cute
from dsl.cutlass.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, warp
from tests.recorded import output, recorded

PROGRAM = Path(__file__).with_name("mma_program.py")


@pytest.mark.slow
def test_layouts_and_instructions_are_upstreams():
    theirs = recorded(PROGRAM)
    assert theirs.count("\n") > 2000 and "mma.sync" in theirs
    assert output(PROGRAM, "-m", "dsl") == theirs


# --- products --------------------------------------------------------------------------------------------------------

# what an element is kept as here, for types that numpy has not
KEPT = {
    Float16: np.float16,
    BFloat16: np.uint16,
    TFloat32: np.float32,
    Float32: np.float32,
    Float64: np.float64,
    Float8E4M3FN: np.uint8,
    Float8E5M2: np.uint8,
}


def some(rng, shape, dtype, order="C"):
    """Small multiples of 1/4, which all types hold, as the type's bits and as float64."""
    values = rng.integers(-6, 7, shape) / 4
    bits = values.astype(np.float32).view(np.uint32)
    halves = values.astype(np.float16).view(np.uint16)
    kept = {
        BFloat16: lambda: (bits >> 16).astype(np.uint16),
        Float8E5M2: lambda: (halves >> 8).astype(np.uint8),
        Float8E4M3FN: lambda: np.where(
            halves & 0x7FFF == 0, 0, ((halves >> 7) - (8 << 3)) & 0x7F | halves >> 8 & 0x80
        ).astype(np.uint8),
    }.get(dtype)
    return (kept() if kept else values.astype(KEPT[dtype])), values


def typed(tensor, dtype):
    return cute.recast_tensor(tensor, dtype) if tensor.element_type is not dtype else tensor


CASES = [
    (lambda: warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (1, 1, 1), None),
    (lambda: warp.MmaF16BF16Op(Float16, Float16, (16, 8, 16)), (2, 2, 1), (32, 32, 16)),
    (lambda: warp.MmaF16BF16Op(Float16, Float32, (16, 8, 8)), (1, 2, 1), None),
    (lambda: warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)), (2, 1, 1), (32, 16, 16)),
    (lambda: warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 8)), (1, 1, 1), None),
    (lambda: warp.MmaTF32Op((16, 8, 8)), (2, 2, 1), None),
    (lambda: warp.MmaTF32Op((16, 8, 4)), (1, 1, 1), None),
    (lambda: warp.MmaFP8Op(Float8E4M3FN, Float32, (16, 8, 32)), (2, 2, 1), None),
    (lambda: warp.MmaFP8Op(Float8E5M2, Float16, (16, 8, 16)), (1, 1, 1), None),
    (lambda: MmaUniversalOp(Float32), (8, 4, 1), None),
    (lambda: MmaUniversalOp(Float64), (4, 8, 1), None),
    (lambda: MmaUniversalOp(Float16), (4, 8, 1), (8, 8, 1)),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)))
def test_gemm_multiplies(run, aligned, case):
    make, layout, permutation = CASES[case]
    op = make()
    m, n, k = (16, 16, 4) if isinstance(op, MmaUniversalOp) else (32, 32, 64)
    ab, acc = op.ab_dtype, op.acc_dtype

    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        mma = cute.make_tiled_mma(make(), layout, permutation_mnk=permutation)
        mine = mma.get_slice(thread)
        parts = mine.partition_A(typed(a, ab)), mine.partition_B(typed(b, ab)), mine.partition_C(c)
        f_a, f_b, f_c = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1]), mma.make_fragment_C(parts[2])
        for source, fragment in zip(parts, (f_a, f_b, f_c)):
            cute.basic_copy(source, fragment)
        cute.gemm(mma, f_c, f_a, f_b, f_c)
        cute.basic_copy(f_c, parts[2])

    rng = np.random.default_rng(case)
    (a, a_values), (b, b_values), (c, c_values) = (
        some(rng, shape, dtype) for shape, dtype in (((m, k), ab), ((n, k), ab), ((m, n), acc))
    )
    given = [aligned(x.shape, x.dtype) for x in (a, b, c)]
    for to, source in zip(given, (a, b, c)):
        to[:] = source
    threads = int(np.prod(layout)) * (1 if isinstance(op, MmaUniversalOp) else 32)
    run(kernel, *given, threads=threads)
    assert np.array_equal(given[2].astype(np.float64), (a_values @ b_values.T + c_values).astype(KEPT[acc]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "count, transpose, swizzled",
    [(1, False, False), (1, True, True), (2, True, False), (2, False, True), (4, False, True), (4, True, True)],
)
def test_ldmatrix_brings_what_the_mma_needs(run, aligned, count, transpose, swizzled):
    """A from shared memory, K or M contiguous, with and without a swizzle; C back through stmatrix."""
    size = 64

    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(Float16, Float16, (16, 8, 16)), (2, 2, 1), permutation_mnk=(32, 32, 16)
        )
        mine = mma.get_slice(thread)
        memory = cutlass.memory.SmemAllocator()
        swizzle = cute.make_swizzle(3, 4, 3) if swizzled else None
        rows = cute.make_ordered_layout((size, size), (0, 1) if transpose else (1, 0))
        s_a = memory.allocate_tensor(Float16, rows, 1024, swizzle)
        s_c = memory.allocate_tensor(Float16, cute.make_ordered_layout((size, size), (1, 0)), 128)
        mine.partition_A(s_a).fill(100.0)
        cute.autovec_copy(mine.partition_A(a), mine.partition_A(s_a))
        cute.arch.sync_threads()
        load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, count), Float16), mma)
        f_a, f_b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(b))
        f_c = mma.make_fragment_C(mine.partition_C(c))
        cute.copy(load, load.get_slice(thread).partition_S(s_a), load.get_slice(thread).retile(f_a))
        cute.basic_copy(mine.partition_B(b), f_b)
        f_c.fill(0.0)
        cute.gemm(mma, f_c, f_a, f_b, f_c)
        store = cute.make_tiled_copy_C(cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, count), Float16), mma)
        cute.copy(store, store.get_slice(thread).retile(f_c), store.get_slice(thread).partition_D(s_c))
        cute.arch.sync_threads()
        cute.basic_copy(mine.partition_C(s_c), mine.partition_C(c))

    rng = np.random.default_rng(count)
    a, b, c = (aligned((size, size), np.float16) for _ in range(3))
    a[:], b[:] = (rng.integers(-2, 3, (size, size)) for _ in range(2))
    run(kernel, a, b, c, threads=128)
    assert np.array_equal(c, (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16))


def test_gemm_takes_fewer_modes_and_another_destination(run, aligned):
    """(V), (V) -> (V) and (V, M), (V, N) -> (V, M, N), with D apart from C."""

    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)))
        mine = mma.get_slice(thread)
        f_a, f_b = mma.make_fragment_A(mine.partition_A(a)), mma.make_fragment_B(mine.partition_B(b))
        cute.basic_copy(mine.partition_A(a), f_a)
        cute.basic_copy(mine.partition_B(b), f_b)
        c, d = mma.make_fragment_C(mine.partition_C(out)), mma.make_fragment_C(mine.partition_C(out))
        c.fill(1.0)
        d.fill(100.0)
        cute.gemm(mma, d, f_a[None, None, 0], f_b[None, None, 0], c)
        cute.gemm(mma, d[None, 0, 0], f_a[None, 0, 1], f_b[None, 0, 1], d[None, 0, 0])
        cute.mma_atom_call(mma, d[None, 1, 0], f_a[None, 1, 1], f_b[None, 0, 1], d[None, 1, 0])
        cute.basic_copy(d, mine.partition_C(out))

    rng = np.random.default_rng(3)
    a, b, out = aligned((32, 32), np.float16), aligned((16, 32), np.float16), aligned((32, 16))
    a[:], b[:] = rng.integers(-2, 3, a.shape), rng.integers(-2, 3, b.shape)
    run(kernel, a, b, out)
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    expected = wide_a[:, :16] @ wide_b[:, :16].T + 1
    expected[:, :8] += wide_a[:, 16:] @ wide_b[:8, 16:].T
    assert np.array_equal(out, expected)


# --- what is refused -------------------------------------------------------------------------------------------------


def half_mma(layout=(1, 1, 1)):
    return cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), layout)


def fragments(mma, shape=(16, 8, 16)):
    m, n, k = shape
    return (
        mma.make_fragment_C(mma.partition_shape_C((m, n))),
        mma.make_fragment_A(mma.partition_shape_A((m, k))),
        mma.make_fragment_B(mma.partition_shape_B((n, k))),
    )


def wrong_element():
    mma = half_mma()
    d, a, b = fragments(mma)
    cute.gemm(mma, d, cute.make_rmem_tensor(a.layout, BFloat16), b, d)


def wrong_k():
    mma = half_mma()
    d, a, _ = fragments(mma, (16, 8, 32))
    cute.gemm(mma, d, a, fragments(mma)[2], d)


def wrong_modes():
    mma = half_mma()
    d, a, b = fragments(mma)
    cute.gemm(mma, d, a[None, None, 0], b, d)


def wrong_values():
    mma = half_mma()
    d, a, b = fragments(mma)
    cute.gemm(mma, d, cute.make_rmem_tensor((4, 1, 1), Float16), b, d)


def shared_operand():
    mma = half_mma()
    d, a, b = fragments(mma)
    memory = cutlass.memory.SmemAllocator()
    cute.gemm(mma, d, memory.allocate_tensor(Float16, a.layout, 16), b, d)


def indivisible_shape():
    half_mma((2, 2, 1)).partition_shape_C((40, 16))


def one_mode():
    half_mma().get_slice(0).partition_C(cute.make_identity_tensor(128))


def rows_apart(stride=(1, 64)):
    mma = half_mma()
    memory = cutlass.memory.SmemAllocator()
    s_a = memory.allocate_tensor(Float16, cute.make_layout((64, 64), stride=stride), 128)
    load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16), mma)
    load = load.get_slice(cute.arch.thread_idx()[0])
    cute.copy(load, load.partition_S(s_a), load.retile(mma.make_fragment_A(mma.partition_shape_A((64, 64)))))


def crooked_rows():
    rows_apart((60, 1))


def registers_first():
    mma = half_mma()
    load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16), mma).get_slice(0)
    fragment = mma.make_fragment_A(mma.partition_shape_A((64, 64)))
    cute.copy(load, load.retile(fragment), load.retile(fragment))


def one_thread():
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
    cute.make_tiled_copy_tv(atom, cute.make_layout((4, 4)), cute.make_layout((1, 8)))


REFUSED = [
    (
        lambda: warp.MmaF16BF16Op(Float32, Float32, (16, 8, 16)),
        "ab_dtype of MmaF16BF16Op must be BFloat16 or Float16, got Float32",
        "ab_dtype=Float16",
    ),
    (
        lambda: warp.MmaF16BF16Op(BFloat16, Float16, (16, 8, 16)),
        "acc_dtype of MmaF16BF16Op of BFloat16 must be Float32, got Float16",
        "acc_dtype=Float32",
    ),
    (
        lambda: warp.MmaTF32Op((16, 8, 16)),
        "shape_mnk of MmaTF32Op must be (16,8,4) or (16,8,8), got (16,8,16)",
        "shape_mnk=(16,8,8)",
    ),
    (
        lambda: MmaUniversalOp(cutlass.Int32),
        "abacc_dtype of MmaUniversalOp must be Float16 or Float64 or Float32, got Int32",
        "abacc_dtype=Float32",
    ),
    (
        lambda: warp.LdMatrix8x8x16bOp(False, 3),
        "LdMatrix8x8x16bOp moves 1, 2 or 4 matrices at once, got 3",
        "num_matrices=4",
    ),
    (lambda: warp.LdMatrix8x16x8bOp(True, 4), "LdMatrix8x16x8bOp does not transpose", "transpose=False"),
    (lambda: cute.make_mma_atom(Float16), "an mma atom takes an mma operation, got NumericMeta", "warp.Mma"),
    (
        lambda: half_mma((2, 2)),
        "atom layout of a tiled mma must be static with three modes M, N and K, got (2,2):(1,2)",
        "(2, 2, 1) is two atoms along M",
    ),
    (
        lambda: cute.make_tiled_mma(MmaUniversalOp(Float32), (1, 1, 1), 32),
        "permutation_mnk must have an extent, a layout or None",
        "(32, 32, 16)",
    ),
    (lambda: half_mma().get(1), "get: an atom of MmaF16BF16Op has no fields", "leave it out"),
    (
        wrong_element,
        "gemm: A of MmaF16BF16Op must be of Float16, got a tensor of BFloat16",
        "tiled_mma.make_fragment_A",
    ),
    (
        wrong_k,
        "gemm: A (V, M, K), B (V, N, K), C and D (V, M, N) must agree in M, N and K, got A ((2,2,2),1,2), B "
        "((2,2),1,1)",
        "partition all of them with one tiled mma",
    ),
    (
        wrong_modes,
        "gemm is not defined for fragments with as many modes as these: D ((2,2),1,1), A ((2,2,2),1), B "
        "((2,2),1,1), C ((2,2),1,1)",
        "A (V, M, K), B (V, N, K)",
    ),
    (
        wrong_values,
        "one call of MmaF16BF16Op (16,8,16) takes 8 elements of A from each thread, but the first mode "
        "of this fragment has 4",
        "tiled_mma.make_fragment_A",
    ),
    (shared_operand, "gemm: A of MmaF16BF16Op must be in registers, got smem", "copy it into a fragment first"),
    (
        indivisible_shape,
        "partition_shape_C: the shape must be a multiple of the tile (32,16), got (40,16)",
        "a multiple of 32 for 40",
    ),
    (one_mode, "partition_C: C must have the modes M and N, got 128", "give it the shape (M, N)"),
    (
        rows_apart,
        "ldmatrix moves rows of 8 contiguous elements in shared memory, but the first mode of the "
        "source is (8,1):(64,0)",
        "the other `transpose`",
    ),
    (
        crooked_rows,
        "a row of ldmatrix must start at a multiple of 16 bytes, but the addresses of the source are "
        "only known to be multiples of 8",
        "byte_alignment=16",
    ),
    (registers_first, "ldmatrix needs its source in shared memory, got rmem", "CopyUniversalOp"),
    (one_thread, "the atom is one instruction of 32 threads, but the TV layout has 16", "a multiple of 32 threads"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_operands_that_do_not_fit_are_refused(refused, case):
    make, message, fix = REFUSED[case]

    @cute.kernel
    def kernel():
        make()

    said, offered = refused(kernel)
    assert message in said and fix in offered, (said, offered)


def test_a_matrix_copy_has_no_predicate(refused):
    @cute.kernel
    def kernel():
        mma = half_mma()
        memory = cutlass.memory.SmemAllocator()
        s_a = memory.allocate_tensor(Float16, cute.make_layout((64, 64), stride=(64, 1)), 128)
        load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16), mma).get_slice(0)
        fragment = load.retile(mma.make_fragment_A(mma.partition_shape_A((64, 64))))
        cute.copy(load, load.partition_S(s_a), fragment, pred=cute.make_rmem_tensor((1, 4, 4), cutlass.Boolean))

    said, offered = refused(kernel)
    assert said == "LdMatrix8x8x16bOp is one instruction of a warp and has no predicate" and "`pred` out" in offered


def test_gpus_that_lack_an_instruction_are_named(aligned):
    @cute.kernel
    def kernel():
        mma = cute.make_tiled_mma(warp.MmaFP8Op(Float8E4M3FN, Float32, (16, 8, 32)))
        d, a, b = fragments(mma, (16, 8, 32))
        cute.gemm(mma, d, a, b, d)

    @cute.jit
    def host():
        kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))

    with pytest.raises(cutlass.DSLUserCodeError, match="multiplies matrices of e4m3, which needs sm_89 or later"):
        cute.compile(host, options="--gpu-arch sm_80")
    cute.compile(host, options="--gpu-arch sm_89")


def test_atoms_are_carried_by_control_flow(run, aligned):
    """A dynamic loop and branch round a tiled mma and its fragments; a NamedBarrier in an object."""

    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, steps: cutlass.Int32):
        thread, _, _ = cute.arch.thread_idx()
        mma = half_mma()
        mine = mma.get_slice(thread)
        f_a, f_b = mma.make_fragment_A(mine.partition_A(a)), mma.make_fragment_B(mine.partition_B(b))
        f_c = mma.make_fragment_C(mine.partition_C(c))
        copy = cute.make_tiled_copy_C(cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=64), mma)
        cute.basic_copy(mine.partition_A(a), f_a)
        cute.basic_copy(mine.partition_B(b), f_b)
        f_c.fill(0.0)
        for step in range(steps):
            if step != 1:
                cute.gemm(mma, f_c, f_a, f_b, f_c)
        here = copy.get_slice(thread)
        cute.copy(copy, here.retile(f_c), here.partition_D(c))

    a, b, c = aligned((16, 16), np.float16), aligned((8, 16), np.float16), aligned((16, 8))
    a[:], b[:] = np.arange(256).reshape(16, 16) % 7, np.arange(128).reshape(8, 16) % 5
    run(kernel, a, b, c, 4)
    assert np.array_equal(c, 3 * (a.astype(np.float32) @ b.astype(np.float32).T))


def test_major_modes():
    from dsl.cutlass.utils import LayoutEnum

    @cute.jit
    def majors():
        found = []
        for stride in ((64, 1), (1, 64)):
            tensor = cute.make_rmem_tensor(cute.make_layout((64, 64), stride=stride), Uint8)
            found.append(LayoutEnum.from_tensor(tensor))
        assert found == [LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR]
        assert found[0].is_k_major_a() and found[0].is_k_major_b() and found[0].is_n_major_c()
        assert found[1].is_m_major_a() and found[1].is_n_major_b() and found[1].is_m_major_c()

    majors()
