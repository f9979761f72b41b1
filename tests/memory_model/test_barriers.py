"""Which arrivals meet, against the text of PTX ISA 9.7.13.1."""

from __future__ import annotations

from dsl.memory_model.barriers import meetings
from dsl.memory_model.events import End, Event, Kind, Position, Trace


def thread(*arrivals, end=End.DONE):
    return Trace(tuple(Event(Kind.BARRIER, number, how, threads=count) for number, count, how in arrivals), end)


def found(*traces, blocks=None):
    positions = [Position(n, n) for n in (blocks or [0] * len(traces))]
    return list(meetings(traces, positions))


SYNC = (0, 0, "sync")


def test_all_threads_of_a_block_meet():
    (only,) = found(thread(SYNC, SYNC), thread(SYNC, SYNC))
    assert only.groups == {frozenset({(0, 0), (1, 0)}), frozenset({(0, 1), (1, 1)})} and not only.stuck


def test_blocks_do_not_meet():
    (only,) = found(thread(SYNC), thread(SYNC), blocks=[0, 1])
    assert only.groups == {frozenset({(0, 0)}), frozenset({(1, 0)})}


def test_a_thread_that_has_ended_is_not_waited_for():
    (only,) = found(thread(SYNC), thread())
    assert only.groups == {frozenset({(0, 0)})}


def test_a_thread_that_waits_in_a_loop_is_waited_for():
    (only,) = found(thread(SYNC), thread(end=End.WAITING))
    assert only.stuck == ((0, 0),)


def test_any_two_of_three_meet_at_a_barrier_of_two():
    two = (1, 2, "sync")
    every = found(thread(two), thread(two), thread(two))
    assert {each.stuck for each in every} == {((0, 0),), ((1, 0),), ((2, 0),)}


def test_an_arrival_waits_for_nobody():
    (only,) = found(thread((1, 2, "arrive"), (2, 2, "sync")), thread((2, 2, "sync"), (1, 2, "sync")))
    assert len(only.groups) == 2 and not only.stuck


def test_two_barriers_in_opposite_order_wait_for_ever():
    (only,) = found(thread((1, 2, "sync"), (2, 2, "sync")), thread((2, 2, "sync"), (1, 2, "sync")))
    assert only.stuck == ((0, 0), (1, 0)) and not only.groups
