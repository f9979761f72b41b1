# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { guard = ["static", "runtime"] }
# ///
"""A loop under `if qd.static(...)` stays a grid, one under a run-time `if` runs on one thread.
Source: Quadrants, qd.static (Interaction with parallelization).

A grid asks for its block's number; a thread alone does not.
"""

import numpy as np
import quadrants as qd

N = 1000
# CHECK-PTX(guard=static): %ctaid.x
# CHECK-PTX(guard=runtime)-NOT: %ctaid.x


@qd.kernel
def static_guard(enable_pass: qd.Template, n: int, a: qd.Template) -> None:
    if qd.static(enable_pass):
        for i in range(n):
            a[i] += 1


@qd.kernel
def runtime_guard(enable_pass: int, n: int, a: qd.Template) -> None:
    if enable_pass:
        for i in range(n):
            a[i] += 1


def run(guard):
    qd.init(arch=qd.gpu)
    a = qd.field(qd.i32, shape=N)
    if guard == "static":
        static_guard(True, N - 1, a)
    else:
        runtime_guard(1, N - 1, a)
    return {"a": a.to_numpy()}


def expected(guard):
    a = np.ones(N, np.int32)
    a[-1] = 0
    return {"a": a}


if __name__ == "__main__":
    print(run("static"))
