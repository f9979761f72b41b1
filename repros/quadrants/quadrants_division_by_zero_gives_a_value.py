# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""An integer divided by zero gives all ones, and its remainder is the integer.
Source: PTX ISA, div and rem, which leave it open; quadrants 1.3.3 dies of it on a CPU.
"""

import numpy as np
import quadrants as qd

A = np.array([7, -7, 0, 2**31 - 1], np.int32)


@qd.kernel
def divide(zero: int, a: qd.Template, out: qd.Template):
    for i in a:
        out[0, i] = a[i] // zero
        out[1, i] = a[i] % zero


def run():
    qd.init(arch=qd.gpu)
    a, out = qd.field(qd.i32, shape=len(A)), qd.field(qd.i32, shape=(2, len(A)))
    a.from_numpy(A)
    divide(0, a, out)
    return {"out": out.to_numpy()}


def expected():
    return {"out": np.stack([np.full_like(A, -1), A])}


if __name__ == "__main__":
    print(run())
