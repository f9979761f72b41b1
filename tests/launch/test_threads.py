"""Threads that compile and run at once, and forks while another thread compiles."""

import os
import sys
import threading
import time

import numpy as np
import pytest

from dsl.cutlass import Int32, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session

THREADS = 32


@pytest.fixture(autouse=True)
def emulator():
    session.start("emulator")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # let threads meet anywhere
    yield
    sys.setswitchinterval(interval)
    session.stop()


def made(factor: int):
    """A new host function with a new kernel."""

    @cute.kernel
    def kernel(out: cute.Tensor, n: Int32):
        t, _, _ = cute.arch.thread_idx()
        total = 0
        for i in range(n):
            if i % 2 == 0:
                total += i * factor + t
        out[t] = total

    @cute.jit
    def host(out: cute.Tensor, n: Int32):
        kernel(out, n).launch(grid=1, block=THREADS)

    return host


def wrong_with(host, factor: int) -> list:
    found = []
    for n in (3, 8):
        out = np.zeros(THREADS, np.int32)
        host(from_dlpack(out), n)
        expected = [sum(i * factor + t for i in range(0, n, 2)) for t in range(THREADS)]
        if out.tolist() != expected:
            found.append((factor, n, out.tolist()))
    return found


def test_each_thread_gets_its_own_results():
    shared, found, ended = made(7), [], []

    def work(factor):
        found.extend(wrong_with(made(factor), factor))
        found.extend(wrong_with(shared, 7))
        ended.append(factor)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not found and sorted(ended) == list(range(1, 7))


def test_a_thread_that_traces_is_none_of_anothers_business():
    inside, leave, seen = threading.Event(), threading.Event(), []

    @cute.jit
    def waits(n: Int32):
        inside.set()
        leave.wait(600)
        return n + 1

    thread = threading.Thread(target=lambda: seen.append(waits(3)))
    thread.start()
    inside.wait(600)
    from dsl.core import trace

    assert not trace.active() and not trace.in_kernel()
    leave.set()
    thread.join()
    assert seen == [4]


def test_a_fork_compiles_while_another_thread_of_its_parent_did():
    inside, leave = threading.Event(), threading.Event()

    @cute.jit
    def waits(n: Int32):
        if n > 1:
            inside.set()
            leave.wait(600)
        return n + 1

    thread = threading.Thread(target=waits, args=(3,))
    thread.start()
    inside.wait(600)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 2 if wrong_with(made(5), 5) else 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + 600
    ended, status = 0, -1
    while not ended and time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not ended:
        os.kill(child, 9)
        os.waitpid(child, 0)
    leave.set()
    thread.join()
    assert ended and os.waitstatus_to_exitcode(status) == 0


def test_a_traced_function_may_wait_for_a_thread_that_compiles():
    out, inner = np.zeros(4, np.int32), np.zeros(32, np.int32)
    ended = []

    @cute.jit
    def waits(a: cute.Tensor):
        thread = threading.Thread(target=lambda: ended.append(made(3)(from_dlpack(inner), 5)), daemon=True)
        thread.start()
        thread.join(600)
        a[0] = len(ended)

    outer = threading.Thread(target=waits, args=(from_dlpack(out),), daemon=True)
    outer.start()
    outer.join(600)
    assert not outer.is_alive() and out[0] == 1 and inner.any()
