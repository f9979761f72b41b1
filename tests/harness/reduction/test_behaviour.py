"""Behaviour: what of a run's report stays when lines, numbers and names change."""

from dataclasses import asdict

from harness.reduction import behaviour
from harness.run import reply
from harness.run.result import Outcome

PROGRAM = """\
@cute.kernel
def kernel(x):
    words[t] = t
    x[t] = words[63 - t]
    cute.arch.mbarrier_wait(barrier, 0)
"""


def access(does, code, line, **more):
    return {"text": "", "file": "one.py", "line": line, "does": does, "code": code, **more}


def race(line, message, *sides):
    kernel = "kernel_kernel_0"
    about = {"file": "one.py", "line": line, "column": 5, "message": message, "kernel": kernel}
    return Outcome("race", detail=told({"id": "RACE", "related": list(sides), **about}))


def told(finding):
    """The detail of an outcome that has this finding."""
    return {"finding": asdict(reply.read(reply.Finding, finding))}


RACE = race(
    3, "writes smem+0x80, which another thread read at line 4: no barrier between",
    access("writes", "st.shared.b32 [%rd4], %r1;", 3), access("read", "@%p1 ld.shared.v2.b32 %r3, [%rd6];", 4),
)  # fmt: skip
OTHER_ORDER = race(
    9, "reads smem+0x7c, which another thread wrote at line 8: no barrier between",
    access("reads", "ld.shared.b32 %r10, [%r9];", 9), access("wrote", "st.shared.b32 [%r5], %r2;", 8),
)  # fmt: skip


def deadlock(came, of, parity=0, nbytes=0, fix=""):
    phase = {"parity": parity, "came": came, "of": of, "bytes": nbytes}
    wait = access("waits", "mbarrier.try_wait.parity.shared.b64 P1, [%r1], %r6, 10000000;", 5, phase=phase)
    message = "no thread can continue in block (0, 0, 0) of `kernel_kernel_0`"
    return Outcome("deadlock", detail=told({"id": "DEADLOCK", "message": message, "fix": fix, "related": [wait]}))


def test_both_sides_of_a_race_whichever_came_first():
    one = behaviour.of(PROGRAM, RACE)
    other = behaviour.of("\n" * 5 + PROGRAM, OTHER_ORDER)
    assert str(one) == "RACE (no barrier between) at reads ld.shared words[], writes st.shared words[]"
    assert (one.kernel, other.kernel) == ("kernel_kernel", "kernel_kernel")
    assert other.is_at(one) and one.is_at(other) and other.message == one.message


def test_a_race_at_another_access_is_another():
    other = PROGRAM.replace("words[t] = t", "sums[t] = t")
    assert not behaviour.of(other, RACE).is_at(behaviour.of(PROGRAM, RACE))


def test_what_is_read_besides_may_go_but_not_come():
    more = PROGRAM.replace("words[63 - t]", "words[63 - t] + sums[t]")
    before, after = (behaviour.of(text, RACE) for text in (more, PROGRAM))
    assert after.is_at(before) and not before.is_at(after)


def test_the_wait_of_a_deadlock_with_what_is_missing():
    some = behaviour.of(PROGRAM, deadlock(3, 4))
    fewer = behaviour.of(PROGRAM, deadlock(0, 2))
    all_came = behaviour.of(PROGRAM, deadlock(4, 4))
    wait = "waits at mbarrier.try_wait.parity.shared (arrivals missing) cute.arch.mbarrier_wait()"
    assert str(some) == f"DEADLOCK at {wait}"
    assert fewer.is_at(some) and not all_came.is_at(some)


def test_a_deadlock_in_a_later_phase_or_of_another_role_is_another():
    """A ring that a reader does not give back is not a barrier at which nobody arrives."""
    back = "let warps 1 and 2 arrive at the empty mbarrier smem+0x18 when the stage is read"
    ring, never, smaller, later = (
        behaviour.of(PROGRAM, deadlock(0, 32, parity, fix=fix))
        for parity, fix in (
            (0, back), (0, "arrive at one.py:5"), (0, back.replace("warps 1 and 2", "warp 3")), (1, back),
        )
    )  # fmt: skip
    assert ring.message == "let _ arrive at the empty mbarrier smem+N when the stage is read" == smaller.message
    assert never.message == "arrive at _"
    assert not later.is_at(ring) and not ring.is_at(later)


def test_bytes_that_are_missing_are_another_wait():
    arrived, missing, more = (str(behaviour.of(PROGRAM, deadlock(1, 1, nbytes=nbytes))) for nbytes in (0, 64, -64))
    assert "(all arrived)" in arrived and "(all arrived, bytes missing)" in missing
    assert "(all arrived, too many bytes)" in more


def test_a_rejection_without_names_and_numbers():
    one, other = (
        behaviour.of("", Outcome("rejected", detail=told({"id": "TYPE_UNSTABLE_JOIN", "message": message})))
        for message in ("`acc` is Int32 before", "`sum` is Int16 before")
    )
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


def test_an_exception_without_a_message():
    said = 'Traceback (most recent call last):\n  File "one.py", line 4, in run\n    assert ok\nAssertionError'
    did = behaviour.of(PROGRAM, Outcome("error", said))
    assert (did.name, did.message, did.line) == ("AssertionError", "", 4)
