"""Loops at the outermost scope are grids, statements between them run on one thread, in order; variables cross."""

import warnings

import numpy as np
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")


def launches(running) -> list[tuple[int, int]]:
    """(blocks, threads a block) of every launch so far."""
    return [(launch["grid"][0], launch["block"][0]) for record in running.kernels for launch in record.launches]


@qd.kernel
def crossing(n: int, out: qd.types.ndarray()) -> int:
    s = 0
    low = n // 2
    for i in range(n):
        s += i
        out[i] = low
    t = s + 1
    for i in range(low, n):
        out[i] += t
    s = t * 2
    return s


def test_a_variable_crosses_tasks(running):
    out = np.zeros(300, np.int32)
    total = 300 * 299 // 2
    assert crossing(300, out) == 2 * (total + 1)
    assert out.tolist() == [150] * 150 + [150 + total + 1] * 150
    assert [threads for _, threads in launches(running)] == [1, 128, 1, 128, 1]
    assert launches(running)[1] == (3, 128)


@qd.kernel
def vectors(out: qd.types.ndarray()):
    v = qd.Vector([1.0, 2.0, 3.0])
    for i in range(5):
        v[i % 3] += 1.0
        out[i] = v.x * 0
    for i in range(3):
        out[i] = v[i]


def test_a_vector_crosses_tasks():
    out = np.zeros(5, np.float32)
    vectors(out)
    assert out.tolist() == [3, 4, 4, 0, 0]


@qd.kernel
def bound_in_memory(x: qd.template(), out: qd.types.ndarray()):
    x[None] = 0
    for i in range(700):
        x[None] += 1
    for i in range(x[None]):
        out[i] += 1


def test_a_bound_from_memory_is_read_after_the_task_before(running):
    x, out = qd.field(qd.i32, shape=()), np.zeros(1000, np.int32)
    bound_in_memory(x, out)
    assert out.tolist() == [1] * 700 + [0] * 300


@qd.kernel
def configured(out: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(100):
        out[i] = i
    qd.loop_config(serialize=True)
    for i in range(100):
        out[i] += out[i - 1] if i > 0 else 0


def test_loop_config_sets_the_block(running):
    out = np.zeros(100, np.int32)
    configured(out)
    assert launches(running) == [(4, 32), (1, 1)]
    assert out.tolist() == np.cumsum(np.arange(100)).tolist()


@qd.kernel
def nothing_to_do(n: int):
    a = 3
    b = a + n


def test_a_task_without_effects_is_left_out(running):
    nothing_to_do(2)
    assert launches(running) == []


@qd.func
def inner(out, n: int):
    for i in range(n):
        out[i] = i


@qd.kernel
def through_a_func(out: qd.types.ndarray()):
    inner(out, 200)


@qd.kernel
def under_static_statements(out: qd.types.ndarray()):
    for k in qd.static(range(2)):
        if qd.static(k == 1):
            for i in range(200):
                out[i] += k
        else:
            for i in range(10):
                out[i] += 5


def test_static_statements_and_funcs_keep_a_loop_parallel(running):
    out = np.zeros(200, np.int32)
    through_a_func(out)
    assert launches(running) == [(2, 128)]
    under_static_statements(out)
    assert launches(running)[1:] == [(1, 128), (2, 128)]
    assert out.tolist() == [i + 1 + 5 * (i < 10) for i in range(200)]


@qd.kernel
def demoted(go: int, out: qd.types.ndarray()):
    if go:
        for i in range(10):
            out[i] = i


@qd.kernel
def meant(go: int, out: qd.types.ndarray()):
    while go > 0:
        for i in range(10):
            out[i] = i
        go_on = go
        break


def test_a_demoted_loop_warns_with_its_line(running):
    out = np.zeros(10, np.int32)
    with pytest.warns(UserWarning, match="runs on one thread") as heard:
        demoted(1, out)
    place = heard[0]
    line = demoted.function.__code__.co_firstlineno + 3
    assert (place.filename, place.lineno) == (__file__, line)
    assert launches(running) == [(1, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meant(1, out)  # nobody would take that for a grid


@qd.kernel
def leaves(out: qd.types.ndarray()):
    for i in range(10):
        if i == 5:
            break
        out[i] = 1


def test_break_out_of_a_grid_is_a_syntax_error():
    with pytest.raises(qd.QuadrantsSyntaxError, match="Cannot break in the outermost loop"):
        leaves(np.zeros(10, np.int32))


@qd.kernel
def beyond(n: int, out: qd.types.ndarray()):
    for i in range(n):
        out[i % 4] += 1


@pytest.mark.parametrize("n", [-3, 0, 1, 127, 128, 129, 5000])
def test_every_iteration_runs_once(n):
    out = np.zeros(4, np.int32)
    beyond(n, out)
    assert out.sum() == max(n, 0)


@qd.kernel
def strided(x: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(x[0]):
        out[i % 4] += 1


@pytest.mark.parametrize("n", [-3, 0, 1, 200_000])
def test_a_grid_of_fixed_width_strides(n, running):
    """The number is only known to the device: fewer threads than iterations."""
    out = np.zeros(4, np.int32)
    strided(np.array([n], np.int32), out)
    assert out.sum() == max(n, 0)
    blocks, threads = launches(running)[-1]
    assert n < 200_000 or blocks * threads < n
