"""Device allocations: ranges, the table of intervals, and the one nearest to an address."""

import ctypes

import pytest
from hypothesis import given, strategies as st

from dsl.emulator.machine import context
from dsl.emulator.machine.memory import Allocation, Memory, Window, interval_table, nearest

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8)


def allocations(ranges):
    return [Allocation(start, size, str(k)) for k, (start, size) in enumerate(ranges)]


@given(RANGES)
def test_the_table_covers_exactly_the_allocated_bytes(ranges):
    table = list(interval_table(allocations(ranges)))
    rows = [tuple(table[k : k + 3]) for k in range(0, len(table), 3)]
    covered = {byte for low, high, _ in rows for byte in range(low, high)}
    assert covered == {byte for start, size in ranges for byte in range(start, start + size)}
    assert all(before[1] <= after[0] for before, after in zip(rows, rows[1:]))


def test_overlapping_ranges_are_of_both_kinds():
    own = [Allocation(8, 8, "window", 2)]
    assert list(interval_table([Allocation(0, 10, "a", 1), Allocation(20, 4, "b", 1)], own)) == [0, 16, 3, 20, 24, 1]


@given(RANGES.filter(bool), st.integers(-10, 90))
def test_the_nearest_allocation(ranges, address):
    every = sorted(allocations(ranges), key=lambda each: each.address)

    def gap(each):
        return max(each.address - address, address - each.end + 1, 0)

    best, offset = nearest(every, address)
    assert gap(best) == min(map(gap, every)) and offset == address - best.address
    assert nearest([], address) is None


def test_registering_is_counted_and_undone():
    memory = Memory()
    start = memory.signature
    memory.register(4096, 16, "a")
    memory.register(4096, 32, "view of a")
    memory.register(8192, 0, "nothing")
    assert [(each.size_bytes, each.label) for each in memory.allocations()] == [(16, "a"), (32, "view of a")]
    memory.unregister(4096)
    assert [each.label for each in memory.allocations()] == ["a"] and memory.freed(4096) is None
    memory.unregister(4096)
    memory.unregister(4096)  # unknown now
    assert memory.allocations() == [] and memory.signature == start and memory.freed(4100).label == "a"
    assert memory.allocations() == [] and memory.freed(4096 + 16) is None


def test_the_signature_does_not_depend_on_the_order_of_the_ranges():
    one, two = Memory(), Memory()
    for memory, order in ((one, (1, 2, 3)), (two, (3, 1, 2))):
        for k in order:
            memory.register(4096 * k, 8 * k, "x")
    assert one.signature == two.signature != Memory().signature
    assert ctypes.c_int64.from_address(one.addresses[0]).value == one.signature


def test_allocated_memory_is_aligned_and_freed_once():
    memory = Memory()
    address = memory.alloc(100, "own")
    assert address % 256 == 0 and [each.label for each in memory.allocations()] == ["own"]
    ctypes.memset(address, 1, 100)
    memory.free(address)
    with pytest.raises(ValueError, match=f"0x{address:x} is not the start of an allocation made here"):
        memory.free(address)


def test_a_window_for_shared_memory_starts_at_4_gib():
    window = Window(1000)
    ctypes.memset(window.address, 7, 1000)
    assert window.address % (1 << 32) == 0 and window.size_bytes == 1000
    window.close()
    assert context.GLOBAL  # the kind of what is registered


def test_memory_gets_another_name_also_when_it_is_free():
    memory = Memory()
    start = memory.signature
    memory.register(4096, 16, "memory")
    before = memory.signature
    assert memory.relabel(4096, "out") and not memory.relabel(4100, "inside") and memory.signature == before
    assert [each.label for each in memory.allocations()] == ["out"]
    memory.unregister(4096)
    assert memory.signature == start and memory.relabel(4096, "in") and memory.freed(4096).label == "in"
