"""cute.arch's mbarriers, fences, clusters and registers: the instructions NVIDIA's compiler makes for sm_90a, what they
do on the emulator, and what is refused. The spellings were read off its PTX (release 4.8.1).

Modules tested here: dsl/gpu/threads/index.py, dsl/gpu/threads/launch_control.py, dsl/gpu/threads/sync.py.
"""

import re
import tempfile

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Int32, Int64, const_expr, cute, memory
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.emulator import Fault
from dsl.launch import session


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()


@cute.kernel
def one_call(function: Constexpr, out: cute.Tensor):
    barrier = memory.SmemAllocator().allocate_array(Int64, 2)
    out[0] = Int32(function(barrier))


@cute.jit
def host_of_one_call(function: Constexpr, out: cute.Tensor):
    one_call(function, out).launch(grid=1, block=128)


def spelling(function) -> list[str]:
    """The opcodes of a call, without what moves operands."""

    def called(barrier):
        made = function(barrier)
        return 0 if made is None else made

    with tempfile.TemporaryDirectory() as folder:
        compiled = cute.compile(
            host_of_one_call,
            called,
            from_dlpack(np.zeros(1, np.int32)),
            options=f"--keep-ptx --gpu-arch sm_90a --dump-dir {folder}",
        )
    body = compiled.__ptx__.partition("{")[2].replace("{", ";").replace(":", ";", 0)
    found = re.findall(
        r"(?:^|[;\t ])((?!mov\b|ld\.param|st\.global|cvta|selp|ret)[a-z]\w*\.[\w.:]+)", body, re.MULTILINE
    )
    return [
        each for each in found if re.match(r"mbarrier|fence|barrier|bar\.|mapa|cp\.|setmaxnreg|griddep|elect", each)
    ]


SPELLED = [
    (lambda b: arch.mbarrier_init(b, 3), "mbarrier.init.shared.b64"),
    (lambda b: arch.mbarrier_init_fence(), "fence.mbarrier_init.release.cluster"),
    (lambda b: arch.mbarrier_arrive(b), "mbarrier.arrive.shared.b64"),
    (lambda b: arch.mbarrier_arrive(b, arrive_count=4), "mbarrier.arrive.shared.b64"),
    (lambda b: arch.mbarrier_arrive(b, relaxed=True), "mbarrier.arrive.relaxed.cta.shared.b64"),
    (lambda b: arch.mbarrier_arrive(b, 1), "mapa.shared::cluster.u32 mbarrier.arrive.shared::cluster.b64"),
    (lambda b: arch.mbarrier_arrive_and_expect_tx(b, 128), "mbarrier.arrive.expect_tx.shared.b64"),
    (
        lambda b: arch.mbarrier_arrive_and_expect_tx(b, 128, 1),
        "mapa.shared::cluster.u32 mbarrier.arrive.expect_tx.shared::cluster.b64",
    ),
    (lambda b: arch.mbarrier_expect_tx(b, 128), "mbarrier.expect_tx.relaxed.cta.shared.b64"),
    (
        lambda b: arch.mbarrier_expect_tx(b, 128, 1),
        "mapa.shared::cluster.u32 mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64",
    ),
    (lambda b: arch.mbarrier_wait(b, 0), "mbarrier.try_wait.parity.shared.b64"),
    (lambda b: arch.mbarrier_try_wait(b, 1), "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64"),
    (lambda b: arch.mbarrier_test_wait(b, 1), "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64"),
    (lambda b: arch.cp_async_mbarrier_arrive_noinc(b), "cp.async.mbarrier.arrive.noinc.shared.b64"),
    (lambda b: arch.fence_proxy("alias"), "fence.proxy.alias"),
    (lambda b: arch.fence_proxy("async"), "fence.proxy.async"),
    (lambda b: arch.fence_proxy("async.global"), "fence.proxy.async.global"),
    (lambda b: arch.fence_proxy("async.shared", space="cta"), "fence.proxy.async.shared::cta"),
    (lambda b: arch.fence_proxy("async.shared", space="cluster"), "fence.proxy.async.shared::cluster"),
    (lambda b: arch.fence_view_async_shared(), "fence.proxy.async.shared::cta"),
    (lambda b: arch.fence_acq_rel_cluster(), "fence.acq_rel.cluster"),
    (lambda b: arch.cluster_arrive(), "barrier.cluster.arrive"),
    (lambda b: arch.cluster_arrive(aligned=True), "barrier.cluster.arrive.aligned"),
    (lambda b: arch.cluster_arrive_relaxed(), "barrier.cluster.arrive.relaxed"),
    (lambda b: arch.cluster_wait(), "barrier.cluster.wait"),
    (lambda b: arch.griddepcontrol_wait(), "griddepcontrol.wait"),
    (lambda b: arch.griddepcontrol_launch_dependents(), "griddepcontrol.launch_dependents"),
    (lambda b: arch.setmaxregister_increase(232), "setmaxnreg.inc.sync.aligned.u32"),
    (lambda b: arch.warpgroup_reg_dealloc(40), "setmaxnreg.dec.sync.aligned.u32"),
    (lambda b: arch.cp_async_bulk_commit_group(), "cp.async.bulk.commit_group"),
    (lambda b: arch.cp_async_bulk_wait_group(0), "cp.async.bulk.wait_group"),
    (lambda b: arch.cp_async_bulk_wait_group(1, read=True), "cp.async.bulk.wait_group.read"),
    (lambda b: arch.barrier_arrive(barrier_id=1, number_of_threads=64, aligned=False), "barrier.arrive"),
]


@pytest.mark.parametrize("function, expected", SPELLED, ids=[text.replace("::", "_") for _, text in SPELLED])
def test_spelled_as_upstream_does(function, expected):
    assert spelling(function) == expected.split()


@cute.kernel
def exchange(out: cute.Tensor):
    """Each thread leaves a number and reads the number of its partner, in four phases, under waits of three kinds."""
    t, _, _ = arch.thread_idx()
    smem = memory.SmemAllocator()
    barrier, box = smem.allocate_array(Int64, 1), smem.allocate_tensor(Int32, cute.make_layout(64), 16)
    if t == 0:
        arch.mbarrier_init(barrier, 64)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for i in range(4):
        box[t] = t + 100 * i
        arch.mbarrier_arrive(barrier)
        done = arch.mbarrier_conditional_try_wait(t < 32, barrier, i % 2)
        if t < 16:
            while not arch.mbarrier_test_wait(barrier, i % 2):
                pass
        arch.mbarrier_wait(barrier, i % 2)
        out[64 * i + t] = box[63 - t] + Int32(done and t >= 32) * 10000
        arch.sync_threads()


@cute.jit
def host_of_exchange(out: cute.Tensor):
    exchange(out).launch(grid=1, block=64)


def test_waits_end_with_their_phase(emulator):
    out = np.zeros(256, np.int32)
    host_of_exchange(from_dlpack(out))
    t, i = np.arange(64), np.arange(4)[:, None]
    np.testing.assert_array_equal(out.reshape(4, 64), 63 - t + 100 * i + 10000 * (t >= 32))


@cute.kernel
def clusters_meet(out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    box = memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(96), 16)
    for i in range(3):
        arch.cluster_arrive()
        box[t] = t + i
        arch.cluster_wait()
        arch.cluster_arrive_relaxed()
        arch.cluster_wait()
        if t == 0:
            rank = arch.block_idx_in_cluster()
            out[3 * rank + i] = box[95] + arch.cluster_size() + rank


@cute.jit
def host_of_clusters(out: cute.Tensor, blocks: Constexpr):
    clusters_meet(out).launch(grid=blocks, block=96, cluster=blocks)


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_a_cluster_meets(emulator, blocks):
    out = np.zeros(3 * blocks, np.int32)
    host_of_clusters(from_dlpack(out), blocks)
    rank = np.arange(blocks)[:, None]
    np.testing.assert_array_equal(out.reshape(blocks, 3), 95 + blocks + np.arange(3) + rank)


@cute.kernel
def elects(out: cute.Tensor, keeps: Constexpr):
    t, _, _ = arch.thread_idx()
    x = Int32(0)
    y = Int32(0)
    with arch.elect_one():
        x = Int32(5)
        if t >= 32:
            out[1] = t
        for i in range(3):
            out[2 + i] = i
        y = out[0] + t
        out[0] = y
    out[8 + t] = y if keeps else x


@cute.jit
def host_of_elects(out: cute.Tensor, keeps: Constexpr):
    elects(out, keeps).launch(grid=1, block=64)


def test_elect_one_runs_once_a_warp(emulator):
    """A number that is known while compiling is assigned for every lane, as NVIDIA's compiler has it."""
    out = np.zeros(72, np.int32)
    host_of_elects(from_dlpack(out), False)
    np.testing.assert_array_equal(out[:8], [32, 32, 0, 1, 2, 0, 0, 0])
    np.testing.assert_array_equal(out[8:], 5)


@cute.kernel
def elects_twice(out: cute.Tensor):
    with arch.elect_one():
        with arch.elect_one():
            out[0] = 1


@cute.jit
def host_of_twice(out: cute.Tensor):
    elects_twice(out).launch(grid=1, block=32)


def test_one_elected_lane_cannot_elect():
    with pytest.raises(DSLUserCodeError, match="elects a lane where one is elected already"):
        host_of_twice(from_dlpack(np.zeros(1, np.int32)))
    host_of_elects(from_dlpack(np.zeros(72, np.int32)), False)  # it is forgotten


def test_a_value_of_one_lane_is_not_there_for_the_others(emulator):
    with pytest.raises(DSLUserCodeError) as caught:
        host_of_elects(from_dlpack(np.zeros(72, np.int32)), True)
    assert caught.value.id == "VALUE_OF_ANOTHER_REGION" and "y if keeps else x" in str(caught.value)


REFUSED = [
    (lambda b: arch.setmaxregister_increase(231), "register count must be a multiple of 8 from 24 to 256, got 231"),
    (lambda b: arch.fence_proxy("async.shared"), "fence_proxy does not support 'async.shared'"),
    (lambda b: arch.fence_proxy("tensormap"), "fence_proxy does not support 'tensormap'"),
    (lambda b: arch.mbarrier_init(b, 0), "arrival count of an mbarrier must be 1-1048575, got 0"),
    (lambda b: arch.mbarrier_expect_tx(b, 1 << 20), "0 to 1048575 bytes are expected at an mbarrier at once"),
    (lambda b: arch.mbarrier_arrive(3), "an mbarrier is 8 bytes of shared memory, got int"),
    (lambda b: bool(arch.elect_one()), "elect_one() is not a condition"),
]


@pytest.mark.parametrize("function, text", REFUSED, ids=range(len(REFUSED)))
def test_calls_without_a_meaning_are_refused(function, text):
    with pytest.raises(DSLUserCodeError) as caught:
        spelling(function)
    assert text in str(caught.value) and "test_mbarrier.py" in str(caught.value)


@cute.kernel
def stuck(out: cute.Tensor, arrivals: Constexpr, n_bytes: Constexpr):
    barrier = memory.SmemAllocator().allocate_array(Int64, 2)
    with arch.elect_one():
        arch.mbarrier_init(barrier, 2)
        arch.mbarrier_arrive_and_expect_tx(barrier, n_bytes)
        if const_expr(arrivals == 2):
            arch.mbarrier_arrive(barrier)
    arch.sync_warp()
    arch.mbarrier_wait(barrier, 0)


@cute.jit
def host_of_stuck(out: cute.Tensor, arrivals: Constexpr, n_bytes: Constexpr):
    stuck(out, arrivals, n_bytes).launch(grid=1, block=32)


@pytest.mark.parametrize(
    "arrivals, n_bytes, text",
    [
        (
            2,
            96,
            "parity 0 of the mbarrier at smem+0x0 to end: 2 of 2 arrivals have come, and 96 bytes that were expected",
        ),
        (1, 0, "parity 0 of the mbarrier at smem+0x0 to end: 1 of 2 arrivals have come,\n"),
    ],
)
def test_the_report_of_a_wait_without_end_names_what_is_missing(emulator, arrivals, n_bytes, text):
    with pytest.raises(Fault) as caught:
        host_of_stuck(from_dlpack(np.zeros(1, np.int32)), arrivals, n_bytes)
    assert caught.value.kind == "deadlock" and text in str(caught.value)
    assert "arch.mbarrier_wait(barrier, 0)" in str(caught.value)


def test_a_phase_with_all_it_waits_for_is_over(emulator):
    host_of_stuck(from_dlpack(np.zeros(1, np.int32)), 2, 0)
