"""cute.arch's ways into another block's shared memory: what arrives there, and what is refused. The spellings were read
off the PTX of NVIDIA's compiler (release 4.8.1)."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, Int32, Int64, cute, memory
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.runtime import from_dlpack


@cute.kernel
def exchange(out: cute.Tensor, send: Constexpr):
    """Each of two blocks sends the other something, and shows what it got."""
    thread, rank, smem = arch.thread_idx()[0], arch.block_idx_in_cluster(), memory.SmemAllocator()
    got, barrier = smem.allocate_tensor(Int32, cute.make_layout(4), 16), smem.allocate_array(Int64, 1)
    if thread < 4:
        got[thread] = -1
    if thread == 0:
        arch.mbarrier_init(barrier, 1)
        arch.mbarrier_init_fence()
    arch.cluster_arrive()
    arch.cluster_wait()
    if thread == 0:
        send(got.iterator, barrier, rank)
    arch.cluster_arrive()
    arch.cluster_wait()
    if thread < 4:
        out[rank, thread] = got[thread]


@cute.jit
def host(out: cute.Tensor, send: Constexpr):
    exchange(out, send).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))


def received(send) -> list:
    out = np.full((2, 4), -99, np.int32)
    host(from_dlpack(out), send)
    return out.tolist()


def test_a_store_through_a_mapped_pointer_arrives_at_its_element(emulator):
    def send(words, barrier, rank):
        (arch.map_dsmem_ptr(words, rank ^ 1) + 2).store(10 + rank)

    assert received(send) == [[-1, -1, 11, -1], [-1, -1, 10, -1]]


@pytest.mark.parametrize(
    "value, there",
    [(7, [7, -1, -1, -1]), (Float32(2.5), [2, -1, -1, -1]), ((7, 8), [7, 8, -1, -1]), ((4, 3, 2, 1), [4, 3, 2, 1])],
    ids=["one", "a_float", "two", "four"],
)
def test_an_asynchronous_store_brings_its_bytes(emulator, value, there):
    def send(words, barrier, rank):
        count = len(value) if isinstance(value, tuple) else 1
        arch.mbarrier_arrive_and_expect_tx(barrier, 4 * count)
        arch.store_async_dsmem(words, value, barrier, rank ^ 1)
        arch.mbarrier_wait(barrier, 0)

    assert received(send) == [there, there]


def test_a_mapped_pointer_shows_where_it_points(emulator, capsys):
    received(lambda words, barrier, rank: print(arch.map_dsmem_ptr(words, 1)))
    assert "ptr<i32, dsmem, align<16>>" in capsys.readouterr().out


@pytest.mark.parametrize(
    "send, message",
    [
        (
            lambda words, barrier, rank: arch.map_dsmem_ptr(arch.map_dsmem_ptr(words, 1), 0),
            "a pointer to shared memory",
        ),
        (lambda words, barrier, rank: arch.map_dsmem_ptr(3, 0), "a pointer to shared memory is needed, got int"),
        (lambda words, barrier, rank: arch.store_async_dsmem(words, (1, 2, 3), barrier, 1), "writes 1, 2 or 4 numbers"),
        (lambda words, barrier, rank: arch.store_async_dsmem(words, "x", barrier, 1), "writes 1, 2 or 4 numbers"),
    ],
    ids=["mapped_twice", "a_number", "three", "a_text"],
)
def test_arguments_that_are_refused(emulator, send, message):
    with pytest.raises(DSLUserCodeError, match=message):
        received(send)
