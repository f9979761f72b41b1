"""The memory that an access may touch."""

import ctypes
import itertools
import random

import pytest

from dsl.emulator.machine import context
from tests.emulator.library.own_block import Block, cluster

GLOBAL, SHARED, LOCAL = context.GLOBAL, context.SHARED, context.LOCAL


ROWS = [(0x1000, 0x40, GLOBAL), (0x1040, 0x10, SHARED), (0x2003, 0x21, GLOBAL | LOCAL), (0x3000, 0x100, 0)]


def holds(address: int, nbytes: int, kinds: int) -> bool:
    """Whether one of the ranges, of a kind that is asked for, has all these bytes."""
    return any(kind & kinds and start <= address and address + nbytes <= start + length for start, length, kind in ROWS)


def test_ranges_are_allowed_where_one_allocation_has_all_their_bytes():
    block = Block()
    block.allocate(*ROWS)
    made = random.Random(5)
    for _ in range(3000):
        address = made.choice(ROWS)[0] + made.randrange(-20, 0x60)
        nbytes, alignment = made.choice((1, 4, 16, 33, 64)), made.choice((1, 1, 4, 16))
        kinds, site, tid = made.choice((GLOBAL, SHARED, LOCAL, GLOBAL | SHARED, 31)), made.randrange(9), 3
        block.ctx.status = 0
        fine = holds(address, nbytes, kinds) and address % alignment == 0
        assert block.range(address, nbytes, alignment, kinds, site, tid) == fine, (hex(address), nbytes, kinds)
        if not fine:
            status = context.MISALIGNED if address % alignment else context.OUT_OF_BOUNDS
            assert block.record == (status, site, tid, address, nbytes, 0)


@pytest.mark.parametrize("nbytes", [1, 2, 4, 8, 16])
def test_the_inline_test_allows_what_is_allowed(nbytes):
    """An access of n bytes is allowed where `rotr(address - lo, log2(n)) < limit`, for each address by the answer for
    some address of the same allocation."""
    block = Block()
    block.allocate(*ROWS)
    log2 = nbytes.bit_length() - 1
    for start, length, kind in ROWS[:3]:
        for address in range(start - 2, start + length + 2):
            block.ctx.status = 0
            got = block.slow(address, nbytes, kind, 1, 2)
            fine = holds(address, nbytes, kind) and address % nbytes == 0
            assert (block.ctx.status == 0) == fine, hex(address)
            if not fine:
                assert (got.first, got.second) == (0, 0)
                continue
            for other in range(start - 20, start + length + 20):
                away = (other - got.first) % 2**64
                inline = (away >> log2 | away << 64 - log2) % 2**64 < got.second
                inside = start <= other and other + nbytes <= start + length
                assert inline == (inside and other % nbytes == 0), (hex(address), hex(other))


def test_a_span_of_accesses_fits_where_both_ends_are_in_one_allocation():
    block = Block()
    block.allocate(*ROWS)
    site = (ctypes.c_uint64 * 2).from_address(block.ctx.sites + 16 * 5)
    for first, last in itertools.product(range(0x1000, 0x1060, 4), repeat=2):
        site[:] = 0, 0
        inside = all(0x1000 <= each <= 0x103C for each in (first, last))
        assert block.fits(first, last, 4, GLOBAL, 5) == inside and block.ctx.status == 0
        assert tuple(site) == ((0x1000, 16) if inside else (0, 0))
    assert not block.fits(0x1002, 0x1004, 4, GLOBAL, 5) and not block.fits(0x1000, 0x1006, 4, GLOBAL, 5)
    assert not block.fits(0x1040, 0x1044, 4, GLOBAL, 5) and block.fits(0x1040, 0x1044, 4, GLOBAL | SHARED, 5)


def test_only_the_first_fault_is_kept():
    block = Block()
    block.fault(context.TRAP, 1, 2, 3, 4, 5)
    block.fault(context.ILLEGAL, 6, 7, 8, 9, 10)
    assert block.record == (context.TRAP, 1, 2, 3, 4, 5)


def test_addresses_in_shared_memory_of_a_cluster():
    blocks = cluster(3, smem_bytes=256)
    for block in blocks:
        for rank, other in enumerate(blocks):
            assert block.cluster_rank(other.ctx.smem) == block.cluster_rank(other.ctx.smem + 255) == rank + 1
        assert block.cluster_rank(blocks[0].ctx.smem - 1) == block.cluster_rank(blocks[2].ctx.smem + 256) == 0


@pytest.mark.parametrize(
    "rank, crooked, expected",
    [
        (2, False, (context.OUT_OF_BOUNDS, context.CLUSTER)),
        (2, True, (context.MISALIGNED, context.CLUSTER)),
        (1, True, (context.EXITED, context.CLUSTER)),
        (3, False, (context.ILLEGAL, context.BAD_RANK)),
        (200, True, (context.ILLEGAL, context.BAD_RANK)),
    ],
)
def test_why_an_address_of_a_cluster_is_bad(rank, crooked, expected):
    block = cluster(3)[0]
    block.ctx.absent |= 1 << 2
    address = (rank + 1 << context.RANK_SHIFT) + 0x103
    block.cluster_bad(1, 2, address, 4, crooked)
    shown = rank if expected[1] == context.BAD_RANK else address
    assert block.record == (expected[0], 1, 2, shown, 4, expected[1])
