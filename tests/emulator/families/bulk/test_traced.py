"""Bulk copies and asynchronous stores in all outcomes of a kernel: what may be seen before they end, without a fence of
the proxy, without a wait. PTX ISA 8.9.6, 9.7.9.12, 9.7.9.25.4, 9.7.9.27.2, 9.7.13.7."""

from __future__ import annotations

import pytest

from dsl.emulator.faults import Fault
from dsl.emulator.ptx.syntax import Unsupported
from tests.emulator.explored import Explored, load, store, threads

DECLARED = ".shared .align 8 .b64 B; .shared .align 16 .b8 S[64];"
UNSET = 0xFFFFFFFF  # what shared memory begins with
BEGIN = "mbarrier.init.shared.b64 [B], 1; mbarrier.arrive.expect_tx.shared.b64 _, [B], 16; "
COPY_IN = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [S], [%a], 16, [B]; "
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %q, [B], 0; @!%q bra W; "
READ = "ld.shared.u32 %r1, [S]; st.global.u32 [%a+16], %r1; "
COPY_OUT = "cp.async.bulk.global.shared::cta.bulk_group [%a], [S], 16; cp.async.bulk.commit_group; "


def explored(*bodies, initial=(7,), **options):
    body = threads(*bodies)
    return Explored(body, **{"grid": 1, "block": len(bodies), "declared": DECLARED, "initial": initial} | options)


def test_a_copy_is_complete_after_the_wait_for_its_bytes():
    found = explored(BEGIN + COPY_IN + WAIT + READ)
    assert found.values(4) == {(7,)} and found.is_complete and not found.stuck


def test_a_copy_comes_at_any_time_until_then():
    assert explored(BEGIN + COPY_IN + READ).values(4) == {(UNSET,), (7,)}
    relaxed = WAIT.replace(".parity", ".parity.relaxed.cta")
    assert explored(BEGIN + COPY_IN + relaxed + READ).values(4) == {(UNSET,), (7,)}


def test_bytes_may_be_complete_before_they_are_expected():
    begin = "mbarrier.init.shared.b64 [B], 1; " + COPY_IN + "mbarrier.arrive.expect_tx.shared.b64 _, [B], 16; "
    found = explored(begin + WAIT + READ)
    assert found.values(4) == {(7,)} and not found.stuck
    assert explored(begin.replace("16; ", "32; ") + WAIT).stuck == {(0,)}


def test_another_thread_sees_the_bytes_by_its_own_wait():
    reader = "bar.sync 0; V: mbarrier.try_wait.parity.shared.b64 %q, [B], 0; @!%q bra V; " + READ
    assert explored(BEGIN + "bar.sync 0; " + COPY_IN, reader).values(4) == {(7,)}
    assert explored(BEGIN + "bar.sync 0; " + COPY_IN, "bar.sync 0; " + READ).values(4) == {(UNSET,), (7,)}


@pytest.mark.parametrize(
    "fence, values",
    [
        ("", {(7,), (9,)}),
        ("fence.proxy.async; ", {(9,)}),
        ("fence.proxy.async.global; ", {(9,)}),
        ("fence.proxy.async.shared::cta; ", {(7,), (9,)}),
        ("fence.acq_rel.sys; ", {(7,), (9,)}),
    ],
)
def test_a_write_reaches_the_async_proxy_by_its_fence(fence, values):
    assert explored(store(0, 9, "") + fence + BEGIN + COPY_IN + WAIT + READ).values(4) == values


@pytest.mark.parametrize(
    "fence, wait, values",
    [
        ("fence.proxy.async; ", "cp.async.bulk.wait_group 0; ", {(3, 3)}),
        ("fence.proxy.async; ", "cp.async.bulk.wait_group.read 0; ", {(3, 3), (3, 7)}),
        ("fence.proxy.async; ", "", {(3, 3), (3, 7), (4, 4), (4, 7)}),
        ("fence.proxy.async; ", "cp.async.bulk.wait_group 1; ", {(3, 3), (3, 7), (4, 4), (4, 7)}),
        ("", "cp.async.bulk.wait_group 0; ", {(3, 3), (UNSET, UNSET)}),
    ],
)
def test_a_copy_outwards_ends_at_the_wait_for_its_group(fence, wait, values):
    """`.read`: it has read its source, and its writes may still come."""
    body = f"st.shared.u32 [S], 3; {fence}{COPY_OUT}{wait}{load(1, 0, '')}st.shared.u32 [S], 4; " + store(4, "%r1", "")
    found = explored(body)
    assert found.values(0, 4) == values and found.is_complete


@pytest.mark.slow
def test_a_slot_is_filled_again_after_a_barrier():
    """The generic read comes before the next copy by the barrier of the threads; the PTX ISA asks for no fence here
    where the value is not written by the generic proxy."""
    second = "mbarrier.arrive.expect_tx.shared.b64 _, [B], 16; " + COPY_IN.replace("[%a]", "[%a+32]")
    last = "V: mbarrier.try_wait.parity.shared.b64 %q, [B], 1; @!%q bra V; "
    body = BEGIN + COPY_IN + WAIT + READ + second + last + "ld.shared.u32 %r2, [S]; " + store(5, "%r2", "")
    found = explored(body, words=16, initial=(7, 0, 0, 0, 0, 0, 0, 0, 8))
    assert found.values(5) == {(8,)} and (7, 8) in found.values(4, 5)


def test_a_copy_of_many_words_is_followed_if_its_thread_reads_them():
    """Values that the axioms rule out for the thread alone are not followed: else each word would double the runs."""
    reads = "".join(f"ld.shared.u32 %r{i}, [S+{4 * i}]; st.global.u32 [%a+{64 + 4 * i}], %r{i}; " for i in range(8))
    body = BEGIN.replace("16;", "32;") + COPY_IN.replace("16,", "32,") + WAIT + reads
    found = explored(body, words=32, initial=range(1, 9))
    assert found.values(*range(16, 24)) == {tuple(range(1, 9))} and found.is_complete
    assert len(found.found.traces[0]) < 64


TO = "mov.u32 %r4, S; mov.u32 %r6, B; mapa.shared::cluster.u32 %r5, %r4, 1; mapa.shared::cluster.u32 %r7, %r6, 1; "
MEET = "barrier.cluster.arrive; barrier.cluster.wait; "
STORE = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{} [%r5], {}, [%r7]; "
ADD = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], {}, [%r7]; "


def between_blocks(sends, nbytes, wait=WAIT, read=READ, **options):
    begin = "st.shared.u32 [S], 1; mbarrier.init.shared.b64 [B], 1; "
    begin += f"mbarrier.arrive.expect_tx.shared.b64 _, [B], {nbytes}; "
    body = threads(TO + MEET + sends, begin + MEET + wait + read)
    return Explored(body, **{"grid": 2, "cluster": 2, "declared": DECLARED} | options)


@pytest.mark.parametrize(
    "wait, values",
    [
        (WAIT.replace(".parity", ".parity.acquire.cluster"), {(9,)}),
        (WAIT.replace(".parity", ".parity.relaxed.cluster"), {(1,), (9,)}),
        (WAIT, {(1,), (9,)}),
        ("", {(1,), (9,)}),
    ],
)
def test_an_asynchronous_store_is_seen_by_the_wait_for_its_bytes(wait, values):
    """PTX ISA 9.7.9.12: the update of the mbarrier releases to the cluster. A wait without a scope is of its block."""
    found = between_blocks(STORE.format("u32", 9), 4, wait)
    assert found.values(4) == values and found.is_complete


def test_a_vector_is_stored_element_by_element():
    read = "ld.shared.u32 %r1, [S+4]; st.global.u32 [%a+16], %r1; "
    acquire = WAIT.replace(".parity", ".parity.acquire.cluster")
    assert between_blocks(STORE.format("v2.u32", "{8, 9}"), 8, acquire, read).values(4) == {(9,)}
    assert between_blocks(STORE.format("v2.u32", "{8, 9}"), 12, acquire, read).stuck == {(1,)}


def test_asynchronous_stores_come_in_any_order():
    acquire = WAIT.replace(".parity", ".parity.acquire.cluster")
    assert between_blocks(STORE.format("u32", 8) + STORE.format("u32", 9), 8, acquire).values(4) == {(8,), (9,)}


def test_an_asynchronous_reduction():
    acquire = WAIT.replace(".parity", ".parity.acquire.cluster")
    assert between_blocks(ADD.format(2), 4, acquire).values(4) == {(3,)}
    assert between_blocks(ADD.format(2), 4, "").values(4) == {(1,), (3,)}


@pytest.mark.slow
def test_asynchronous_reductions_all_count():
    acquire = WAIT.replace(".parity", ".parity.acquire.cluster")
    assert between_blocks(ADD.format(2) + ADD.format(4), 8, acquire).values(4) == {(7,)}


def test_a_store_does_not_fence_the_async_proxy():
    """A generic write reaches a bulk copy of another thread by a fence of the proxy, not by the end of a store."""
    acquire = WAIT.replace(".parity", ".parity.acquire.cluster")
    out = COPY_OUT.replace("[%a]", "[%a+16]") + "cp.async.bulk.wait_group 0; "
    late = between_blocks(STORE.format("u32", 9), 4, acquire, out)
    assert late.values(4) == {(1,), (9,), (UNSET,)}
    fenced = between_blocks(STORE.format("u32", 9), 4, acquire, "fence.proxy.async; " + out)
    assert fenced.values(4) == {(9,)}


def test_a_prefetch_changes_nothing():
    prefetch = "mov.u32 %r1, 16; cp.async.bulk.prefetch.L2.global [%a], %r1; "
    assert explored(prefetch + BEGIN + COPY_IN + WAIT + READ).values(4) == {(7,)}


def test_bad_copies():
    with pytest.raises(Fault, match="OUT_OF_BOUNDS"):
        explored(BEGIN + COPY_IN.replace("[%a]", "[%a+32]"))
    with pytest.raises(Fault, match="OUT_OF_BOUNDS"):
        explored(BEGIN + COPY_IN.replace("[S], [%a], 16", "[S+64], [%a], 16"))
    with pytest.raises(Fault, match="multiple of 16"):
        explored(BEGIN + COPY_IN.replace("16, [B]", "8, [B]"))
    with pytest.raises(Unsupported, match="cp.reduce.async.bulk"):
        explored("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a], [S], 16; ")


def test_more_reads_than_are_followed():
    found = explored("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [S], [%a], 256, [B]; ",
                     words=64, declared=DECLARED.replace("S[64]", "S[256]"))  # fmt: skip
    assert not found.is_complete and not found.outcomes
