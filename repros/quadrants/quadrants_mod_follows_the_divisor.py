# /// script
# requires-python = ">=3.11"
# dependencies = ["quadrants", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`//` rounds down and `%` has the divisor's sign, as in Python; raw_div and raw_mod truncate, as in C.
Source: measured on quadrants 1.3.3 (CPU).
"""

import numpy as np
import quadrants as qd

A = np.array([7, -7, 7, -7, 6, -6, 0, 2**31 - 1], np.int32)
B = np.array([3, 3, -3, -3, 3, -3, 5, -2], np.int32)


@qd.kernel
def divide(a: qd.types.ndarray(), b: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in a:
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
        out[2, i] = qd.raw_div(a[i], b[i])
        out[3, i] = qd.raw_mod(a[i], b[i])


def run():
    qd.init(arch=qd.gpu)
    arrays = [qd.ndarray(qd.i32, A.shape), qd.ndarray(qd.i32, A.shape), qd.ndarray(qd.i32, (4, len(A)))]
    for array, values in zip(arrays, (A, B)):
        array.from_numpy(values)
    divide(*arrays)
    return {"out": arrays[2].to_numpy()}


def expected():
    quotient = np.trunc(A.astype(np.float64) / B).astype(np.int32)
    return {"out": np.stack([A // B, A % B, quotient, A - quotient * B])}


if __name__ == "__main__":
    print(run())
