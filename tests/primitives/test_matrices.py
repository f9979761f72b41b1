"""ldmatrix and stmatrix: a round trip, a transposition, and what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Float16, Int32, Vector, cute
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
