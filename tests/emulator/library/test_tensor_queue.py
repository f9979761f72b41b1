"""Commits of a tensor core's work: whose mbarrier they signal, and when. PTX ISA 9.7.16.12."""

import ctypes

import pytest

from dsl.emulator.families.tcgen05.numbers import TensorOp, TensorState, tcgen05, tensor_fault, tensor_memory
from dsl.emulator.machine import context
from tests.emulator.library.own_block import Mbarriers, cluster


class Cores:
    """Three blocks of a cluster, each with an mbarrier of two arrivals at bytes 8 and 16."""

    def __init__(self):
        self.blocks = cluster(3)
        self.mbarriers = [Mbarriers(block) for block in self.blocks]
        for block, own in zip(self.blocks, self.mbarriers):
            block.ctx.tensor = block.zeros(ctypes.sizeof(TensorState))
            assert own.init(offset=8, count=2) and own.init(offset=16, count=2)

    def commit(self, rank: int, barrier: int = 8, mask: int = 0, flags: int = 0) -> int:
        """tcgen05.commit of thread 5 at instruction 6."""
        op = TensorOp(form=tcgen05.COMMIT | flags, barrier=barrier, mask=mask)
        return self.blocks[rank].tensor_issue(5, 6, ctypes.addressof(op))

    def arrivals(self, offset: int = 8) -> list[int]:
        """How many have come to the mbarrier of each block."""
        return [2 - own.state(offset).pending for own in self.mbarriers]

    def end(self, rank: int) -> None:
        """A block ends."""
        for block in self.blocks:
            block.ctx.absent |= 1 << rank + 1

    def waiting(self, rank: int) -> int:
        return TensorState.from_address(self.blocks[rank].ctx.tensor).count


@pytest.mark.parametrize("rank", range(3))
def test_a_commit_signals_the_mbarrier_of_its_block_or_of_the_blocks_in_its_mask(rank):
    of = Cores()
    assert of.commit(rank) == 1 and of.arrivals() == [0, 0, 0]
    of.blocks[0].tensor_look(0)
    assert of.arrivals() == [int(each == rank) for each in range(3)] and of.waiting(rank) == 0
    assert of.commit(rank, barrier=16, mask=context.MULTICAST | 0b110) == 1
    of.blocks[0].tensor_look(0)
    assert of.arrivals(16) == [0, 1, 1]


def test_a_look_at_one_mbarrier_does_what_is_before_its_commits():
    of = Cores()
    assert of.commit(1, barrier=16) and of.commit(1, barrier=8) and of.commit(1, barrier=16)
    of.blocks[2].tensor_look(of.mbarriers[1].at(8))
    assert of.arrivals(8) == [0, 1, 0] and of.arrivals(16) == [0, 1, 0] and of.waiting(1) == 1
    of.blocks[2].tensor_look(of.mbarriers[0].at(16))
    assert of.arrivals(16) == [0, 1, 0] and of.waiting(1) == 1


@pytest.mark.parametrize(
    "call, record",
    [
        (dict(barrier=12), (context.MISALIGNED, 6, 5, 12, 8, context.CLUSTER)),
        (dict(barrier=24), (context.NOT_INITIALIZED, 6, 5)),
        (dict(barrier=24, mask=context.MULTICAST | 0b111), (context.NOT_INITIALIZED, 6, 5)),
    ],
)
def test_a_commit_needs_an_mbarrier(call, record):
    of = Cores()
    assert of.commit(0, **call) == 0 and of.waiting(0) == 0
    assert of.blocks[0].record[: len(record)] == record


def test_a_commit_to_a_block_that_has_ended_since():
    of = Cores()
    assert of.commit(1, mask=context.MULTICAST | 0b101) == 1
    of.end(0)
    of.blocks[1].tensor_look(0)
    assert of.blocks[1].record[:3] == (context.EXITED, 6, 5) and of.arrivals()[1:] == [0, 0]


@pytest.mark.parametrize("is_before", [True, False])
def test_work_of_a_pair_needs_the_other_block(is_before):
    """When it is issued, and when it is done."""
    of = Cores()
    if is_before:
        of.end(1)
    assert of.commit(0, flags=tcgen05.PAIR) == (not is_before)
    if not is_before:
        of.end(1)
        of.blocks[0].tensor_look(0)
    assert of.blocks[0].record == (context.ILLEGAL, 6, 5, 0, 0, tensor_fault.NO_PEER) and of.arrivals()[0] == 0


@pytest.mark.parametrize(
    "columns, detail", [(0, tensor_fault.NOT_ALLOCATED), (tensor_memory.UNIT, tensor_fault.OTHER_GROUP)]
)
def test_work_has_the_cta_group_of_the_alloc_and_a_commit_may_have_the_other_one(columns, detail):
    """The PTX ISA asks for it of each instruction, but a commit touches no tensor memory."""
    of = Cores()
    state = TensorState.from_address(of.blocks[0].ctx.tensor)
    state.most_columns = columns
    assert of.commit(0, flags=tcgen05.PAIR) == 1
    op = TensorOp(form=tcgen05.SHIFT | tcgen05.PAIR, d=0)
    assert of.blocks[0].tensor_issue(5, 6, ctypes.addressof(op)) == 0
    assert (of.blocks[0].ctx.status, of.blocks[0].ctx.detail) == (context.ILLEGAL, detail)
