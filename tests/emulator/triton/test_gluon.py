"""Kernels in Gluon that Triton compiles for sm_100a without a GPU: right results under three schedules, and no finding.

Their author places tensor memory, copies, mbarriers and warps; gluon_kernels.py has them.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.families.warpgroup.test_emit import stored
from tests.emulator.triton.compiled_kernel import aligned
from tests.emulator.triton.test_tcgen05 import FP4, checked

pytestmark = pytest.mark.slow
F16, F32 = "*fp16", "*fp32"


def tile(rows: int, columns: int) -> str:
    """The type of a descriptor of boxes of f16, whose rows of 128 bytes are swizzled."""
    return f"tensordesc<fp16[{rows}, {columns}],NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)>"


def small(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape)


def halves(values: np.ndarray) -> np.ndarray:
    return aligned(values.astype(np.float16))


@pytest.mark.parametrize("warps", [4, 8])
def test_a_product_of_a_product_in_tensor_memory(compiled_gluon, warps):
    m, n, k, d = 128, 64, 64, 64
    types = {"a_ptr": F16, "b_ptr": F16, "v_ptr": F16, "o_ptr": F32}
    kernel = compiled_gluon("chained_products", types, {"M": m, "N": n, "K": k, "D": d}, warps, "b200")
    assert kernel.ptx.count("tcgen05.mma.") >= 2 and "tcgen05.st" in kernel.ptx
    a, b, v = small(0, m, k), small(1, n, k), small(2, n, d)
    o = np.zeros((m, d), np.float32)
    for result in checked(kernel, (1,), [halves(a), halves(b), halves(v), o], o):
        assert np.array_equal(result, np.maximum(a @ b.T, 0) @ v)


@pytest.mark.parametrize("stages, k", [(2, 256), (3, 448), (4, 128)])
def test_a_pipeline_of_boxes(compiled_gluon, stages, k):
    m, n = 256, 128
    constants = {"BM": 128, "BN": 64, "BK": 64, "STAGES": stages}
    types = {"a": tile(128, 64), "b": tile(64, 64), "c": tile(128, 64), "K": "i32"}
    kernel = compiled_gluon("pipelined_product", types, constants, 4, "b200")
    assert "cp.async.bulk.tensor.2d" in kernel.ptx and "tcgen05.mma." in kernel.ptx
    a, b = small(0, m, k), small(1, n, k)
    c = halves(np.zeros((m, n)))
    for result in checked(kernel, (2, 2), [(halves(a),), (halves(b),), (c,), k], c):
        assert np.array_equal(result, (a @ b.T).astype(np.float16))


@pytest.mark.parametrize("stages, blocks", [(2, 1), (3, 2)])
def test_specialised_warps_with_two_accumulators(compiled_gluon, stages, blocks):
    m, n, k = 256, 192, 192
    constants = {"BM": 128, "BN": 64, "BK": 64, "STAGES": stages}
    types = {"a": tile(128, 64), "b": tile(64, 64), "c": tile(128, 64), "M": "i32", "N": "i32", "K": "i32"}
    kernel = compiled_gluon("specialised_product", types, constants, 4, "b200")
    assert "tcgen05.commit" in kernel.ptx and "setmaxnreg" in kernel.ptx
    a, b = small(0, m, k), small(1, n, k)
    c = halves(np.zeros((m, n)))
    for result in checked(kernel, (blocks,), [(halves(a),), (halves(b),), (c,), m, n, k], c):
        assert np.array_equal(result, (a @ b.T).astype(np.float16))


@pytest.mark.parametrize("is_packed", [False, True])
def test_scales_that_threads_put_in_tensor_memory(compiled_gluon, is_packed):
    m, n, k = 128, 64, 256
    kind = "*u8" if is_packed else "*fp8e4nv"
    types = {"a_ptr": kind, "b_ptr": kind, "a_scale_ptr": "*u8", "b_scale_ptr": "*u8", "c_ptr": F32}
    constants = {"M": m, "N": n, "K": k, "PACKED": is_packed}
    kernel = compiled_gluon("scaled_product", types, constants, 4, "b200")
    assert f"kind::{'mxf4' if is_packed else 'mxf8f6f4'}" in kernel.ptx
    random, arrays, factors = np.random.default_rng(3), [], []
    for rows in (m, n):
        if is_packed:
            codes = random.integers(0, 16, (rows, k))
            values = FP4[codes & 7] * np.where(codes & 8, -1, 1)
            arrays.append(aligned((codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)))
        else:
            values = random.integers(-3, 4, (rows, k))
            arrays.append(stored(values, "e4m3"))
        factors.append(values)
    scales = [random.integers(125, 130, (rows, k // 32)) for rows in (m, n)]
    a, b = (each * (2.0 ** (scale - 127)).repeat(32, 1) for each, scale in zip(factors, scales))
    c = np.zeros((m, n), np.float32)
    for result in checked(kernel, (1,), [*arrays, *(aligned(each.astype(np.uint8)) for each in scales), c], c):
        assert np.array_equal(result, a @ b.T)


def test_rows_that_a_copy_gathers(compiled_gluon):
    m, n, k, rows = 300, 64, 64, np.random.default_rng(5).integers(0, 300, 128).astype(np.int32)
    types = {"a": tile(1, 64), "b": tile(64, 64), "rows_ptr": "*i32", "c_ptr": F32}
    kernel = compiled_gluon("gathered_product", types, {"BM": 128, "BN": 64, "BK": 64}, 4, "b200")
    assert "tile::gather4" in kernel.ptx
    a, b = small(0, m, k), small(1, n, k)
    c = np.zeros((128, n), np.float32)
    for result in checked(kernel, (1,), [(halves(a),), (halves(b),), rows, c], c):
        assert np.array_equal(result, a[rows] @ b.T)


@pytest.mark.parametrize("tiles", [1, 7])
def test_tiles_of_blocks_that_have_not_begun(compiled_gluon, tiles):
    types = {"a": tile(128, 64), "c": tile(128, 64), "M": "i32"}
    kernel = compiled_gluon("tiles_by_cancelling", types, {"BM": 128, "BN": 64}, 4, "b200")
    assert "clusterlaunchcontrol.try_cancel" in kernel.ptx
    a = small(0, 128 * tiles, 64)
    c = halves(np.zeros(a.shape))
    for result in checked(kernel, (tiles,), [(halves(a),), (c,), len(a)], c):
        assert np.array_equal(result, 2 * a)
