"""Clusters in all outcomes of a kernel: their barrier, memory and mbarriers of another block, by the PTX ISA."""

from __future__ import annotations

import pytest

from dsl.emulator.faults import Fault
from dsl.emulator.ptx.syntax import Unsupported
from tests.emulator.explored import Explored, store, threads

DECLARED = ".shared .align 16 .b8 S[64]; .shared .align 8 .b64 B;"
UNSET = 0xFFFFFFFF
TO = "mov.u32 %r4, S; mov.u32 %r6, B; mapa.shared::cluster.u32 %r5, %r4, {0}; mapa.shared::cluster.u32 %r7, %r6, {0}; "
MEET = "barrier.cluster.arrive; barrier.cluster.wait; "
READ = "ld.shared.u32 %r1, [S]; st.global.u32 [%a], %r1; "
SEND = "st.shared::cluster.u32 [%r5], 9; "


def explored(*bodies, **options):
    return Explored(threads(*bodies), **{"grid": len(bodies), "cluster": len(bodies), "declared": DECLARED} | options)


@pytest.mark.parametrize(
    "fence, arrive, values",
    [
        ("", "", {(9,)}),
        ("", ".release", {(9,)}),
        ("", ".relaxed", {(UNSET,), (9,)}),
        ("fence.acq_rel.cluster; ", ".relaxed", {(9,)}),
        ("fence.acq_rel.cta; ", ".relaxed", {(UNSET,), (9,)}),
        ("fence.mbarrier_init.release.cluster; ", ".relaxed", {(UNSET,), (9,)}),
    ],
)
def test_the_barrier_of_a_cluster_orders_memory_unless_it_is_relaxed(fence, arrive, values):
    """PTX ISA 9.7.13.3"""
    meet = f"barrier.cluster.arrive{arrive}; barrier.cluster.wait; "
    found = explored(TO.format(1) + SEND + fence + meet, meet + READ)
    assert found.values(0) == values and found.is_complete


def test_a_store_to_another_block_may_come_late():
    assert explored(TO.format(1) + SEND, READ).values(0) == {(UNSET,), (9,)}


@pytest.mark.parametrize(
    "first", [MEET, "fence.mbarrier_init.release.cluster; " + MEET.replace("arrive", "arrive.relaxed")]
)
@pytest.mark.parametrize(
    "arrival, look, values",
    [
        (".release.cluster", ".acquire.cluster", {(9,)}),
        (".release.cta", ".acquire.cluster", {(UNSET,), (9,)}),
        ("", ".acquire.cluster", {(UNSET,), (9,)}),
        (".release.cluster", ".acquire.cta", {(UNSET,), (9,)}),
        (".release.cluster", "", {(UNSET,), (9,)}),
    ],
)
def test_an_arrival_at_another_block_needs_the_scope_of_the_cluster(first, arrival, look, values):
    """PTX ISA 8.5, 8.6: without a scope both are of the block."""
    wait = f"W: mbarrier.try_wait.parity{look}.shared.b64 %q, [B], 0; @!%q bra W; "
    sender = TO.format(0) + first + SEND + f"mbarrier.arrive{arrival}.shared::cluster.b64 _, [%r7]; "
    found = explored("mbarrier.init.shared.b64 [B], 1; " + first + wait + READ, sender)
    assert found.values(0) == values and found.is_complete and not found.stuck


def test_a_relaxed_barrier_makes_no_mbarrier_visible():
    meet = MEET.replace("arrive", "arrive.relaxed")
    with pytest.raises(Fault, match="MBARRIER_NOT_INITIALIZED"):
        explored(
            "mbarrier.init.shared.b64 [B], 1; " + meet,
            TO.format(0) + meet + "mbarrier.arrive.shared::cluster.b64 _, [%r7]; ",
        )


@pytest.mark.parametrize("fence, values", [("", {(UNSET,), (9,)}), ("fence.proxy.async; ", {(9,)})])
def test_a_copy_to_another_block_releases_to_the_cluster(fence, values):
    wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %q, [B], 0; @!%q bra W; "
    expect = "mbarrier.arrive.expect_tx.shared.b64 _, [B], 16; "
    copy = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [S], 16, [%r7]; "
    sender = TO.format(0) + MEET + "st.shared.u32 [S], 9; " + fence + copy
    found = explored("mbarrier.init.shared.b64 [B], 1; " + MEET + expect + wait + READ, sender)
    assert found.values(0) == values and not found.stuck


def test_a_block_that_has_ended_is_not_waited_for():
    assert explored(MEET + store(0), "").values(0) == {(1,)}
    assert explored(MEET + store(0), "bar.sync 1, 32; ").stuck == {(0, 1)}


def test_two_clusters_do_not_meet():
    found = explored(MEET + store(0), MEET, "bar.sync 1, 32; ", "", cluster=2)
    assert found.stuck == {(2,)}


def test_a_wait_without_an_arrival_never_ends():
    assert explored("barrier.cluster.wait; ", MEET).stuck == {(0, 1)}


@pytest.mark.parametrize("place, rank", [("[%r5]", 5), ("[%r5+64000]", 1)])
def test_a_place_outside_is_refused(place, rank):
    with pytest.raises(Unsupported, match=f"there is no such place in the shared memory of rank {rank}"):
        explored(TO.format(rank) + SEND.replace("[%r5]", place), "")


def test_the_rank_counts_along_all_axes():
    body = (
        "mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mov.u32 %r4, S; mapa.shared::cluster.u32 %r5, %r4, %r1; "
    )
    body += "mov.u32 %r2, %ctaid.y; st.shared::cluster.u32 [%r5], %r2; " + MEET + "ld.shared.u32 %r3, [S]; "
    found = Explored(body + "mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d1, %a; st.global.u32 [%d1], %r3; ",
                     shape=((1, 2, 1), (1, 2, 1)), declared=DECLARED)  # fmt: skip
    assert found.values(0, 1) == {(1, 0)}
