"""Outcomes of small programs against the verdicts of the literature, and against all orders of the accesses.

Modules tested here: dsl/memory_model/events.py, dsl/memory_model/execution.py.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

FENCE = ("f", "sc", "gpu")


def w(place, value=1, order="relaxed", scope="gpu"):
    return ("w", place, value, order, scope)


def r(place, register, order="relaxed", scope="gpu"):
    return ("r", place, register, order, scope)


def test_store_buffering_needs_sc_fences_whose_scopes_reach_each_other(program):
    """Lustig et al., A Formal Analysis of the NVIDIA PTX Memory Consistency Model, ASPLOS 2019: SB."""
    every = {(0, 0), (0, 1), (1, 0), (1, 1)}

    def outcomes(*between, blocks=None):
        return program([w("x"), *between, r("y", "o1")], [w("y"), *between, r("x", "o2")], blocks=blocks).outcomes()

    assert outcomes() == every
    assert outcomes(("f", "acq_rel", "gpu")) == every
    assert outcomes(("f", "sc", "cta")) == every
    assert outcomes(FENCE) == every - {(0, 0)}
    assert outcomes(("f", "sc", "cta"), blocks=(0, 0)) == every - {(0, 0)}


def test_a_message_needs_a_release_and_an_acquire_in_scope(program):
    """The same paper: MP."""

    def is_stale(release, acquire, scope="gpu"):
        writer = [w("x", 1, "weak"), w("flag", 1, release, scope)]
        reader = [r("flag", "o1", acquire, scope), r("x", "o2", "weak")]
        return (1, 0) in program(writer, reader).outcomes()

    assert not is_stale("release", "acquire")
    assert is_stale("relaxed", "acquire")
    assert is_stale("release", "relaxed")
    assert is_stale("release", "acquire", "cta")


def test_fences_make_a_message_of_relaxed_accesses(program):
    writer = [w("x", 1, "weak"), ("f", "acq_rel", "gpu"), w("flag")]
    reader = [r("flag", "o1"), ("f", "acq_rel", "gpu"), r("x", "o2", "weak")]
    assert (1, 0) not in program(writer, reader).outcomes()
    assert (1, 0) in program(writer, [r("flag", "o1"), r("x", "o2", "weak")]).outcomes()
    assert (1, 0) in program([w("x", 1, "weak"), w("flag")], reader).outcomes()


def test_a_release_is_seen_through_updates_of_others(program):
    """PTX ISA 8.9.2: observation order goes through atomic operations."""
    writer = [w("x", 1, "weak"), w("flag", 1, "release")]
    reader = [r("flag", "o2", "acquire"), r("x", "o3", "weak")]
    outcomes = program(writer, [("add", "flag", "o1")], reader).outcomes()
    assert (1, 2, 1) in outcomes and (1, 2, 0) not in outcomes


def test_readers_may_see_two_writes_in_different_orders(program):
    """The same paper: IRIW, with acquires allowed, with fences.sc not."""
    first, second = (
        [r("x", "o1", "acquire"), r("y", "o2", "acquire")],
        [r("y", "o3", "acquire"), r("x", "o4", "acquire")],
    )
    assert (1, 0, 1, 0) in program([w("x")], [w("y")], first, second).outcomes()
    fenced = ([first[0], FENCE, first[1]], [second[0], FENCE, second[1]])
    assert (1, 0, 1, 0) not in program([w("x")], [w("y")], *fenced).outcomes()


def test_a_place_has_one_order_for_all_of_its_readers(program):
    """PTX ISA 8.10.5, SC per location: CoRR."""
    outcomes = program([w("x", 1), w("x", 2)], [r("x", "o1"), r("x", "o2")]).outcomes()
    assert outcomes == {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)}


def test_racing_weak_stores_leave_either_value(program):
    finals = {dict(each.final)["x"] for each in program([w("x", 1, "weak")], [w("x", 2, "weak")]).search().outcomes()}
    assert finals == {1, 2}


def test_loads_may_come_after_later_stores_but_no_value_out_of_nothing(program):
    """The same paper: LB; PTX ISA 8.10.4, No-Thin-Air."""
    assert (1, 1) in program([r("x", "o1"), w("y")], [r("y", "o2"), w("x")]).outcomes()
    copies = program([("copy", "x", "y")], [("copy", "y", "x"), r("x", "o1")])
    assert copies.outcomes() == {(0,)}
    copied = program([("copy", "x", "y")], [("copy", "y", "x")], [w("z", 1), r("y", "o1")])
    assert copied.outcomes() == {(0,)}


def test_updates_are_atomic(program):
    outcomes = program(*([("add", "x", f"o{n}")] for n in range(3))).outcomes()
    assert sorted(outcomes) == [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


def test_a_barrier_orders_weak_accesses_of_its_block(program):
    rows = [[w("x", 1, "weak"), ("bar", 0, 0, "sync")], [("bar", 0, 0, "sync"), r("x", "o1", "weak")]]
    assert program(*rows, blocks=(0, 0)).outcomes() == {(1,)}
    arrives = [[w("x", 1, "weak"), ("bar", 1, 2, "arrive")], [("bar", 1, 2, "sync"), r("x", "o1", "weak")]]
    assert program(*arrives, blocks=(0, 0)).outcomes() == {(1,)}
    backwards = [[("bar", 1, 2, "arrive"), w("x", 1, "weak")], [r("x", "o1", "weak"), ("bar", 1, 2, "sync")]]
    assert program(*backwards, blocks=(0, 0)).outcomes() == {(0,), (1,)}


def test_a_thread_that_nobody_meets_is_found(program):
    alone = program([("bar", 1, 2, "sync"), w("x")], [r("x", "o1")], blocks=(0, 0)).search()
    (found,) = alone.outcomes()
    assert found.stuck == ((0, 0),)


_ACCESS = st.one_of(
    st.tuples(st.just("w"), st.sampled_from("xy"), st.integers(1, 2)),
    st.tuples(st.just("r"), st.sampled_from("xy")),
    st.tuples(st.just("add"), st.sampled_from("xy")),
)


def _rows(thread, accesses, order="relaxed", between=()):
    rows = []
    for n, (what, place, *value) in enumerate(accesses):
        name = f"o{thread}{n}"
        rows += between if n else ()
        rows.append(
            w(place, value[0], order) if what == "w" else r(place, name, order) if what == "r" else ("add", place, name)
        )
    return rows


_PROGRAMS = st.one_of(
    st.lists(st.lists(_ACCESS, min_size=1, max_size=3), min_size=2, max_size=2),
    st.lists(st.lists(_ACCESS, min_size=1, max_size=2), min_size=3, max_size=3),
)


@given(_PROGRAMS, st.sampled_from(("relaxed", "weak")))
@settings(deadline=None, max_examples=40)
def test_every_order_of_the_accesses_is_allowed(program, threads, order):
    small = program(*(_rows(n, each, order) for n, each in enumerate(threads)))
    assert small.interleavings() <= small.outcomes()


@given(_PROGRAMS)
@settings(deadline=None, max_examples=40)
def test_with_sc_fences_between_them_only_orders_are_allowed(program, threads):
    small = program(*(_rows(n, each, between=[FENCE]) for n, each in enumerate(threads)))
    assert small.outcomes() == small.interleavings()


@given(_PROGRAMS, st.integers(0, 2), st.integers(1, 2), st.sampled_from(("acq_rel", "sc")))
@settings(deadline=None, max_examples=40)
def test_a_fence_adds_no_outcome(program, threads, thread, at, order):
    plain = [_rows(n, each) for n, each in enumerate(threads)]
    fenced = [list(rows) for rows in plain]
    fenced[thread % len(fenced)].insert(at, ("f", order, "gpu"))
    assert program(*fenced).outcomes() <= program(*plain).outcomes()


@pytest.mark.parametrize("order", ["relaxed", "weak"])
def test_an_execution_shows_its_outcome(program, order):
    search = program([w("x", 1, order), r("y", "o1", order)], [w("y", 1, order), r("x", "o2", order)]).search()
    for each in search.outcomes():
        final = dict(each.final)
        for read, source in enumerate(each.execution.reads_from):
            if source >= 0:
                assert each.events.events[source].value == each.events.events[read].value
        assert {final["o1"], final["o2"]} <= {0, 1}
