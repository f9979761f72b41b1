"""A host function's loops hear signals: a handler runs while they run, and what it raises ends them.

Modules tested here: dsl/lower/llvm.py.
"""

import signal
import threading

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Int64
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.lower import llvm
from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.passes import convert_to_llvm
from dsl.lower.rewrites.failed_calls import return_after_failed_call
from dsl.lower.rewrites.signals import TURNS, hear_in_loops


class Rung(Exception):
    """The error that the handler raises."""


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
def test_an_error_of_a_handler_ends_the_call(alarm, function):
    compiled = cute.compile(function, 3)
    for call in (function, compiled, compiled):
        alarm(raising)
        with pytest.raises(Rung, match="enough") as caught:
            call(4)
        assert caught.traceback[-1].name == "raising"


def test_an_error_of_a_handler_ends_a_call_through_tvm_ffi(alarm, needs_module):
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
    assert heard.wait(600)
    flag[0] = 1
    thread.join(600)
    assert not thread.is_alive()


def test_a_host_function_without_loops_is_left_as_it_is():
    text = "llvm.func @host(%p: !llvm.ptr) -> i32 {\n  %0 = arith.constant 0 : i32\n  llvm.return %0 : i32\n}"
    assert convert_to_llvm(text, False, (hear_in_loops,)) == convert_to_llvm(text, False)


def test_a_loop_with_hints_compiles_without_a_word(capfd):
    """LLVM would report that it has not unrolled a loop that it can leave."""

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


# --- loops in stretches ----------------------------------------------------------------------------------------------


@cute.jit
def sums(first: Int32, stop: Int32, out: cute.Tensor):
    total, product = Int32(0), Int32(1)
    for i in range(first, stop):
        total, product = total + i, product * 3 + total
    out[0], out[1] = total, product


@cute.jit
def strided(first: Int32, stop: Int32, out: cute.Tensor):
    count, last = Int32(0), Int32(-1)
    for i in range(first, stop, 7):
        count, last = count + 1, i
    out[0], out[1] = count, last


@cute.jit
def nested(first: Int32, stop: Int32, out: cute.Tensor):
    total, last = Int32(0), Int32(0)
    for i in range(3):
        for j in range(first + i, stop):
            total = total * 5 + j
            last = j
        total = total + i
    out[0], out[1] = total, last


@cute.jit
def hinted(first: Int32, stop: Int32, out: cute.Tensor):
    total = Int32(0)
    for i in cutlass.range(first, stop, unroll=4):
        total = total ^ i
    out[0], out[1] = total, stop


@cute.jit
def wide(first: Int32, stop: Int32, out: cute.Tensor):
    total = Int64(0)
    for i in range(Int64(first), Int64(stop)):
        total = total ^ (i * i + 3)
    out[0], out[1] = Int32(total % 1000003), stop


def in_python(function, first, stop):
    def word(x):
        return (x + 2**31) % 2**32 - 2**31

    if function is sums:
        total, product = 0, 1
        for i in range(first, stop):
            total, product = word(total + i), word(product * 3 + total)
        out = total, product
    elif function is strided:
        out = len(range(first, stop, 7)), (list(range(first, stop, 7)) or [-1])[-1]
    elif function is nested:
        total = last = 0
        for i in range(3):
            for j in range(first + i, stop):
                total, last = word(total * 5 + j), j
            total = word(total + i)
        out = total, last
    elif function is hinted:
        total = 0
        for i in range(first, stop):
            total ^= i
        out = total, stop
    else:
        total = 0
        for i in range(first, stop):
            total ^= i * i + 3
        out = total % 1000003, stop
    return list(out)


EDGES = [
    (0, 0),
    (0, 1),
    (5, 2),
    (-3, 3),
    *((0, TURNS + d) for d in (-1, 0, 1)),
    (-9, 2 * TURNS + 5),
    (7, 3 * TURNS + 7),
    (2**31 - 9, 2**31 - 3),
    (-(2**31) + 2, -(2**31) + 6),
    (2**31 - 20 - TURNS, 2**31 - 20),
]


@pytest.mark.parametrize("function", (sums, strided, nested, hinted, wide), ids=lambda each: each.function.__name__)
def test_stretches_take_the_trips_of_the_whole_loop(function):
    out = np.zeros(2, np.int32)
    compiled = cute.compile(function, 0, 1, from_dlpack(out))
    for first, stop in EDGES:
        compiled(first, stop, from_dlpack(out))
        assert out.tolist() == in_python(function, first, stop), (first, stop)


def optimised(function, *arguments) -> str:
    """The host function after LLVM's passes."""
    text = cute.compile(function, *arguments).compiled.traced.host_mlir
    module = to_llvm_ir(convert_to_llvm(text, False, (hear_in_loops,), (return_after_failed_call,)))
    machine = llvm.Machine(llvm.native_target(), reloc="pic", model="small", jit=True, level=1)
    made = llvm.Module(module, machine)
    made.optimize(machine, 1)
    return str(made)


def test_llvm_vectorises_what_is_heard():
    @cute.jit
    def scaled(a: cute.Tensor, b: cute.Tensor, n: Int32):
        for i in range(n):
            a[i] = a[i] * 2 + b[i]

    @cute.jit
    def of_calls(a: cute.Tensor, b: cute.Tensor, n: Int32):
        for i in range(n):
            cute.printf("%d\n", a[i])

    a, b = (from_dlpack(np.zeros(8, np.int32)) for _ in range(2))
    heard = optimised(scaled, a, b, 8)
    assert "vector.body" in heard and "emu_look" in heard
    calls = cute.compile(of_calls, a, b, 8).compiled.traced.host_mlir
    assert "while" not in mlir.run_passes(calls, "builtin.module()", before=(hear_in_loops,))


def test_a_vectorised_loop_hears_a_handler(alarm):
    @cute.jit
    def scaled(a: cute.Tensor, n: Int32):
        for _ in range(2_000_000_000):
            for i in range(n):
                a[i] = a[i] * 2 + 1

    a = from_dlpack(np.zeros(100_000, np.int32))
    compiled = cute.compile(scaled, a, 3)  # so that the handler rings in the loops
    for size in (3, 100_000):
        alarm(raising)
        with pytest.raises(Rung, match="enough"):
            compiled(a, size)
