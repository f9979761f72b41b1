"""Data types by name: sizes and casts as in numpy, and names that are mistyped."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Float32, Int8, Int32, Uint8
from dsl.tirx.script import tirx as T
from dsl.tirx.values import dtypes

NUMPY = [
    "bool",
    *(f"{kind}{width}" for kind in ("int", "uint") for width in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
]


def test_scalar_types_have_numpys_sizes():
    for name in NUMPY:
        dtype = dtypes.find(name)
        assert (str(dtype), dtype.bytes, dtype.lanes) == (name, np.dtype(name).itemsize, 1) and dtype == name
        if name != "bool":
            assert dtypes.find(f"{name}x4").bytes == 4 * dtype.bytes


def test_short_names_and_numeric_types_find_the_same_type():
    assert T.f32 is T.float32 is dtypes.find("float32") is dtypes.find(Float32) is dtypes.find(T.f32)
    assert T.bf16 is dtypes.find("bfloat16") and dtypes.find("int8x3").lanes == 3 and T.i8 != "uint8"


@pytest.mark.parametrize("value", [0, 1, -1, 200, -129, 2.75, -2.75])
@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "float32", "float16"])
def test_static_casts_are_numpys(name, value):
    if name == "uint8" and isinstance(value, float) and value < 0:
        return  # C leaves it undefined
    source = Float32(value) if isinstance(value, float) else Int32(value)
    wanted = np.array([value], np.float32 if isinstance(value, float) else np.int32).astype(name)[0]
    assert dtypes.cast(source, dtypes.find(name)).value == wanted


def test_the_type_of_a_value():
    assert dtypes.of(Int8(3)) is T.int8 and dtypes.of(2) is T.int32 and dtypes.of(0.5) is T.float32
    assert [dtypes.loses_fraction(value, T.int32) for value in (2.0, 2.5, Int32(2))] == [False, True, False]
    assert not dtypes.loses_fraction(2.5, T.float16)


@pytest.mark.parametrize(
    "call, message, fix",
    [
        (lambda: dtypes.find("floot32"), "unknown data type 'floot32'", 'did you mean "float32"?'),
        (lambda: dtypes.find(dict), "unknown data type dict", 'a name such as "float32", "int8" or "float32x4"'),
        (
            lambda: dtypes.cast("text", T.int32),
            "int32 holds numbers, got Python's str",
            "give a number, or an element of a buffer: `A[i]`",
        ),
    ],
)
def test_wrong_types_are_refused(call, message, fix):
    with pytest.raises(DSLUserCodeError) as error:
        call()
    assert (str(error.value.message), error.value.fix) == (message, fix)


def test_declarations_keep_the_shape():
    assert T.f32[2, 4].shape == (2, 4) and T.f32[3].shape == (3,) and T.f32[3].dtype is T.float32
    assert Uint8 is T.uint8.scalar
