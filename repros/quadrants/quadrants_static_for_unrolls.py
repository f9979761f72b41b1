# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`for i in qd.static(range(3))` becomes three stores and no loop.  Source: Quadrants, qd.static (Loop unrolling).

The program is the page's own.
"""

import numpy as np
import quadrants as qd


@qd.kernel
def compute(a: qd.Template) -> None:
    # CHECK-PTX-NOT: bra
    # CHECK-PTX-COUNT-3: st.global
    # CHECK-PTX-NOT: st.global
    for i in qd.static(range(3)):
        a[i] = i * 10


def run():
    qd.init(arch=qd.gpu)
    a = qd.field(qd.i32, shape=4)
    a.fill(-1)
    compute(a)
    return {"a": a.to_numpy()}


def expected():
    return {"a": np.array([0, 10, 20, -1], np.int32)}


if __name__ == "__main__":
    print(run())
