"""ldmatrix and stmatrix: a round trip, a transposition; products; and what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Float16, Float32, Int32, Int64, Vector, cute
from dsl.cutlass._mlir import ir
from dsl.cutlass._mlir.dialects import llvm, vector
from dsl.cutlass.cutlass_dsl import T
from dsl.cutlass.experimental import primitives as prims
from tests.primitives import kernels


@pytest.mark.parametrize("layout", ["ROW", "COL"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_come_back_as_they_were_or_transposed(count, layout):
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        s = Array(Float16, (32, 8), space=AddressSpace.smem, alignment=16)
        for j in range(8):
            s[i, j] = a[i, j]
        prims.barrier_cta_sync()
        registers = prims.ldmatrix(s.data_ptr((i, 0)), count, prims.MMALayout.ROW)
        assert type(registers) is (Int32 if count == 1 else Vector)
        prims.barrier_cta_sync()
        prims.stmatrix(s.data_ptr((i, 0)), registers, prims.MMALayout[layout])
        prims.barrier_cta_sync()
        for j in range(8):
            a[i, j] = s[i, j]

    values = np.arange(256, dtype=np.float16).reshape(32, 8)
    expected = values.copy()
    if layout == "COL":
        expected.reshape(4, 8, 8)[:count] = values.reshape(4, 8, 8)[:count].transpose(0, 2, 1)
    assert np.array_equal(kernels.run(body, values.copy(), threads=32), expected)


MISTAKES = [
    (lambda s: prims.ldmatrix(s, 3, "row"), "ldmatrix loads 1, 2 or 4 matrices, got 3"),
    (lambda s: prims.ldmatrix(s, 4, "diagonal"), "layout must be one of row, col, got 'diagonal'"),
    (lambda s: prims.ldmatrix(s, 2, "col", shape=prims.LoadShape.M16N16, src_format=prims.LoadSrcFormat.B8),
     "ldmatrix of m16n16 needs compute capability 10, and this compiler's newest is 9.0"),
    (lambda s: prims.stmatrix(s, [1, 2], "col", shape=prims.StoreShape.M16N8),
     "stmatrix of m16n8 needs compute capability 10, and this compiler's newest is 9.0"),
    (lambda s: prims.stmatrix(s, [1, 2, 3], "row"), "stmatrix stores 1, 2 or 4 matrices, got 3"),
    (lambda s: prims.stmatrix(s, [True], "row"), "stmatrix stores registers of 32 bits, got Python bool"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(Array(Float16, 64, space=AddressSpace.smem, alignment=16)))
    assert str(error.value.message) == message


# --- products ---------------------------------------------------------------------------------------------------------


def product(layout_a="row", shape=(16, 8, 8)):
    """A kernel: D = A B of f16 (16 x 8, 8 x 8) with f32 sums, all in one array of 16 rows: A, B transposed, D.

    PTX ISA, m16n8k8: lane t has A[t/4 (+8)][2(t%4) ..], B[2(t%4) ..][t/4] and D[t/4 (+8)][2(t%4) ..].
    """

    def body(out, matrices):
        lane, _, _ = cute.arch.thread_idx()
        row, column = lane // 4, lane % 4 * 2
        pair = ir.VectorType.get([2], T.f16())

        def register(first, second):
            return vector.from_elements(pair, [first.ir_value(), second.ir_value()])

        a = [register(matrices[row + at, column], matrices[row + at, column + 1]) for at in (0, 8)]
        b = [register(matrices[16 + row, column], matrices[16 + row, column + 1])]
        c = [Float32(1.0).ir_value()] * 4
        result = llvm.StructType.get_literal([T.f32()] * 4)
        d = prims.mma_sync(result, shape, layout_a, "col", a, b, c)
        for i in range(4):
            out[row + 8 * (i // 2), column + i % 2] = Float32(llvm.extractvalue(T.f32(), d, [i]))

    return body


def test_a_product_of_registers():
    random = np.random.default_rng(1)
    matrices = random.integers(-4, 5, (24, 8)).astype(np.float16)
    out = kernels.run(product(), np.zeros((16, 8), np.float32), matrices, threads=32)
    a, b = matrices[:16].astype(np.float32), matrices[16:].astype(np.float32)
    assert np.array_equal(out, a @ b.T + 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shape": (16, 8, 9)}, "there is no such product"),
        ({"layout_a": "across"}, "layout_a must be one of row, col, got 'across'"),
    ],
)
def test_products_that_ptx_does_not_have(wrong, message):
    with pytest.raises(DSLUserCodeError, match=message):
        kernels.run(product(**wrong), np.zeros((16, 8), np.float32), np.zeros((24, 8), np.float16), threads=32)


def test_groups_of_products():
    def body(a, b):
        prims.wgmma_fence_aligned()
        prims.wgmma_commit_group_sync_aligned()
        prims.wgmma_wait_group_sync_aligned(1)

    text = kernels.ptx(body, threads=128)
    lines = [line.strip() for line in text.splitlines() if "wgmma" in line]
    assert lines == [
        "wgmma.fence.sync.aligned;",
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 1;",
    ]
    with pytest.raises(DSLUserCodeError, match="not negative, got -1"):
        kernels.ptx(lambda a, b: prims.wgmma_wait_group_sync_aligned(-1), threads=128)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_product_of_a_warpgroup_by_descriptors():
    """Core matrices of 8 x 8 without a swizzle. PTX ISA, m64n8k16: lane t of warp w has D[16 w + t/4 (+8)][2(t%4) ..]."""

    def body(out, given):
        t, _, _ = cute.arch.thread_idx()
        a = Array(Float16, 1024, space=AddressSpace.smem, alignment=128)
        b = Array(Float16, 128, space=AddressSpace.smem, alignment=128)
        for i in range(8):
            m, k = (t + 128 * i) // 16, (t + 128 * i) % 16
            a[(k // 8) * 512 + (m // 8) * 64 + (m % 8) * 8 + k % 8] = given[m, k]
        n, k = t // 16, t % 16
        b[(k // 8) * 64 + n * 8 + k % 8] = given[64 + n, k]
        cute.arch.fence_proxy("async.shared", space="cta")
        prims.barrier_cta_sync()
        one, (da, db) = 128 >> 4 << 32, (Int64(s.data_ptr().toint() >> 4 & 0x3FFF) for s in (a, b))
        struct = ir.Type.parse("!llvm.struct<(f32, f32, f32, f32)>")
        sums = llvm.mlir_undef(struct)
        for i in range(4):
            sums = llvm.insertvalue(sums, Float32(i).ir_value(), ir.DenseI64ArrayAttr.get([i]))
        shape, words = ir.Attribute.parse("#nvvm.shape<m = 64, n = 8, k = 16>"), prims.WGMMAType
        prims.wgmma_fence_aligned()
        made = prims.wgmma_mma_async(
            struct, sums, da + (one | 1024 >> 4 << 16), db + (one | 128 >> 4 << 16), shape, words.F16, words.F16, words.F32,
            prims.WGMMAScaleOut.ONE, prims.WGMMAScaleIn.NEG, prims.WGMMAScaleIn.ONE, prims.MMALayout.ROW,
            prims.MMALayout.COL,
        )  # fmt: skip
        prims.wgmma_commit_group_sync_aligned()
        prims.wgmma_wait_group_sync_aligned(0)
        for i in range(4):
            value = llvm.extractvalue(T.f32(), made, ir.DenseI64ArrayAttr.get([i]))
            out[t // 32 * 16 + t % 32 // 4 + 8 * (i // 2), t % 4 * 2 + i % 2] = Float32(value)

    given = np.random.default_rng(0).integers(-3, 4, (72, 16)).astype(np.float16)
    got = kernels.run(body, np.zeros((64, 8), np.float32), given, threads=128)
    rows, columns = np.mgrid[:64, :8]
    expected = rows % 16 // 8 * 2 + columns % 2 - given[:64].astype(np.float32) @ given[64:].T.astype(np.float32)
    np.testing.assert_array_equal(got, expected)
