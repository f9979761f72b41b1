# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A new value of a template argument compiles the kernel again, a repeated one and a new number do not.
Source: Quadrants, qd.static (Compile-time branching).

`compiled` says of each call whether the kernel was traced: a host function inside qd.static is called then.
"""

import numpy as np
import quadrants as qd

TRACED = []
CALLS = [(2, 10), (2, 20), (5, 20), (2, 30), (5, 10)]


def noted(count):
    TRACED.append(count)
    return count


@qd.kernel
def compute(count: qd.Template, x: int, a: qd.Template):
    for i in qd.static(range(noted(count))):
        a[i] += x


def run():
    qd.init(arch=qd.gpu)
    a = qd.field(qd.i32, shape=6)
    compiled = []
    for count, x in CALLS:
        TRACED.clear()
        compute(count, x, a)
        compiled.append(bool(TRACED))
    return {"a": a.to_numpy(), "compiled": np.array(compiled)}


def expected():
    a = np.zeros(6, np.int32)
    for count, x in CALLS:
        a[:count] += x
    return {"a": a, "compiled": np.array([True, False, True, False, False])}


if __name__ == "__main__":
    print(run())
