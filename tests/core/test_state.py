"""The state of tracing belongs to a thread: threads and forks of all three languages at once.

Modules tested here: dsl/core/trace.py.
"""

import itertools
import os
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from dsl import quadrants as qd, tirx as tvm
from dsl.core import number_rules, trace
from dsl.core.state import Stack, in_kernel, this_thread
from dsl.cutlass import Int32, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.tirx.script import tirx as T

pytestmark = pytest.mark.filterwarnings("ignore")
N, LIMIT_S = 8, 600
# `(t - i) % 3` differs between the languages: CuTe DSL's follows the dividend, the others' the divisor.
TRUNCATED = [sum((t - i) % 3 if t >= i else -(-(t - i) % 3) for i in range(5)) for t in range(N)]
FLOORED = [sum((t - i) % 3 for i in range(5)) for t in range(N)]


def cute_program(meet) -> list[int]:
    @cute.kernel
    def kernel(out: cute.Tensor, n: Int32):
        t, _, _ = cute.arch.thread_idx()
        total = Int32(0)
        for i in range(n):
            total += (t - i) % 3
            meet()
        out[t] = total

    @cute.jit
    def host(out: cute.Tensor, n: Int32):
        kernel(out, n).launch(grid=1, block=N)

    out = np.zeros(N, np.int32)
    host(from_dlpack(out), 5)
    return out.tolist()


def quadrants_program(meet) -> list[int]:
    @qd.kernel
    def kernel(out: qd.types.ndarray(), n: qd.i32):
        for t in range(N):
            total = 0
            for i in range(n):
                total += (t - i) % 3 + qd.static(meet())
            out[t] = total

    out = np.zeros(N, np.int32)
    kernel(out, 5)
    return out.tolist()


def tirx_program(meet) -> list[int]:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), n: T.int32):
        T.device_entry()
        t = T.thread_id([8])
        total = T.alloc_buffer((1,), "int32", scope="local")
        total[0] = 0
        for i in T.serial(n):
            total[0] = total[0] + (t - i) % 3
            meet()
        A[t] = total[0]

    executable = tvm.compile(tvm.IRModule({"main": main}), target="cuda", tir_pipeline="tirx")
    array = tvm.runtime.tensor(np.zeros(N, np.int32), device=tvm.cuda(0))
    executable(array, 5)
    return array.numpy().tolist()


PROGRAMS = {cute_program: TRUNCATED, quadrants_program: FLOORED, tirx_program: FLOORED}
PAIRS = list(itertools.product(PROGRAMS, repeat=2))


@pytest.fixture(autouse=True)
def emulator():
    session.start("emulator")
    qd.init(arch=qd.cpu)
    yield
    session.stop()


def alone() -> int:
    return 0


def once(action):
    """A function that does `action` when it is first called: an attempt at a loop may be traced twice. Python runs it:
    a generator is not rewritten."""

    def steps():
        action()
        while True:
            yield 0

    return steps().__next__


def started(work, seen: list) -> threading.Thread:
    """A thread whose `work()` adds to `seen` what it returns, or its error as text."""

    def noted():
        try:
            seen.append(work())
        except BaseException as error:
            seen.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=noted, daemon=True)
    thread.start()
    return thread


def in_a_fork(work) -> str:
    """What `work()` returns in a fork, as text; an error's where it raises."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                said = repr(work())
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(write, said.encode())
        finally:
            os._exit(0)
    os.close(write)
    deadline = time.monotonic() + LIMIT_S
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
        time.sleep(0.002)
    with os.fdopen(read) as pipe:
        return pipe.read()


@pytest.mark.slow
def test_a_thread_started_and_awaited_while_tracing_traces_by_its_own_rules():
    for outer, inner in PAIRS:
        seen = []

        def start(inner=inner, seen=seen):
            started(lambda: inner(alone), seen).join(LIMIT_S)

        assert outer(once(start)) == PROGRAMS[outer], (outer, inner)
        assert seen == [PROGRAMS[inner]], (outer, inner)


@pytest.mark.slow
def test_a_fork_while_another_thread_traces_has_none_of_it():
    for outer, inner in PAIRS:
        inside, leave, seen = threading.Event(), threading.Event(), []

        def wait(inside=inside, leave=leave):
            inside.set()
            leave.wait(LIMIT_S)

        thread = started(lambda: outer(once(wait)), seen)
        inside.wait(LIMIT_S)

        def child(inner=inner):
            assert not trace.active() and not in_kernel() and number_rules.current() is number_rules.CUTE
            return inner(alone)

        found = in_a_fork(child)
        leave.set()
        thread.join(LIMIT_S)
        assert found == repr(PROGRAMS[inner]), (outer, inner)
        assert seen == [PROGRAMS[outer]], (outer, inner)


def test_a_fork_made_while_tracing_goes_on_with_that():
    for program, expected in PROGRAMS.items():
        children = []

        def fork(children=children):
            children.append(os.fork())

        read, write = os.pipe()
        values = program(once(fork))
        if children == [0]:
            try:
                os.write(write, repr(values).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            assert pipe.read() == repr(expected), program
        os.waitpid(children[0], 0)
        assert values == expected, program


def test_many_threads_of_all_languages_trace_at_once():
    interval, seen = sys.getswitchinterval(), []
    sys.setswitchinterval(1e-5)  # let threads meet anywhere
    try:
        threads = [
            started(lambda program=program: (program.__name__, program(alone)), seen)
            for program in PROGRAMS
            for _ in range(3)
        ]
        for thread in threads:
            thread.join(LIMIT_S)
    finally:
        sys.setswitchinterval(interval)
    assert sorted(seen) == sorted((program.__name__, values) for program, values in PROGRAMS.items() for _ in range(3))


def test_the_output_of_a_fork_while_tracing_is_seen(capfd):
    inside, leave = threading.Event(), threading.Event()

    def wait():
        inside.set()
        leave.wait(LIMIT_S)

    thread = threading.Thread(target=quadrants_program, args=(once(wait),), daemon=True)
    thread.start()
    inside.wait(LIMIT_S)

    @cute.jit
    def speaks(n: Int32):
        total = 0
        for i in range(n):
            print("traced")
            total = total + i
        return total

    def child():
        total = speaks(4)
        sys.stdout.flush()
        return total

    assert in_a_fork(child) == "6"
    leave.set()
    thread.join(LIMIT_S)
    assert capfd.readouterr().out.count("traced") == 1


def test_a_warning_of_one_thread_does_not_wait_for_anothers_loop():
    inside, leave = threading.Event(), threading.Event()

    def wait():
        inside.set()
        leave.wait(LIMIT_S)

    thread = threading.Thread(target=cute_program, args=(once(wait),), daemon=True)
    thread.start()
    inside.wait(LIMIT_S)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("the author's", stacklevel=1)
    leave.set()
    thread.join(LIMIT_S)
    assert [str(warning.message) for warning in caught] == ["the author's"]


def test_a_stack_is_a_threads_own():
    stack, seen = Stack(), []
    assert not stack and stack.top("none") == "none"
    with stack.pushed(1), stack.pushed(2):
        thread = threading.Thread(target=lambda: seen.append((bool(stack), stack.top())))
        thread.start()
        thread.join()
        assert stack.items() == [1, 2] and stack.top() == 2
    assert seen == [(False, None)] and not stack and not this_thread.functions
