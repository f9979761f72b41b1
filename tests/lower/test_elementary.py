"""Functions of single precision: their bound over the floats, their special values, and one result everywhere.

Modules tested here: dsl/core/number/elementary_functions.py, dsl/lower/device_functions.py,
dsl/lower/elementary/error_function.py, dsl/lower/elementary/exponential.py, dsl/lower/elementary/expression.py,
dsl/lower/elementary/logarithm.py, dsl/lower/elementary/power.py, dsl/lower/elementary/quotient.py,
dsl/lower/elementary/trigonometric.py.
"""

import numpy as np
import pytest

from dsl.core.number.elementary_functions import SINGLE
from dsl.cutlass import Constexpr, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.gpu.arithmetic import functions
from dsl.launch import session
from dsl.lower import elementary
from tests.lower import elementary_coefficients, elementary_sweep

STEP = 65537  # a prime: every part of the floats is met; `elementary_sweep.py` takes all of them


@pytest.fixture(scope="module")
def made(needs):
    return elementary_sweep.library(elementary_sweep.NAMES, needs("cc", "gcc libc6-dev"))


def test_the_kernels_of_all_surfaces_find_each_function():
    assert {f"dsl_{name}f" for name in SINGLE} == elementary.SYMBOLS


@pytest.mark.slow
def test_every_function_is_within_an_ulp(made):
    found = {name: elementary_sweep.worst(made, name, STEP, 77) for name in elementary_sweep.NAMES}
    assert {name: worst.ulps for name, worst in found.items() if worst.ulps > 1} == {}


SPECIAL = np.array(
    [
        0x0,
        0x1,
        0x7FFFFF,
        0x800000,
        0x3F7FFFFF,
        0x3F800000,
        0x3F800001,
        0x40490FDB,
        0x42B17217,
        0x42B17218,
        0x42AEAC4F,
        0x42AEAC50,
        0x42CFF1B5,
        0x42D00000,
        0x7F7FFFFF,
        0x7F800000,
        0x7FC00000,
        0x45BB8000,
        0x45BB8001,
        0x3F400000,
        0x3F3504F3,
        0x3F3504F2,
        0x40800000,
        0x40800001,
        0x4B000000,
        0x41200000,
        0x3F000000,
        0x3F59999A,
        0x3F266666,
        0x4096CBE4,
        0x7E800000,
        0x7F000000,
        0x00400000,
    ],
    np.uint32,
)


def edges() -> np.ndarray:
    """Ends of ranges and their neighbours, of both signs."""
    near = np.concatenate([SPECIAL, SPECIAL + np.uint32(1), np.maximum(SPECIAL, 1) - np.uint32(1)])
    bits = np.concatenate([near, near | np.uint32(1 << 31)])
    return np.resize(bits, -(-len(bits) // 128) * 128).view(np.float32)


def test_edges_are_right_in_value_and_sign(made):
    """The sweep's own comparison, on the numbers where a function changes its way."""
    wrong = []
    for name in elementary_sweep.NAMES:
        for bits in edges().view(np.uint32).tolist():
            if name not in elementary_sweep.OF_TWO:
                found = elementary_sweep.worst(made, name, 1 << 33, bits)
                wrong += [(name, found.at[0], found.ulps)] if found.ulps > 1 else []
    assert wrong == []


# --- the emulator ----------------------------------------------------------------------------------------------------


@cute.kernel
def kernel(functions: Constexpr, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    for row, function in enumerate(functions):
        out[row, i] = function(x[i], y[i])


@cute.jit
def host(functions: Constexpr, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    kernel(functions, x, y, out).launch(grid=x.shape[0] // 128, block=128)


def of(name: str):
    function = getattr(functions, name)  # of cute.math and of T
    return function if name in elementary_sweep.OF_TWO else lambda x, _: function(x)


def run(names: list[str], x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    session.start("emulator")
    try:
        host([of(name) for name in names], *map(from_dlpack, (x, y, out)))
    finally:
        session.stop()


def test_halves_are_rounded_once_more():
    """Every Float16: hardly further from the exact value than the nearest Float16."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = {"exp": np.exp, "log": np.log, "sin": np.sin, "tanh": np.tanh, "cbrt": np.cbrt}
    out = np.zeros((len(exact), len(x)), np.float16)
    run(list(exact), x, x, out)
    for (name, reference), got in zip(exact.items(), out):
        with np.errstate(all="ignore"):
            result = reference(x.astype(np.float64))
            near = result.astype(np.float16)
        assert np.array_equal(np.isnan(got), np.isnan(near)), name
        kept = np.isfinite(near) & np.isfinite(got)
        assert np.array_equal(got[~kept], near[~kept], equal_nan=True), name
        unit = np.exp2(np.maximum(np.frexp(result[kept])[1] - 11, -24).astype(np.float64))
        assert np.max(np.abs(got[kept].astype(np.float64) - result[kept]) / unit) < 0.501, name


def test_a_kernel_gives_the_bits_of_the_printed_text(made):
    """PTX on the emulator, the CUDA C++ compiled for this machine: every operation is rounded in one way only."""
    rng = np.random.default_rng(5)
    x = np.concatenate(
        [
            edges(),
            rng.integers(0, 1 << 32, 1024, np.uint32).view(np.float32),
            rng.uniform(-20, 20, 1024).astype(np.float32),
        ]
    )
    x = np.resize(x, -(-len(x) // 128) * 128)
    y = rng.permutation(x)
    names = elementary_sweep.NAMES
    out, expected = (np.zeros((len(names), len(x)), np.float32) for _ in range(2))
    run(names, x, y, out)
    for name, row in zip(names, expected):
        pointers = (part.ctypes.data_as(elementary_sweep.POINTER) for part in (x, y, row))
        getattr(made, f"values_{name}")(*pointers, len(x))
    for name, got, row in zip(names, out, expected):
        same = (got.view(np.uint32) == row.view(np.uint32)) | np.isnan(got) & np.isnan(row)
        assert same.all(), (name, x[~same][:3], y[~same][:3], got[~same][:3], row[~same][:3])


def test_the_polynomials_have_the_stated_errors():
    """Each is below a fifth of an ulp off, and as good as its number of coefficients allows (fitted again for two)."""
    errors = {
        curve.table: elementary_coefficients.error(curve, curve.coefficients(), 60)
        for curve in elementary_coefficients.CURVES
    }
    assert {table: error for table, error in errors.items() if error > 2**-26.9} == {}
    for curve in elementary_coefficients.CURVES[:2]:
        anew = elementary_coefficients.error(curve, elementary_coefficients.fit(curve, 120, 60), 60)
        assert errors[curve.table] < anew * 1.1
