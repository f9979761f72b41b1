"""Functions of floats against numpy, all in one kernel."""

from __future__ import annotations

import numpy as np

from dsl.tirx.script import tirx as T

FUNCTIONS = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "exp2": np.exp2,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "nearbyint": np.rint,
    "abs": np.abs,
    "fabs": np.abs,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "tan": np.tan,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp10": lambda x: 10**x,
}


def test_functions_of_floats(run):
    names = sorted(FUNCTIONS)

    @T.prim_func
    def main(A: T.Buffer((32,), "float32"), O: T.Buffer((32, 32), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        for k in T.unroll(len(names)):
            O[k, tx] = getattr(T, names[k])(A[tx])
        O[30, tx] = T.pow(A[tx], 1.5) + T.atan2(A[tx], 2.0) + T.fmod(A[tx], 0.75) + T.copysign(A[tx], -1.0)
        O[31, tx] = T.fma(A[tx], A[tx], 0.5) + T.hypot(A[tx], 3.0) + T.min(A[tx], 1.0) + T.max(A[tx], 1)

    a = np.linspace(0.05, 4.0, 32, dtype=np.float32)
    made = run(main, a, np.zeros((32, 32), np.float32))[1]
    wide = a.astype(np.float64)
    for k, name in enumerate(names):
        np.testing.assert_allclose(made[k], FUNCTIONS[name](wide), rtol=3e-6, err_msg=name)
    want = wide**1.5 + np.arctan2(wide, 2) + np.fmod(wide, 0.75) - wide
    np.testing.assert_allclose(made[30], want, rtol=3e-6)
    np.testing.assert_allclose(
        made[31], wide * wide + 0.5 + np.hypot(wide, 3) + np.minimum(wide, 1) + np.maximum(wide, 1), rtol=3e-6
    )
