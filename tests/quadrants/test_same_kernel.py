"""The same program in Quadrants and in CuTe DSL becomes the same kernel: one core, two grammars.

Each pair is compiled by its own surface, and the bodies of their PTX are compared (same_kernel.py). So a difference is
one of what is computed.
"""

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session
from tests.same_kernel import FLOATS, PROGRAMS, N, arrays, body, run_cute

FAST = True


@pytest.fixture(scope="module")
def running():
    yield session.start("emulator")
    session.stop()


@qd.kernel
def saxpy_qd(a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = a * x[i] + y[i]


@qd.kernel
def branch_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        if x[i] > a:
            y[i] = x[i] * 3
        elif x[i] == a:
            y[i] = a - i
        else:
            y[i] = -x[i]


@qd.kernel
def inner_loop_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        s = 0
        for j in range(i):
            s += x[j] * a
        y[i] = s


@qd.kernel
def halving_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        k = i * a
        steps = 0
        while k > 1:
            k = k >> 1
            steps += 1
        y[i] = steps


@qd.kernel
def unrolled_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        s = x[i]
        for j in qd.static(range(4)):
            s = s * a + j
        y[i] = s


@qd.kernel
def static_branch_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        if qd.static(FAST):
            y[i] = x[i] ^ a
        else:
            y[i] = x[i] // a


@qd.kernel
def skipping_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        s = 0
        for j in range(a):
            if x[j] == i:
                continue
            s += x[j]
        y[i] = s


@qd.func
def square_qd(v):
    return v * v


@qd.kernel
def helper_qd(a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = square_qd(x[i] - a) + square_qd(a)


@qd.kernel
def choice_qd(a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = x[i] if x[i] > a else a * 2.0


@qd.kernel
def floor_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = x[i] // 7 + (x[i] << 2) - (x[i] | a)


KERNELS = {
    name.removesuffix("_qd"): kernel
    for name, kernel in list(globals().items())
    if name.endswith("_qd") and isinstance(kernel, type(saxpy_qd))
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_and_their_results_are_the_same(name, running):
    is_float = name in FLOATS
    qd.init(arch=qd.cpu)
    x, y = arrays(np.float32 if is_float else np.int32)
    KERNELS[name](1.5 if is_float else 3, x, y, N)
    ours = running.kernels[-1].ptx
    theirs, expected = run_cute(name, running)
    assert ours != theirs
    assert body(ours) == body(theirs)
    assert y.tobytes() == expected.tobytes()


def test_every_program_has_its_pair():
    assert KERNELS.keys() == PROGRAMS.keys() and len(KERNELS) >= 8


def test_another_program_is_another_kernel(running):
    """The comparison sees a difference."""
    qd.init(arch=qd.cpu)
    x, y = arrays(np.int32)
    bodies = []
    for kernel in (branch_qd, floor_qd, unrolled_qd):
        kernel(3, x, y, N)
        bodies.append(body(running.kernels[-1].ptx))
    assert bodies[0] != bodies[1] != bodies[2] != bodies[0]
