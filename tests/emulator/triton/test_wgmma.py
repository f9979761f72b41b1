"""Kernels that Triton compiles for sm_90a without a GPU: right results under three schedules, and no finding."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.families.warpgroup.test_emit import stored

NAMES = {"f16": "fp16", "bf16": "bf16", "tf32": "fp32", "e4m3": "fp8e4nv", "e5m2": "fp8e5"}
RUNS = ((("race", "undefined"), 0), (("race",), 1), ((), 2))  # checks, seed


@pytest.mark.slow
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("kind", NAMES)
def test_product(compiled, kind, warps):
    m, n, k = 128, 256, 192
    by_k = kind in ("e4m3", "e5m2")  # as the hardware has them
    types = {"a_ptr": "*" + NAMES[kind], "b_ptr": "*" + NAMES[kind], "c_ptr": "*fp32", "N": "i32", "K": "i32"}
    kernel = compiled("product", types, {"BM": 128, "BN": 128, "BK": 64, "BY_K": by_k}, warps)
    assert "wgmma.mma_async" in kernel.ptx
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape) for shape in ((m, k), (n, k)))
    of_b = stored(b, kind) if by_k else np.ascontiguousarray(stored(b, kind).T)
    for checks, seed in RUNS:
        c = np.zeros((m, n), np.float32)
        kernel.run((n // 128,), [stored(a, kind), of_b, c, n, k], checks, seed)
        assert np.array_equal(c, a @ b.T)


@pytest.mark.slow
@pytest.mark.parametrize("warps, rows", [(4, 64), (8, 128)])
def test_attention(compiled, warps, rows):
    """P is A of the second product, in registers."""
    types = {"q_ptr": "*fp16", "k_ptr": "*fp16", "v_ptr": "*fp16", "o_ptr": "*fp32", "length": "i32"}
    kernel = compiled("attention", types, {"BM": rows, "BN": 64, "D": 64}, warps)
    assert "wgmma.mma_async" in kernel.ptx
    random = np.random.default_rng(2)
    q, k, v = (random.standard_normal((256, 64)).astype(np.float16) for _ in range(3))
    s = q.astype(np.float64) @ k.T.astype(np.float64)
    p = np.exp2(s - s.max(axis=1, keepdims=True))
    expected = p @ v.astype(np.float64) / p.sum(axis=1, keepdims=True)
    for checks, seed in RUNS:
        o = np.zeros((256, 64), np.float32)
        kernel.run((256 // rows,), [q, k, v, o, 256], checks, seed)
        assert np.abs(o - expected).max() < 1e-3
