"""Behaviour: what of a run's report stays when lines, numbers and names change."""

from dataclasses import asdict
from pathlib import PurePath

from harness.reduction import behaviour
from harness.run import reply
from harness.run.result import Outcome


def of(text, outcome):
    return behaviour.of(behaviour.Program(text, PurePath("/home/me/one.py")), outcome)


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
    one = of(PROGRAM, RACE)
    other = of("\n" * 5 + PROGRAM, OTHER_ORDER)
    assert str(one) == "RACE (no barrier between) at reads ld.shared words[], writes st.shared words[]"
    assert (one.kernel, other.kernel) == ("kernel_kernel", "kernel_kernel")
    assert other.is_at(one) and one.is_at(other) and other.message == one.message


def test_a_race_at_another_access_differs():
    other = PROGRAM.replace("words[t] = t", "sums[t] = t")
    assert not of(other, RACE).is_at(of(PROGRAM, RACE))


def test_other_reads_may_go_but_not_come():
    more = PROGRAM.replace("words[63 - t]", "words[63 - t] + sums[t]")
    before, after = (of(text, RACE) for text in (more, PROGRAM))
    assert after.is_at(before) and not before.is_at(after)


def test_the_wait_of_a_deadlock_with_what_is_missing():
    some = of(PROGRAM, deadlock(3, 4))
    fewer = of(PROGRAM, deadlock(0, 2))
    all_came = of(PROGRAM, deadlock(4, 4))
    wait = "waits at mbarrier.try_wait.parity.shared (arrivals missing) cute.arch.mbarrier_wait()"
    assert str(some) == f"DEADLOCK at {wait}"
    assert fewer.is_at(some) and not all_came.is_at(some)


def test_a_deadlock_in_a_later_phase_or_of_another_role_differs():
    """A ring that a reader does not give back is not a barrier at which nobody arrives."""
    back = "let warps 1 and 2 arrive at the empty mbarrier smem+0x18 when the stage is read"
    ring, never, smaller, later = (
        of(PROGRAM, deadlock(0, 32, parity, fix=fix))
        for parity, fix in (
            (0, back), (0, "arrive at one.py:5"), (0, back.replace("warps 1 and 2", "warp 3")), (1, back),
        )
    )  # fmt: skip
    assert ring.message == "let _ arrive at the empty mbarrier smem+N when the stage is read" == smaller.message
    assert never.message == "arrive at _"
    assert not later.is_at(ring) and not ring.is_at(later)


def test_bytes_that_are_missing_are_another_wait():
    arrived, missing, more = (str(of(PROGRAM, deadlock(1, 1, nbytes=nbytes))) for nbytes in (0, 64, -64))
    assert "(all arrived)" in arrived and "(all arrived, bytes missing)" in missing
    assert "(all arrived, too many bytes)" in more


def test_a_rejection_without_names_and_numbers():
    one, other = (
        of("", Outcome("rejected", detail=told({"id": "TYPE_UNSTABLE_JOIN", "message": message})))
        for message in ("`acc` is Int32 before", "`sum` is Int16 before")
    )
    assert (one.name, one.message) == ("TYPE_UNSTABLE_JOIN", "_ is Int32 before")
    assert (other.name, other.message) == ("TYPE_UNSTABLE_JOIN", "_ is Int16 before")


def test_an_exception_by_its_type_message_and_innermost_statement():
    frames = 'Traceback (most recent call last):\n  File "one.py", line 4, in run\n    x[t] = words[63 - t]\n'
    said = of(PROGRAM, Outcome("error", frames + "RuntimeError: shape '[3, 5]' of size 64\nfix: other\n"))
    assert str(said) == "RuntimeError (shape _ of size N) at words[] x[]"


def test_an_assertion_that_counts_keeps_its_numbers():
    said = of("", Outcome("error", "AssertionError: Mismatched elements: 3 / 64\nMax difference: 2"))
    assert said.message == ": Mismatched elements: 3 / 64 Max difference: 2"


def test_a_hang_is_at_the_loops_of_its_warps():
    text = PROGRAM.replace("    x[t]", "    while words[0] > 0:\n        x[t]")
    where = "one.py:4:11: STOPPED\n    while\n          ^ `kernel_kernel_0` was stopped: 1 block\n"
    where += "    block (0, 0, 0):\n        warp 0 lane 0: in the loop at one.py:5, PTX line 29: bra.uni $L;\n"
    assert str(of(text, Outcome("timeout", where))) == "hang at while words[]"


def test_an_exception_without_a_message():
    said = 'Traceback (most recent call last):\n  File "one.py", line 4, in run\n    assert ok\nAssertionError'
    did = of(PROGRAM, Outcome("error", said))
    assert (did.name, did.message, did.places) == (
        "AssertionError",
        "",
        (behaviour.Place("", frozenset({"words[]", "x[]"})),),
    )


LIBRARY = "/venv/lib/python3.11/site-packages/tiles/one.py"  # named as the program is


def called(line):
    return {"text": "called here: x", "file": "one.py", "line": line}


def test_a_finding_in_a_library_stays_at_its_line_and_is_called_by_a_construct():
    def fault(line, more=""):
        about = {"file": LIBRARY, "line": 4, "column": 5, "message": "out", "kernel": "k"}
        return of(
            more + PROGRAM,
            Outcome("out_of_bounds", detail=told({"id": "OUT_OF_BOUNDS", "related": [called(line)], **about})),
        )

    assert str(fault(4)) == "OUT_OF_BOUNDS (out) at called by words[] x[], one.py:4"
    assert fault(6, "a = x[0]\n\n").is_at(fault(4))
    assert not fault(5).is_at(fault(4))


def test_a_race_with_a_side_in_a_library():
    sides = (
        access("writes", "st.shared.b32 [%rd4], %r1;", 9) | {"file": LIBRARY},
        access("read", "ld.shared.b32 %r3, [%rd6];", 4),
    )
    assert str(of(PROGRAM, race(4, "m: no barrier between", *sides))) == (
        "RACE (no barrier between) at reads ld.shared words[], writes st.shared one.py:9"
    )


def test_an_exception_in_a_library_is_at_the_program_s_call():
    frames = f'Traceback (most recent call last):\n  File "/home/me/one.py", line 3, in run\n  File "{LIBRARY}", line 4, in f\n'
    assert str(of(PROGRAM, Outcome("error", frames + "ValueError: no"))) == "ValueError (no) at words[]"


def test_a_hang_in_a_library_is_at_the_program_s_call():
    where = f'  File "{LIBRARY}", line 4 in wait\n  File "one.py", line 5 in run\n'
    assert str(of(PROGRAM, Outcome("timeout", where))) == "hang at cute.arch.mbarrier_wait()"


def test_lines_that_a_report_names_are_of_the_program_alone():
    said = (
        f'{LIBRARY}:7:5: RACE\n  called at one.py:4: f(x)\n    (./one.py:3)\n  File "/home/me/one.py", line 5, in run\n'
    )
    assert behaviour.Program(PROGRAM, PurePath("/home/me/one.py")).named(said) == {3, 4, 5}
