# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { fast = [true, false] }
# ///
"""`if qd.static(flag)` leaves the taken branch alone in the kernel, and no test of the flag.
Source: Quadrants, qd.static (Compile-time branching).

The program is the page's own. Each value of the template argument is a compilation.
"""

import numpy as np
import quadrants as qd

N = 10
# CHECK-PTX: setp
# CHECK-PTX-NOT: setp
# CHECK-PTX(fast=True)-NOT: mad.lo.s32 {{.*}}, 3, 1
# CHECK-PTX(fast=True): shl.b32
# CHECK-PTX(fast=False): mad.lo.s32 {{.*}}, 3, 1


@qd.kernel
def compute(use_fast_path: qd.Template, a: qd.Template) -> None:
    for i in range(N):
        if qd.static(use_fast_path):
            a[i] = i * 2
        else:
            a[i] = i * 3 + 1


def run(fast):
    qd.init(arch=qd.gpu)
    a = qd.field(qd.i32, shape=N)
    compute(fast, a)
    return {"a": a.to_numpy()}


def expected(fast):
    i = np.arange(N, dtype=np.int32)
    return {"a": i * 2 if fast else i * 3 + 1}


if __name__ == "__main__":
    print(run(True))
