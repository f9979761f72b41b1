"""Behaviour: what of a run's report stays when lines, numbers and names change."""

from harness.reduction import behaviour
from harness.run.result import Outcome

PROGRAM = """\
@cute.kernel
def kernel(x):
    words[t] = t
    x[t] = words[63 - t]
    cute.arch.mbarrier_wait(barrier, 0)
"""
RACE = """\
one.py:3:5: RACE
    words[t] = t
    ^ writes smem+0x80, which another thread read at line 4: no barrier between
    in `kernel_kernel_0`, 4 bytes of smem+0x80
    writes   thread (32, 0, 0) = warp 1, lane 0 of block (0, 0, 0): one.py:3, PTX line 29: st.shared.b32 [%rd4], %r1;
    read     thread (31, 0, 0) = warp 0, lane 31 of block (0, 0, 0): one.py:4, PTX line 35: ld.shared.v2.b32 %r3, [%rd6];
fix: put a barrier of the block (bar.sync) between line 3 and line 4
"""
OTHER_ORDER = """\
one.py:9:12: RACE
    x[t] = words[63 - t]
           ^ reads smem+0x7c, which another thread wrote at line 8: no barrier between
    in `kernel_kernel_0`, 4 bytes of smem+0x7c
    reads    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): one.py:9, PTX line 9: ld.shared.b32 %r10, [%r9];
    wrote    thread (31, 0, 0) = warp 0, lane 31 of block (0, 0, 0): one.py:8, PTX line 3: st.shared.b32 [%r5], %r2;
fix: put a barrier of the warp (bar.warp.sync) or of the block (bar.sync) between line 8 and line 9
"""
DEADLOCK = """\
one.py:5:5: DEADLOCK
    cute.arch.mbarrier_wait(barrier, 0)
    ^ no thread can continue in block (0, 0, 0) of `kernel_kernel_0`
    warp 0 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 P1, [%r1], %r6, 10000000;` (one.py:5), PTX line 49
        for the phase of parity 0 of the mbarrier at smem+0x0 to end: {} arrivals have come
        and no thread arrives at the mbarrier any more
"""


def test_both_sides_of_a_race_whichever_came_first():
    one = behaviour.of(PROGRAM, Outcome("race", RACE))
    other = behaviour.of("\n" * 5 + PROGRAM, Outcome("race", OTHER_ORDER))
    assert str(one) == "RACE (no barrier between) at reads ld.shared words[], writes st.shared words[]"
    assert (one.kernel, other.kernel) == ("kernel_kernel", "kernel_kernel")
    assert other.is_at(one) and one.is_at(other) and other.message == one.message


def test_a_race_at_another_access_is_another():
    other = PROGRAM.replace("words[t] = t", "sums[t] = t")
    assert not behaviour.of(other, Outcome("race", RACE)).is_at(behaviour.of(PROGRAM, Outcome("race", RACE)))


def test_what_is_read_besides_may_go_but_not_come():
    more = PROGRAM.replace("words[63 - t]", "words[63 - t] + sums[t]")
    before, after = (behaviour.of(text, Outcome("race", RACE)) for text in (more, PROGRAM))
    assert after.is_at(before) and not before.is_at(after)


def test_the_wait_of_a_deadlock_with_what_is_missing():
    some = behaviour.of(PROGRAM, Outcome("deadlock", DEADLOCK.format("3 of 4")))
    fewer = behaviour.of(PROGRAM, Outcome("deadlock", DEADLOCK.format("0 of 2")))
    all_came = behaviour.of(PROGRAM, Outcome("deadlock", DEADLOCK.format("4 of 4")))
    wait = "waits at mbarrier.try_wait.parity.shared (arrivals missing) cute.arch.mbarrier_wait()"
    assert str(some) == f"DEADLOCK at {wait}"
    assert fewer.is_at(some) and not all_came.is_at(some)


def test_a_deadlock_in_a_later_phase_or_of_another_role_is_another():
    """A ring that a reader does not give back is not a barrier at which nobody arrives."""
    back = "fix: let warps 1 and 2 arrive at the empty mbarrier smem+0x18 when the stage is read\n"
    text = DEADLOCK.format("0 of 32")
    ring, never = (
        behaviour.of(PROGRAM, Outcome("deadlock", text + fix)) for fix in (back, "fix: arrive at one.py:5\n")
    )
    smaller = behaviour.of(PROGRAM, Outcome("deadlock", text + back.replace("warps 1 and 2", "warp 3")))
    assert ring.message == "let _ arrive at the empty mbarrier smem+N when the stage is read" == smaller.message
    assert never.message == "arrive at _"
    later = behaviour.of(PROGRAM, Outcome("deadlock", text.replace("parity 0", "parity 1") + back))
    assert not later.is_at(ring) and not ring.is_at(later)


def test_a_rejection_without_names_and_numbers():
    text = "one.py:23:9: TYPE_UNSTABLE_JOIN\n    {0} = {0} + x\n    ^^^ `{0}` is Int{1} before\nfix: none"
    one, other = (behaviour.of("", Outcome("rejected", text.format(*names))) for names in (("acc", 32), ("sum", 16)))
    assert (one.name, one.message) == ("TYPE_UNSTABLE_JOIN", "_ is Int32 before")
    assert (other.name, other.message) == ("TYPE_UNSTABLE_JOIN", "_ is Int16 before")


def test_an_exception_by_its_type_message_and_innermost_statement():
    frames = 'Traceback (most recent call last):\n  File "one.py", line 4, in run\n    x[t] = words[63 - t]\n'
    said = behaviour.of(PROGRAM, Outcome("error", frames + "RuntimeError: shape '[3, 5]' of size 64\nfix: other\n"))
    assert str(said) == "RuntimeError (shape _ of size N) at words[] x[]"


def test_an_assertion_that_counts_keeps_its_numbers():
    said = behaviour.of("", Outcome("error", "AssertionError: Mismatched elements: 3 / 64\nMax difference: 2"))
    assert said.message == ": Mismatched elements: 3 / 64 Max difference: 2"


def test_a_hang_is_at_the_loops_of_its_warps():
    text = PROGRAM.replace("    x[t]", "    while words[0] > 0:\n        x[t]")
    where = "one.py:4:11: STOPPED\n    while\n          ^ `kernel_kernel_0` was stopped: 1 block\n"
    where += "    block (0, 0, 0):\n        warp 0 lane 0: in the loop at one.py:5, PTX line 29: bra.uni $L;\n"
    assert str(behaviour.of(text, Outcome("timeout", where))) == "hang at while words[]"
