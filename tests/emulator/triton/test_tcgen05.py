"""Kernels that Triton compiles for sm_100a without a GPU: right results under three schedules, and no finding."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dsl.emulator import SameValueRace
from tests.emulator.families.warpgroup.test_emit import stored
from tests.emulator.triton.compiled_kernel import aligned
from tests.emulator.triton.test_descriptors import tile

pytestmark = pytest.mark.slow
NAMES = {"f16": "fp16", "bf16": "bf16", "tf32": "fp32", "e4m3": "fp8e4nv", "e5m2": "fp8e5"}
SEEDS = (0, 3, 7)


def checked(kernel, grid: tuple[int, ...], arguments: list, out: np.ndarray):
    """`out` after a launch under each seed and all checks, without a finding."""
    for seed in SEEDS:
        out[...] = 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", SameValueRace)  # of states that lanes store together
            kernel.run(grid, arguments, ("race", "undefined"), seed)
        yield out


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("kind", NAMES)
def test_product(compiled, kind, warps):
    m, n, k = 128, 128, 192
    by_k = kind in ("e4m3", "e5m2")
    types = {"a_ptr": "*" + NAMES[kind], "b_ptr": "*" + NAMES[kind], "c_ptr": "*fp32", "N": "i32", "K": "i32"}
    kernel = compiled("product", types, {"BM": 128, "BN": 128, "BK": 64, "BY_K": by_k}, warps, "b200")
    assert "tcgen05.mma" in kernel.ptx
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape) for shape in ((m, k), (n, k)))
    of_b = stored(b, kind) if by_k else np.ascontiguousarray(stored(b, kind).T)
    c = np.zeros((m, n), np.float32)
    for result in checked(kernel, (n // 128,), [stored(a, kind), of_b, c, n, k], c):
        assert np.array_equal(result, a @ b.T)


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def _elements(random, shape: tuple[int, int], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Random elements as they are stored, and their values."""
    if kind == "e2m1":
        codes = random.integers(0, 16, shape)
        return (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8), FP4[codes & 7] * np.where(codes & 8, -1, 1)
    values = random.integers(-3, 4, shape)
    return stored(values, kind), values


def _scales(random, shape: tuple[int, int], size: int) -> tuple[np.ndarray, np.ndarray]:
    """ue8m0 for 32 elements, e4m3 for 16."""
    if size == 32:
        codes = random.integers(125, 130, shape)
        return codes.astype(np.uint8), 2.0 ** (codes - 127)
    values = random.integers(1, 4, shape)
    return stored(values, "e4m3"), values


@pytest.mark.parametrize(
    "of_a, of_b, size, n",
    [("e4m3", "e4m3", 32, 128), ("e5m2", "e4m3", 32, 128), ("e2m1", "e2m1", 32, 128), ("e2m1", "e2m1", 16, 128),
     ("e4m3", "e2m1", 32, 128), ("e2m1", "e2m1", 32, 16)],
)  # fmt: skip
def test_scaled_product(compiled, of_a, of_b, size, n):
    m, k = 128, 256
    kinds = {"e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "e2m1": "*u8"}
    scale = "*u8" if size == 32 else "*fp8e4nv"
    types = {"a_ptr": kinds[of_a], "a_scale_ptr": scale, "b_ptr": kinds[of_b], "b_scale_ptr": scale, "c_ptr": "*fp32",
             "N": "i32", "K": "i32"}  # fmt: skip
    constants = {"BM": m, "BN": n, "BK": 128, "OF_A": of_a, "OF_B": of_b, "PACK_A": 1 + (of_a == "e2m1"),
                 "PACK_B": 1 + (of_b == "e2m1"), "SIZE": size}  # fmt: skip
    kernel = compiled("scaled_product", types, constants, 4, "b200")
    assert "block_scale" in kernel.ptx
    random = np.random.default_rng(2)
    (a, va), (b, vb) = (_elements(random, (each, k), kind) for each, kind in ((m, of_a), (n, of_b)))
    (sa, vsa), (sb, vsb) = (_scales(random, (each, k // size), size) for each in (m, n))
    expected = (va * vsa.repeat(size, 1)) @ (vb * vsb.repeat(size, 1)).T
    c = np.zeros((m, n), np.float32)
    for result in checked(kernel, (1, 1), [a, sa, b, sb, c, n, k], c):
        assert np.array_equal(result, expected)


def _factors(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B as (N, K), and their product, which is exact."""
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape) for shape in ((m, k), (n, k)))
    return aligned(a.astype(np.float16)), aligned(b.astype(np.float16)), (a @ b.T).astype(np.float16)


def _zeros(*shape: int) -> np.ndarray:
    return aligned(np.zeros(shape, np.float16))


@pytest.mark.parametrize("specialised", [False, True], ids=["together", "specialised"])
@pytest.mark.parametrize("warps, rows", [(4, 128), (8, 128), (4, 64)])
def test_descriptors_of_the_kernel(compiled, warps, rows, specialised):
    m, n, k = 128, 128, 192
    constants = {"BM": rows, "BN": 128, "BK": 64, "SPECIALISED": specialised}
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
    kernel = compiled("product_by_own_descriptors", types, constants, warps, "b200")
    assert kernel.ptx.count("tensormap.cp_fenceproxy") >= 3 and "tcgen05.mma" in kernel.ptx
    a, b, expected = _factors(m, n, k)
    c = _zeros(m, n)
    for result in checked(kernel, (m // rows, n // 128), [a, b, c, m, n, k], c):
        assert np.array_equal(result, expected)


@pytest.mark.parametrize(
    "rows, flat, specialised", [(128, False, False), (128, True, False), (128, True, True), (64, False, True)]
)
def test_persistent(compiled, rows, flat, specialised):
    m, n, k = 256, 256, 128
    constants = {"BM": rows, "BN": 128, "BK": 64, "BLOCKS": 2, "FLAT": flat, "SPECIALISED": specialised}
    types = {"a": tile(rows, 64), "b": tile(128, 64), "c": tile(rows, 128), "M": "i32", "N": "i32", "K": "i32"}
    kernel = compiled("persistent_product", types, constants, 4, "b200")
    assert "tcgen05.mma" in kernel.ptx
    a, b, expected = _factors(m, n, k)
    c = _zeros(m, n)
    for result in checked(kernel, (2,), [(a,), (b,), (c,), m, n, k], c):
        assert np.array_equal(result, expected)


@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("warps, specialised", [(4, False), (8, False), (4, True)])
def test_attention(compiled, warps, specialised, d):
    """P is A of the second product, in tensor memory."""
    constants = {"BM": 128, "BN": 64, "D": d, "SPECIALISED": specialised}
    types = {"q": tile(128, d), "k": tile(64, d), "v": tile(64, d), "o": tile(128, d), "length": "i32"}
    kernel = compiled("attention_by_descriptors", types, constants, warps, "b200")
    assert "tcgen05.mma" in kernel.ptx
    random = np.random.default_rng(2)
    q, k, v = (aligned((random.standard_normal((128, d)) / 2).astype(np.float16)) for _ in range(3))
    s = q.astype(np.float64) @ k.T.astype(np.float64)
    p = np.exp2(s - s.max(axis=1, keepdims=True))
    expected = p @ v.astype(np.float64) / p.sum(axis=1, keepdims=True)
    o = _zeros(128, d)
    for result in checked(kernel, (1,), [(q,), (k,), (v,), (o,), 128], o):
        assert np.abs(result - expected).max() < 2e-3
