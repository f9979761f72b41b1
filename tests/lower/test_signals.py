"""A host function's loops hear signals: a handler runs while they run, and what it raises ends them."""

import signal
import threading

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.dtypes import Int32
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.lower.signals import heard_in_loops


class Rung(Exception):
    """What the handler raises."""


@pytest.fixture
def alarm():
    """`alarm(handler)`: call it soon, and again until the test ends."""
    before = signal.getsignal(signal.SIGALRM)

    def arm(handler):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def raising(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise Rung("enough")


@cute.jit
def endless(n: Int32):
    while True:
        n = n * 3 + 1


@cute.jit
def endless_in_loops(n: Int32) -> Int32:
    total = Int32(0)
    for i in range(2_000_000_000):
        for j in range(i, 2_000_000_000):
            total = total * 3 + j
            assert total != 123, "never seen"
    return total


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
@pytest.mark.parametrize("function", (endless, endless_in_loops))
def test_what_a_handler_raises_ends_the_call(alarm, function):
    compiled = cute.compile(function, 3)
    for call in (function, compiled, compiled):
        alarm(raising)
        with pytest.raises(Rung, match="enough") as caught:
            call(4)
        assert caught.traceback[-1].name == "raising"


def test_what_a_handler_raises_ends_a_call_through_tvm_ffi(alarm, needs_module):
    needs_module("tvm_ffi", "ffi")
    compiled = cute.compile(endless, 3, options="--enable-tvm-ffi")
    for _ in range(3):
        alarm(raising)
        with pytest.raises(Exception, match="enough"):
            compiled(4)


def test_a_handler_that_returns_does_not_end_the_call(alarm):
    @cute.jit
    def until_told(flag: cute.Tensor):
        count = Int32(0)
        while flag[0] == 0:
            count = count + 1
        flag[1] = count
    flag, heard = np.zeros(2, np.int32), []

    def tell(*_):
        heard.append(len(heard))
        flag[0] = len(heard) >= 3
    alarm(tell)
    until_told(from_dlpack(flag))
    assert len(heard) >= 3 and flag[0] == 1


def test_another_thread_does_not_answer_for_the_main_one(alarm):
    """Its loop goes on past the signals, which Python handles in the main thread alone."""
    @cute.jit
    def until_told(flag: cute.Tensor):
        while flag[0] == 0:
            flag[1] = flag[1] + 1
    flag = np.zeros(2, np.int32)
    compiled = cute.compile(until_told, from_dlpack(flag))
    thread = threading.Thread(target=compiled, args=(from_dlpack(flag),))
    thread.start()
    heard = threading.Event()
    alarm(lambda *_: heard.set())
    assert heard.wait(60)
    flag[0] = 1
    thread.join(60)
    assert not thread.is_alive()


def test_a_host_function_without_loops_is_left_as_it_is():
    text = "module {\n  llvm.func @host(%arg0: !llvm.ptr) -> i32 {\n    llvm.br ^bb1\n  ^bb1:  // pred: ^bb0\n" \
           "    %0 = llvm.mlir.constant(0 : i32) : i32\n    llvm.return %0 : i32\n  }\n}\n"
    assert heard_in_loops(text) == text


def test_a_loop_with_hints_compiles_without_a_word(capfd):
    """LLVM would say that it has not unrolled a loop that it can leave."""
    @cute.jit
    def hinted(n: Int32):
        total = Int32(0)
        for i in cutlass.range(n, unroll_full=True):
            total += i
        for i in cutlass.range(n, unroll=3):
            total += i * total
        return total
    assert hinted(4) == 144
    assert capfd.readouterr() == ("", "")
