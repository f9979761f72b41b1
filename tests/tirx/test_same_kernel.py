"""The same program in T and in CuTe DSL becomes the same kernel: one core, two grammars.

Each pair is compiled by its own surface, and the bodies of their PTX are compared (same_kernel.py, which holds the
programs in CuTe DSL; tests/quadrants holds them in Quadrants).
"""

import numpy as np
import pytest

import dsl.tirx as tvm
from dsl.launch import session
from dsl.tirx.script import tirx as T
from tests.same_kernel import BLOCK, FLOATS, PROGRAMS, N, arrays, body, run_cute

FAST = True


@pytest.fixture(scope="module")
def running():
    yield session.start("emulator")
    session.stop()


def square(v):
    return v * v


@T.prim_func
def saxpy_t(a: T.float32, x: T.Buffer((N,), "float32"), y: T.Buffer((N,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        y[i] = a * x[i] + y[i]


@T.prim_func
def branch_t(a: T.int32, x: T.Buffer((N,), "int32"), y: T.Buffer((N,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        if x[i] > a:
            y[i] = x[i] * 3
        elif x[i] == a:
            y[i] = a - i
        else:
            y[i] = -x[i]


@T.prim_func
def inner_loop_t(a: T.int32, x: T.Buffer((N,), "int32"), y: T.Buffer((N,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        s = 0
        for j in range(i):
            s += x[j] * a
        y[i] = s


@T.prim_func
def halving_t(a: T.int32, x: T.Buffer((N,), "int32"), y: T.Buffer((N,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        k = i * a
        steps = 0
        while k > 1:
            k = k >> 1
            steps += 1
        y[i] = steps


@T.prim_func
def unrolled_t(a: T.int32, x: T.Buffer((N,), "int32"), y: T.Buffer((N,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        s = x[i]
        for j in T.unroll(4):
            s = s * a + j
        y[i] = s


@T.prim_func
def static_branch_t(a: T.int32, x: T.Buffer((N,), "int32"), y: T.Buffer((N,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        if FAST:
            y[i] = x[i] ^ a
        else:
            y[i] = x[i] // a


@T.prim_func
def skipping_t(a: T.int32, x: T.Buffer((N,), "int32"), y: T.Buffer((N,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        s = 0
        for j in range(a):
            if x[j] == i:
                continue
            s += x[j]
        y[i] = s


@T.prim_func
def helper_t(a: T.float32, x: T.Buffer((N,), "float32"), y: T.Buffer((N,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        y[i] = square(x[i] - a) + square(a)


@T.prim_func
def choice_t(a: T.float32, x: T.Buffer((N,), "float32"), y: T.Buffer((N,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        y[i] = x[i] if x[i] > a else a * 2.0


@T.prim_func
def floor_t(a: T.int32, x: T.Buffer((N,), "int32"), y: T.Buffer((N,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([(n + BLOCK - 1) // BLOCK])
    tx = T.thread_id([BLOCK])
    i: T.let = bx * BLOCK + tx
    if i < n:
        y[i] = x[i] // 7 + (x[i] << 2) - (x[i] | a)


FUNCTIONS = {name.removesuffix("_t"): function for name, function in list(globals().items()) if name.endswith("_t")}


def compiled(name: str) -> tuple[str, np.ndarray]:
    """The PTX of one program and what it computes."""
    is_float = name in FLOATS
    x, y = arrays(np.float32 if is_float else np.int32)
    executable = tvm.compile(FUNCTIONS[name], target="cuda")
    executable(1.5 if is_float else 3, x, y, N)
    return executable.mod.imports[0].inspect_source("ptx"), y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_kernels_and_their_results_are_the_same(name, running):
    ours, result = compiled(name)
    theirs, expected = run_cute(name, running, static_width=True)
    assert ours != theirs
    assert body(ours) == body(theirs)
    assert result.tobytes() == expected.tobytes()


def test_every_program_has_its_pair():
    assert FUNCTIONS.keys() == PROGRAMS.keys() and len(FUNCTIONS) >= 8


def test_another_program_is_another_kernel():
    """The comparison sees a difference."""
    bodies = [body(compiled(name)[0]) for name in ("branch", "floor", "unrolled")]
    assert bodies[0] != bodies[1] != bodies[2] != bodies[0]
