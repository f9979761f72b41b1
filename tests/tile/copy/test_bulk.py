"""Bulk copies between global and shared memory, and within a cluster: NVIDIA's values, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, Int16, Int64, const_expr, cute, memory, range_constexpr
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.emulator import Fault

PROGRAM = Path(__file__).with_name("bulk_program.py")


@pytest.mark.slow
def test_values_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 24 and ours.output == theirs.output


@pytest.mark.slow
def test_values_within_a_cluster_are_upstreams(both):
    ours, theirs = both(PROGRAM.with_name("bulk_cluster_program.py"))
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("[[1001.0, 1002.0,") == 2 and ours.output == theirs.output


@cute.kernel
def pass_on(source: cute.Tensor, target: cute.Tensor, is_mapped: Constexpr):
    """Block 0 loads for both blocks, and each sends on what it has; block 1's bytes complete at block 0's barrier."""
    rank = arch.block_idx_in_cluster()
    smem = memory.SmemAllocator()
    barriers = smem.allocate_array(Int64, 2)
    boxes = [smem.allocate_tensor(Float32, cute.make_layout(8), 128) for _ in range(2)]
    load = cute.make_copy_atom(cpasync.CopyBulkG2SMulticastOp(), Float32)
    send = cute.make_copy_atom(cpasync.CopyBulkS2SOp(), Float32)
    for i in range_constexpr(2):
        arch.mbarrier_init(barriers + i, 1)
        arch.mbarrier_arrive_and_expect_tx(barriers + i, 32)
    arch.mbarrier_init_fence()
    arch.cluster_arrive()
    arch.cluster_wait()
    if rank == 0:
        cute.copy(load, source, boxes[0], mbar_ptr=barriers, mcast_mask=Int16(3))
    arch.mbarrier_wait(barriers, 0)
    boxes[0][0] = Float32(rank)
    arch.fence_view_async_shared()
    there = arch.map_dsmem_ptr(barriers + 1, rank ^ 1) if const_expr(is_mapped) else barriers + 1
    cute.copy(send, boxes[0], boxes[1], mbar_ptr=there, cta_rank=rank ^ 1)
    arch.mbarrier_wait(barriers + 1, 0)
    for i in range_constexpr(8):
        target[rank, i] = boxes[1][i]
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.jit
def host_of_pass_on(source: cute.Tensor, target: cute.Tensor, is_mapped: Constexpr):
    pass_on(source, target, is_mapped).launch(grid=2, block=1, cluster=(2, 1, 1))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_block_loads_for_the_cluster_and_sends_to_another():
    target = np.zeros((2, 8), np.float32)
    source = np.arange(10, 18, dtype=np.float32)
    host_of_pass_on(from_dlpack(source, assumed_align=16), from_dlpack(target), True)
    assert target.tolist() == [[1, *range(11, 18)], [0, *range(11, 18)]]


def test_the_bytes_of_another_block_count_at_its_own_mbarrier():
    source, target = (from_dlpack(np.zeros(shape, np.float32), assumed_align=16) for shape in (8, (2, 8)))
    with pytest.raises(Fault) as caught:
        host_of_pass_on(source, target, False)
    message, _, fix = str(caught.value).partition("fix: ")
    assert (
        "of block (0, 0, 0), but its bytes go to block (1, 0, 0): an mbarrier counts only bytes for its block"
        in message
    )
    assert fix.startswith("give the mbarrier of block (1, 0, 0), its address mapped as the bytes (mapa)")


@cute.kernel
def kernel(source: cute.Tensor, call: Constexpr):
    smem = memory.SmemAllocator()
    box, barrier = smem.allocate_tensor(Float32, cute.make_layout(64), 128), smem.allocate_array(Int64, 1)
    call(source, box, barrier)


@cute.jit
def host(source: cute.Tensor, call: Constexpr):
    kernel(source, call).launch(grid=1, block=32)


def load(bits=0):
    return cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32, num_bits_per_copy=bits)


def part(tensor, shape, stride=None):
    return cute.make_tensor(tensor.iterator, cute.make_layout(shape, stride=stride))


REFUSED = [
    (lambda g, s, b: load(96), "a bulk copy moves a multiple of 128 bits, whole elements of Float32, got 96"),
    (lambda g, s, b: cute.copy(load(), g, s), "needs the mbarrier that tells when it is there"),
    (lambda g, s, b: cute.copy(load(), s, g, mbar_ptr=b), "the source of this bulk copy is a tensor in gmem"),
    (lambda g, s, b: cute.copy(load(), part(g, 3), part(s, 3), mbar_ptr=b), "have 12 contiguous bytes on both sides"),
    (
        lambda g, s, b: cute.copy(load(256), part(g, (4, 8), (1, 8)), part(s, (4, 8)), mbar_ptr=b),
        "have 16 contiguous bytes on both sides",
    ),
    (lambda g, s, b: cute.copy(load(), part(g, 32), part(s, 64), mbar_ptr=b), "needs as many elements in each mode"),
    (lambda g, s, b: cute.copy(load(), cute.domain_offset(1, g), s, mbar_ptr=b), "and of this one only 4 is known"),
    (lambda g, s, b: cute.copy(load(), g, s, pred=g, mbar_ptr=b), "bulk copies have no predicate"),
    (lambda g, s, b: cute.copy(load(), g, s, mbar_ptr=b, cta_rank=1), "CopyBulkG2SOp takes no cta_rank"),
    (
        lambda g, s, b: cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SMulticastOp(), Float32), g, s, mbar_ptr=b),
        "CopyBulkG2SMulticastOp needs the blocks it is for, a bit a block",
    ),
    (
        lambda g, s, b: cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2SOp(), Float32), s, s, mbar_ptr=b),
        "CopyBulkS2SOp needs the rank of the block it is for",
    ),
    (lambda g, s, b: cpasync.CopyBulkS2GByteMaskOp(), "CopyBulkS2GByteMaskOp is not part of this compiler"),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=range(len(REFUSED)))
def test_wrong_bulk_copies_are_refused(call, text):
    with pytest.raises(DSLUserCodeError) as caught:
        host(from_dlpack(np.zeros(64, np.float32), assumed_align=16), call)
    assert text in str(caught.value) and "test_bulk.py" in str(caught.value) and "fix: " in str(caught.value)
