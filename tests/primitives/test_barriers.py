"""Barriers of a block and a cluster, and fences: their PTX, what they do, and what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Int32, cute
from dsl.cutlass.experimental import primitives as prims
from tests.primitives import kernels

SPELLED = [
    (lambda: prims.barrier_cta_sync(3), "barrier.sync \t3;"),
    (lambda: prims.barrier_cta_sync_aligned(3, thread_count=64), "bar.sync \t3, 64;"),
    (lambda: prims.barrier_cta_arrive(1, 64), "barrier.arrive \t1, 64;"),
    (lambda: prims.barrier_cta_arrive_aligned(1, 64), "bar.arrive \t1, 64;"),
    (lambda: prims.barrier(), "bar.sync \t0;"),
    (lambda: prims.bar_warp_sync(0xFF), "bar.warp.sync"),
    (lambda: prims.barrier_cluster_arrive(), "barrier.cluster.arrive;"),
    (lambda: prims.barrier_cluster_arrive_aligned(), "barrier.cluster.arrive.aligned;"),
    (lambda: prims.barrier_cluster_arrive_relaxed(), "barrier.cluster.arrive.relaxed;"),
    (lambda: prims.barrier_cluster_arrive_relaxed_aligned(), "barrier.cluster.arrive.relaxed.aligned;"),
    (lambda: prims.barrier_cluster_wait(), "barrier.cluster.wait;"),
    (lambda: prims.barrier_cluster_wait_aligned(), "barrier.cluster.wait.aligned;"),
    (lambda: prims.fence_acq_rel("cluster"), "fence.acq_rel.cluster;"),
    (lambda: prims.fence_sc_cluster(), "fence.sc.cluster;"),
    (lambda: prims.memory_barrier(prims.MemScope.GPU), "membar.gl;"),
    (lambda: prims.fence_proxy("async"), "fence.proxy.async;"),
    (lambda: prims.fence_proxy("async_shared", space=prims.SharedSpace.shared_cta), "fence.proxy.async.shared::cta;"),
    (lambda: prims.fence_proxy_release("gpu"), "fence.proxy.tensormap::generic.release.gpu;"),
    (lambda: prims.griddepcontrol("wait"), "griddepcontrol.wait;"),
    (lambda: prims.griddepcontrol(prims.GridDepAction.LAUNCH_DEPENDENTS), "griddepcontrol.launch_dependents;"),
    (lambda: prims.setmaxregister(40, prims.SetMaxRegisterAction.DECREASE), "setmaxnreg.dec.sync.aligned.u32 40;"),
    (lambda: prims.setmaxregister(40, "increase"), "setmaxnreg.inc.sync.aligned.u32 40;"),
    (lambda: prims.nanosleep(100), "nanosleep.u32"),
]


def test_spellings():
    """One kernel has them all; they are in its PTX in this order."""
    text = kernels.ptx(lambda a, b: [make() for make, _ in SPELLED] and None)
    places = [text.find(spelling) for _, spelling in SPELLED]
    assert -1 not in places and places == sorted(places), list(zip(places, SPELLED))


def test_reductions_at_a_barrier():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        some = prims.barrier_cta_red(i == 5, 0, "or", thread_count=64)
        every = prims.barrier_cta_red(i != 5, 1, prims.BarrierRedux.AND)
        count = prims.barrier_cta_red_aligned(i < 10, 2, "popc")
        a[i] = Int32(some) * 1000 + Int32(every) * 100 + count

    assert np.array_equal(kernels.run(body, np.zeros(64, np.int32), threads=64), np.full(64, 1010))


def test_one_warp_waits_for_another():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        shared = Array(Int32, 32, space=AddressSpace.smem)
        if i < 32:
            shared[i] = i * i
            prims.barrier_cta_arrive(1, 64)
        else:
            prims.barrier_cta_sync(1, thread_count=64)
            a[i - 32] = shared[i - 32]

    assert np.array_equal(kernels.run(body, np.zeros(32, np.int32), threads=64), np.arange(32) ** 2)


MISTAKES = [
    (lambda: prims.barrier_cta_sync(16), "barrier id must be 0-15, got 16"),
    (lambda: prims.barrier_cta_arrive(1, 31), "number of threads at a barrier must be a multiple of 32, got 31"),
    (lambda: prims.barrier_cta_red(True, 0, "xor"), "reduction of a barrier must be one of and, or, popc, got 'xor'"),
    (lambda: prims.fence_acq_rel("block"), "scope must be one of cta, cluster, gpu, sys, got 'block'"),
    (lambda: prims.fence_proxy("generic"), "fence_proxy has no generic: it orders both ways"),
    (lambda: prims.fence_proxy_release("gpu", to_proxy="async"),
     "a fence between proxies is from generic to tensormap, got generic to async"),
    (lambda: prims.exit(), "prims.exit is not part of this compiler yet: return from the kernel"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake())
    assert str(error.value.message) == message
