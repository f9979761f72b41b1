"""The threads that a complete barrier of the block orders: all, only those that wait, or none that only arrive."""

import pytest

from tests.emulator.families.barrier.test_check import outcome

WRITE = "mov.u32 %r7, m; @%w0 st.shared.u32 [%r7], %t; "
READ = "mov.u32 %r7, m; @%w1 ld.shared.u32 %r6, [%r7];"
FIRST = "setp.eq.u32 %w0, %t, 0; "
# name: (what is between a write of warp 0 and a read of warp 1, whether it orders them)
BETWEEN = {
    "a barrier of all": ("bar.sync 0;", True),
    "one that counts all": ("bar.sync 1, 64;", True),
    "barriers of each": ("shr.u32 %r5, %t, 5; add.u32 %r5, %r5, 1; bar.sync %r5, 32;", False),
    "an arrival and a wait": ("@%w1 bra W; bar.arrive 1, 64; bra E; W: bar.sync 1, 64;", True),
    "a wait and an arrival": ("@%w1 bra W; bar.sync 1, 64; bra E; W: bar.arrive 1, 64;", False),
    "the writer leaves before a barrier of all": ("@!%w1 bra E; bar.sync 0;", True),
    "nothing": ("", False),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_a_barrier_orders_those_that_wait(name):
    between, orders = BETWEEN[name]
    for seed in (0, 2):
        found = outcome(FIRST + WRITE + between + READ, 64, seed)
        assert (found is None) == orders and (orders or found.kind == "race"), f"{name}, seed {seed}: {found}"


def test_arrivals_of_threads_that_left_belong_to_one_generation():
    body = "@%w0 bra A; bar.sync 1, 64; bra E; A: bar.arrive 1, 64;"
    assert outcome(body, 64) is None
