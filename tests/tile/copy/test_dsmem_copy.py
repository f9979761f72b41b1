"""Copies from registers to another block's shared memory: what arrives, and what is refused. The spellings were read off
the PTX of NVIDIA's compiler (release 4.8.1)."""

import re

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.cutlass import Constexpr, Int64, cute, memory
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack

COUNT = 8


@cute.kernel
def exchange(given: cute.Tensor, out: cute.Tensor, bits: Constexpr, wrong: Constexpr):
    """Each of two blocks sends the other its numbers."""
    rank, smem, dtype = arch.block_idx_in_cluster(), memory.SmemAllocator(), given.element_type
    got, barrier = smem.allocate_tensor(dtype, cute.make_layout(COUNT), 16), smem.allocate_array(Int64, 1)
    arch.mbarrier_init(barrier, 1)
    arch.mbarrier_init_fence()
    arch.cluster_arrive()
    arch.cluster_wait()
    arch.mbarrier_arrive_and_expect_tx(barrier, COUNT * dtype.width // 8)
    atom = cute.make_copy_atom(cpasync.CopyDsmemStoreOp(), dtype, num_bits_per_copy=bits)
    numbers = cute.make_rmem_tensor(COUNT, dtype)
    numbers.store(given[rank, None].load())
    at = got.iterator if wrong == "here" else arch.map_dsmem_ptr(got.iterator, rank ^ 1)
    signal = {"none": None, "own": barrier}.get(wrong, arch.map_dsmem_ptr(barrier, rank ^ 1))
    cute.copy(atom, numbers, cute.make_tensor(at, cute.make_layout(COUNT)), mbar_ptr=signal)
    arch.mbarrier_wait(barrier, 0)
    out[rank, None].store(got.load())


@cute.jit
def host(given: cute.Tensor, out: cute.Tensor, bits: Constexpr, wrong: Constexpr):
    exchange(given, out, bits, wrong).launch(grid=(2, 1, 1), block=(1, 1, 1), cluster=(2, 1, 1))


@pytest.mark.parametrize("dtype, bits", [(np.float32, 32), (np.float32, 128), (np.float16, 64), (np.float64, 64)])
def test_each_block_gets_the_numbers_of_the_other(dtype, bits):
    given, out = np.arange(2 * COUNT).reshape(2, COUNT).astype(dtype), np.zeros((2, COUNT), dtype)
    host(from_dlpack(given), from_dlpack(out), bits, "")
    assert np.array_equal(out, given[::-1])


def test_one_instruction_a_vector(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = from_dlpack(np.zeros((2, COUNT), np.float16))
    text = cute.compile(host, given, given, 64, "", options="--keep-ptx --gpu-arch sm_90a").__ptx__
    stores = re.findall(r"(st\.async\.\S+)\s+\[\S+\], (.*), \[", text)
    assert [(name, words.count("%")) for name, words in stores] == [
        ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32", 2)
    ] * 2


@pytest.mark.parametrize(
    "bits, wrong, error, message",
    [
        (96, "", DSLUserCodeError, "CopyDsmemStoreOp copies 32, 64 or 128 bits, whole elements of Float32, got 96"),
        (32, "here", DSLUserCodeTypeError,
         "destination of a copy to another block must be a tensor in dsmem, got Tensor of Float32 8:1 in smem"),
        (32, "own", DSLUserCodeTypeError,
         "mbar_ptr of a copy to another block must point to dsmem, got a pointer to smem"),
        (32, "none", DSLUserCodeError,
         "a copy to another block's shared memory needs the mbarrier there that tells when it has come"),
    ],
)  # fmt: skip
def test_wrong_copies_to_another_block_are_named(bits, wrong, error, message):
    numbers = from_dlpack(np.zeros((2, COUNT), np.float32))
    with pytest.raises(error) as refused:
        host(numbers, numbers, bits, wrong)
    assert str(refused.value.message) == message
