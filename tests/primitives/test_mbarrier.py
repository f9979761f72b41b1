"""Mbarriers: states, parities, counts of bytes, other blocks' barriers, and their PTX."""

import re

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Boolean, Float32, Int32, Int64, cute
from dsl.cutlass.experimental import primitives as prims
from tests.primitives import kernels


def barriers(count: int = 1) -> Array:
    return Array(Int64, count, space=AddressSpace.smem, alignment=8)


SPELLED = [
    (lambda m: prims.mbarrier_init(m, 3), "mbarrier.init.shared::cta.b64"),
    (lambda m: prims.fence_mbarrier_init(), "fence.mbarrier_init.release.cluster"),
    (lambda m: prims.mbarrier_arrive(m, count=2), "mbarrier.arrive.shared::cta.b64"),
    (lambda m: prims.mbarrier_arrive(m, relaxed=True), "mbarrier.arrive.relaxed.cta.shared::cta.b64"),
    (lambda m: prims.mbarrier_arrive(prims.mapa(m, 1), scope="cluster"), "mbarrier.arrive.release.cluster.shared::cluster.b64 _"),
    (lambda m: prims.mbarrier_arrive_drop(m), "mbarrier.arrive_drop.shared::cta.b64"),
    (lambda m: prims.mbarrier_arrive_expect_tx(m, 64), "mbarrier.arrive.expect_tx.shared::cta.b64"),
    (lambda m: prims.mbarrier_arrive_drop_expect_tx(m, 64), "mbarrier.arrive_drop.expect_tx.shared::cta.b64"),
    (lambda m: prims.mbarrier_arrive_nocomplete(m, 1), "mbarrier.arrive.noComplete.shared::cta.b64"),
    (lambda m: prims.mbarrier_arrive_drop_nocomplete(m, 1), "mbarrier.arrive_drop.noComplete.shared::cta.b64"),
    (lambda m: prims.mbarrier_expect_tx(m, 64), "mbarrier.expect_tx.relaxed.cta.shared::cta.b64"),
    (lambda m: prims.mbarrier_complete_tx(m, 64), "mbarrier.complete_tx.relaxed.cta.shared::cta.b64"),
    (lambda m: prims.mbarrier_try_wait_parity(m, 0), "mbarrier.try_wait.parity.shared::cta.b64"),
    (lambda m: prims.mbarrier_try_wait(m, Int64(0), ticks=10), "mbarrier.try_wait.shared::cta.b64"),
    (lambda m: prims.mbarrier_try_wait_timelimit(m, Int64(0), 10, scope="cluster"),
     "mbarrier.try_wait.acquire.cluster.shared::cta.b64"),
    (lambda m: prims.mbarrier_test_wait(m, Int32(0)), "mbarrier.test_wait.parity.shared::cta.b64"),
    (lambda m: prims.mbarrier_wait(m, 0, prims.MBarrierWait.TRY), "mbarrier.try_wait.shared::cta.b64"),
    (lambda m: prims.mbarrier_wait_parity(m, 0, "test", order="relaxed", scope="cta"),
     "mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64"),
    (lambda m: prims.cp_async_mbarrier_arrive(m), "cp.async.mbarrier.arrive.shared::cta.b64"),
    (lambda m: prims.cp_async_mbarrier_arrive(m, noinc=True), "cp.async.mbarrier.arrive.noinc.shared::cta.b64"),
    (lambda m: prims.mbarrier_inval(m), "mbarrier.inval.shared::cta.b64"),
]  # fmt: skip


def test_spellings():
    def body(a, b):
        m = barriers()
        for make, _ in SPELLED:
            make(m)

    lines = [line.strip() for line in kernels.ptx(body).splitlines()]
    start = 0
    for _, spelling in SPELLED:
        start = (
            next((i for i in range(start, len(lines)) if re.search(rf"{re.escape(spelling)}[ ,;]", lines[i])), -1) + 1
        )
        assert start, spelling


def test_a_phase_ends_with_the_last_arrival():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        m, shared = barriers(2), Array(Int32, 32, space=AddressSpace.smem)
        if i == 0:
            prims.mbarrier_init(m, 32)
            prims.mbarrier_init(m.subview(1), 1)
        prims.fence_mbarrier_init()
        prims.barrier_cta_sync()
        shared[i] = i + 1
        state = prims.mbarrier_arrive(m)
        while not prims.mbarrier_try_wait(m, state):
            pass
        early = prims.mbarrier_test_wait(m.subview(1), Int32(0))
        a[i] = shared[31 - i] + Int32(early) * 100

    assert np.array_equal(kernels.run(body, np.zeros(32, np.int32), threads=32), np.arange(32, 0, -1))


def test_arriving_at_another_block():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        rank, m = prims.cluster_ctarank(), barriers()
        shared = Array(Float32, 1, space=AddressSpace.smem)
        if i == 0:
            prims.mbarrier_init(m, 1)
        prims.fence_mbarrier_init()
        prims.barrier_cluster_arrive()
        prims.barrier_cluster_wait()
        if i == 0:
            peer = 1 - rank
            prims.mapa(shared, peer)[0] = a[rank] * 2.0
            prims.mbarrier_arrive(prims.mapa(m, peer), scope=prims.MemScope.CLUSTER)
            while not prims.mbarrier_try_wait_parity(m, 0, scope="cluster", order="acquire"):
                pass
            a[2 + rank] = shared[0]
        prims.barrier_cluster_arrive()
        prims.barrier_cluster_wait()

    result = kernels.run(body, np.array([3, 5, 0, 0], np.float32), threads=32, blocks=2)
    assert np.array_equal(result, [3, 5, 10, 6])


def test_types_of_results():
    def body(a, b):
        m = barriers()
        assert type(prims.mbarrier_arrive(m)) is Int64 and prims.mbarrier_arrive(prims.mapa(m, 1)) is None
        assert type(prims.mbarrier_try_wait_parity(m, 0)) is Boolean

    kernels.ptx(body)


MISTAKES = [
    (lambda a: prims.mbarrier_init(barriers(), 0), "arrival count of an mbarrier must be 1-1048575, got 0"),
    (
        lambda a: prims.mbarrier_expect_tx(barriers(), -1),
        "byte count expected by an mbarrier must be 0-1048575, got -1",
    ),
    (lambda a: prims.mbarrier_init(a, 1), "the address must be in smem or dsmem, got gmem"),
    (lambda a: prims.mbarrier_init(3, 1), "an address must be an Array or a pointer, got Python int"),
    (lambda a: prims.mbarrier_wait(barriers(), 0, "spin"), "kind of a wait must be one of test, try, got 'spin'"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(a))
    assert str(error.value.message) == message
