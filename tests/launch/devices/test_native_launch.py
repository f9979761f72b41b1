"""Launches on the emulator by machine code: which calls it makes alone, and that they do the same as in Python."""

import ctypes
import signal
import threading

import numpy as np
import pytest

from dsl import alias, emulator, interrupts
from dsl.launch.call.compiling import compiler
from dsl.launch.devices import native_launch
from dsl.lower.host import native


@pytest.fixture
def running():
    session = alias.install("emulator")
    yield session
    alias.uninstall()


@pytest.fixture
def by_python(monkeypatch):
    """The grids of the launches that Python makes."""
    found, launch = [], compiler._launch

    def seen(run, index, record, params):
        found.append(record.grid[0])
        launch(run, index, record, params)

    monkeypatch.setattr(compiler, "_launch", seen)
    return found


@pytest.fixture
def add(running):
    """A compiled host function that adds `by` to the first 32 * blocks elements of an array."""
    import cutlass
    import cutlass.cute as cute

    @cute.kernel
    def kernel(x: cute.Tensor, by: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        bid, _, _ = cute.arch.block_idx()
        x[bid * 32 + tid] = x[bid * 32 + tid] + by

    @cute.jit
    def host(x: cute.Tensor, by: cutlass.Int32, blocks: cutlass.Int32):
        kernel(x, by).launch(grid=(blocks, 1, 1), block=(32, 1, 1))

    array = np.zeros(64, np.int32)
    return array, cute.compile(host, cute.runtime.from_dlpack(array), 0, 1)


def test_machine_code_makes_warm_launches(running, add, by_python):
    array, host = add
    for by in range(10):
        host(array, by, 1)
    assert len(by_python) <= 2 and set(array[:32]) == {45} and not array[32:].any()
    (record,) = running.kernels
    assert record.launches == [{"grid": [1, 1, 1], "block": [32, 1, 1], "smem_bytes": 0}] * 10


def test_python_makes_a_launch_of_another_shape(add, by_python):
    array, host = add
    for blocks in (1, 1, 2, 2):
        host(array, 1, blocks)
    by_python.clear()
    for blocks in (1, 1, 1, 2, 2, 2):
        host(array, 1, blocks)
    assert by_python == [1, 2] and set(array[:32]) == {10} and set(array[32:]) == {5}


def test_python_makes_a_launch_after_memory_came(add, by_python):
    array, host = add
    for values in (array, array, array, np.zeros(64, np.int32)):
        by_python.clear()
        host(values, 1, 1)
    assert by_python == [1] and set(array[:32]) == {3}


@pytest.mark.parametrize("how", ["look_for", "schedule"])
def test_python_makes_launches_that_are_watched(running, add, by_python, how):
    array, host = add
    for _ in range(3):
        host(array, 1, 1)
    by_python.clear()
    getattr(running.device, how)(*{"look_for": ["race"], "schedule": [7]}[how])
    host(array, 1, 1)
    host(array, 1, 1)
    getattr(running.device, how)(*{"look_for": ["none"], "schedule": [0]}[how])
    host(array, 1, 1)
    assert len(by_python) == 2 and set(array[:32]) == {6}


def test_a_fault_by_machine_code_is_the_fault_by_python(running, by_python):
    import cutlass
    import cutlass.cute as cute

    @cute.kernel
    def kernel(x: cute.Tensor, at: cutlass.Int32):
        x[at] = at

    @cute.jit
    def host(x: cute.Tensor, at: cutlass.Int32):
        kernel(x, at).launch(grid=(1, 1, 1), block=(1, 1, 1))

    array = np.zeros(8, np.int32)
    compiled = cute.compile(host, cute.runtime.from_dlpack(array), 0)
    texts = []
    for calls in (0, 3):
        for _ in range(calls):
            compiled(array, 1)
        before = len(by_python)
        with pytest.raises(emulator.Fault) as fault:
            compiled(array, 9)
        texts.append(str(fault.value))
        assert len(by_python) - before == (calls == 0)
    assert texts[0] == texts[1] and "x[at] = at" in texts[0]
    assert len(running.kernels[0].launches) == 5
    compiled(array, 2)
    assert list(array) == [0, 1, 2, 0, 0, 0, 0, 0]


def test_threads_call_one_function_at_once(add):
    array, host = add
    arrays = [np.zeros(64, np.int32) for _ in range(4)]

    def work(mine):
        for by in range(300):
            host(mine, by, 1)

    threads = [threading.Thread(target=work, args=(each,)) for each in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [set(each[:32]) for each in arrays] == [{sum(range(300))}] * 4


def test_threads_of_which_each_has_its_memory_registered_before(running):
    """Machine code runs at once in all of them: the memory's ranges do not change."""
    import quadrants as qd

    qd.init(arch=qd.cpu)
    fields = [qd.field(qd.i32, shape=32) for _ in range(4)]

    @qd.kernel
    def add(n: int, which: int):
        for i in range(32):
            for k in qd.static(range(4)):
                if k == which:
                    fields[k][i] += n

    def work(which):
        for n in range(400):
            add(n, which)

    work(0)
    threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = sum(range(400))
    assert [set(each.to_numpy()) for each in fields] == [{2 * total}, {total}, {total}, {total}]


def test_a_signal_ends_a_host_loop_of_launches(running, by_python):
    import cutlass
    import cutlass.cute as cute

    @cute.kernel
    def kernel(x: cute.Tensor):
        x[0] = x[0] + 1

    @cute.jit
    def host(x: cute.Tensor, n: cutlass.Int32):
        for _ in range(n):
            kernel(x).launch(grid=(1, 1, 1), block=(1, 1, 1))

    def late(*_):
        raise TimeoutError

    array = np.zeros(1, np.int32)
    compiled = cute.compile(host, cute.runtime.from_dlpack(array), 0)
    compiled(array, 100)
    by_python.clear()
    before = signal.signal(signal.SIGALRM, late)
    try:
        # Again and again: Python drops an error of a handler in, for example, a weak reference's callback.
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        with pytest.raises(TimeoutError):
            compiled(array, 2**31 - 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(by_python) < array[0] / 100
    # What Python launches is noted before it runs: the signal may come between.
    assert len(running.kernels[0].launches) - array[0] in (0, 1)


RINGING = """
declare i32 @raise(i32)
declare i32 @dsl_launch(ptr, i32, ptr, ptr)

define i32 @host(ptr %run, ptr %record) {
  %done = call i32 @raise(i32 14)
  %failed = call i32 @dsl_launch(ptr %run, i32 0, ptr %record, ptr null)
  ret i32 %failed
}
"""


@pytest.mark.parametrize("entry", (native_launch.entry_by_handle, native_launch.entry_by_python))
def test_an_error_of_a_handler_as_a_launch_reaches_python_is_not_lost(running, add, by_python, entry, capfd):
    """SIGALRM waits when Python's function begins, which is before the function can catch anything."""
    _, host = add
    machine = native(RINGING, {"dsl_launch": entry()[0]})
    record = native_launch.Record((1, 1, 1), (32, 1, 1), (1, 1, 1))
    frame = compiler.enter(host.compiled, running.device)

    def late(*_):
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, late)
    try:
        call = machine.function("host", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        failed = call(frame.handle, ctypes.addressof(record))
    finally:
        signal.signal(signal.SIGALRM, before)
        compiler.leave(frame)
    assert failed == interrupts.RAISED and frame.error is None and by_python == []
    error = compiler.why(host.compiled, failed, 0)
    assert repr(error) == "TimeoutError('enough')" and error.__traceback__.tb_next.tb_frame.f_code is late.__code__
    assert capfd.readouterr() == ("", "")
