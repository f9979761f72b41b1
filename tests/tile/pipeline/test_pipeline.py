"""cutlass.pipeline: NVIDIA's values, the law of pipeline states, its PTX operation by operation,
deadlocks and refusals.

Modules tested here: dsl/cutlass/pipeline.py, dsl/tile/pipeline/multi_consumer_pipeline.py, dsl/tile/pipeline/sync.py.
"""

import dataclasses
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl.core.errors import DSLUserCodeError, DSLUserCodeValueError
from dsl.cutlass import Constexpr, Int32, Int64, const_expr, cute, memory, pipeline
from dsl.cutlass.pipeline import Agent, CooperativeGroup, PipelineUserType
from dsl.emulator import Fault

PROGRAM = Path(__file__).with_name("pipeline_program.py")
THREADS, WARP = Agent.Thread, Agent.Warp


@pytest.mark.slow
def test_values_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 6 and ours.output == theirs.output


# --- states ----------------------------------------------------------------------------------------------------------


@cute.kernel
def walk(out: cute.Tensor, asked: Constexpr):
    state = pipeline.make_pipeline_state(PipelineUserType.Consumer, asked.stages)
    for move in asked.moves:
        if const_expr(move == "back"):
            state.reverse()
        else:
            state.advance(out[0] * 0 + move if move % 2 else move)
    out[0], out[1], out[2] = state.index, state.phase, state.count


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 6), st.lists(st.one_of(st.integers(0, 9), st.just("back")), max_size=8))
def test_a_state_is_its_count(run, stages, moves):
    """index = count mod stages, phase = (count // stages) mod 2, however it came to that count."""
    count, lowest = 0, 0
    for move in moves:
        count += -1 if move == "back" else move
        lowest = min(lowest, count)
    if lowest < 0:
        return
    out = np.zeros(3, np.int32)
    run(walk, out, SimpleNamespace(moves=moves, stages=stages), threads=1)
    np.testing.assert_array_equal(out, [count % stages, count // stages % 2, count])


# --- PTX -------------------------------------------------------------------------------------------------------------

WAIT, ARRIVE, EXPECT = "try_wait.parity", "arrive", "arrive.expect_tx"
TRY = "try_wait.parity.acquire.cta"
INIT = "elect.sync init init elect.sync init init"
SEEN = "fence.mbarrier_init bar.sync"


def asynchronous(barriers, **more):
    return pipeline.PipelineAsync.create(
        num_stages=2,
        barrier_storage=barriers,
        defer_sync=True,
        producer_group=CooperativeGroup(THREADS, 32),
        consumer_group=CooperativeGroup(THREADS, 48),
        **more,
    )


def by_tma(barriers):
    return pipeline.PipelineTmaAsync.create(
        num_stages=2,
        barrier_storage=barriers,
        tx_count=128,
        producer_group=CooperativeGroup(THREADS),
        consumer_group=CooperativeGroup(THREADS, 4),
    )


def of_async(barriers):
    pipe = asynchronous(barriers)
    state = pipeline.make_pipeline_state(PipelineUserType.Producer, 2)
    pipe.producer_acquire(state)
    pipe.producer_commit(state)
    state.advance()
    pipe.producer_acquire(state)
    pipe.producer_tail(state)


def of_cp_async(barriers):
    pipe = pipeline.PipelineCpAsync.create(
        num_stages=2,
        barrier_storage=barriers,
        defer_sync=True,
        producer_group=CooperativeGroup(THREADS, 32),
        consumer_group=CooperativeGroup(THREADS, 48),
    )
    state = pipeline.make_pipeline_state(PipelineUserType.Producer, 2)
    pipe.producer_acquire(state)
    pipe.producer_commit(state)


def of_tma(barriers):
    pipe = by_tma(barriers)
    state = pipeline.make_pipeline_state(PipelineUserType.Producer, 2)
    pipe.producer_acquire(state)
    pipe.producer_commit(state)
    state = pipeline.make_pipeline_state(PipelineUserType.Consumer, 2)
    pipe.consumer_wait(state, pipe.consumer_try_wait(state))
    pipe.consumer_release(state)


def of_tma_tail(barriers):
    by_tma(barriers).producer_tail(pipeline.make_pipeline_state(PipelineUserType.Producer, 2))


def of_stores(stages):
    def body(barriers):
        pipe = pipeline.PipelineTmaStore.create(num_stages=stages, producer_group=CooperativeGroup(THREADS, 32))
        pipe.producer_commit()
        pipe.producer_acquire()
        pipe.producer_tail()

    return body


def of_named(barriers):
    named = pipeline.NamedBarrier(barrier_id=1, num_threads=64)
    named.arrive()
    named.arrive_unaligned()
    named.arrive_and_wait()
    named.wait_unaligned()
    named.sync()
    pipeline.sync(2)


def of_starting(cluster):
    def body(barriers):
        pipeline.pipeline_init_arrive(cluster_shape_mn=cluster, is_relaxed=True)
        pipeline.pipeline_init_wait(cluster_shape_mn=cluster)

    return body


SPELLED = [
    ("async", of_async, f"{INIT} {WAIT} {ARRIVE} {WAIT} {WAIT} {WAIT}"),
    (
        "async with sync",
        lambda b: (asynchronous(b) and pipeline.pipeline_init_arrive()) or pipeline.pipeline_init_wait(),
        f"{INIT} {SEEN}",
    ),
    ("cp.async", of_cp_async, f"{INIT} {WAIT} cp.async.mbarrier.arrive.noinc"),
    ("tma", of_tma, f"{INIT} {SEEN} {WAIT} elect.sync {EXPECT} {TRY} {WAIT} {ARRIVE}"),
    ("tma tail", of_tma_tail, f"{INIT} {SEEN} {WAIT} {WAIT}"),
    (
        "stores",
        of_stores(2),
        "cp.async.bulk.commit_group cp.async.bulk.wait_group.read:1 cp.async.bulk.wait_group.read:0",
    ),
    (
        "one store",
        of_stores(1),
        "cp.async.bulk.commit_group cp.async.bulk.wait_group.read:0 cp.async.bulk.wait_group.read:0",
    ),
    ("named", of_named, "bar.arrive barrier.arrive bar.sync bar.sync bar.sync bar.sync"),
    ("no cluster", of_starting(None), SEEN),
    ("a cluster of one", of_starting((1, 1)), SEEN),
    ("a cluster", of_starting((2, 1)), "fence.mbarrier_init barrier.cluster.arrive.relaxed barrier.cluster.wait"),
    (
        "the cluster meets",
        lambda b: pipeline.agent_sync(Agent.ThreadBlockCluster),
        "barrier.cluster.arrive barrier.cluster.wait",
    ),
]
_WORD = re.compile(
    r"mbarrier\.((?:init|arrive|try_wait)\S*?)(?:\.shared\S*)? |(elect\.sync|bar\.\w+|barrier\.\w+(?:\.\w+)*|"
    r"fence\.mbarrier_init|cp\.async\.[\w.]+?)(?:\.release\.cluster|\.shared\.b64)?[;\s]+(\d+;)?"
)


@cute.kernel
def one_body(body: Constexpr):
    body(memory.SmemAllocator().allocate_array(Int64, 4))


@cute.jit
def host_of_body(body: Constexpr):
    one_body(body).launch(grid=1, block=64)


@pytest.mark.parametrize("name, body, expected", SPELLED, ids=[row[0] for row in SPELLED])
def test_operations_are_the_instructions_of_upstream(name, body, expected):
    """In order, without moves, branches and reads of places; what NVIDIA's compiler (4.8.1) made of the same calls."""
    with tempfile.TemporaryDirectory() as folder:
        text = cute.compile(host_of_body, body, options=f"--keep-ptx --gpu-arch sm_90a --dump-dir {folder}").__ptx__
    found = []
    for inner, other, number in _WORD.findall(text.partition(".entry")[2]):
        number = ":" + number[:-1] if "wait_group" in other else ""
        found.append((inner or other) + number)
    assert found == expected.split()


# --- what goes wrong -------------------------------------------------------------------------------------------------


@cute.kernel
def forgets(out: cute.Tensor, given: Constexpr):
    t, _, _ = cute.arch.thread_idx()
    box = memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(32), 16)
    pipe = pipeline.PipelineAsync.create(
        num_stages=1, producer_group=CooperativeGroup(THREADS, given.arrivals), consumer_group=CooperativeGroup(WARP)
    )
    producer, consumer = pipe.make_participants()
    if t < 32:
        for i in range(2):
            handle = producer.acquire_and_advance()
            box[t] = t + i
            if const_expr(given.commits):
                handle.commit()
        producer.tail()
    else:
        for i in range(2):
            handle = consumer.wait_and_advance()
            out[t - 32] = box[63 - t]
            if const_expr(given.releases):
                handle.release()


def test_a_pipeline_that_is_used_rightly(run):
    out = np.zeros(32, np.int32)
    run(forgets, out, SimpleNamespace(commits=True, releases=True, arrivals=32), threads=64)
    np.testing.assert_array_equal(out, 32 - np.arange(32))


@pytest.mark.parametrize(
    "wrong, line, phase",
    [
        (
            {"commits": False},
            "handle = producer.acquire_and_advance()",
            "mbarrier at smem+0x80 to end: 0 of 32 arrivals have come",
        ),
        (
            {"releases": False},
            "handle = producer.acquire_and_advance()",
            "mbarrier at smem+0x88 to end: 0 of 32 arrivals have come",
        ),
        ({"arrivals": 64}, "handle = producer.acquire_and_advance()", "32 of 64 arrivals have come"),
    ],
)
def test_a_deadlock_names_the_forgotten_arrival(run, wrong, line, phase):
    with pytest.raises(Fault) as caught:
        given = SimpleNamespace(**{"commits": True, "releases": True, "arrivals": 32, **wrong})
        run(forgets, np.zeros(32, np.int32), given, threads=64)
    assert caught.value.kind == "deadlock" and line in str(caught.value) and phase in str(caught.value)


@cute.kernel
def two_pipelines(out: cute.Tensor):
    first, second = (
        pipeline.PipelineAsync.create(
            num_stages=1, producer_group=CooperativeGroup(THREADS, 32), consumer_group=CooperativeGroup(THREADS, 32)
        )
        for _ in range(2)
    )
    handle = first.make_producer().acquire()
    second.make_producer().commit(handle)


def for_two():
    return pipeline.PipelineTmaMultiConsumersAsync.create(
        num_stages=1,
        producer_group=CooperativeGroup(THREADS),
        consumer_group_umma=CooperativeGroup(THREADS, 1),
        consumer_group_async=CooperativeGroup(THREADS, 3),
        tx_count=64,
    )


def first_state():
    return pipeline.make_pipeline_state(PipelineUserType.Consumer, 1)


REFUSED = [
    (lambda b: CooperativeGroup(THREADS, 0), "a CooperativeGroup has one agent or more, got 0"),
    (
        lambda b: CooperativeGroup(Agent.ThreadBlock),
        "a CooperativeGroup of Agent.ThreadBlock is not part of this compiler",
    ),
    (lambda b: asynchronous(3), "barrier_storage must be a pointer to shared memory for mbarriers, got Python int"),
    (lambda b: pipeline.NamedBarrier(16, 64), "barrier id must be 0-15, got 16"),
    (lambda b: pipeline.NamedBarrier(1, 65).sync(), "number of threads at a barrier must be a multiple of 32, got 65"),
    (lambda b: pipeline.agent_sync(Agent.Warp), "agent_sync synchronizes a block or a cluster, got Agent.Warp"),
    (lambda b: pipeline.make_pipeline_state("producer", 2), "a pipeline state belongs to a producer or a consumer"),
    (lambda b: of_stores(0)(b), "number of stages must be 1 or more, got 0"),
    (lambda b: for_two().consumer_release(first_state()), "arriving by PipelineOp.TCGen05Mma needs Blackwell"),
    (
        lambda b: pipeline.MbarrierArray(b, 1, (pipeline.PipelineOp.TmaStore, CooperativeGroup(THREADS))),
        "no group arrives at an mbarrier by PipelineOp.TmaStore",
    ),
    (lambda b: pipeline.PipelineUmmaAsync, "cutlass.pipeline.PipelineUmmaAsync is not part of this compiler yet"),
]


@pytest.mark.parametrize("body, text", REFUSED, ids=range(len(REFUSED)))
def test_wrong_pipelines_are_refused(run, body, text):
    with pytest.raises(DSLUserCodeError) as caught:
        run(one_body, body)
    assert text in str(caught.value) and "test_pipeline.py" in str(caught.value) and "fix: " in str(caught.value)


def test_a_handle_of_another_pipeline(run):
    with pytest.raises(DSLUserCodeError, match="the handle is of another pipeline"):
        run(two_pipelines, np.zeros(1, np.int32))


def test_a_named_barrier_may_be_derived_from_as_a_dataclass():
    @dataclasses.dataclass(frozen=True)
    class Indexed(pipeline.NamedBarrier):
        def of(self, index):
            return self.barrier_id + index

    assert Indexed(barrier_id=2, num_threads=64).of(1) == 3
    with pytest.raises(DSLUserCodeValueError, match="barrier id must be 0-15, got 16"):
        Indexed(16, 64)
