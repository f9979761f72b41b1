"""cute.math: the instruction each option asks for, as NVIDIA's compiler spells it for sm_90a, and what is refused.

Modules tested here: dsl/cutlass/cute/math.py, dsl/gpu/arithmetic/math.py.
"""

import re
from math import erf

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, cute
from dsl.cutlass.cute import math
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()


@cute.kernel
def kernel(function: Constexpr, a: cute.Tensor, b: cute.Tensor):
    lane = cute.arch.lane_idx()
    b[lane] = Float32(function(a[lane], b[lane]))


@cute.jit
def host(function: Constexpr, a: cute.Tensor, b: cute.Tensor):
    kernel(function, a, b).launch(grid=1, block=32)


# name, options: the instructions upstream makes of it (without loads, stores and addresses)
SPELLED = [
    ("abs", {}, "abs.f32"),
    ("abs", {"ftz": True}, "abs.ftz.f32"),
    ("neg", {}, "neg.f32"),
    ("ceil", {}, "cvt.rpi.f32.f32"),
    ("floor", {}, "cvt.rmi.f32.f32"),
    ("trunc", {}, "cvt.rzi.f32.f32"),
    ("roundeven", {}, "cvt.rni.f32.f32"),
    ("copysign", {}, "copysign.f32"),
    ("rcp", {}, "rcp.rn.f32"),
    ("rcp", {"approx": True}, "rcp.approx.f32"),
    ("rcp", {"approx": True, "ftz": True}, "rcp.approx.ftz.f32"),
    ("rcp", {"ftz": True}, "rcp.rn.ftz.f32"),
    ("rsqrt", {}, "rsqrt.approx.f32"),
    ("rsqrt", {"fastmath": True}, "rsqrt.approx.ftz.f32"),
    ("sqrt", {}, "sqrt.rn.f32"),
    ("sqrt", {"fastmath": True}, "sqrt.approx.ftz.f32"),
    ("sqrt", {"approx": True}, "sqrt.approx.f32"),
    ("sqrt", {"ftz": True}, "sqrt.rn.ftz.f32"),
    ("sin", {"fastmath": True}, "sin.approx.f32"),
    ("sin", {"approx": True, "ftz": True}, "sin.approx.ftz.f32"),
    ("cos", {"approx": True}, "cos.approx.f32"),
    ("tanh", {"fastmath": True}, "tanh.approx.f32"),
    ("tan", {"fastmath": True}, "sin.approx.f32 cos.approx.f32 div.approx.f32"),
    ("exp", {"fastmath": True}, "mul.f32 ex2.approx.ftz.f32"),
    ("exp2", {}, "ex2.approx.f32"),
    ("exp2", {"fastmath": True}, "ex2.approx.ftz.f32"),
    ("log", {"fastmath": True}, "lg2.approx.ftz.f32 mul.f32"),
    ("log2", {"fastmath": True}, "lg2.approx.ftz.f32"),
    ("log2", {"approx": True}, "lg2.approx.f32"),
    ("log10", {"fastmath": True}, "lg2.approx.f32 mul.f32"),
    ("pow", {"fastmath": True}, "lg2.approx.f32 mul.f32 ex2.approx.f32"),
    ("add", {}, "add.f32"),
    ("add", {"ftz": True}, "add.rn.ftz.f32"),
    ("mul", {"ftz": True}, "mul.rn.ftz.f32"),
    ("add", {"rounding": math.RoundingMode.ZERO}, "add.rz.f32"),
    ("sub", {}, "sub.f32"),
    ("div", {}, "div.rn.f32"),
    ("div", {"approx": True}, "div.approx.f32"),
    ("div", {"full": True}, "div.full.f32"),
    ("max", {"ftz": True}, "max.ftz.f32"),
    ("min", {"ftz": True}, "min.ftz.f32"),
]
TWO = {"add", "sub", "mul", "div", "max", "min", "pow", "copysign"}


@pytest.mark.parametrize("name, options, expected", SPELLED)
def test_spelled_as_upstream_does(emulator, name, options, expected):
    function = getattr(math, name)
    a, b = np.full(32, 0.5, np.float32), np.full(32, 0.25, np.float32)
    host(
        (lambda x, y: function(x, y, **options)) if name in TWO else lambda x, y: function(x, **options),
        from_dlpack(a),
        from_dlpack(b),
    )
    found = re.findall(r"^\s+([a-z0-9]+(?:\.[a-z0-9]+)*\.f32)\s", emulator.show("ptx"), re.MULTILINE)
    assert found == expected.split()
    assert np.isfinite(b).all()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x, y: math.exp(3), "exp is only supported for floating-point types, got Int32"),
        (lambda x, y: math.max(x, 3), "All operands to max must have the same numeric type, got Float32, Int32"),
        (lambda x, y: math.exp2(x, ftz=True), "exp2: ftz requires approx=True"),
        (lambda x, y: math.sqrt(x, fastmath=True, ftz=True), "sqrt: fastmath and ftz are mutually exclusive"),
        (lambda x, y: math.sin("x"), "sin takes numbers, got Python str"),
    ],
)
def test_refused_at_the_authors_line(emulator, call, text):
    a = np.zeros(32, np.float32)
    with pytest.raises(DSLUserCodeError) as error:
        host(call, from_dlpack(a), from_dlpack(a))
    assert error.value.message.startswith(text) and error.value.place.file == __file__


def test_classes_and_extremes(emulator):
    a = np.resize(np.array([0, -0.0, 1, 1e-40, np.inf, -np.inf, np.nan, -3], np.float32), 32)
    for name, expected in (
        ("isnan", np.isnan(a)),
        ("isinf", np.isinf(a)),
        ("isfinite", np.isfinite(a)),
        ("isnormal", np.isfinite(a) & (abs(a) >= np.finfo(np.float32).tiny)),
    ):
        b = np.zeros(32, np.float32)
        host(lambda x, y: getattr(math, name)(x), from_dlpack(a), from_dlpack(b))
        np.testing.assert_array_equal(b != 0, expected)
    for name, expected in (("max", np.fmax(a, 0.5)), ("min", np.fmin(a, 0.5)), ("absf", abs(a))):
        b = np.full(32, 0.5, np.float32)
        host(lambda x, y: getattr(math, name)(x, y) if name != "absf" else math.absf(x), from_dlpack(a), from_dlpack(b))
        np.testing.assert_array_equal(b, expected)


@cute.jit
def on_the_host(function: Constexpr, a: cute.Tensor, b: cute.Tensor):
    for i in range(a.shape[0]):
        b[i] = Float32(function(a[i]))


@pytest.mark.parametrize("name", ["exp", "log2", "sin", "tanh", "erf", "rsqrt", "floor"])
def test_a_host_function_calls_the_c_library(emulator, name):
    a, b = np.linspace(0.1, 3, 32).astype(np.float32), np.zeros(32, np.float32)
    on_the_host(getattr(math, name), from_dlpack(a), from_dlpack(b))
    others = {"erf": np.vectorize(erf), "rsqrt": lambda x: 1 / np.sqrt(x)}
    reference = others.get(name) or getattr(np, name)
    np.testing.assert_allclose(b, reference(a), rtol=1e-6)
