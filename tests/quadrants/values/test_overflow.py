"""With debug=True an overflow of integers is printed, for every dtype and operator, and the result wraps."""

from __future__ import annotations

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session

DTYPES = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32}
DTYPES |= {"i64": np.int64, "u64": np.uint64}
SIGNS = {"+": "Addition", "-": "Subtraction", "*": "Multiplication", "<<": "Shift left"}


@pytest.fixture(autouse=True)
def running():
    session.start("emulator")
    qd.init(arch=qd.cpu, debug=True)
    yield
    session.stop()


@qd.kernel
def add(x: qd.types.ndarray(), y: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(x.shape[0]):
        out[i] = x[i] + y[i]


@qd.kernel
def subtract(x: qd.types.ndarray(), y: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(x.shape[0]):
        out[i] = x[i] - y[i]


@qd.kernel
def multiply(x: qd.types.ndarray(), y: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(x.shape[0]):
        out[i] = x[i] * y[i]


@qd.kernel
def shift(x: qd.types.ndarray(), y: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(x.shape[0]):
        out[i] = x[i] << y[i]


KERNELS = {"+": add, "-": subtract, "*": multiply, "<<": shift}


def exact(sign: str, x: int, y: int) -> int:
    return {"+": x + y, "-": x - y, "*": x * y, "<<": x << (y if sign == "<<" else 0)}[sign]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("name", DTYPES)
def test_every_overflow_is_printed(name, sign, capfd):
    dtype, limits = DTYPES[name], np.iinfo(DTYPES[name])
    drawn = np.random.default_rng(5)
    edges = [limits.min, limits.min + 1, 0, 1, 2, limits.max // 2, limits.max // 2 + 1, limits.max - 1, limits.max]
    edges += [-1] if limits.min < 0 else []
    x = np.array([drawn.choice(edges) for _ in range(40)], dtype)
    y = np.array([drawn.choice(edges) for _ in range(40)], dtype)
    if sign == "<<":
        y = drawn.integers(0, limits.bits - 1, 40).astype(dtype)
    out = np.zeros(40, dtype)
    KERNELS[sign](x, y, out)
    qd.sync()
    wanted = [exact(sign, int(a), int(b)) for a, b in zip(x, y)]
    wraps = sum(not limits.min <= value <= limits.max for value in wanted)
    assert capfd.readouterr().out.count(f"{SIGNS[sign]} overflow detected in File ") == wraps > 0
    bits = (1 << limits.bits) - 1
    assert [int(value) & bits for value in out] == [value & bits for value in wanted]


@qd.kernel
def of_vectors(x: qd.i32) -> qd.i32:
    v = qd.Vector([x, 1]) * 2
    return (v[0] if x > 2**31 - 1 else x + x) + 0 * v[1]


def test_the_message_shows_the_expression(capfd):
    assert of_vectors(2**30) == -(2**31)
    qd.sync()
    told = capfd.readouterr().out.split("\n\n")
    assert told[0].startswith(f'Multiplication overflow detected in File "{__file__}", line ')
    assert told[0].endswith(", in of_vectors:\n    v = qd.Vector([x, 1]) * 2\n        ^^^^^^^^^^^^^^^^^^^^^")
    assert [each.partition(" ")[0] for each in told] == ["Multiplication", "Addition", ""]


def test_without_debug_nothing_is_printed(capfd):
    qd.init(arch=qd.cpu)
    assert of_vectors(2**30) == -(2**31)
    qd.sync()
    assert "overflow" not in capfd.readouterr().out
