"""Triton's tensor descriptors on the emulator, made by host and by kernels; persistent and warp-specialised loops:
right results under three schedules, and no finding."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.triton.compiled_kernel import aligned

RUNS = ((("race", "undefined"), 0), (("race",), 1), ((), 2))  # checks, seed
# Lanes of a warp store the state of their partition together: the same value, at the same time.
pytestmark = pytest.mark.filterwarnings("ignore:RACE_SAME_VALUE")
M, N, K = 256, 256, 192


def tile(*extents: int, kind: str = "fp16") -> str:
    return f"tensordesc<{kind}[{', '.join(map(str, extents))}]>"


def factors() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B as (N, K), and their product, which is exact."""
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape) for shape in ((M, K), (N, K)))
    return aligned(a.astype(np.float16)), aligned(b.astype(np.float16)), (a @ b.T).astype(np.float16)


def zeros(*shape: int, dtype=np.float16) -> np.ndarray:
    return aligned(np.zeros(shape, dtype))


@pytest.mark.slow
@pytest.mark.parametrize("specialised", [False, True], ids=["together", "specialised"])
@pytest.mark.parametrize("warps, rows", [(4, 128), (8, 128), (4, 64)])
def test_descriptors_of_the_kernel(compiled, warps, rows, specialised):
    constants = {"BM": rows, "BN": 128, "BK": 64, "SPECIALISED": specialised}
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
    kernel = compiled("product_by_own_descriptors", types, constants, warps)
    assert kernel.ptx.count("tensormap.cp_fenceproxy") >= 3 and "wgmma.mma_async" in kernel.ptx
    assert ("setmaxnreg" in kernel.ptx) == (specialised and warps == 4)
    a, b, expected = factors()
    for checks, seed in RUNS:
        c = zeros(M, N)
        kernel.run((M // rows, N // 128), [a, b, c, M, N, K], checks, seed)
        assert np.array_equal(c, expected)


@pytest.mark.slow
@pytest.mark.parametrize("warps, rows, specialised", [(4, 128, False), (8, 128, False), (4, 64, True)])
def test_descriptors_of_the_host(compiled, warps, rows, specialised):
    constants = {"BM": rows, "BN": 128, "BK": 64, "SPECIALISED": specialised}
    types = {"a": tile(rows, 64), "b": tile(128, 64), "c": tile(rows, 128), "K": "i32"}
    kernel = compiled("product_by_descriptors", types, constants, warps)
    assert ("setmaxnreg" in kernel.ptx) == specialised and "cp.async.bulk.tensor" in kernel.ptx
    a, b, expected = factors()
    for checks, seed in RUNS:
        c = zeros(M, N)
        kernel.run((M // rows, N // 128), [(a,), (b,), (c,), K], checks, seed)
        assert np.array_equal(c, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows, flat, specialised", [(128, False, False), (128, True, False), (128, True, True), (64, False, True)]
)
def test_persistent(compiled, rows, flat, specialised):
    constants = {"BM": rows, "BN": 128, "BK": 64, "BLOCKS": 3, "FLAT": flat, "SPECIALISED": specialised}
    types = {"a": tile(rows, 64), "b": tile(128, 64), "c": tile(rows, 128), "M": "i32", "N": "i32", "K": "i32"}
    kernel = compiled("persistent_product", types, constants, 4)
    assert ("setmaxnreg" in kernel.ptx) == (specialised and not flat)
    a, b, expected = factors()
    for checks, seed in RUNS:
        c = zeros(M, N)
        kernel.run((3,), [(a,), (b,), (c,), M, N, K], checks, seed)
        assert np.array_equal(c, expected)


@pytest.mark.slow
@pytest.mark.parametrize("warps, rows, specialised", [(4, 64, False), (8, 128, False), (4, 64, True)])
def test_attention(compiled, warps, rows, specialised):
    constants = {"BM": rows, "BN": 64, "D": 64, "SPECIALISED": specialised}
    types = {"q": tile(rows, 64), "k": tile(64, 64), "v": tile(64, 64), "o": tile(rows, 64), "length": "i32"}
    kernel = compiled("attention_by_descriptors", types, constants, warps)
    random = np.random.default_rng(2)
    q, k, v = (aligned(random.standard_normal((256, 64)).astype(np.float16)) for _ in range(3))
    s = q.astype(np.float64) @ k.T.astype(np.float64)
    p = np.exp2(s - s.max(axis=1, keepdims=True))
    expected = p @ v.astype(np.float64) / p.sum(axis=1, keepdims=True)
    for checks, seed in RUNS:
        o = zeros(256, 64)
        kernel.run((256 // rows,), [(q,), (k,), (v,), (o,), 256], checks, seed)
        assert np.abs(o - expected).max() < 2e-3


@pytest.mark.slow
def test_reduction_into_a_tile(compiled):
    types = {"a": tile(32, 64, kind="fp32"), "c": tile(32, 64, kind="fp32")}
    kernel = compiled("add_tiles", types, {"ROWS": 32, "COLUMNS": 64}, 4)
    assert "cp.reduce.async.bulk.tensor" in kernel.ptx
    a = aligned(np.random.default_rng(3).integers(-9, 10, (160, 64)).astype(np.float32))
    for checks, seed in RUNS:
        c = zeros(32, 64, dtype=np.float32)
        kernel.run((5,), [(a,), (c,)], checks, seed)
        assert np.array_equal(c, a.reshape(5, 32, 64).sum(0))


@pytest.mark.slow
def test_tiles_over_the_edges(compiled):
    kernel = compiled("transpose", {"a": tile(64, 32), "c": tile(32, 64)}, {"ROWS": 64, "COLUMNS": 32}, 4)
    a = aligned(np.random.default_rng(4).integers(-99, 99, (104, 72)).astype(np.float16))
    for checks, seed in RUNS:
        c = zeros(72, 104)
        kernel.run((2, 3), [(a,), (c,)], checks, seed)
        assert np.array_equal(c, a.T)
