import ctypes
import signal
import sys
import threading

import pytest

from dsl.interrupts import Rang, called_by_machine_code, heard_in_caller, raise_in_caller, undisturbed, whole_import


class Raised(Exception):
    pass


@pytest.fixture
def handler():
    """Of SIGALRM and SIGUSR1: it raises."""
    before = {}

    def ring(number, frame):
        raise Raised(number)

    for number in (signal.SIGALRM, signal.SIGUSR1):
        before[number] = signal.signal(number, ring)
    yield ring
    for number, old in before.items():
        signal.signal(number, old)


def test_handlers_run_after_the_work(handler):
    done = []

    def work(steps):
        for step in range(steps):
            signal.raise_signal(signal.SIGALRM)
            done.append(step)

    with pytest.raises(Raised):
        undisturbed(work, 3)
    assert done == [0, 1, 2]
    assert signal.getsignal(signal.SIGALRM) is signal.getsignal(signal.SIGUSR1) is handler


def test_a_signal_for_another_thread(handler):
    """A mask of the main thread would not hold this one back."""

    def work():
        other = threading.Thread(target=lambda: signal.raise_signal(signal.SIGALRM))
        other.start()
        other.join()
        return "done"

    with pytest.raises(Raised):
        undisturbed(work)


def test_every_held_signal_is_delivered():
    rung = []
    before = [
        signal.signal(number, lambda number, frame: rung.append(number)) for number in (signal.SIGALRM, signal.SIGUSR1)
    ]
    try:
        undisturbed(lambda: [signal.raise_signal(number) for number in (signal.SIGUSR1, signal.SIGALRM)])
    finally:
        signal.signal(signal.SIGALRM, before[0]), signal.signal(signal.SIGUSR1, before[1])
    assert rung == [signal.SIGUSR1, signal.SIGALRM]


def test_an_interrupt_from_the_keyboard():
    with pytest.raises(KeyboardInterrupt):
        undisturbed(signal.raise_signal, signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_work(handler):
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 // 0)
    assert signal.getsignal(signal.SIGALRM) is handler


def test_another_thread_has_no_handlers(handler):
    seen = []
    other = threading.Thread(target=undisturbed, args=(lambda: seen.append(signal.getsignal(signal.SIGALRM)),))
    other.start()
    other.join()
    assert seen == [handler]


def test_an_import_comes_to_its_end(handler, tmp_path, monkeypatch):
    (tmp_path / "rings.py").write_text("import signal\nsignal.raise_signal(signal.SIGALRM)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Raised):
        whole_import("rings")
    try:
        assert whole_import("rings") is sys.modules["rings"] and sys.modules["rings"].whole
    finally:
        del sys.modules["rings"]


def test_a_handler_runs_in_the_caller_of_machine_code(handler, capsys):
    """An exception in a callback of C would be printed and lost."""
    steps = []

    def call():
        try:
            signal.raise_signal(signal.SIGALRM)
            steps.append("went on")
        except Rang:
            steps.append("ended")
        return 5

    from_c = ctypes.CFUNCTYPE(ctypes.c_int)(heard_in_caller(call, -1))
    with pytest.raises(Raised):
        steps.append(from_c())
    assert steps == ["ended"] and signal.getsignal(signal.SIGALRM) is handler
    assert capsys.readouterr().err == ""


def test_a_handler_waits_while_machine_code_calls_more(handler, capsys):
    """Machine code that goes on may call other Python functions, which cannot pass on what a handler raises either."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int)
    seen = []

    @called_by_machine_code
    def next_call():
        seen.append(sum(1 for _ in range(3)))
        return 1

    @called_by_machine_code
    def whole():  # as machine code that makes two calls
        return from_c() + other()

    from_c, other = kind(heard_in_caller(lambda: signal.raise_signal(signal.SIGALRM) or 5, -1)), kind(next_call)
    with pytest.raises(Raised):
        kind(whole)()
    assert seen == [3] and signal.getsignal(signal.SIGALRM) is handler
    assert capsys.readouterr().err == ""


def test_an_exception_that_a_handler_raises_in_a_call_reaches_the_caller():
    before = signal.getsignal(signal.SIGINT)

    @called_by_machine_code
    def call():
        raise_in_caller(KeyboardInterrupt("mine"))
        return 1

    with pytest.raises(KeyboardInterrupt, match="mine"):
        ctypes.CFUNCTYPE(ctypes.c_int)(call)()
    assert signal.getsignal(signal.SIGINT) is before
