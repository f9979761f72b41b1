"""Direct calls answered from memory: what is recognised, and that nothing that changed is."""

import math
import types
import warnings

import numpy as np
import pytest
import torch

from dsl import cutlass
from dsl.core import trace
from dsl.cutlass import Float32, Int32, cute
from dsl.launch import session

pytestmark = pytest.mark.usefixtures("emulator")
TABLE = [1]
SCALE, settings = 3, types.ModuleType("settings")
settings.offset = 5
traces = 0


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()


def helper(x):
    return x + SCALE


def bump():
    global traces
    traces += 1


@cute.kernel
def kernel(a: cute.Tensor, n: Int32, more: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        a[i] = helper(a[i]) + settings.offset + more


@cute.jit
def host(a: cute.Tensor, n: Int32, more: cutlass.Constexpr):
    kernel(a, n, more).launch(grid=(1, 1, 1), block=(32, 1, 1))


def rows(function) -> int:
    return len(function.cached_calls._rows)


def refuse(*arguments):
    raise AssertionError("something is traced")


def test_the_same_call_is_not_traced_again(monkeypatch):
    host.cached_calls._rows.clear()
    a = torch.zeros(8)
    host(a, 8, 100)
    monkeypatch.setattr(trace, "trace_host", refuse)
    host(a, 4, 100)  # another value of the same type
    host(torch.zeros(3), 3, 100)  # another extent
    for other in (
        lambda: host(a, 8, 200),
        lambda: host(torch.zeros(8, dtype=torch.int32), 8, 100),
        lambda: host(torch.zeros(8, 2)[:, 0], 8, 100),
        lambda: host(torch.zeros(1).expand(8), 8, 100),
        lambda: host(a, Int32(8), 100),
        lambda: host(a, 8, 100.0),
        lambda: host(a, 8, True),
    ):
        with pytest.raises(AssertionError, match="something is traced"):
            other()
    assert a.tolist() == [216.0] * 4 + [108.0] * 4


CHANGES = {
    "a helper's code": lambda patch: patch.setattr(helper, "__code__", (lambda x: x + SCALE + 1).__code__),
    "a global of a helper": lambda patch: patch.setitem(globals(), "SCALE", 4),
    "a helper": lambda patch: patch.setitem(globals(), "helper", lambda x: x + SCALE + 1),
    "an attribute of a module": lambda patch: patch.setattr(settings, "offset", 6),
    "a builtin hidden by a global": lambda patch: patch.setitem(globals(), "abs", lambda x: x),
    "the name of the kernel": lambda patch: patch.setattr(kernel, "symbol", "other"),
    "the GPU asked for": lambda patch: patch.setenv("CUTE_DSL_ARCH", "sm_80"),
    "the session": lambda patch: session.start("emulator"),
}


@cute.kernel
def with_builtin(a: cute.Tensor, n: Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < abs(n):
        a[i] = helper(a[i]) + settings.offset


@cute.jit
def reads_much(a: cute.Tensor, n: Int32):
    with_builtin(a, n).launch(grid=(1, 1, 1), block=(32, 1, 1))
    kernel(a, n, 0).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_seen(change, monkeypatch):
    reads_much(torch.zeros(8), 8)
    known = rows(reads_much)
    assert known
    reads_much(torch.zeros(8), 8)
    assert rows(reads_much) == known
    CHANGES[change](monkeypatch)
    assert reads_much.cached_calls.find((torch.zeros(8), 8)) is None
    reads_much(torch.zeros(8), 8)  # the first use decides the rewritten code, whatever __code__ is


def test_values_follow_a_global_and_a_closure(monkeypatch):
    def made(start):
        offset = start

        @cute.jit
        def f(n: Int32):
            return n + offset + SCALE

        def change(value):
            nonlocal offset
            offset = value

        return f, change

    f, change = made(10)
    assert [f(1), f(2)] == [14, 15] and rows(f) == 1
    change(20)
    assert [f(1), f(2)] == [24, 25] and rows(f) == 2
    monkeypatch.setitem(globals(), "SCALE", 1000)
    assert f(1) == 1021


def test_a_default_is_seen():
    def inner(x, by=7):
        return x + by

    @cute.jit
    def f(n: Int32):
        return inner(n)

    assert [f(1), f(1)] == [8, 8] and rows(f) == 1
    inner.__defaults__ = (9,)
    assert f(1) == 10


def test_functions_that_cannot_be_compared_are_traced_by_every_call(capsys):
    class Config:
        tile = 1

    config, log = Config(), []

    @cute.jit
    def of_list(n: Int32):
        return n + TABLE[0]

    @cute.jit
    def of_object(n: Int32):
        return n + config.tile

    @cute.jit
    def of_class(n: Int32):
        return n + Config.tile

    @cute.jit
    def prints(n: Int32):
        print("traced")
        return n + 1

    @cute.jit
    def logs(n: Int32):
        log.append(1)
        return n + 1

    @cute.jit
    def sets(n: Int32):
        bump()
        return n + 1

    @cute.jit
    def imports(n: Int32):
        import dsl.launch.session as module

        return n + len(module.__name__) * 0 + 1

    @cute.jit
    def of_library(n: Int32):
        return n + int(np.float32(1))

    functions = of_list, of_object, of_class, prints, logs, sets, imports, of_library
    for function in functions:
        assert [function(1), function(2)] == [2, 3], function.__name__
        assert rows(function) == 0 and function.cached_calls._unseen, function.__name__
    TABLE[0] = config.tile = 5
    try:
        assert (of_list(1), of_object(1)) == (6, 6)
    finally:
        TABLE[0] = 1
    Config.tile = 7
    assert of_class(1) == 8
    assert capsys.readouterr().out == "traced\n" * 2 and len(log) == 2 and traces == 2


def test_a_warning_while_tracing_is_heard_each_time():
    @cute.jit
    def f(n: Int32):
        return n + cutlass.Int8(1000)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(1)
    assert rows(f) == 0


def test_libraries_functions_and_constants_that_are_allowed():
    @cute.jit
    def f(n: Float32):
        return n * math.sqrt(4.0) + math.pi + max(1, 2)

    assert [f(1.0), f(2.0)] == pytest.approx([4 + math.pi, 6 + math.pi]) and rows(f) == 1


def test_a_quick_call_reports_the_same_as_a_careful_one():
    """A compiled function's second call is quick; its errors and warnings are the same as in the first."""
    a = torch.zeros(4, 8)
    compiled = cute.compile(host, torch.zeros(8), 8, 1)

    def said(*arguments) -> str:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                compiled(*arguments)
            except (TypeError, ValueError) as error:
                return f"{type(error).__name__}: {error}"
        return "\n".join(str(each.message) for each in caught)

    wrong = [
        (a, 8),
        (torch.zeros(8, dtype=torch.float64), 8),
        (torch.zeros(16)[::2], 8),
        (torch.zeros(8), "x"),
        (torch.zeros(8), 2**40),
        (torch.zeros(8), 2.5),
        (torch.zeros(8),),
        (torch.zeros(8), 8, 1, 1),
        (3, 8),
        (torch.zeros(8, requires_grad=True), 8),
        (torch.zeros(8).to_sparse(), 8),
        (torch.zeros(17, dtype=torch.uint8)[1:].view(torch.uint8), 8),
        (np.zeros(8, np.float32), 8),
    ]
    first = [said(*arguments) for arguments in wrong]
    compiled(torch.zeros(8), 8)
    compiled(torch.zeros(8), 8)
    assert compiled._binder[1](torch.zeros(8), 8) is not None
    assert [said(*arguments) for arguments in wrong] == first and len(set(first)) > 8


def test_calls_in_many_threads_and_within_each_other():
    from concurrent.futures import ThreadPoolExecutor

    @cute.jit
    def f(n: Int32):
        return n * 3

    f(1)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(f, range(500))) == [3 * n for n in range(500)]
