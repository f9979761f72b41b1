"""An execution as data: the steps in order, what each reads, and what no order of the accesses gives."""

from __future__ import annotations

import pytest

from dsl.emulator.execute.executions import Executions
from tests.emulator.explored import Explored, load, store, threads

ONE, OTHER = (store(n) + load(1, 1 - n) + store(2 + n, "%r1", "") for n in (0, 1))


def of_values(found, *expected):
    """The outcome in which words 2 and 3 have these values, and the words that executions use."""
    told = Executions(found.found)
    for outcome in found.outcomes:
        if tuple(dict(told.final(outcome)).get(f"a[{n}]", 0) for n in (2, 3)) == expected:
            return told, outcome
    raise AssertionError(f"no outcome has {expected}")


def test_an_outcome_that_an_order_of_the_accesses_gives():
    told, outcome = of_values(Explored(threads(ONE, OTHER)), 0, 1)
    assert told.is_interleaving(outcome)
    steps = [(s["block"], s["does"], s["place"], s["value"], s["read_from"], s["unseen"]) for s in told.steps(outcome)]
    assert steps == [
        (0, "writes", "a[0]", "1", None, None),
        (0, "reads", "a[1]", "0", None, None),
        (1, "writes", "a[1]", "1", None, None),
        (1, "reads", "a[0]", "1", 0, None),
    ]


def test_an_outcome_that_no_order_gives():
    told, outcome = of_values(Explored(threads(ONE, OTHER)), 0, 0)
    assert not told.is_interleaving(outcome)
    last = told.steps(outcome)[-1]
    assert (last["does"], last["value"], last["read_from"], last["unseen"], last["early"]) == (
        "reads",
        "0",
        None,
        0,
        False,
    )
    assert told.final(outcome) == [("a[0]", 1), ("a[1]", 1)]


def test_a_read_of_a_later_step():
    """LB: each thread reads what the other writes afterwards."""
    one, other = (load(1, n) + store(1 - n) + store(2 + n, "%r1", "") for n in (0, 1))
    told, outcome = of_values(Explored(threads(one, other)), 1, 1)
    assert not told.is_interleaving(outcome) and any(step["early"] for step in told.steps(outcome))


def test_fences_and_barriers_are_steps():
    body = store(0) + "fence.acq_rel.gpu; barrier.arrive 1, 2;", "barrier.sync 1, 2;" + load(1, 0) + store(1, "%r1")
    found = Explored(threads(*body), grid=1, block=2)
    steps = [(s["thread"], s["does"], s["instruction"]) for s in Executions(found.found).steps(found.outcomes[0])]
    assert (0, "fences", "fence.acq_rel.gpu") in steps
    assert (0, "arrives", "barrier.arrive") in steps and (1, "waits", "barrier.sync") in steps


def test_the_threads_that_wait():
    found = Explored(threads("", "barrier.sync 1, 2;"), grid=1, block=2)
    (waiting,) = Executions(found.found).stuck(found.outcomes[0])
    assert waiting == {
        "block": 0, "thread": 1, "instruction": "barrier.sync", "file": None, "line": 12, "code": "barrier.sync 1, 2;"
    }  # fmt: skip


@pytest.mark.parametrize(
    "kind, value, shown",
    [("u32", "-1", "4294967295"), ("s32", "-1", "-1"), ("b32", "5", "5"), ("f32", "0f3F800000", "1.0")],
)
def test_values_have_the_type_of_the_instruction(kind, value, shown):
    writer = f"mov.{kind} {'%f1' if kind == 'f32' else '%r1'}, {value}; st.global.{kind} [%a], {'%f1' if kind == 'f32' else '%r1'};"
    found = Explored(threads(writer, load(1, 0) + store(1, "%r1")))
    told = Executions(found.found)
    assert {
        step["value"]
        for each in found.outcomes
        for step in told.steps(each)
        if step["does"] == "writes" and step["block"] == 0
    } == {shown}


def test_places():
    found = Explored(
        threads("st.shared.u32 [S], 5;", "ld.shared.u32 %r1, [S]; st.global.u64 [%a+8], %d1;"), grid=1, block=2,
        declared=".shared .align 4 .b32 S;",
    )  # fmt: skip
    told = Executions(found.found)
    assert {step["place"] for each in found.outcomes for step in told.steps(each)} == {"shared byte 0 of block 0"}
    assert told.place(found.outcomes[0].final[0][0]) == "a[1]"
