"""CUDA C++ with wgmma by inline PTX (wgmma.cu), compiled by nvcc: right results, and no finding where there is none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.warpgroup.test_emit import stored

SEEDS = (0, 1, 2)
RING_BYTES = 48 << 10


def run(program, name: str, *arguments, threads: int = 128, checks=("race",), seed: int = 0, smem_bytes=0) -> None:
    memory = emulator.Memory()
    for i, each in enumerate(arguments):
        if isinstance(each, np.ndarray):
            memory.register(each.ctypes.data, each.nbytes, f"argument{i}")
    params = [
        each.ctypes.data.to_bytes(8, "little") if isinstance(each, np.ndarray) else each.to_bytes(4, "little")
        for each in arguments
    ]
    emulator.launch(program, name, (1, 1, 1), (threads, 1, 1), params, memory, smem_bytes, checks=checks, seed=seed)


def numbers(shape: tuple, kind: str, seed: int) -> np.ndarray:
    low, high = {"b1": (0, 2), "s8": (-128, 128), "e5m2": (-3, 4)}.get(kind, (-6, 7))
    return np.random.default_rng(seed).integers(low, high, shape)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "name, a_kind, b_kind, k, sign",
    [("product_bf16", "bf16", "bf16", 64, 1), ("product_tf32", "tf32", "tf32", 32, 1),
     ("product_fp8", "e4m3", "e5m2", 128, 1), ("product_minus", "f16", "f16", 64, -1),
     ("product_s8", "s8", "s8", 128, 1), ("product_bits", "b1", "b1", 1024, 1), ("product_b_by_n", "f16", "f16", 64, 1)],
)  # fmt: skip
def test_products(program, name, a_kind, b_kind, k, sign, seed):
    n = 8 if a_kind in ("s8", "b1") else 64
    a, b = numbers((64, k), a_kind, 1), numbers((n, k), b_kind, 2)
    out = np.zeros((64, n), np.int32 if n == 8 else np.float32)
    of_b = stored(b, b_kind) if name != "product_b_by_n" else np.ascontiguousarray(stored(b, b_kind).T)
    run(program, name, stored(a, a_kind), of_b, out, seed=seed)
    assert np.array_equal(out, sign * (a @ b.T))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_attention(program, seed):
    q, k, v = (numbers((64, 64), "f16", i) for i in range(3))
    q, k = np.sign(q) * (np.arange(64) < 2), np.sign(k)  # P is a power of two from -2 to 2
    out = np.zeros((64, 64), np.float32)
    run(program, "attention", *(x.astype(np.float16) for x in (q, k, v)), out, seed=seed)
    assert np.array_equal(out, np.exp2(q @ k.T) @ v)


def swizzled(tiles: np.ndarray) -> np.ndarray:
    """(..., rows, 64) f16 as a bulk copy must find them: chunk c of row r at c xor r % 8."""
    chunks = tiles.astype(np.float16).reshape(*tiles.shape[:-1], 8, 8)
    order = np.arange(8)[None] ^ (np.arange(tiles.shape[-2]) % 8)[:, None]
    order = order.reshape((1,) * (tiles.ndim - 2) + order.shape + (1,))
    return np.ascontiguousarray(np.take_along_axis(chunks, order, axis=-2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name, groups", [("ring_of_one", 1), ("ring_of_two", 2)])
def test_rings(program, name, groups, seed):
    a, b = numbers((5, 64 * groups, 64), "f16", 1), numbers((5, 64, 64), "f16", 2)
    out = np.zeros((64 * groups, 64), np.float32)
    run(program, name, swizzled(a), swizzled(b), out, 5, threads=128 * (groups + 1), seed=seed, smem_bytes=RING_BYTES)
    assert np.array_equal(out, np.einsum("tmk,tnk->mn", a, b))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pipeline(program, seed):
    a, b = numbers((3, 64, 64), "f16", 1), numbers((3, 64, 64), "f16", 2)
    out = np.zeros((64, 64), np.float32)
    run(program, "pipelined", a.astype(np.float16), b.astype(np.float16), out, seed=seed)
    assert np.array_equal(out, np.einsum("tmk,tnk->mn", a, b))


@pytest.mark.slow
def test_a_stage_that_is_released_early(program):
    """The report has the line of the producer's load and the line of the consumer's product."""
    a, b, out = np.zeros((5, 64, 64), np.float16), np.zeros((5, 64, 64), np.float16), np.zeros((64, 64), np.float32)
    lines = Path(__file__).with_name("wgmma.cu").read_text().split("\n")
    load, product = (
        next(i for i, line in enumerate(lines, 1) if text in line)
        for text in ("cp.async.bulk.shared::cluster", 'SS(mma_f16, "k16')
    )
    for seed in SEEDS:
        with pytest.raises(emulator.Fault) as caught:
            run(program, "ring_released_early", a, b, out, 5, threads=256, seed=seed, smem_bytes=RING_BYTES)
        fault = caught.value
        assert fault.kind == "race" and fault.place and load <= fault.place.line <= load + 2
        assert f"which the wgmma at line {product} still reads: it was not waited for" in str(fault)
        fix = "after wgmma.wait_group (`cute.nvgpu.warpgroup.wait_group`), not before it"
        assert re.search(rf"\nfix: arrive at the mbarrier \(line \d+\) {re.escape(fix)}$", str(fault))
