"""print_runtime adds nothing to its format."""

import numpy as np

from dsl.cutlass.experimental import primitives as prims
from tests.primitives import kernels


def test_print_runtime(capfd):
    def body(a, b):
        prims.ptx_add_comment("here")
        prims.print_runtime("{} and {}", a[0], 3)
        prims.print_runtime(", {}\n", a[1] * 2)

    kernels.run(body, np.array([7, 8], np.int32))
    assert capfd.readouterr().out == "7 and 3, 16\n"
    assert "// here" in kernels.ptx(body)
