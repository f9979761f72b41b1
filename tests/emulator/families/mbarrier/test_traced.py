"""mbarriers in all outcomes of a kernel: small programs against the PTX ISA, and against each order of their steps."""

from __future__ import annotations

import itertools
import random

import pytest

from dsl.emulator.faults import Fault
from dsl.emulator.ptx.syntax import Unsupported
from tests.emulator.explored import Explored, load, store, threads

DECLARED = ".shared .align 8 .b64 B; .shared .align 8 .b64 C; .shared .align 16 .b8 S[64];"
INIT = "mbarrier.init.shared.b64 [B], 1; "
MEET = "bar.sync 0; "


def arrive(how="", at="B"):
    return f"mbarrier.arrive{how}.shared.b64 _, [{at}]; "


_labels = itertools.count()


def wait(parity=0, how="", at="B"):
    label = f"W{next(_labels)}"
    return f"{label}: mbarrier.try_wait.parity{how}.shared.b64 %q, [{at}], {parity}; @!%q bra {label}; "


def explored(*bodies, **options):
    return Explored(threads(*bodies), **{"grid": 1, "block": len(bodies), "declared": DECLARED} | options)


@pytest.mark.parametrize(
    "arrival, look, values",
    [
        ("", "", {(5,)}),
        (".release.cta", ".acquire.cta", {(5,)}),
        (".release.cluster", ".acquire.cluster", {(5,)}),
        (".relaxed.cta", "", {(0,), (5,)}),
        ("", ".relaxed.cta", {(0,), (5,)}),
    ],
)
def test_an_arrival_releases_to_a_wait(arrival, look, values):
    """Message passing. PTX ISA 8.8, 9.7.13.15.13, 9.7.13.15.16: without modifiers both are of the block and order
    memory."""
    found = explored(
        INIT + MEET + store(0, 5, "") + arrive(arrival), MEET + wait(0, look) + load(1, 0, "") + store(1, "%r1", "")
    )
    assert found.values(1) == values and found.is_complete and not found.stuck


def test_a_relaxed_message_by_fences():
    """PTX ISA 8.8: a release pattern may be a fence before a relaxed write."""
    fence = "fence.acq_rel.cta; "
    found = explored(
        INIT + MEET + store(0, 5, "") + fence + arrive(".relaxed.cta"),
        MEET + wait(0, ".relaxed.cta") + fence + load(1, 0, "") + store(1, "%r1", ""),
    )
    assert found.values(1) == {(5,)}


def test_a_wait_acquires_from_all_arrivals_of_the_phase():
    """Each later arrival updates the word: it is in the observation order from the first one to the wait."""
    two = INIT.replace("1;", "2;") + MEET
    reader = MEET + wait() + load(1, 0, "") + load(2, 1, "") + "st.global.v2.u32 [%a+8], {%r1, %r2}; "
    found = explored(two + store(0, 5, "") + arrive(), MEET + store(1, 6, "") + arrive(), reader)
    assert found.values(2, 3) == {(5, 6)} and found.is_complete
    weaker = explored(two + store(0, 5, "") + arrive(".relaxed.cta"), MEET + store(1, 6, "") + arrive(), reader)
    assert weaker.values(2, 3) == {(0, 6), (5, 6)}


def test_a_peek_that_fails_orders_nothing():
    body = "mbarrier.test_wait.parity.shared.b64 %q, [B], 0; selp.u32 %r2, 1, 0, %q; "
    found = explored(
        INIT + MEET + store(0, 5, "") + arrive(), MEET + body + load(1, 0, "") + "st.global.v2.u32 [%a+8], {%r1, %r2}; "
    )
    assert found.values(2, 3) == {(0, 0), (5, 0), (5, 1)}


def test_a_wait_for_the_phase_of_a_state():
    body = "mbarrier.arrive.shared.b64 %d1, [B]; W: mbarrier.try_wait.shared.b64 %q, [B], %d1; @!%q bra W; "
    found = explored(
        INIT.replace("1;", "2;") + MEET + store(0, 5, "") + arrive(), MEET + body + load(1, 0, "") + store(1, "%r1", "")
    )
    assert found.values(1) == {(5,)} and not found.stuck


def test_a_dropped_arrival_is_not_expected_again():
    drop = "mbarrier.arrive_drop.shared.b64 _, [B]; "
    found = explored(INIT.replace("1;", "2;") + MEET + arrive() + wait() + arrive() + wait(1) + store(0), MEET + drop)
    assert found.values(0) == {(1,)} and not found.stuck


def test_a_phase_that_lacks_an_arrival_never_ends():
    found = explored(INIT.replace("1;", "2;") + MEET + arrive(), MEET + wait())
    assert found.stuck == {(1,)} and not found.values()


def test_a_phase_may_pass_unseen():
    """Two arrivals end two phases: a thread that looks after them waits for the third."""
    found = explored(INIT + MEET + arrive() + arrive(), MEET + wait() + store(0))
    assert found.values(0) == {(1,)} and found.stuck == {(1,)}


@pytest.mark.parametrize("waits, values, stuck", [(True, {(1, 2)}, set()), (False, {(1, 2), (2, 2)}, {(1,)})])
def test_a_slot_is_written_again_once_it_is_free(waits, values, stuck):
    """A ring of one slot: full is B, free is C."""
    producer = "st.shared.u32 [S], 1; " + arrive() + wait(0, at="C") * waits + "st.shared.u32 [S], 2; " + arrive()
    consumer = wait() + "ld.shared.u32 %r1, [S]; " + arrive(at="C") + wait(1) + "ld.shared.u32 %r2, [S]; "
    found = explored(
        INIT + INIT.replace("[B]", "[C]") + MEET + producer, MEET + consumer + "st.global.v2.u32 [%a], {%r1, %r2}; "
    )
    assert found.values(0, 1) == values and found.stuck == stuck and found.is_complete


def test_bytes_hold_a_phase_until_they_are_complete():
    expect, complete = (
        f"mbarrier.{what}.relaxed.cta.shared::cta.b64 [B], 8; " for what in ("expect_tx", "complete_tx")
    )
    found = explored(INIT + expect + MEET + store(0, 5, "") + complete, MEET + arrive() + wait() + store(1))
    assert found.values(1) == {(1,)} and not found.stuck
    assert explored(INIT + expect + MEET, MEET + arrive() + wait()).stuck == {(1,)}


def test_the_state_has_the_arrivals_that_are_left():
    body = "mbarrier.arrive.shared.b64 %d1, [B], 2; mbarrier.pending_count.b64 %r1, %d1; " + store(0, "%r1", "")
    assert explored(INIT.replace("1;", "7;") + body).values(0) == {(7,)}


def test_an_arrival_that_may_come_before_the_beginning_is_a_fault():
    with pytest.raises(Fault, match="MBARRIER_NOT_INITIALIZED\n    arrives at the mbarrier at smem.0x0, which is not"):
        explored(INIT, arrive())
    with pytest.raises(Fault, match="count of an mbarrier must be 1 to 1048575, got 0"):
        explored(INIT.replace("1;", "0;"))


def test_data_in_an_mbarrier_is_refused():
    with pytest.raises(Unsupported) as refused:
        explored(INIT + MEET + arrive(), MEET + "st.shared.u64 [B], 0; ")
    assert str(refused.value) == (
        "UNSUPPORTED_PTX `st.shared.u64`: it accesses the bytes of an mbarrier\n    PTX line 12: st.shared.u64 [B], 0;\n"
        "fix: give the mbarrier 8 bytes that no data overlaps"
    )


# ** every order of the steps, one after another


def in_every_order(programs, count):
    """The values of words 0 and 1 and of the registers at the end, and who waits for ever, in each order of the steps."""
    ends, stuck, seen = set(), set(), set()
    todo = [(tuple(0 for _ in programs), (0, 0), (0, count), tuple(() for _ in programs))]
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        at, words, (phase, left), read = state
        moved = False
        for thread, program in enumerate(programs):
            if at[thread] == len(program):
                continue
            what, which = program[at[thread]]
            if what == "wait" and phase % 2 == which:
                continue
            moved, after, got, barrier = True, list(words), list(read), (phase, left)
            if what == "write":
                after[which] = thread + 1
            elif what == "read":
                got[thread] = (*got[thread], words[which])
            elif what == "arrive":
                barrier = (phase + 1, count) if left == 1 else (phase, left - 1)
            steps = tuple(n + (t == thread) for t, n in enumerate(at))
            todo.append((steps, tuple(after), barrier, tuple(got)))
        if not moved:
            late = tuple(t for t, program in enumerate(programs) if at[t] < len(program))
            stuck.add(late) if late else ends.add((*words, *(value for each in read for value in each)))
    return ends, stuck - {()}


def drawn(seed):
    draw = random.Random(seed)
    kinds = [
        ("write", 0),
        ("write", 1),
        ("read", 0),
        ("read", 1),
        ("arrive", 0),
        ("arrive", 0),
        ("wait", 0),
        ("wait", 1),
    ]
    return [[draw.choice(kinds) for _ in range(draw.randint(1, 3))] for _ in range(draw.randint(2, 3))], draw.randint(
        1, 2
    )


QUICK = range(1, 11)  # the others take up to 20 s


@pytest.mark.parametrize("seed", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in range(11, 40))])
def test_with_fences_between_them_the_steps_have_some_order(seed):
    """fence.sc between any two steps leaves only outcomes of an order of the steps, and none is missing."""
    programs, count = drawn(seed)
    bodies, place = [], 2
    for thread, program in enumerate(programs):
        body = (INIT.replace("1;", f"{count};") if thread == 0 else "") + MEET
        for what, which in program:
            body += "fence.sc.cta; "
            if what == "write":
                body += store(which, thread + 1, "relaxed.cta")
            elif what == "read":
                body += load(1, which, "relaxed.cta") + store(place, "%r1", "")
                place += 1
            else:
                body += arrive() if what == "arrive" else wait(which)
        bodies.append(body)
    found = explored(*bodies, words=16)
    ends, stuck = in_every_order(programs, count)
    assert found.is_complete
    assert (found.values(*range(place)), found.stuck) == (ends, stuck)
