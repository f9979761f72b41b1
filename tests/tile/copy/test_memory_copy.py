"""Copies whose atoms set how memory is accessed: what they move, and their instructions, whose spellings were read off
the PTX of NVIDIA's compiler (release 4.8.1)."""

import re

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, const_expr, cute, memory
from dsl.cutlass.cute import nvgpu
from dsl.cutlass.cute.nvgpu import (
    CacheEvictionPriority,
    L2PrefetchSize,
    LoadCacheMode,
    MemoryOrder,
    MemoryScope,
    SharedSpace,
)
from dsl.cutlass.cute.runtime import from_dlpack

COUNT = 8


@cute.kernel
def through(a: cute.Tensor, b: cute.Tensor, op: Constexpr, bits: Constexpr, settings: Constexpr):
    """a to b, by registers and shared memory, one of the four ways by the operation."""
    numbers, shape = cute.make_rmem_tensor(COUNT, a.element_type), cute.make_layout(COUNT)
    tile = memory.SmemAllocator().allocate_tensor(a.element_type, shape, 16)
    ways = {
        "CopyG2ROp": (a, numbers),
        "CopyR2SOp": (numbers, tile),
        "CopyS2ROp": (tile, numbers),
        "CopyR2GOp": (numbers, b),
    }
    for name, (src, dst) in ways.items():
        if const_expr(name == op):
            atom = cute.make_copy_atom(getattr(nvgpu, op)(), a.element_type, num_bits_per_copy=bits, **settings)
        else:
            atom = cute.make_copy_atom(nvgpu.CopyUniversalOp(), a.element_type)
        cute.copy(atom, src, dst)
        if const_expr(name == "CopyR2SOp"):
            numbers.fill(0)


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, op: Constexpr, bits: Constexpr, settings: Constexpr):
    through(a, b, op, bits, settings).launch(grid=(1, 1, 1), block=(1, 1, 1))


LOADED = [
    ("CopyG2ROp", np.float32, 128, {}, "ld.global.v4.b32"),
    ("CopyG2ROp", np.float32, 128, {"invariant": True}, "ld.global.nc.v4.b32"),
    ("CopyG2ROp", np.float32, 32, {"memory_order": MemoryOrder.ACQUIRE}, "ld.acquire.cta.global.b32"),
    ("CopyG2ROp", np.float16, 64, {"memory_order": MemoryOrder.RELAXED, "memory_scope": MemoryScope.GPU},
     "ld.relaxed.gpu.global.v2.b32"),
    ("CopyG2ROp", np.int64, 64, {"memory_order": MemoryOrder.VOLATILE}, "ld.volatile.global.b64"),
    ("CopyG2ROp", np.int8, 8, {"memory_order": MemoryOrder.ACQUIRE, "memory_scope": MemoryScope.GPU},
     "ld.acquire.gpu.global.b8"),
    ("CopyG2ROp", np.float32, 128, {"l1c_evict_priority": CacheEvictionPriority.NO_ALLOCATE},
     "ld.global.L1::no_allocate.v4.b32"),
    ("CopyG2ROp", np.float32, 128, {"load_cache_mode": LoadCacheMode.STREAMING}, "ld.global.cs.v4.b32"),
    ("CopyG2ROp", np.float32, 128, {"l2_prefetch_size": L2PrefetchSize.SIZE_128B}, "ld.global.L2::128B.v4.b32"),
    ("CopyS2ROp", np.float32, 32, {"shared_space": SharedSpace.CLUSTER}, "ld.shared::cluster.b32"),
    ("CopyS2ROp", np.float32, 32, {"memory_order": MemoryOrder.VOLATILE}, "ld.volatile.shared::cta.b32"),
    ("CopyR2GOp", np.float32, 64, {"memory_order": MemoryOrder.RELEASE}, "st.release.cta.global.v2.b32"),
    ("CopyR2GOp", np.int16, 16, {"l1c_evict_priority": CacheEvictionPriority.EVICT_FIRST},
     "st.global.L1::evict_first.b16"),
    ("CopyR2SOp", np.float64, 128, {"memory_order": MemoryOrder.RELEASE, "memory_scope": MemoryScope.CLUSTER},
     "st.release.cluster.shared::cta.v2.b64"),
]  # fmt: skip


@pytest.mark.parametrize("op, dtype, bits, settings, spelling", LOADED, ids=[row[-1] for row in LOADED])
def test_the_elements_arrive_by_the_instruction(op, dtype, bits, settings, spelling, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a, b = np.arange(1, COUNT + 1).astype(dtype), np.zeros(COUNT, dtype)
    given = [from_dlpack(each, assumed_align=16) for each in (a, b)]
    compiled = cute.compile(host, *given, op, bits, settings, options="--keep-ptx --gpu-arch sm_90a")
    compiled(*given)
    assert np.array_equal(a, b)
    instructions = re.findall(r"^\s*((?:ld|st)\.\S+)", compiled.__ptx__, re.MULTILINE)
    assert instructions.count(spelling) == COUNT * dtype().itemsize * 8 // bits, instructions


@pytest.mark.parametrize(
    "op, settings, message",
    [
        ("CopyG2ROp", {"memory_order": MemoryOrder.RELEASE},
         "memory_order of CopyG2ROp must be one of WEAK, CONSTANT, VOLATILE, RELAXED, ACQUIRE, got RELEASE"),
        ("CopyR2GOp", {"invariant": True}, "an atom of CopyR2GOp has no parameter `invariant`"),
        ("CopyUniversalOp", {"invariant": True}, "an atom of CopyUniversalOp has no parameter `invariant`"),
        ("CopyG2ROp", {"memory_scope": "gpu"}, "memory_scope must be of MemoryScope, got 'gpu'"),
        ("CopyG2ROp", {"memory_order": MemoryOrder.ACQUIRE, "load_cache_mode": LoadCacheMode.GLOBAL},
         "load_cache_mode and invariant are for accesses without an order, but memory_order is ACQUIRE"),
    ],
)  # fmt: skip
def test_settings_without_an_instruction_are_named(op, settings, message):
    with pytest.raises(DSLUserCodeError) as refused:
        cute.make_copy_atom(getattr(nvgpu, op)(), Float32, num_bits_per_copy=32, **settings)
    assert str(refused.value.message) == message
