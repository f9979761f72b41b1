"""Mistakes in graphs. Apart from graphs.py: there an error while compiling, and a checkpoint that paused, makes later loops run once."""

import numpy as np
import quadrants as qd

_flag = qd.types.ndarray(qd.i32, ndim=0)
_row = qd.types.ndarray(qd.i32, ndim=1)


def _array(values):
    array = qd.ndarray(qd.i32, shape=np.shape(values))
    array.from_numpy(np.array(values, np.int32))
    return array


def _call(function, *arguments, **options):
    return qd.kernel(graph=True, **options)(function)(*arguments)


def a_loop_without_graph():
    @qd.kernel
    def k(c: _flag):
        while qd.graph.do_while(c):
            c[()] = c[()] - 1

    k(_array(1))


def a_loop_on_a_field():
    f = qd.field(qd.i32, shape=())

    def k():
        while qd.graph.do_while(f):
            f[None] -= 1

    _call(k)


def a_loop_on_an_unknown_name():
    def k(c: _flag):
        while qd.graph.do_while(missing):
            c[()] = c[()] - 1

    _call(k, _array(1))


def a_loop_inside_a_for():
    def k(c: _flag):
        for _ in range(2):
            while qd.graph.do_while(c):
                c[()] = c[()] - 1

    _call(k, _array(1))


def a_section_outside_a_context():
    def k(x: _row):
        with qd.graph.parallel():
            x[0] = 1

    _call(k, _array([1]))


def other_work_in_a_context():
    def k(x: _row):
        with qd.graph.parallel_context():
            x[0] = 1

    _call(k, _array([1]))


def a_context_in_a_func():
    @qd.func
    def inner(x: _row):
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                x[0] = 1

    def k(x: _row):
        inner(x)

    _call(k, _array([1]))


def a_checkpoint_without_the_option():
    def k(x: _row, f: _flag):
        with qd.checkpoint(0, yield_on=f):
            for i in range(1):
                x[i] = 1

    _call(k, _array([1]), _array(0))


def a_bare_statement_in_a_checkpoint():
    def k(x: _row, f: _flag):
        with qd.checkpoint(0, yield_on=f):
            x[0] += 1

    _call(k, _array([1]), _array(0), checkpoints=True)


def one_label_twice():
    def k(x: _row, f: _flag):
        with qd.checkpoint(0, yield_on=f):
            for i in range(1):
                x[i] = 1
        with qd.checkpoint(0, yield_on=f):
            for i in range(1):
                x[i] = 1

    _call(k, _array([1]), _array(0), checkpoints=True)


def an_unknown_label():
    def k(x: _row, f: _flag):
        with qd.checkpoint(0, yield_on=f):
            for i in range(1):
                x[i] = 1

    qd.kernel(graph=True, checkpoints=True)(k).resume(_array([1]), _array(0), from_checkpoint=5)


def checkpoints_without_graph():
    def k(x: _row):
        x[0] = 1

    qd.kernel(checkpoints=True)(k)


def break_of_a_loop():
    def k(x: _row, c: _flag):
        while qd.graph.do_while(c):
            x[0] += 1
            break

    x = _array([1])
    _call(k, x, _array(1))
    return x.to_numpy()
