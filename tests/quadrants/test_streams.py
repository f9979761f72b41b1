"""Streams: kernels run in the order of their calls; what cannot be a parallel block is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session


@pytest.fixture(autouse=True)
def running():
    session.start("emulator")
    qd.init(arch=qd.cpu)
    yield
    session.stop()


@qd.kernel
def fill(x: qd.types.ndarray(), value: qd.i32):
    for i in range(x.shape[0]):
        x[i] = value


@qd.kernel
def twice(x: qd.types.ndarray(), y: qd.types.ndarray()):
    """Two blocks."""
    with qd.stream_parallel():
        for i in range(x.shape[0]):
            x[i] = i
        for i in range(x.shape[0]):
            x[i] += 1
    with qd.stream_parallel():
        for i in range(y.shape[0]):
            y[i] = -i


def test_kernels_of_streams_and_events():
    x = np.zeros(100, np.int32)
    with qd.create_stream() as stream, qd.create_event() as event:
        assert (stream.handle, event.handle) == (0, 0)
        fill(x, 3, qd_stream=stream)
        event.record(stream)
        event.wait()
        fill(x, 4)
        event.wait(qd_stream=stream)
        event.synchronize()
        stream.synchronize()
    np.testing.assert_array_equal(x, 4)


def test_handles_of_a_gpu_are_not_0():
    qd.init(arch=qd.cuda)
    stream, other = qd.create_stream(), qd.create_stream()
    assert stream.handle != other.handle != 0
    stream.destroy()
    stream.destroy()
    assert stream.handle == 0


def test_parallel_blocks():
    x, y = np.zeros(100, np.int32), np.zeros(100, np.int32)
    twice(x, y)
    np.testing.assert_array_equal(x, np.arange(100) + 1)
    np.testing.assert_array_equal(y, -np.arange(100))


def other():
    """Not a block of streams."""


X = np.zeros(4, np.int32)


def refused(function, **options) -> str:
    with pytest.raises(qd.QuadrantsSyntaxError) as error:
        qd.kernel(function, **options)(X)
    return error.value.message


def test_blocks_that_are_refused():
    def several(x: qd.types.ndarray()):
        with qd.stream_parallel(), qd.stream_parallel():
            x[0] = 1

    def named(x: qd.types.ndarray()):
        with qd.stream_parallel() as s:
            x[0] = 1

    def uncalled(x: qd.types.ndarray()):
        with other:
            x[0] = 1

    def others(x: qd.types.ndarray()):
        with other():
            x[0] = 1

    def mixed(x: qd.types.ndarray()):
        with qd.stream_parallel():
            x[0] = 1
        x[1] = 1

    def nested(x: qd.types.ndarray()):
        for i in range(3):
            with qd.stream_parallel():
                x[i] = 1

    def whole(x: qd.types.ndarray()):
        with qd.stream_parallel():
            x[0] = 1

    @qd.func
    def inner(x: qd.template()):
        with qd.stream_parallel():
            x[0] = 1

    def outer(x: qd.types.ndarray()):
        inner(x)

    assert refused(several) == "'with' in Quadrants kernels only supports a single context manager"
    assert refused(named) == "'with ... as ...' is not supported in Quadrants kernels"
    assert refused(uncalled) == "'with' in Quadrants kernels requires a call expression"
    assert refused(others) == (
        "'with' in Quadrants kernels only supports qd.stream_parallel(), qd.graph.parallel_context(), "
        "qd.graph.parallel() and qd.checkpoint()"
    )
    assert refused(mixed) == (
        "When using qd.stream_parallel(), all top-level statements in the kernel must be "
        "'with qd.stream_parallel():' blocks"
    )
    assert refused(nested) == "qd.stream_parallel() must be at the kernel's outermost scope"
    assert refused(whole, graph=True) == "qd.stream_parallel() is not compatible with graph=True kernels"
    assert refused(outer) == "qd.stream_parallel() can only be used inside @qd.kernel, not @qd.func"


def test_streams_that_are_refused():
    with pytest.raises(qd.QuadrantsTypeError) as error:
        fill(X, 1, qd_stream=3)
    assert error.value.message == "qd_stream must be a stream, got 3"
    with pytest.raises(qd.QuadrantsRuntimeError) as error:
        qd.kernel(graph=True)(fill.__wrapped__)(X, 1, qd_stream=qd.create_stream())
    assert error.value.message == "qd_stream is not compatible with graph=True kernels"
