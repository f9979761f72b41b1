"""Kernels that Triton compiles for sm_90a without a GPU: right results under three schedules, and no finding."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.emit.test_warpgroup import stored

NAMES = {"f16": "fp16", "bf16": "bf16", "tf32": "fp32", "e4m3": "fp8e4nv", "e5m2": "fp8e5"}
RUNS = ((("race", "undefined"), 0), (("race",), 1), ((), 2))  # checks, seed


@pytest.fixture
def compiled(needs_module, tmp_path, monkeypatch):
    """A function that gives Triton's PTX of a kernel of kernels.py and its bytes of shared memory."""
    needs_module("triton", "dev")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    from triton import compile as triton_compile
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tests.emulator.triton import kernels

    def compile_(name: str, types: dict[str, str], constants: dict, warps: int):
        signature = types | dict.fromkeys(constants, "constexpr")
        aligned = {(i,): [["tt.divisibility", 16]] for i in range(len(types))}
        source = ASTSource(fn=getattr(kernels, name), signature=signature, constexprs=constants, attrs=aligned)
        options = {"num_warps": warps, "num_stages": 3}
        made = triton_compile(source, target=GPUTarget("cuda", 90, 32), options=options)
        assert "wgmma.mma_async" in made.asm["ptx"]
        return made.asm["ptx"], made.metadata.shared

    return compile_


def run(kernel: tuple[str, int], blocks: int, warps: int, arguments: list, checks, seed: int) -> None:
    ptx, smem_bytes = kernel
    program, memory, params = emulator.load(ptx), emulator.Memory(), []
    entry = next(iter(program.entries.values()))
    for i, each in enumerate(arguments):
        if isinstance(each, np.ndarray):
            memory.register(each.ctypes.data, each.nbytes, f"argument{i}")
            params.append(each.ctypes.data.to_bytes(8, "little"))
        else:
            params.append(each.to_bytes(4, "little"))
    params += [bytes(each.size_bytes) for each in entry.params[len(params) :]]  # Triton's own
    shape = (blocks, 1, 1), (32 * warps, 1, 1)
    emulator.launch(program, entry.name, *shape, params, memory, smem_bytes, checks=checks, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("kind", NAMES)
def test_product(compiled, kind, warps):
    m, n, k = 128, 256, 192
    by_k = kind in ("e4m3", "e5m2")  # as the hardware has them
    types = {"a_ptr": "*" + NAMES[kind], "b_ptr": "*" + NAMES[kind], "c_ptr": "*fp32", "N": "i32", "K": "i32"}
    kernel = compiled("product", types, {"BM": 128, "BN": 128, "BK": 64, "BY_K": by_k}, warps)
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape) for shape in ((m, k), (n, k)))
    of_b = stored(b, kind) if by_k else np.ascontiguousarray(stored(b, kind).T)
    for checks, seed in RUNS:
        c = np.zeros((m, n), np.float32)
        run(kernel, n // 128, warps, [stored(a, kind), of_b, c, n, k], checks, seed)
        assert np.array_equal(c, a @ b.T)


@pytest.mark.slow
@pytest.mark.parametrize("warps, rows", [(4, 64), (8, 128)])
def test_attention(compiled, warps, rows):
    """P is A of the second product, in registers."""
    types = {"q_ptr": "*fp16", "k_ptr": "*fp16", "v_ptr": "*fp16", "o_ptr": "*fp32", "length": "i32"}
    kernel = compiled("attention", types, {"BM": rows, "BN": 64, "D": 64}, warps)
    random = np.random.default_rng(2)
    q, k, v = (random.standard_normal((256, 64)).astype(np.float16) for _ in range(3))
    s = q.astype(np.float64) @ k.T.astype(np.float64)
    p = np.exp2(s - s.max(axis=1, keepdims=True))
    expected = p @ v.astype(np.float64) / p.sum(axis=1, keepdims=True)
    for checks, seed in RUNS:
        o = np.zeros((256, 64), np.float32)
        run(kernel, 256 // rows, warps, [q, k, v, o, 256], checks, seed)
        assert np.abs(o - expected).max() < 1e-3
