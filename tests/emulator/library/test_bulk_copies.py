"""Bulk copies: when they land, and what may not be copied. PTX ISA 9.7.9.25.4."""

import ctypes

import numpy as np
import pytest

from dsl.emulator.families.bulk.numbers import BulkQueue, async_store
from dsl.emulator.families.mbarrier.emit import State
from dsl.emulator.families.tensor_map.tensor_map import Tiled
from dsl.emulator.machine import context
from tests.emulator.library.own_block import LANDED, ORDERED, Block, Grid, Mbarriers, bytes_at, cluster

GLOBAL, SHARED = context.GLOBAL, context.SHARED


BYTES_IN, BYTES_OUT = 0, 1


class Bulk(Mbarriers):
    """Copies between shared memory and `data`; an mbarrier of one arrival is at byte 8."""

    def __init__(self):
        super().__init__(Block(threads=64, smem_bytes=1024))
        self._room = np.zeros(1024 + 128, dtype=np.uint8)
        self.data = self._room[-self._room.ctypes.data % 128 :][:1024]
        self.data[:] = np.arange(1024) % 251
        ctx = self.block.ctx
        self.block.allocate((ctx.smem, 1024, SHARED), (self.data.ctypes.data, 1024, GLOBAL))
        ctypes.memset(ctx.smem, 0xEE, 1024)

    def into(self, smem=128, other=0, nbytes=64, barrier=8, tid=0, site=1) -> int:
        at = self.data.ctypes.data + other
        return self.block.bulk_copy(tid, site, BYTES_IN, smem, at, nbytes, barrier, 0)

    def out(self, smem=128, other=512, nbytes=64, tid=0, site=1) -> int:
        return self.block.bulk_copy(tid, site, BYTES_OUT, smem, self.data.ctypes.data + other, nbytes, 0, 0)

    def expect(self, nbytes: int) -> None:
        """mbarrier.arrive.expect_tx of the one arrival."""
        word = ctypes.c_uint64.from_address(self.at(8))
        word.value = (word.value - 1) + (nbytes << 40)

    def shared(self, offset: int, nbytes: int) -> bytes:
        return bytes_at(self.at(offset), nbytes)


def test_bytes_come_when_a_thread_looks_and_end_the_phase():
    of = Bulk()
    of.init()
    of.expect(64)
    assert of.into(other=32) == 1
    assert of.shared(128, 64) == b"\xee" * 64 and of.state() == State(0, 0, 1, 64)
    of.block.bulk_arrive()
    assert of.shared(112, 96) == b"\xee" * 16 + of.data[32:96].tobytes() + b"\xee" * 16
    assert of.state() == State(1, 1, 1, 0)


def test_a_look_at_one_mbarrier_brings_what_is_for_that_one():
    of = Bulk()
    of.init(offset=8)
    of.init(offset=16)
    of.into(smem=128, barrier=16)
    of.into(smem=256, barrier=8)
    of.block.bulk_arrive_at(of.at(8))
    assert of.shared(128, 64) == b"\xee" * 64 and of.shared(256, 64) == of.data[:64].tobytes()
    assert (of.state(8).pending_bytes, of.state(16).pending_bytes) == (-64, 0)
    of.block.bulk_arrive_at(of.at(16))
    assert of.shared(128, 64) == of.data[:64].tobytes()
    assert (of.state(8).pending_bytes, of.state(16).pending_bytes) == (-64, -64)


def test_a_phase_ends_with_the_last_of_its_bytes():
    of = Bulk()
    of.init()
    of.expect(96)
    of.into(nbytes=64)
    of.block.bulk_arrive()
    assert of.state() == State(0, 0, 1, 32)
    of.into(smem=256, nbytes=32)
    of.block.bulk_arrive()
    assert of.state() == State(1, 1, 1, 0)


def test_a_phase_does_not_end_while_an_arrival_is_pending():
    of = Bulk()
    of.init(count=2)
    of.expect(64)
    of.into(nbytes=64)
    of.block.bulk_arrive()
    assert of.state() == State(0, 1, 2, 0)


def test_bytes_may_come_before_they_are_expected():
    of = Bulk()
    of.init()
    of.into(nbytes=64)
    of.block.bulk_arrive()
    assert of.state() == State(0, 1, 1, -64)


@pytest.mark.parametrize("nbytes", [1, 8, 24, 2**32 - 1])
def test_sizes_are_multiples_of_16_bytes(nbytes):
    of = Bulk()
    of.init()
    assert of.into(nbytes=nbytes, tid=3, site=4) == 0
    assert of.record == (context.ILLEGAL, 4, 3, nbytes, 0, context.BAD_BULK)


@pytest.mark.parametrize(
    "call, status, address, nbytes, detail",
    [
        (dict(other=8), context.MISALIGNED, "data", 16, 0),
        (dict(smem=136), context.MISALIGNED, "smem", 16, context.CLUSTER),
        (dict(other=1008, nbytes=32), context.OUT_OF_BOUNDS, "data", 32, 0),
        (dict(smem=1008, nbytes=32), context.OUT_OF_BOUNDS, "smem", 32, context.CLUSTER),
        (dict(barrier=16), context.NOT_INITIALIZED, "barrier", 8, 0),
        (dict(barrier=12), context.MISALIGNED, "offset", 8, context.CLUSTER),
    ],
)
def test_a_copy_into_shared_memory_that_may_not_be(call, status, address, nbytes, detail):
    of = Bulk()
    of.init()
    assert of.into(**call, tid=5, site=6) == 0
    where = {
        "data": of.data.ctypes.data + call.get("other", 0), "smem": call.get("smem"),
        "barrier": of.at(call.get("barrier", 0)), "offset": call.get("barrier"),
    }  # fmt: skip
    assert of.record == (status, 6, 5, where[address], nbytes, detail)
    of.block.bulk_arrive()
    assert of.shared(128, 64) == b"\xee" * 64


@pytest.mark.parametrize("written", [0, 1])
def test_copies_out_land_when_their_group_is_waited_for(written):
    of = Bulk()
    for group in range(3):
        ctypes.memset(of.at(128 + 16 * group), group, 16)
        assert of.out(smem=128 + 16 * group, other=512 + 16 * group, nbytes=16) == 1
        of.block.bulk_commit(0)
    before = of.data[512:560].tobytes()
    of.block.bulk_arrive()
    of.block.bulk_wait(1, 0, written)
    of.block.bulk_wait(0, 3, written)
    assert of.data[512:560].tobytes() == before
    of.block.bulk_wait(0, 1, written)
    assert of.data[512:560].tobytes() == bytes([0] * 16 + [1] * 16) + before[32:]
    of.block.bulk_wait(0, 0, written)
    assert of.data[512:560].tobytes() == bytes([0] * 16 + [1] * 16 + [2] * 16)
    assert bulk_count(of.block) == 0


def test_a_copy_out_takes_the_bytes_when_it_lands():
    """So a write between the copy and its wait, which is a race, is seen."""
    of = Bulk()
    of.out()
    of.block.bulk_commit(0)
    ctypes.memset(of.at(128), 0x11, 64)
    of.block.bulk_wait(0, 0, 1)
    assert of.data[512:576].tobytes() == b"\x11" * 64


def test_a_copy_in_no_group_lands_when_its_thread_ends():
    of = Bulk()
    of.out(tid=7)
    of.block.bulk_wait(7, 0, 1)
    of.block.bulk_exit(6)
    assert of.data[512] == 512 % 251
    of.block.bulk_exit(7)
    assert of.data[512:576].tobytes() == b"\xee" * 64


def test_copies_of_one_way_leave_copies_of_the_other():
    of = Bulk()
    of.init()
    of.expect(64)
    of.out(smem=512, other=512, nbytes=16)
    of.into(nbytes=64)
    of.out(smem=528, other=528, nbytes=16)
    of.block.bulk_commit(0)
    of.block.bulk_arrive()
    assert of.shared(128, 64) == of.data[:64].tobytes() and of.data[512] != 0xEE
    of.block.bulk_wait(0, 0, 1)
    assert of.data[512:544].tobytes() == b"\xee" * 32


def test_a_checker_hears_of_each_copy_that_lands():
    """Of one into shared memory that an mbarrier tells of it, of one out of it that the copy only reads."""
    of, heard = Bulk(), []
    callback = LANDED(lambda _, tid, address, told: heard.append((tid, address - of.block.ctx.smem, told)))
    of.block.ctx.landed = ctypes.cast(callback, ctypes.c_void_p).value
    of.init()
    of.into(smem=128, nbytes=64, tid=5)
    of.out(smem=256, nbytes=32, tid=6)
    assert heard == []
    of.block.bulk_arrive()
    of.block.bulk_exit(6)
    assert heard == [(5, 128, 64 | 1 << 30), (6, 256, 32 | 1 << 31)]


def test_copies_that_nobody_waited_for_are_forgotten_when_a_block_begins():
    of, grid = Bulk(), Grid(blocks=2)
    of.block.ctx.shared_grid = ctypes.addressof(grid.fields)

    def run(ctx):
        of.block.bulk_exit(0)
        of.out(smem=128 + 64 * ctx.block, other=512 + 64 * ctx.block)
        of.block.bulk_commit(0)

    before = of.data[576:640].tobytes()
    grid.run(of.block, run)
    of.block.bulk_wait(0, 1, 1)  # of the one group of the second block
    assert of.data[512:640].tobytes() == bytes(n % 251 for n in range(512, 576)) + before
    of.block.bulk_wait(0, 0, 1)
    assert of.data[512:640].tobytes() == bytes(n % 251 for n in range(512, 576)) + b"\xff" * 64


def test_a_block_has_room_for_as_many_copies_as_there_are():
    of = Bulk()
    of.init()
    of.expect(16 * 50)
    for i in range(50):
        assert of.into(smem=128 + 16 * i, other=16 * (49 - i), nbytes=16)
    of.block.bulk_arrive()
    assert of.shared(128, 800) == b"".join(of.data[16 * i : 16 * i + 16].tobytes() for i in range(49, -1, -1))
    assert of.state() == State(1, 1, 1, 0)


def test_a_multicast_goes_to_the_blocks_of_its_mask():
    blocks = cluster(4, smem_bytes=256)
    data = np.arange(64, dtype=np.uint8)
    data = np.concatenate([data, data])[-data.ctypes.data % 16 :][:32]
    for block in blocks:
        ctypes.memset(block.ctx.smem, 0, 256)
        rows = [(each.ctx.smem, 256, SHARED) for each in blocks]
        block.allocate(*rows, (data.ctypes.data, 32, GLOBAL))
        assert Mbarriers(block).init(offset=8)
    assert blocks[1].bulk_copy(0, 0, BYTES_IN, 64, data.ctypes.data, 32, 8, context.MULTICAST | 0b1010) == 1
    blocks[0].bulk_arrive()
    got = [bytes_at(block.ctx.smem + 64, 32) for block in blocks]
    assert got == [bytes(32), data.tobytes(), bytes(32), data.tobytes()]
    assert [Mbarriers(block).state().pending_bytes for block in blocks] == [0, -32, 0, -32]


class Pair:
    """Two blocks of a cluster; each has an mbarrier of one arrival at byte 8. The first one copies or stores."""

    def __init__(self):
        self.blocks = cluster(2, smem_bytes=256)
        for block in self.blocks:
            ctypes.memset(block.ctx.smem, 0xEE, 256)
            assert Mbarriers(block).init(offset=8)
        ctypes.memset(self.blocks[0].ctx.smem + 64, 0x11, 32)

    def copy(self, smem=64, there=128, nbytes=32, barrier=8) -> int:
        at = 2 << context.RANK_SHIFT
        return self.blocks[0].bulk_peer(3, 4, BYTES_IN, smem, at | there, nbytes, at | barrier)

    def store(self, kind=async_store.STORE, there=128, nbytes=8, barrier=8, low=5, high=6) -> int:
        at = 2 << context.RANK_SHIFT
        return self.blocks[0].async_store(3, 4, kind, at | there, at | barrier, nbytes, low, high)

    def landed(self) -> tuple[bytes, int]:
        """The bytes there, and those that its mbarrier still expects."""
        self.blocks[1].bulk_arrive()
        return bytes_at(self.blocks[1].ctx.smem + 128, 32), Mbarriers(self.blocks[1]).state().pending_bytes


def test_a_copy_to_another_block_signals_the_mbarrier_there():
    of = Pair()
    assert of.copy() == 1
    assert bytes_at(of.blocks[1].ctx.smem + 128, 32) == b"\xee" * 32
    assert of.landed() == (b"\x11" * 32, -32) and Mbarriers(of.blocks[0]).state().pending_bytes == 0


@pytest.mark.parametrize("nbytes, high", [(4, 0xEEEEEEEEEEEEEEEE), (8, 0xEEEEEEEEEEEEEEEE), (16, 6)])
def test_a_store_to_another_block_signals_the_mbarrier_there(nbytes, high):
    of = Pair()
    assert of.store(nbytes=nbytes, low=5 | (0xEEEEEEEE << 32) * (nbytes == 4), high=high) == 1
    expected = (5).to_bytes(min(nbytes, 8), "little") + ((6).to_bytes(8, "little") if nbytes == 16 else b"")
    assert of.landed() == (expected.ljust(32, b"\xee"), -nbytes)


@pytest.mark.parametrize(
    "call, status, address, size, detail",
    [
        (dict(smem=72), context.MISALIGNED, 72, 16, context.CLUSTER),
        (dict(smem=240), context.OUT_OF_BOUNDS, 240, 32, context.CLUSTER),
        (dict(there=136), context.MISALIGNED, 136 | 2 << context.RANK_SHIFT, 16, context.CLUSTER),
        (dict(there=240), context.OUT_OF_BOUNDS, 240 | 2 << context.RANK_SHIFT, 32, context.CLUSTER),
        (dict(barrier=12), context.MISALIGNED, 12 | 2 << context.RANK_SHIFT, 8, context.CLUSTER),
        (dict(barrier=16), context.NOT_INITIALIZED, None, 8, 0),
        (dict(nbytes=24), context.ILLEGAL, 24, 0, context.BAD_BULK),
    ],
)
def test_a_copy_to_another_block_that_may_not_be(call, status, address, size, detail):
    of = Pair()
    assert of.copy(**call) == 0
    address = of.blocks[1].ctx.smem + 16 if address is None else address
    assert of.blocks[0].record == (status, 4, 3, address, size, detail)
    assert of.landed() == (b"\xee" * 32, 0) and bulk_count(of.blocks[0]) == 0


@pytest.mark.parametrize(
    "call, status, address, size, detail",
    [
        (dict(there=132), context.MISALIGNED, 132 | 2 << context.RANK_SHIFT, 8, context.CLUSTER),
        (dict(there=256), context.OUT_OF_BOUNDS, 256 | 2 << context.RANK_SHIFT, 8, context.CLUSTER),
        (dict(barrier=16), context.NOT_INITIALIZED, None, 8, 0),
    ],
)
def test_a_store_to_another_block_that_may_not_be(call, status, address, size, detail):
    of = Pair()
    assert of.store(**call) == 0
    address = of.blocks[1].ctx.smem + 16 if address is None else address
    assert of.blocks[0].record == (status, 4, 3, address, size, detail)
    assert of.landed() == (b"\xee" * 32, 0) and bulk_count(of.blocks[0]) == 0


EDGES = (0, 1, 5, 6, 7, 2**31 - 1, 2**31, 2**32 - 1)


def signed(word: int) -> int:
    return word - (word >> 31 << 32)


# As the ISA has them: 9.7.13.7 with 9.7.13.5 (red).
REDUCTIONS = {
    async_store.ADD_32: lambda old, given: old + given,
    async_store.MIN_U32: min,
    async_store.MAX_U32: max,
    async_store.MIN_S32: lambda old, given: min(old, given, key=signed),
    async_store.MAX_S32: lambda old, given: max(old, given, key=signed),
    async_store.AND_32: lambda old, given: old & given,
    async_store.OR_32: lambda old, given: old | given,
    async_store.XOR_32: lambda old, given: old ^ given,
    async_store.INC_32: lambda old, given: 0 if old >= given else old + 1,
    async_store.DEC_32: lambda old, given: given if old == 0 or old > given else old - 1,
}


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_reduction_of_32_bits_in_another_block(kind):
    of = Pair()
    word = ctypes.c_uint32.from_address(of.blocks[1].ctx.smem + 128)
    for old in EDGES:
        for given in EDGES:
            word.value = old
            assert of.store(kind, nbytes=4, low=given) == 1
            of.landed()
            assert word.value == REDUCTIONS[kind](old, given) % 2**32, (old, given)


def test_a_sum_of_64_bits_in_another_block():
    of = Pair()
    assert of.store(async_store.ADD_64, low=0x3333333333333333) == 1
    assert of.landed() == (((0xEEEEEEEEEEEEEEEE + 0x3333333333333333) % 2**64).to_bytes(8, "little") + b"\xee" * 24, -8)


class Box(Bulk):
    """A box of 16 words of a tensor of 64; its map is at byte 512 of `data`."""

    def __init__(self):
        super().__init__()
        self.init()
        self.map = self.data.ctypes.data + 512
        self.data[512:640] = np.frombuffer(Tiled(2, self.data.ctypes.data, (64,), (), (16,), (1,)).encode(), np.uint8)

    def into(self, start=4, shift=0, rank=1, barrier=8, smem=128) -> int:
        more = (0,) * 7
        return self.block.bulk_box(5, 6, 2, smem, self.map + shift, barrier, 0, rank, start % 2**32, *more)


def test_a_box_lands_as_bytes_do():
    of = Box()
    assert of.into() == 1 and of.shared(128, 64) == b"\xee" * 64
    of.block.bulk_arrive()
    assert of.shared(112, 96) == b"\xee" * 16 + of.data[16:80].tobytes() + b"\xee" * 16
    assert of.state().pending_bytes == -64


@pytest.mark.parametrize(
    "call, status, detail",
    [
        (dict(shift=32), context.ILLEGAL, context.MAP_MISALIGNED),
        (dict(shift=1024), context.OUT_OF_BOUNDS, 0),
        (dict(rank=2), context.ILLEGAL, context.BAD_MAP),
        (dict(start=3), context.ILLEGAL, context.BAD_START),
        (dict(smem=160), context.MISALIGNED, context.CLUSTER),
        (dict(barrier=16), context.NOT_INITIALIZED, 0),
    ],
)
def test_a_box_that_may_not_be_copied(call, status, detail):
    of = Box()
    assert of.into(**call) == 0
    assert of.record[:3] == (status, 6, 5) and of.record[5] == detail and bulk_count(of.block) == 0


def test_a_box_of_memory_that_is_not_allocated():
    of = Box()
    far = Tiled(2, of.data.ctypes.data + 1024, (64,), (), (16,), (1,))
    of.data[512:640] = np.frombuffer(far.encode(), np.uint8)
    assert of.into() == 0 and of.record[:3] == (context.OUT_OF_BOUNDS, 6, 5) and bulk_count(of.block) == 0


def bulk_count(block: Block) -> int:
    return BulkQueue.from_address(block.ctx.bulk).count


def test_a_checker_hears_of_copies_that_a_thread_has_not_waited_for():
    of, heard = Bulk(), []
    callback = ORDERED(lambda _, *rest: heard.append(rest) or 0)
    of.block.ctx.order_call = ctypes.cast(callback, ctypes.c_void_p).value
    of.init()
    of.into(tid=7, smem=512)
    of.out(tid=6)
    of.out(tid=7)
    of.out(tid=7, smem=256)
    heard.clear()
    of.block.bulk_exit(7)
    assert heard == [(context.ORDER_BULK_LEFT, 7, 0, 0)] * 2
    heard.clear()
    of.block.bulk_arrive()
    assert heard == [(context.ORDER_MB_LANDED, 7, of.at(8), 0)]
