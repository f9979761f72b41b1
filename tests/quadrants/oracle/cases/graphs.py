"""Graphs: loops on flags in memory, and parallel sections."""

import dataclasses

import numpy as np
import quadrants as qd

_flag = qd.types.ndarray(qd.i32, ndim=0)
_row = qd.types.ndarray(qd.i32, ndim=1)
_reals = qd.types.ndarray(qd.f32, ndim=1)


def _array(values, dtype=np.int32):
    values = np.array(values, dtype)
    array = qd.ndarray(qd.i32 if dtype is np.int32 else qd.f32, shape=values.shape)
    array.from_numpy(values)
    return array


@qd.func
def _bump(x: _row, by: qd.i32):
    for i in range(x.shape[0]):
        x[i] += by


@qd.func
def _count_down(x: _row, c: _flag):
    while qd.graph.do_while(c):
        _bump(x, 3)
        c[()] = c[()] - 1


def counted():
    @qd.kernel(graph=True)
    def k(x: _row, c: _flag):
        while qd.graph.do_while(c):
            for i in range(x.shape[0]):
                x[i] = x[i] * 2 + i
            for _ in range(1):
                c[()] = c[()] - 1

    x, c = _array([1, 2, 3]), _array(4)
    k(x, c)
    first = x.to_numpy(), c.to_numpy()
    c.from_numpy(np.array(1, np.int32))
    k(x, c)
    return first, x.to_numpy(), c.to_numpy()


def nested_and_siblings():
    @qd.kernel(graph=True)
    def k(x: _row, a: _flag, b: _flag, c: _flag):
        x[0] = 100
        while qd.graph.do_while(a):
            b[()] = 2
            for i in range(x.shape[0]):
                x[i] += 10
            while qd.graph.do_while(b):
                for i in range(x.shape[0]):
                    x[i] += 1
                b[()] = b[()] - 1
            x[1] *= 2
            a[()] = a[()] - 1
        while qd.graph.do_while(c):
            for i in range(x.shape[0]):
                x[i] += 1000
            if x[2] > 3000:
                c[()] = 0
        x[2] += 1

    x, a, b, c = _array([0, 0, 0]), _array(3), _array(0), _array(1)
    k(x, a, b, c)
    return x.to_numpy(), a.to_numpy(), b.to_numpy(), c.to_numpy()


def in_a_func():
    @qd.kernel(graph=True)
    def k(x: _row, c: _flag):
        _bump(x, 100)
        _count_down(x, c)
        _bump(x, 1)

    x, c = _array([0, 1]), _array(2)
    k(x, c)
    return x.to_numpy(), c.to_numpy()


def a_sum_until_it_is_large():
    @qd.kernel(graph=True)
    def k(x: _reals, total: qd.types.ndarray(qd.f32, ndim=0), go: _flag):
        while qd.graph.do_while(go):
            total[()] = 0.0
            for i in range(x.shape[0]):
                x[i] *= 1.5
            for i in range(x.shape[0]):
                total[()] += x[i]
            if total[()] > 100.0:
                go[()] = 0

    x, total, go = _array([1, 2, 4], np.float32), _array(0, np.float32), _array(1)
    k(x, total, go)
    return x.to_numpy(), total.to_numpy(), go.to_numpy()


def bounds_from_memory_and_static_loops():
    @qd.kernel(graph=True)
    def k(x: _row, n: _flag, c: _flag):
        while qd.graph.do_while(c):
            for i in range(n[()]):
                x[i] += 1
            for j in qd.static(range(2)):
                x[j] += 10
            n[()] += 1
            c[()] = c[()] - 1

    x, n, c = _array([0] * 5), _array(2), _array(3)
    k(x, n, c)
    return x.to_numpy(), n.to_numpy()


def members():
    @qd.data_oriented
    class Sim:
        def __init__(self):
            self.x, self.c = _array([5, 6]), _array(3)

        @qd.kernel(graph=True)
        def step(self):
            while qd.graph.do_while(self.c):
                for i in range(self.x.shape[0]):
                    self.x[i] += 1
                for _ in range(1):
                    self.c[()] = self.c[()] - 1

    @dataclasses.dataclass
    class Params:
        x: _row
        c: _flag

    @qd.kernel(graph=True)
    def step(params: Params):
        while qd.graph.do_while(params.c):
            for i in range(params.x.shape[0]):
                params.x[i] += 2
            for _ in range(1):
                params.c[()] = params.c[()] - 1

    sim, params = Sim(), Params(_array([1, 2]), _array(4))
    sim.step()
    step(params)
    return sim.x.to_numpy(), sim.c.to_numpy(), params.x.to_numpy(), params.c.to_numpy()


def parallel_sections():
    @qd.kernel(graph=True)
    def k(x: _row, y: _row, c: _flag):
        while qd.graph.do_while(c):
            with qd.graph.parallel_context():
                with qd.graph.parallel():
                    for i in range(x.shape[0]):
                        x[i] += 1
                    x[0] += 5
                if qd.static(True):
                    with qd.graph.parallel():
                        for i in range(y.shape[0]):
                            y[i] -= 1
                for j in qd.static(range(1, 3)):
                    with qd.graph.parallel():
                        y[j] += 100 * j
            for i in range(x.shape[0]):
                x[i] += y[i]
            c[()] = c[()] - 1

    x, y, c = _array([0, 0, 0]), _array([1, 2, 3]), _array(2)
    k(x, y, c)
    return x.to_numpy(), y.to_numpy()


def _call(function, *arguments, **options):
    return qd.kernel(graph=True, **options)(function)(*arguments)


def a_value_of_a_graph():
    def k(x: _row) -> qd.i32:
        return x[0]

    return _call(k, _array([1]))


def a_variable_over_a_loop():
    def k(x: _row, c: _flag):
        s = 0
        while qd.graph.do_while(c):
            s += c[()]
            c[()] = c[()] - 1
        x[0] = s

    x = _array([1])
    _call(k, x, _array(3))
    return x.to_numpy()


def a_variable_of_a_loop():
    def k(x: _row, c: _flag):
        while qd.graph.do_while(c):
            s = c[()] * 2
            for i in range(x.shape[0]):
                x[i] += s
            s += 1
            x[0] += s
            c[()] = c[()] - 1

    x = _array([1, 2])
    _call(k, x, _array(3))
    return x.to_numpy()
