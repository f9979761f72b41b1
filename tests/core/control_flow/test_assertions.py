"""raise and assert decided at run time: an exception from host functions, an assertion of the device from kernels.

Modules tested here: dsl/core/ir/constant_text.py.
"""

import functools
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeRuntimeError, PortabilityWarning
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.emulator.faults import Fault

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


class Refused(Exception):
    """An exception of the author's that takes more than a text."""

    def __init__(self, code, why):
        super().__init__(f"{why} ({code})")


@cute.jit
def checked(n: cutlass.Int32):
    total = cutlass.Int32(0)
    for i in range(n):
        if i == 3:
            raise ValueError(f"trip {i} of {n}")
        total += i
    return total


def shown(error: BaseException) -> str:
    return re.sub(r"^\S*?(test_\w+\.py):\d+:", r"\1:", str(error))


def test_a_host_function_raises_the_authors_class():
    assert checked(3) == 3
    with pytest.raises(ValueError) as caught:
        checked(4)
    assert isinstance(caught.value, DSLUserCodeRuntimeError)
    assert (
        shown(caught.value)
        == """\
test_assertions.py:13: ValueError
    raise ValueError(f"trip {i} of {n}")
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ trip Int32 i of Int32 n"""
    )
    assert caught.value.repro_outcome["outcome"] == "trap"
    assert checked(2) == 1


def test_an_error_of_a_class_that_cannot_be_mixed_keeps_its_text():
    @cute.jit
    def host(n: cutlass.Int32):
        if n > 2:
            raise Refused(7, "too many")

    host(1)
    with pytest.raises(DSLUserCodeRuntimeError, match=r"too many \(7\)"):
        host(3)


@pytest.mark.parametrize("form", [ValueError, ValueError("x"), OSError(2, "x"), KeyError("k"), StopIteration()])
def test_any_exception(form):
    @cute.jit
    def host(n: cutlass.Int32):
        if n > 2:
            raise form

    host(1)
    with pytest.raises((form if isinstance(form, type) else type(form), DSLUserCodeRuntimeError)):
        host(3)


def test_nothing_runs_after_it(capfd):
    @cute.kernel
    def kernel(out: cute.Tensor):
        out[0] = 1

    @cute.jit
    def host(out: cute.Tensor, n: cutlass.Int32):
        cute.printf("before")
        while n > 0:
            assert n != 2, "n is two"
            n = n - 1
        cute.printf("after")
        kernel(out).launch(grid=1, block=1)

    out = np.zeros(1, np.int32)
    with pytest.raises(AssertionError) as caught:
        host(from_dlpack(out), 4)
    assert (
        shown(caught.value)
        == """\
test_assertions.py:13: AssertionError
    assert n != 2, "n is two"
    ^^^^^^^^^^^^^^^^^^^^^^^^^ n is two"""
    )
    assert capfd.readouterr().out == "before\n" and out[0] == 0
    host(from_dlpack(out), 1)
    assert capfd.readouterr().out == "before\nafter\n" and out[0] == 1


@cute.kernel
def asserting(out: cute.Tensor, limit: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    if t == limit:
        raise ValueError(f"thread {t} is one too many")
    elif t == 5:
        number = 50
    else:
        number = t
    assert number < 40
    out[t] = number


@cute.jit
def launch(out: cute.Tensor, limit: cutlass.Int32):
    asserting(out, limit).launch(grid=1, block=out.shape[0])


def test_a_kernel_traps_with_the_message_the_line_and_the_thread():
    out = np.zeros(5, np.int32)
    launch(from_dlpack(out), 7)
    assert (out == np.arange(5)).all()
    with pytest.raises(Fault) as caught:
        launch(from_dlpack(out), 3)
    assert shown(caught.value).split("\n")[:4] == [
        "test_assertions.py:9: TRAP",
        """    raise ValueError(f"thread {t} is one too many")""",
        "    ^ assertion failed: ValueError: thread Int32 t is one too many",
        "    in `kernel_asserting_0`, block (0, 0, 0), thread (3, 0, 0) = warp 0, lane 3",
    ]
    with pytest.raises(Fault, match=r"assert number < 40\n    \^ assertion failed: number < 40\n"):
        launch(from_dlpack(np.zeros(6, np.int32)), 7)


def test_the_lowering_is_cudas_assertion(check, traced):
    def program(n: cutlass.Int32):
        # CHECK: [[BAD:%.*]] = arith.cmpi sgt
        # CHECK: [[X:%.*]] = scf.if [[BAD]] -> (i32)
        # CHECK: llvm.call @__assertfail({{.*}}) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
        # CHECK: scf.yield
        if n > 3:
            raise ValueError("n is large")
        else:
            x = n * 2
        # CHECK: arith.addi [[X]]
        x + 1

    check(program)
    assert "ValueError: n is large" in traced(program)


def test_static_tests_raise_while_compiling():
    @cute.jit
    def constant(n: cutlass.Int32, bad: cutlass.Constexpr):
        for _ in range(n):
            if cutlass.const_expr(bad):
                raise ValueError("bad configuration")

    @cute.jit
    def python(n: cutlass.Int32, k: cutlass.Constexpr):
        if n > 2:
            assert k == 2, "k is two"

    @cute.jit
    def caught_here(n: cutlass.Int32):
        try:
            raise KeyError("k")
        except KeyError:
            n = n + 1
        return n

    constant(1, False)
    python(1, 2)
    assert caught_here(1) == 2
    with pytest.raises(ValueError, match="^bad configuration$"):
        constant(0, True)
    with pytest.raises(AssertionError, match="^k is two$"):
        python(1, 3)


@pytest.mark.filterwarnings("default::dsl.core.errors.PortabilityWarning")
def test_both_are_warned_of():
    @cute.jit
    def host(n: cutlass.Int32):
        assert n > 2
        if n > 3:
            raise ValueError

    with pytest.warns(PortabilityWarning) as caught:
        host(3)
    assert [str(w.message) for w in caught] == [
        "`assert` tests a dynamic value: NVIDIA's compiler rejects that (PHASE_REQUIRES_CONSTANT)",
        "`raise` leaves a dynamic statement: NVIDIA's compiler rejects that (UNSUP_EARLY_EXIT)",
    ]


def paths(a, b):
    """Raises and returns on all kinds of paths."""
    if a > 8:
        raise ValueError("a")
    elif a == 2:
        if b > 4:
            return 1
        else:
            raise KeyError("b")
    else:
        x = a
    total = x
    for i in range(b):
        if i > x:
            break
        if i == 7:
            raise IndexError("i")
        total = total + i
    while total > 3:
        if total == 9:
            raise OSError("nine")
        total = total - 2
        y = total
    assert total != 3 or b < 3, "three"
    return total


@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(0, 10), st.integers(0, 10))
def test_every_path_ends_as_in_python(a, b):
    def outcome(function):
        try:
            return int(function(a, b))
        except Exception as error:
            return next(
                kind for kind in (ValueError, KeyError, IndexError, OSError, AssertionError) if isinstance(error, kind)
            )

    assert outcome(compiled_paths()) == outcome(paths)


@functools.cache
def compiled_paths():
    return cute.compile(cute.jit(paths), cutlass.Int32(0), cutlass.Int32(0))
