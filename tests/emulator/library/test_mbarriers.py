"""The log of mbarriers, and places that must have one. PTX ISA 9.7.13.15."""

import ctypes

import pytest

from dsl.emulator.families.mbarrier.log import Life, entries
from dsl.emulator.machine import context
from tests.emulator.library.own_block import ARRIVE, COPY, EXPECT, INIT, INVAL, WAIT, Mbarriers, cluster


@pytest.mark.parametrize("what", [0, ARRIVE, EXPECT, ARRIVE | EXPECT, WAIT, COPY, INVAL])
def test_nothing_can_be_done_where_there_is_no_mbarrier(what):
    of = Mbarriers()
    assert of.init(offset=16) == 1
    assert of.note(what, 8, tid=40, site=3) == 0
    assert of.record == (context.NOT_INITIALIZED, 3, 40, of.at(8), 8, 0)


@pytest.mark.parametrize("what", [INIT, 0, ARRIVE, WAIT, INVAL])
def test_an_mbarrier_is_in_shared_memory(what):
    of = Mbarriers()
    for offset in (256, -8):
        of.block.ctx.status = 0
        assert of.note(what, offset, tid=1, site=2, amount=1) == 0
        assert of.record == (context.ILLEGAL, 2, 1, of.at(offset), 8, context.NOT_SHARED)


@pytest.mark.parametrize("count, fine", [(0, 0), (1, 1), (2**20 - 1, 1), (2**20, 0), (2**32 - 1, 0)])
def test_the_counts_that_an_mbarrier_may_have(count, fine):
    of = Mbarriers()
    assert of.note(INIT, 8, tid=2, site=4, amount=count) == fine
    if not fine:
        assert of.record == (context.ILLEGAL, 4, 2, of.at(8), count, context.BAD_ARRIVALS)


def test_an_mbarrier_that_lives_cannot_be_made_again():
    of = Mbarriers()
    assert of.init(tid=1, site=5) == 1
    assert of.init(tid=64, site=6) == 0
    assert of.record[:5] == (context.IN_USE, 6, 64, of.at(8), 8)
    assert Life.of(of.record[5]) == Life(site=5, warp=0, is_own=False)


def test_the_lanes_of_a_warp_make_it_together_by_one_instruction():
    of = Mbarriers()
    assert all(of.init(count=4, tid=tid, site=5) for tid in range(32, 64))
    assert of.init(count=4, tid=40, site=5) == 0  # the second time of one lane
    assert of.record[0] == context.IN_USE and Life.of(of.record[5]) == Life(site=5, warp=1, is_own=True)


@pytest.mark.parametrize("tid", [32, 40, 72])
def test_a_fault_tells_whether_the_same_thread_made_it(tid):
    of = Mbarriers()
    assert of.init(tid=40, site=5) == 1
    assert of.init(tid=tid, site=6) == 0
    assert Life.of(of.record[5]) == Life(site=5, warp=1, is_own=tid == 40)


@pytest.mark.parametrize(
    "again", [dict(count=5, tid=1, site=5), dict(count=4, tid=1, site=6), dict(count=4, tid=33, site=5)]
)
def test_other_instructions_and_other_warps_do_not_make_it_again(again):
    of = Mbarriers()
    assert of.init(count=4, tid=0, site=5) == 1
    assert of.init(**again) == 0 and of.record[0] == context.IN_USE


@pytest.mark.parametrize("what", [ARRIVE, EXPECT, COPY])
def test_lanes_that_come_after_it_was_used_do_not_make_it(what):
    of = Mbarriers()
    assert of.init(count=4, tid=0, site=5) and of.note(what, 8, tid=0, site=7)
    assert of.init(count=4, tid=1, site=5) == 0
    assert of.record[0] == context.IN_USE


def test_after_inval_there_is_none_and_it_can_be_made_again():
    of = Mbarriers()
    assert of.init(tid=3, site=5) and of.note(INVAL, 8, tid=3, site=9)
    assert of.note(ARRIVE, 8, tid=70, site=10) == 0
    assert of.record[:5] == (context.NOT_INITIALIZED, 10, 70, of.at(8), 8)
    assert Life.of(of.record[5]) == Life(site=9, warp=0, is_own=False)
    of.block.ctx.status = 0
    assert of.init(tid=64, site=11) and of.note(ARRIVE, 8, tid=70, site=10)


def test_the_lanes_of_a_warp_may_invalidate_it_together():
    of = Mbarriers()
    of.init()
    assert all(of.note(INVAL, 8, tid=tid, site=9) for tid in range(32))
    assert of.note(INVAL, 8, tid=31, site=9) == 0
    assert of.record[0] == context.NOT_INITIALIZED and Life.of(of.record[5]) == Life(site=9, warp=0, is_own=True)


def test_the_lanes_of_an_earlier_block_do_not_invalidate_it():
    of = Mbarriers()
    of.init()
    assert of.note(INVAL, 8, tid=0, site=9) == 1
    of.block.ctx.block = 1
    assert of.note(INVAL, 8, tid=1, site=9) == 0
    assert of.record == (context.NOT_INITIALIZED, 9, 1, of.at(8), 8, 0)


def test_an_mbarrier_of_an_earlier_block_is_none():
    of = Mbarriers()
    of.init()
    of.block.ctx.block = 1
    assert of.note(ARRIVE, 8) == 0 and of.record[0] == context.NOT_INITIALIZED
    of.block.ctx.status, of.block.ctx.block, of.block.ctx.mbarrier_serial = 0, 0, 8
    assert of.note(ARRIVE, 8) == 0 and of.record[0] == context.NOT_INITIALIZED
    of.block.ctx.status, of.block.ctx.mbarrier_serial = 0, 7
    assert of.note(ARRIVE, 8) == 1


@pytest.mark.parametrize("nbytes", [1, 2, 4, 8, 16])
def test_data_must_not_be_written_where_an_mbarrier_lives(nbytes):
    of = Mbarriers()
    assert of.init(offset=40, tid=33, site=1)
    for offset in range(20, 56):
        of.block.ctx.status = 0
        overlaps = bool({*range(offset, offset + nbytes)} & {*range(40, 48)})
        assert of.block.no_mbarrier(33, 2, of.at(offset), nbytes) == (not overlaps), offset
        if overlaps:
            assert of.record[:5] == (context.IN_USE, 2, 33, of.at(40), 8)
            assert Life.of(of.record[5]) == Life(site=1, warp=1, is_own=True)


def test_data_may_be_written_where_the_log_has_nothing():
    of = Mbarriers()
    for place in (of.at(256), of.at(-8), 0):
        assert of.block.no_mbarrier(0, 0, place, 8) == 1
    of.init()
    of.block.ctx.mbarrier_log = 0
    assert of.block.no_mbarrier(0, 0, of.at(8), 8) == 1


def test_data_may_be_written_where_an_mbarrier_was():
    of = Mbarriers()
    of.init()
    of.note(INVAL, 8)
    assert of.block.no_mbarrier(0, 0, of.at(8), 8) == 1


def test_the_log_of_an_mbarrier():
    of = Mbarriers()
    of.init(count=2)
    of.note(ARRIVE, 8, tid=33, site=10)
    of.note(ARRIVE | EXPECT, 8, tid=64, site=11, amount=100)
    of.note(EXPECT, 8, tid=0, site=12, amount=28)
    of.note(WAIT, 8, tid=95, site=13)
    of.note(COPY, 8, tid=0, site=14)
    ((offset, noted),) = entries(of.block.ctx).items()
    assert offset == 8 and (noted["arrivers"], noted["now"], noted["waiters"]) == (0b110, 0b110, 0b100)
    assert (noted["arrive_site"], noted["expect_site"], noted["wait_site"], noted["copy_site"]) == (12, 13, 14, 15)
    assert (noted["expected"], noted["ended"], noted["passed_new"]) == (128, 0, 0)


def test_the_log_of_a_phase_ends_with_it():
    of = Mbarriers()
    of.init()
    of.note(ARRIVE | EXPECT, 8, tid=0, amount=64)
    ctypes.c_uint64.from_address(of.at(8)).value ^= 1 << 63  # the phase ends
    of.note(WAIT, 8, tid=0, amount=1)
    of.note(ARRIVE, 8, tid=40)
    noted = entries(of.block.ctx)[8]
    assert (noted["arrivers"], noted["now"], noted["expected"], noted["parity"], noted["ended"]) == (3, 2, 0, 1, 1)
    assert noted["passed_new"] == 0


def test_a_wait_that_passes_before_any_phase_has_ended_is_noted():
    of = Mbarriers()
    of.init()
    of.note(WAIT, 8, amount=0)
    assert entries(of.block.ctx)[8]["passed_new"] == 0
    of.note(WAIT, 8, amount=1)
    assert entries(of.block.ctx)[8]["passed_new"] == 1


def test_blocks_of_a_cluster_are_noted_by_their_rank():
    blocks = cluster(3, threads=64)
    own, peer = Mbarriers(blocks[0]), Mbarriers(blocks[2])
    assert own.init(tid=33) == 1
    assert blocks[2].note_2(40, 8, own.at(8), 0) == 1
    assert own.note(ARRIVE, 8, tid=32) == 1
    noted = entries(blocks[0].ctx)[8]
    assert (noted["peers"], noted["peers_now"], noted["arrivers"]) == (0b100, 0b100, 0b10)
    assert blocks[2].no_mbarrier(0, 0, own.at(8), 8) == 0 and blocks[2].record[0] == context.IN_USE
    blocks[2].ctx.status = 0
    assert entries(blocks[2].ctx) == {}
    assert peer.block.note_2(40, 8, own.at(16), 0) == 0 and peer.record[0] == context.NOT_INITIALIZED


@pytest.mark.parametrize("what", [1, 8, 32, 64], ids=["init", "wait", "inval", "arrive with a state"])
def test_operations_of_the_own_block_alone(what):
    blocks = cluster(2)
    own = Mbarriers(blocks[0])
    if what != 1:
        own.init()
    assert getattr(blocks[1], f"note_{what}")(3, 9, own.at(8), 1) == 0
    assert blocks[1].record == (context.ILLEGAL, 9, 3, own.at(8), 0, context.REMOTE_MBARRIER)


def test_the_checker_of_the_cluster_reports_a_missing_mbarrier_of_another_block():
    """It knows whether the two blocks are ordered."""
    own, peer = (Mbarriers(block) for block in cluster(2))
    ignored = ctypes.CFUNCTYPE(ctypes.c_uint32)(lambda: 0)
    own.block.ctx.order_call = peer.block.ctx.order_call = ctypes.cast(ignored, ctypes.c_void_p).value
    assert peer.block.note_2(0, 0, own.at(8), 0) == 1
    assert own.note(ARRIVE, 8) == 0 and own.record[0] == context.NOT_INITIALIZED
