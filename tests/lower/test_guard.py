"""An abort in guarded work is a report, and nothing is left of it."""

import os
import signal
import threading
import time

import pytest

from dsl.lower import guard
from dsl.lower.guard import LoweringCrash, guarded


def shout_and_abort():
    os.write(2, b"LLVM ERROR: Cannot select: nonsense\n")
    os.abort()


def test_result_comes_back():
    assert guarded(sorted, [3, 1, 2], subject="a list") == [1, 2, 3]


def test_exception_comes_back():
    with pytest.raises(ValueError, match="invalid literal"):
        guarded(int, "x", subject="a number")


def test_abort_is_a_report_and_the_next_work_runs():
    with pytest.raises(LoweringCrash) as crash:
        guarded(shout_and_abort, subject="kernel k for sm_90a")
    assert str(crash.value) == (
        "the compiler died of SIGABRT while compiling kernel k for sm_90a\nLLVM ERROR: Cannot select: nonsense"
    )
    assert guarded(len, "abc", subject="text") == 3


def test_child_stays_and_a_crash_replaces_it():
    first = guarded(os.getpid, subject="pid")
    assert first == guarded(os.getpid, subject="pid") != os.getpid()
    with pytest.raises(LoweringCrash, match="an early exit"):
        guarded(os._exit, 3, subject="exit")
    assert guarded(os.getpid, subject="pid") != first


def test_child_that_died_idle_is_replaced():
    first = guarded(os.getpid, subject="pid")
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert guarded(os.getpid, subject="pid") != first


def test_thread_that_started_the_child_may_end():
    guard._child.close()
    guard._child = None
    thread = threading.Thread(target=guarded, args=(len, "abc"), kwargs={"subject": "text"})
    thread.start()
    thread.join()
    assert guarded(len, "abcd", subject="text") == 4


def test_interrupt_ends_the_child(monkeypatch):
    child = guarded(os.getpid, subject="pid")

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            guarded(time.sleep, 60, subject="sleep")
    finally:
        signal.signal(signal.SIGALRM, previous)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_fork_of_this_process_gets_its_own_child():
    mine = guarded(os.getpid, subject="pid")
    reader, writer = os.pipe()
    fork = os.fork()
    if fork == 0:
        os.write(writer, str(guarded(os.getpid, subject="pid")).encode())
        os._exit(0)
    os.waitpid(fork, 0)
    theirs = int(os.read(reader, 100))
    assert theirs not in (mine, os.getpid())
    assert guarded(os.getpid, subject="pid") == mine
    assert guard._child.pid == mine


def test_the_child_holds_no_file_of_its_parent():
    """A process that waits for the end of a pipe from here would wait for the child too."""
    guard.end()
    reader, writer = os.pipe()
    guarded(len, "abc", subject="text")
    os.close(writer)
    os.set_blocking(reader, False)
    assert os.read(reader, 1) == b""
    os.close(reader)
    held = {os.readlink(f"/proc/{guard._child.pid}/fd/{number}") for number in range(3)}
    assert held.isdisjoint(os.readlink(f"/proc/self/fd/{number}") for number in (1, 2))


def test_work_that_spends_its_child_is_the_last_there():
    first = guarded(os.getpid, subject="pid")
    assert guarded(os.getpid, subject="pid", spends=True) == first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert guarded(os.getpid, subject="pid") != first
