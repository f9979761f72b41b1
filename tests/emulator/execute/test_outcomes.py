"""Outcomes of launches against the verdicts of the PTX ISA and the literature, for kernels in PTX."""

from __future__ import annotations

import pytest

from dsl.emulator.faults import Fault
from dsl.emulator.ptx.syntax import Unsupported
from tests.emulator.explored import Explored, load, store, threads

TWO = {(a, b) for a in (0, 1) for b in (0, 1)}
SHARED = ".shared .align 4 .b32 S;"


@pytest.mark.parametrize(
    "fence, forbidden",
    [
        ("", ()),
        ("fence.acq_rel.gpu;", ()),
        ("fence.sc.cta;", ()),
        ("fence.sc.gpu;", [(0, 0)]),
        ("membar.gl;", [(0, 0)]),
    ],
)
def test_store_buffering(fence, forbidden):
    """SB. Lustig et al., ASPLOS 2019: only fence.sc of a scope with both threads forbids two old values."""
    one, other = (store(n) + fence + load(1, 1 - n) + store(2 + n, "%r1", "") for n in (0, 1))
    found = Explored(threads(one, other))
    assert found.values(2, 3) == TWO - {*forbidden} and found.is_complete


def message(scope):
    writer = store(0, 1, "") + store(1, 1, f"release.{scope}")
    return threads(writer, load(1, 1, f"acquire.{scope}") + load(2, 0, "") + "st.global.v2.u32 [%a+8], {%r1, %r2};")


@pytest.mark.parametrize("scope", ["cta", "cluster", "gpu", "sys"])
@pytest.mark.parametrize(
    "shape, scopes",
    [
        ({"grid": 1, "block": 2}, ("cta", "cluster", "gpu", "sys")),
        ({"grid": 2, "cluster": 2}, ("cluster", "gpu", "sys")),
        ({"grid": 2}, ("gpu", "sys")),
        ({"grid": 2, "gpu_of": lambda block: block}, ("sys",)),
    ],
    ids=["a block", "a cluster", "a grid", "two GPUs"],
)
def test_a_message_needs_a_scope_that_has_both_threads(scope, shape, scopes):
    """MP. PTX ISA 8.5."""
    assert Explored(message(scope), **shape).values(2, 3) == TWO - ({(1, 0)} if scope in scopes else set())


def test_four_threads_may_see_two_writes_in_different_orders():
    """IRIW, with acquire loads allowed. The same paper."""
    reader = "st.global.v2.u32 [%a+{}], {{%r1, %r2}};"
    first = load(1, 0, "acquire.gpu") + load(2, 1, "acquire.gpu") + reader.format(8)
    second = load(1, 1, "acquire.gpu") + load(2, 0, "acquire.gpu") + reader.format(16)
    found = Explored(threads(store(0), store(1), first, second), grid=4)
    assert found.values(2, 3, 4, 5) == {(*a, *b) for a in TWO for b in TWO} and found.is_complete


def test_atomic_operations_give_each_thread_another_number():
    found = Explored("atom.global.add.u32 %r1, [%a], 1; st.global.u32 [%b+4], %r1;", grid=3)
    assert found.values(0, 1, 2, 3) == {
        (3, a, b, 3 - a - b) for a in range(3) for b in range(3) if a != b and a + b in (1, 2, 3)
    }


def test_a_reduction_of_each_thread_counts():
    assert Explored("red.global.add.u32 [%a], 1;", grid=2, block=2).values(0) == {(4,)}


def test_one_of_two_swaps_finds_the_old_value():
    swap = "atom.global.cas.b32 %r1, [%a], 0, {}; st.global.u32 [%b+4], %r1;"
    assert Explored(threads(swap.format(5), swap.format(7))).values(0, 1, 2) == {(5, 0, 5), (7, 7, 0)}


LOCK = """L: atom.{0}.gpu.global.cas.b32 %r1, [%a], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra L;
ld.global.u32 %r2, [%a+4]; add.u32 %r2, %r2, 1; st.global.u32 [%a+4], %r2; st.{1}.gpu.global.u32 [%a], 0;"""


@pytest.mark.parametrize("orders, counts", [(("acquire", "release"), {2}), (("relaxed", "relaxed"), {1, 2})])
def test_a_lock_needs_acquire_and_release(orders, counts):
    found = Explored(LOCK.format(*orders))
    assert found.values(1) == {(count,) for count in counts} and found.is_complete and not found.stuck


def test_a_lock_that_nobody_releases():
    assert Explored(LOCK.format("acquire", "release").replace("st.release.gpu.global.u32 [%a], 0;", "")).stuck == {
        (0,),
        (1,),
    }


def test_tickets():
    body = """atom.acquire.gpu.global.add.u32 %r1, [%a], 1;
L: ld.acquire.gpu.global.u32 %r2, [%a+4]; setp.ne.u32 %p, %r2, %r1; @%p bra L;
ld.global.u32 %r3, [%a+8]; add.u32 %r3, %r3, 1; st.global.u32 [%a+8], %r3;
add.u32 %r2, %r2, 1; st.release.gpu.global.u32 [%a+4], %r2;"""
    found = Explored(body)
    assert found.values(0, 1, 2) == {(2, 2, 2)} and found.is_complete


@pytest.mark.parametrize("barrier", ["bar.sync 0;", "barrier.sync 3, 2;", "bar.warp.sync 3;", "bar.warp.sync -1;"])
def test_a_barrier_orders_shared_memory(barrier):
    """PTX ISA 9.7.13.1. Without it the reader may see the bytes 0xFF that shared memory begins with."""

    def seen(between):
        writer, reader = "st.shared.u32 [S], 5;", "ld.shared.u32 %r1, [S]; st.global.u32 [%a], %r1;"
        return Explored(threads(writer + between, between + reader), grid=1, block=2, declared=SHARED).values(0)

    assert seen(barrier) == {(5,)} and seen("") == {(5,), (0xFFFFFFFF,)}


def test_an_arrival_orders_as_a_barrier_does():
    writer, reader = (
        store(0, 5, "") + "barrier.arrive 1, 2;",
        "barrier.sync 1, 2;" + load(1, 0, "") + store(1, "%r1", ""),
    )
    assert Explored(threads(writer, reader), grid=1, block=2).values(1) == {(5,)}


def test_a_barrier_that_nobody_else_comes_to():
    found = Explored(threads("barrier.sync 1, 2;", ""), grid=1, block=2)
    assert found.stuck == {(0,)} and not found.values() and found.is_complete


def test_a_loop_that_nobody_ends():
    found = Explored(threads("", "L: " + load(1, 0) + "setp.eq.u32 %p, %r1, 0; @%p bra L;"))
    assert found.stuck == {(1,)} and found.is_complete


@pytest.mark.parametrize("bound", [4, 5])
def test_a_thread_ends_at_the_bound(bound):
    counter = "mov.u32 %r1, 0; L: st.global.u32 [%a], %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 5; @%p bra L;"
    found = Explored(threads(counter, load(1, 0) + store(1, "%r1")), bound=bound)
    assert found.is_complete == (bound == 5)
    assert found.values(0, 1) == ({(4, n) for n in range(5)} if bound == 5 else set())


def test_a_limit_of_runs_leaves_outcomes_out():
    assert not Explored("atom.global.add.u32 %r1, [%a], 1;", grid=4, most=3).is_complete


def test_a_launch_of_too_many_threads_is_refused():
    with pytest.raises(ValueError) as refused:
        Explored("", grid=17)
    assert str(refused.value) == "`k` has 17 threads; at most 16 are explored. Launch it with fewer"


def test_an_overlap_is_found_past_a_third_access():
    reads = "ld.global.u64 %d1, [%a]; st.global.u64 [%a+8], %d1; ld.global.u16 %h1, [%a+2]; st.global.u16 [%a+16], %h1;"
    with pytest.raises(Unsupported, match="its bytes overlap an access of another size"):
        Explored(threads(reads, store(1, 7)))


def test_accesses_of_different_sizes_that_overlap_are_refused():
    """PTX ISA 8.2.1: the value of such a read is open."""
    half = "ld.global.u16 %h1, [%a]; st.global.u16 [%a+8], %h1;"
    with pytest.raises(Unsupported) as refused:
        Explored(threads("st.global.u32 [%a], 1;", half))
    assert str(refused.value) == (
        "UNSUPPORTED_PTX `st.global.u32`: its bytes overlap an access of another size\n"
        "    PTX line 11: st.global.u32 [%a], 1;\n"
        "fix: access each place with one size in all threads"
    )
    assert Explored(threads("ld.global.u32 %r1, [%a];", half), initial=[7]).values(2) == {(7,)}


INDEX = "ld.global.u32 %r2, [%a]; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %a, %d1; ld.global.u32 %r3, [%d1];"
WAIT = "L: ld.acquire.gpu.global.u32 %r1, [%a+4]; setp.eq.u32 %p, %r1, 0; @%p bra L; "


def test_a_fault_is_reported_if_an_execution_comes_to_it():
    """The index is wild until thread 0 has written it."""
    writer = store(0, 2, "") + store(1, 1, "release.gpu")
    with pytest.raises(Fault, match="OUT_OF_BOUNDS"):
        Explored(threads(writer, INDEX), initial=[1 << 28])
    assert Explored(threads(writer, WAIT + INDEX + "st.global.u32 [%a+12], %r3;"), initial=[1 << 28, 0, 9]).values(
        3
    ) == {(9,)}


def test_a_fault_of_every_execution():
    with pytest.raises(Fault, match="MISALIGNED"):
        Explored("ld.global.u32 %r1, [%a+2];")


def test_memory_is_as_before_the_launch():
    found = Explored(store(0, 5), grid=1, initial=[3])
    assert found.values(0) == {(5,)} and found.data[0] == 3


COPY = "st.shared.u32 [S], 7; {before} cp.async.ca.shared.global [S], [%a], 4{source}; {wait}"
KEEP = "ld.shared.u32 %r1, [S]; st.global.u32 [%a+8], %r1;"
WAITS = [
    ("cp.async.wait_all;", {(0,)}),
    ("cp.async.commit_group; cp.async.wait_group 0;", {(0,)}),
    ("cp.async.commit_group; cp.async.wait_group 1;", {(0,), (7,)}),
    ("cp.async.wait_group 0;", {(0,), (7,)}),  # the group was not closed
    ("", {(0,), (7,)}),
]


@pytest.mark.parametrize("wait, values", WAITS, ids=[wait or "no wait" for wait, _ in WAITS])
def test_a_copy_comes_at_any_time_until_its_thread_waits(wait, values):
    """PTX ISA 9.7.9.25.3: cp.async, its groups and waits."""
    copy = COPY.format(before="", source="", wait=wait)
    assert Explored(copy + KEEP, declared=SHARED).values(2) == values
    alike = threads(copy + "bar.sync 0;", "bar.sync 0;" + KEEP)
    assert Explored(alike, block=2, declared=SHARED).values(2) == values


def test_a_copy_after_the_wait_of_another_thread_alone_is_not_ordered():
    copy = threads(COPY.format(before="", source="", wait="cp.async.wait_all;"), KEEP)
    assert {(7,), (0,)} < Explored(copy, block=2, declared=SHARED).values(2)


def test_a_copy_reads_its_source_when_it_comes():
    source = threads(
        COPY.format(before="bar.sync 0;", source="", wait="cp.async.wait_all;") + KEEP, "bar.sync 0;" + store(0, 5)
    )
    assert Explored(source, block=2, declared=SHARED).values(2) == {(0,), (5,)}


def test_a_copy_of_nothing_writes_zeros():
    copy = store(0, 5, "") + COPY.format(before="", source=", 0", wait="cp.async.wait_all;") + KEEP
    assert Explored(copy, declared=SHARED).values(2) == {(0,)}
