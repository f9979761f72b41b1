"""Graphs: loops on flags in memory, parallel sections and checkpoints; what cannot be in one is refused.

The values are compared with the real package in oracle/cases/graphs.py and graphs_checkpoints.py.

Modules tested here: dsl/quadrants/functions/sections.py, dsl/quadrants/syntax/rewrite_blocks.py.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session

FLAG = qd.types.ndarray(qd.i32, ndim=0)
ROW = qd.types.ndarray(qd.i32, ndim=1)


@pytest.fixture(autouse=True)
def running():
    session.start("emulator")
    qd.init(arch=qd.cpu, random_seed=1)
    yield
    session.stop()


def flag(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def test_a_variable_lives_through_the_trips():
    @qd.kernel(graph=True)
    def k(x: ROW, c: FLAG):
        total = 0
        last = -1
        while qd.graph.do_while(c):
            total += c[()]
            for i in range(x.shape[0]):
                x[i] += total
            last = c[()]
            c[()] -= 1
        x[0] = total
        x[1] = last

    x = np.zeros(3, np.int32)
    for _ in range(2):  # the second call finds nothing of the first
        x[:] = 0
        k(x, flag(4))
        assert x.tolist() == [10, 1, 4 + 7 + 9 + 10]


def test_each_trip_has_other_random_numbers():
    @qd.kernel(graph=True)
    def k(x: qd.types.ndarray(qd.f32, ndim=2), c: FLAG):
        while qd.graph.do_while(c):
            for i in range(x.shape[1]):
                x[c[()], i] = qd.random()
            for _ in range(1):
                c[()] -= 1

    x = np.zeros((6, 50), np.float32)
    k(x, flag(5))
    k(x[1:3], flag(1))
    assert len(np.unique(x[1:])) == 250 and not x[0].any()


def test_a_loop_runs_once_though_its_flag_is_zero():
    @qd.kernel(graph=True)
    def k(x: ROW, c: FLAG):
        while qd.graph.do_while(c):
            x[0] += 1

    x = np.zeros(1, np.int32)
    k(x, flag(0))
    assert x[0] == 1


def test_a_resumed_launch_finds_the_variables_of_the_one_that_paused():
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: ROW, f: FLAG):
        start = x[0] * 10
        for i in range(x.shape[0]):
            x[i] += start
        with qd.checkpoint(1, yield_on=f):
            for i in range(x.shape[0]):
                x[i] += start * 1000

    x = np.array([1, 2], np.int32)
    status = k(x, flag(1))
    assert (status.yielded, status.checkpoint, x.tolist()) == (True, 1, [10011, 10012])
    assert repr(k.resume(x, flag(0), from_checkpoint=1)) == "GraphStatus(yielded=False)"
    assert x.tolist() == [10011 + 100110000, 10012 + 100110000]  # `start` is a statement of every launch


def test_old_names_warn():
    @qd.kernel(graph=True)
    def k(x: ROW, c: FLAG):
        while qd.graph_do_while(c):
            with qd.graph_parallel_context():
                with qd.graph_parallel():
                    x[0] += 1
            c[()] -= 1

    x = np.zeros(1, np.int32)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        k(x, flag(3))
    assert x[0] == 3
    assert [str(each.message) for each in found] == [
        "qd.graph_do_while() is an old name: write qd.graph.do_while()",
        "qd.graph_parallel_context() is an old name: write qd.graph.parallel_context()",
        "qd.graph_parallel() is an old name: write qd.graph.parallel()",
    ]
    assert {each.filename for each in found} == {__file__}


def loop_without_graph(c: FLAG):
    while qd.graph.do_while(c):
        c[()] -= 1


def loop_in_a_branch(c: FLAG):
    if c[()] > 0:
        while qd.graph.do_while(c):
            c[()] -= 1


def loop_on_a_number(c: FLAG):
    while qd.graph.do_while(c[()]):
        c[()] -= 1


def loop_on_a_row(c: ROW):
    while qd.graph.do_while(c):
        c[0] -= 1


def loop_on_nothing(c: FLAG):
    while qd.graph.do_while():
        c[()] -= 1


def loop_that_is_left(c: FLAG):
    while qd.graph.do_while(c):
        c[()] -= 1
        if qd.static(True):
            break


def loop_in_a_section(c: FLAG):
    with qd.graph.parallel_context():
        with qd.graph.parallel():
            while qd.graph.do_while(c):
                c[()] -= 1


def section_alone(c: FLAG):
    with qd.graph.parallel():
        c[()] -= 1


def section_of_sections(c: FLAG):
    with qd.graph.parallel_context():
        with qd.graph.parallel():
            with qd.graph.parallel():
                c[()] -= 1


def section_with_a_name(c: FLAG):
    with qd.graph.parallel_context():
        with qd.graph.parallel("a"):
            c[()] -= 1


def region_with_a_name(c: FLAG):
    with qd.graph.parallel_context("a"):
        with qd.graph.parallel():
            c[()] -= 1


def region_with_a_loop(c: FLAG):
    with qd.graph.parallel_context():
        for _ in range(c[()]):
            with qd.graph.parallel():
                c[()] -= 1


def checkpoint_in_a_section(c: FLAG):
    with qd.graph.parallel_context():
        with qd.graph.parallel():
            with qd.checkpoint(0, yield_on=c):
                for i in range(1):
                    c[()] -= i


def checkpoint_without_the_option(c: FLAG):
    with qd.checkpoint(0, yield_on=c):
        for i in range(1):
            c[()] -= i


def region_with_checkpoints(c: FLAG):
    with qd.graph.parallel_context():
        with qd.graph.parallel():
            c[()] -= 1


def checkpoint_without_a_label(c: FLAG):
    with qd.checkpoint():
        for i in range(1):
            c[()] -= i


def checkpoint_without_a_flag(c: FLAG):
    with qd.checkpoint(0):
        for i in range(1):
            c[()] -= i


def checkpoint_with_more(c: FLAG):
    with qd.checkpoint(0, yield_on=c, when=c):
        for i in range(1):
            c[()] -= i


def checkpoint_of_an_expression(c: FLAG):
    with qd.checkpoint(0, yield_on=c[()]):
        for i in range(1):
            c[()] -= i


def checkpoint_with_a_text(c: FLAG):
    with qd.checkpoint("first", yield_on=c):
        for i in range(1):
            c[()] -= i


def checkpoint_in_another(c: FLAG):
    with qd.checkpoint(0, yield_on=c):
        with qd.checkpoint(1, yield_on=c):
            for i in range(1):
                c[()] -= i


def checkpoint_with_a_statement(c: FLAG):
    with qd.checkpoint(0, yield_on=c):
        c[()] = 0


BOTH = {"graph": True, "checkpoints": True}


@pytest.mark.parametrize("function, options, message", [
    (loop_without_graph, {}, "qd.graph.do_while() requires @qd.kernel(graph=True)"),
    (loop_in_a_branch, {"graph": True},
     "qd.graph.do_while() must be at the kernel top level or in the body of a qd.graph.do_while()"),
    (loop_on_a_number, {"graph": True},
     "qd.graph.do_while(...) got `c[()]`, which does not resolve to an ndarray kernel parameter"),
    (loop_on_a_row, {"graph": True}, "qd.graph.do_while(...) needs an array of one qd.i32, and `c` has another type or shape"),
    (loop_on_nothing, {"graph": True}, "qd.graph.do_while() takes one array of one qd.i32"),
    (loop_that_is_left, {"graph": True}, "`break` cannot leave a qd.graph.do_while() loop"),
    (loop_in_a_section, {"graph": True}, "qd.graph.do_while() cannot appear inside a qd.graph.parallel() block"),
    (section_alone, {"graph": True},
     "qd.graph.parallel() can only be used directly inside a qd.graph.parallel_context()"),
    (section_of_sections, {"graph": True}, "parallel sections cannot be nested"),
    (section_with_a_name, {"graph": True}, "qd.graph.parallel() takes no arguments"),
    (region_with_a_name, {"graph": True}, "qd.graph.parallel_context() takes no arguments"),
    (region_with_a_loop, {"graph": True},
     "a qd.graph.parallel_context() may contain only `with qd.graph.parallel():` blocks, also in an `if` or `for` that "
     "qd.static decides"),
    (checkpoint_in_a_section, {"graph": True}, "qd.checkpoint() cannot appear inside a qd.graph.parallel() block"),
    (checkpoint_without_the_option, {"graph": True},
     "qd.checkpoint() needs @qd.kernel(graph=True, checkpoints=True)"),
    (region_with_checkpoints, BOTH,
     "qd.graph.parallel_context() cannot be in a kernel with checkpoints=True: a resumed launch cannot leave its blocks "
     "out"),
    (checkpoint_without_a_label, BOTH, "a checkpoint needs a label: qd.checkpoint(cp_id, yield_on=flag)"),
    (checkpoint_without_a_flag, BOTH, "qd.checkpoint() is missing required argument `yield_on`"),
    (checkpoint_with_more, BOTH, "qd.checkpoint() got an unexpected keyword argument 'when'"),
    (checkpoint_of_an_expression, BOTH,
     "qd.checkpoint(yield_on=...) must reference a kernel ndarray argument, not an expression"),
    (checkpoint_with_a_text, BOTH,
     'the label of qd.checkpoint() must be an int literal or an IntEnum value, got a string'),
    (checkpoint_in_another, BOTH, "qd.checkpoint() cannot be nested in another one"),
    (checkpoint_with_a_statement, BOTH,
     "the body of a qd.checkpoint() has a bare top-level Assign statement, which a resumed launch cannot leave out: "
     "write it in `for _ in range(1):`"),
])  # fmt: skip
def test_mistakes_in_graphs(function, options, message):
    argument = np.ones(2, np.int32) if function is loop_on_a_row else flag(1)
    with pytest.raises(qd.QuadrantsSyntaxError) as error:
        qd.kernel(**options)(function)(argument)
    assert error.value.message == message and error.value.fix
    assert error.value.place.file == __file__


def test_labels_that_are_not_there():
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: ROW, f: FLAG):
        with qd.checkpoint(4, yield_on=f):
            for i in range(x.shape[0]):
                x[i] += 1

    @qd.kernel(graph=True)
    def plain(x: ROW):
        x[0] = 1

    x = np.zeros(1, np.int32)
    with pytest.raises(qd.QuadrantsRuntimeError) as error:
        k.resume(x, flag(0), from_checkpoint=5)
    assert error.value.message == "from_checkpoint=5 does not match any qd.checkpoint(cp_id=...) in kernel `k`"
    assert error.value.fix == "pass one of its labels: 4"
    with pytest.raises(qd.QuadrantsRuntimeError) as error:
        k.resume(x, flag(0), from_checkpoint="bad")
    assert error.value.message == "from_checkpoint must be an int or IntEnum value, got a string"
    with pytest.raises(qd.QuadrantsRuntimeError) as error:
        plain.resume(x, from_checkpoint=1)
    assert error.value.message == "`plain` has no checkpoints"
    with pytest.raises(qd.QuadrantsSyntaxError) as error:
        qd.kernel(checkpoints=True)(loop_without_graph)
    assert error.value.message == "@qd.kernel(checkpoints=True) requires graph=True"
