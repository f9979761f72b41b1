# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A variable keeps the type of its first assignment: a float stored into an int is truncated.
Source: measured on quadrants 1.3.3 (CPU).
"""

import numpy as np
import quadrants as qd


@qd.kernel
def assign(out: qd.Template):
    a = 1
    a = 2.9
    out[0] = a
    b = 1
    b += 2.9
    out[1] = b
    c = -1
    c = -2.9
    out[2] = c
    d = 1
    for i in range(3):
        out[3 + i] = d + i * 0.5


def run():
    qd.init(arch=qd.gpu)
    out = qd.field(qd.f32, shape=6)
    assign(out)
    return {"out": out.to_numpy()}


def expected():
    return {"out": np.array([2, 3, -2, 1, 1.5, 2], np.float32)}


if __name__ == "__main__":
    print(run())
