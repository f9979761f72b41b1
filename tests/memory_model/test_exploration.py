"""The traces of threads: what their reads may give, and that the search ends."""

from __future__ import annotations

from dsl.memory_model.events import Kind
from dsl.memory_model.exploration import Explorer


def values(small, thread):
    traces = Explorer(len(small.threads), small.run).traces()
    return sorted(tuple(e.value for e in t.events if e.kind == Kind.READ) for t in traces[thread])


def test_a_read_may_give_what_was_before_and_what_others_write(program):
    small = program([("w", "x", 5, "weak", "cta"), ("w", "x", 7, "weak", "cta")], [("r", "x", "o1", "weak", "cta")])
    assert values(small, 1) == [(0,), (5,), (7,)]


def test_a_thread_sees_its_own_last_write(program):
    rows = [("w", "x", 5, "weak", "cta"), ("w", "x", 7, "weak", "cta"), ("r", "x", "o1", "weak", "cta")]
    assert values(program(rows, []), 0) == [(7,)]


def test_a_value_goes_through_several_threads(program):
    small = program([("w", "x", 3, "relaxed", "gpu")], [("copy", "x", "y")], [("r", "y", "o1", "relaxed", "gpu")])
    assert values(small, 2) == [(0,), (3,)]


def test_chains_of_updates_end(program):
    small = program(*([("add", "x", f"o{n}0"), ("add", "x", f"o{n}1")] for n in range(2)))
    assert max(v for row in values(small, 0) for v in row) <= 5  # one more than there are updates


def test_a_limit_makes_the_result_incomplete(program):
    explorer = Explorer(2, program([("add", "x", "o1")], [("add", "x", "o2")]).run, most=2)
    explorer.traces()
    assert not explorer.is_complete
