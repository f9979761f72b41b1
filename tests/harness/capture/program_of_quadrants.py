"""A program in Quadrants that makes calls of several kinds; an argument chooses one. Run by repro capture."""

import sys

import numpy as np
import quadrants as qd

qd.init(arch=qd.cpu, default_fp=qd.f32)
WIDTH = int("12") + 4
heat = qd.field(qd.f32, shape=(WIDTH,))
pairs = qd.Vector.field(2, qd.i32, shape=(4,))
unused = qd.field(qd.f32, shape=(1024,))


@qd.func
def step(i):
    return heat[i] * 0.5


@qd.kernel
def cool(by: float, out: qd.types.ndarray()):
    for i in range(WIDTH):
        out[i] = step(i) - by
        heat[i] = 0.0


@qd.kernel
def swap(a: qd.types.ndarray(), shift: int) -> int:
    for i in range(4):
        pairs[i] = qd.Vector([pairs[i][1], a[i] + shift])
    return shift * 2


@qd.data_oriented
class Cells:
    def __init__(self, n):
        self.n = n
        self.a = qd.ndarray(qd.i32, n)

    @qd.kernel
    def fill(self, v: int):
        for i in range(self.n):
            self.a[i] = v + i


@qd.kernel
def beyond(a: qd.types.ndarray(), at: int):
    for i in range(1):
        a[at] = 1


def main(what):
    if what == "cool":
        unused.fill(1.0)
        heat.from_numpy(np.arange(WIDTH, dtype=np.float32))
        for by in (1.0, 2.0):
            cool(by, np.zeros(WIDTH, np.float32))
            heat.from_numpy(np.ones(WIDTH, np.float32))
    elif what == "swap":
        a = qd.ndarray(qd.i32, (4,))
        a.from_numpy(np.array([7, 1, 4, 9], np.int32))
        swap(a, 3)
    elif what == "fill":
        Cells(5).fill(10)
    else:
        beyond(np.zeros(4, np.int32), 1 << 16)


if __name__ == "__main__":
    main(sys.argv[1])
