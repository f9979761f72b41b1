"""Checkpoints of graphs, resumed launches, and both outside kernels."""

from enum import IntEnum

import numpy as np
import quadrants as qd

_flag = qd.types.ndarray(qd.i32, ndim=0)
_row = qd.types.ndarray(qd.i32, ndim=1)


class _Stage(IntEnum):
    LOAD = 3
    SIM = 7


def _array(values):
    array = qd.ndarray(qd.i32, shape=np.shape(values))
    array.from_numpy(np.array(values, np.int32))
    return array


@qd.func
def _bump(x: _row, by: qd.i32):
    for i in range(x.shape[0]):
        x[i] += by


def checkpoints():
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: _row, log: _row, f: _flag, g: _flag, c: _flag):
        log[0] += 1
        for i in range(x.shape[0]):
            x[i] += 1
        with qd.checkpoint(_Stage.LOAD, yield_on=f):
            for i in range(x.shape[0]):
                x[i] += 10
        log[1] += 1
        _bump(x, 1000)
        while qd.graph.do_while(c):
            log[2] += 1
            for i in range(x.shape[0]):
                x[i] += 100
            with qd.checkpoint(_Stage.SIM, yield_on=g):
                for i in range(x.shape[0]):
                    x[i] += 10000
            for _ in range(1):
                c[()] = c[()] - 1
        if qd.static(True):
            for i in range(x.shape[0]):
                x[i] += 1000000
        for j in qd.static(range(2)):
            log[3 + j] += 1

    rows = []
    for flags in ((0, 0), (1, 0), (0, 1), (1, 1)):
        for label in (None, _Stage.LOAD, _Stage.SIM, 7):
            x, log = _array([0, 1]), _array([0] * 5)
            arguments = x, log, _array(flags[0]), _array(flags[1]), _array(3)
            status = k(*arguments) if label is None else k.resume(*arguments, from_checkpoint=label)
            rows.append((status.yielded, str(status.checkpoint), x.to_numpy(), log.to_numpy(), arguments[4].to_numpy()))
    return rows


def the_status():
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: _row, f: _flag):
        with qd.checkpoint(_Stage.SIM, yield_on=f):
            for i in range(x.shape[0]):
                x[i] += 1

    @qd.kernel(graph=True, checkpoints=True)
    def none(x: _row):
        for i in range(x.shape[0]):
            x[i] += 1

    x = _array([1])
    return [repr(k(x, _array(1))), repr(k(x, _array(0))), repr(none(x)), x.to_numpy()]


def members_of_checkpoints():
    @qd.data_oriented
    class Sim:
        def __init__(self):
            self.x, self.f = _array([5, 6]), _array(1)

        @qd.kernel(graph=True, checkpoints=True)
        def step(self):
            for i in range(self.x.shape[0]):
                self.x[i] += 1
            with qd.checkpoint(0, yield_on=self.f):
                for i in range(self.x.shape[0]):
                    self.x[i] += 10
            for i in range(self.x.shape[0]):
                self.x[i] += 100

    sim = Sim()
    first = sim.step().checkpoint, sim.x.to_numpy()
    sim.f.from_numpy(np.array(0, np.int32))
    return first, sim.step.resume(from_checkpoint=0).yielded, sim.x.to_numpy()


def outside_kernels():
    with qd.graph.parallel_context(), qd.graph.parallel(), qd.checkpoint(0, None):
        done = 1
    return done, qd.graph.do_while(0), qd.graph.do_while(3), qd.graph.do_while is qd.graph_do_while
