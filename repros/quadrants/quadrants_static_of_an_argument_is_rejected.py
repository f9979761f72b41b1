# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""qd.static of a kernel argument that is no template is a QuadrantsCompilationError.  Source: Quadrants, qd.static."""

import quadrants as qd


@qd.kernel
def compute(val: float) -> None:
    if qd.static(val > 0.5):
        pass


def run():
    qd.init(arch=qd.gpu)
    compute(1.0)
    return {}


if __name__ == "__main__":
    print(run())
