"""Findings read from the texts of compilers, devices and Python."""

import pytest

from harness.reporting import case_findings
from harness.reporting.case_findings import Place
from harness.run.result import Outcome

RACE = """\
repros/one.py:21:5: RACE
    sums[t] = t
    ^ writes smem+0x100, which another thread read at line 24: no barrier between
    in `kernel_kernel_0`, 4 bytes of smem+0x100
    called at repros/one.py:40: put(s, t)
    writes   thread (64, 0, 0) = warp 2, lane 0 of block (0, 0, 0): repros/one.py:21, PTX line 30: st.shared.b32 [%r2], %r1;
    read     thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): repros/one.py:24, PTX line 35: ld.shared.b32 %r5, [%r2];
fix: put a barrier of the block (bar.sync) between line 21 and line 24
"""
DEADLOCK = """\
repros/one.py:20:9: DEADLOCK
    wait(1)
    ^ no thread can continue in block (0, 0, 0) of `k`
    warps 0-3 wait at `bar.sync 1, 64;` (repros/one.py:20), PTX line 31
        for 32 more threads of the 64 that barrier 1 counts
    warp 4 waits at `mbarrier.try_wait P1, [%r5];` (helper.py:11), PTX line 49
"""
REJECTED = """\
repros/one.py:22:9: TYPE_UNSTABLE_JOIN
    acc = acc + x[i] * 0.5
    ^^^ `acc` is Int32 before this loop and Float32 after it
repros/one.py:20:5: see
    acc = Int32(0)
    ^^^^^^^^^^^^^^ it begins here
fix: start it as Float32
"""
ERROR = """\
Traceback (most recent call last):
  File "{folder}/repros/one.py", line 9, in run
    return halve(3)
  File "/usr/lib/helper.py", line 2, in halve
    raise ValueError("no")
ValueError: no
"""


@pytest.fixture
def found(write, tmp_path, monkeypatch):
    """The findings of an outcome of repros/one.py."""
    monkeypatch.chdir(tmp_path)
    repro = write("def run(): ...")
    return lambda *args, **more: case_findings.of(Outcome(*args, **more), repro, tmp_path)


def test_a_race_has_its_other_access_and_its_call(found):
    (one,) = found("race", RACE)
    assert (one.id, one.level, one.place) == ("RACE", "error", Place("repros/one.py", 21, 5))
    assert one.message == "writes smem+0x100, which another thread read at line 24: no barrier between"
    assert one.fix == "put a barrier of the block (bar.sync) between line 21 and line 24"
    assert one.related == (
        Place("repros/one.py", 40, None, "called here: put(s, t)"),
        Place("repros/one.py", 24, None, "read: thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): ld.shared.b32 %r5, [%r2];"),
    )  # fmt: skip


def test_a_deadlock_has_the_other_waits(found):
    (one,) = found("deadlock", DEADLOCK)
    assert one.place == Place("repros/one.py", 20, 9)
    assert one.related == (Place("helper.py", 11, None, "warp 4 waits at mbarrier.try_wait P1, [%r5];"),)


def test_a_rejection_has_the_place_that_it_refers_to(found):
    (one,) = found("rejected", REJECTED)
    assert (one.id, one.message) == ("TYPE_UNSTABLE_JOIN", "`acc` is Int32 before this loop and Float32 after it")
    assert one.related == (Place("repros/one.py", 20, 5, "it begins here"),)


def test_a_report_without_a_place(found):
    (one,) = found("race", "RACE\n    reads smem+0x0, which the bulk copy at PTX line 23 still writes\n    in `k`\n")
    assert one.place is None and one.message == "reads smem+0x0, which the bulk copy at PTX line 23 still writes"


def test_a_report_without_a_column(found):
    (one,) = found(
        "error", "repros/one.py:5: BAD_RETURN\n    def run():\n        ^^^ returned an int\nfix: return a dict\n"
    )
    assert (one.id, one.place, one.fix) == ("BAD_RETURN", Place("repros/one.py", 5), "return a dict")


def test_an_exception_is_at_the_line_of_the_repro(found, tmp_path):
    (one,) = found("error", ERROR.format(folder=tmp_path))
    assert (one.id, one.message, one.place) == ("EXCEPTION", "ValueError: no", Place("repros/one.py", 9))


def test_the_place_on_a_host_is_the_file_here(found):
    (one,) = found("error", ERROR.format(folder="/cache/run-7"))
    assert one.place == Place("repros/one.py", 9)


def test_a_script_that_exits_by_itself_has_no_finding(found, tmp_path):
    assert found("exited", stderr="ERROR: no input\n", detail={"exit": 1}) == []
    (one,) = found("exited", stderr=ERROR.format(folder=tmp_path), detail={"exit": 1})
    assert one.message == "ValueError: no"


def test_a_process_that_was_stopped(found):
    (one,) = found("timeout", 'the repro did not end within 2 s\nit was here:\n  File "repros/one.py", line 4 in run')
    assert (one.id, one.message, one.place) == (
        "TIMEOUT",
        "the repro did not end within 2 s",
        Place("repros/one.py", 4),
    )
    (one,) = found("crash", "the repro's process died of SIGSEGV", detail={"signal": "SIGSEGV"})
    assert (one.id, one.place) == ("CRASH", Place("repros/one.py", 1))


def test_a_rejection_by_another_compiler(found):
    (one,) = found("rejected", "error: bad type\n", detail={"class": "DSLRuntimeError", "line": 7})
    assert (one.id, one.message, one.place) == ("REJECTED", "error: bad type", Place("repros/one.py", 7))


@pytest.mark.parametrize(
    "line, name, level",
    [
        ("repros/one.py:23: PortabilityWarning: `assert` tests it", "PortabilityWarning", "warning"),
        ("repros/one.py:23: SameValueRace: RACE_SAME_VALUE: two threads", "RACE_SAME_VALUE", "warning"),
        ("repros/one.py:23: KernelNote: BULK_STORE_NOT_AWAITED: a thread", "BULK_STORE_NOT_AWAITED", "note"),
    ],
)
def test_warnings_and_notes(found, line, name, level):
    (one,) = found("outputs", stderr=f"{line}\n  source\n{line}\n")
    assert (one.id, one.level, one.place) == (name, level, Place("repros/one.py", 23))
    assert found("outputs", stderr="x.py:1: UserWarning: other\n") == []
