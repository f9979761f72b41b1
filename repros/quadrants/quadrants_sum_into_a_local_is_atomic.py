# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`s += i` in an outermost loop is an atomic addition also where s is a local variable, so the sum is exact.
Source: Quadrants, Atomics; GPU execution model.

The loop after it sees the whole sum: tasks run one after the other.
"""

import numpy as np
import quadrants as qd

N = 10000


@qd.kernel
def total(out: qd.Template) -> int:
    s = 0
    # CHECK-PTX: {{atom|red}}.{{.*}}add
    for i in range(N):
        s += i
    for i in range(4):
        out[i] = s + i
    return s


def run():
    qd.init(arch=qd.gpu)
    out = qd.field(qd.i32, shape=4)
    s = total(out)
    return {"sum": np.array([s], np.int32), "out": out.to_numpy()}


def expected():
    s = N * (N - 1) // 2
    return {"sum": np.array([s], np.int32), "out": np.arange(s, s + 4, dtype=np.int32)}


if __name__ == "__main__":
    print(run())
