"""ldmatrix and stmatrix: a round trip, a transposition; products; and what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Float16, Float32, Int32, Vector, cute
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
