"""Every function of cute.math that a kernel calls, over ends of ranges and other numbers."""

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

OF_ONE = """acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp expm1 log log10 log1p log2 sin sinh tan
    tanh""".split()
OF_TWO = "atan2", "pow"


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    for row in cutlass.range_constexpr(len(OF_ONE)):
        out[row, i] = getattr(cute.math, OF_ONE[row])(x[i])
    for row in cutlass.range_constexpr(len(OF_TWO)):
        out[len(OF_ONE) + row, i] = getattr(cute.math, OF_TWO[row])(x[i], y[i]) + 1.0


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    kernel(x, y, out).launch(grid=x.shape[0] // 128, block=128)


def run():
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 32, 1024, np.uint32)
    x = np.concatenate(
        [
            bits.view(np.float32),
            rng.uniform(-20, 20, 896).astype(np.float32),
            np.resize(np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 6000, 6001, 1e-45], np.float32), 128),
        ]
    )
    y = rng.permutation(x)
    out = np.zeros((len(OF_ONE) + len(OF_TWO), len(x)), np.float32)
    host(*map(from_dlpack, (x, y, out)))
    return {"out": out}
