"""`cute.testing.assert_`: its report for a thread and for a host function."""

import pytest

from dsl.cutlass import Int32, cute
from dsl.cutlass.cute.testing import assert_
from dsl.emulator import Fault
from dsl.launch import session


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


@cute.kernel
def kernel(n: Int32):
    thread, _, _ = cute.arch.thread_idx()
    assert_(True)
    assert_(thread < n, "thread is too large")
    assert_(n > 0)


@cute.jit
def program(n: Int32):
    assert_(n < 100, "n is too large")
    kernel(n).launch(grid=1, block=8)


def test_a_condition_that_does_not_hold_ends_the_kernel_or_the_host_function():
    program(8)
    with pytest.raises(Fault, match=r"assertion failed: thread is too large\n.* thread \(4, 0, 0\)"):
        program(4)
    with pytest.raises(AssertionError, match="n is too large"):
        program(200)
