"""Conversions and packed sums: the bits of NVIDIA's compiler and of numpy, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import BFloat16, Float4E2M1FN, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Vector
from dsl.cutlass.experimental import primitives as prims
from tests.primitives import kernels

PROGRAM = Path(__file__).with_name("conversions_program.py")


@pytest.mark.slow
def test_bits_agree_with_nvidias_compiler(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 26 and ours.output == theirs.output


def pair(x, y, dtype=Float32):
    return Vector.from_elements([dtype(x), dtype(y)], dtype)


def test_numbers_are_numpys():
    """The first of two floats that become halves is the high one; a Vector's places are counted from the low half."""
    values = np.array([1.0009765, -2.7, 1e5, 0.1, 3e38, -0.3], np.float32)

    def body(a, b):
        for i in range(6):
            halves = prims.convert(pair(b[i], b[5 - i]), Float16, rnd="rn")
            a[i, 0], a[i, 1] = Float32(halves[1]), Float32(halves[0])
            a[i, 2] = Float32(prims.convert_float_to_integer(b[i], rnd="rmi", is_signed=True))
            bits = prims.convert_float_to_tf32(b[i], rnd="rz")
            a[i, 3] = prims.mov_b32(bits, target_type=Float32)
            numbers = Vector.from_elements([Int8(each) for each in (1, -2, 3, 100)], Int8)
            a[i, 4] = Float32(prims.dot_accumulate_4way(numbers, "signed", numbers, "unsigned", i))

    got = kernels.run(body, np.zeros((6, 5), np.float32), values)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got[:, 0], values.astype(np.float16).astype(np.float32))
        np.testing.assert_array_equal(got[:, 1], values[::-1].astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(
        got[:, 2], np.floor(values.astype(float)).clip(-(2**31), 2**31 - 1).astype(np.float32)
    )
    np.testing.assert_array_equal(got[:, 3], (values.view(np.uint32) & 0xFFFFE000).view(np.float32))
    np.testing.assert_array_equal(got[:, 4], 1 - 2 * 254 + 9 + 100 * 100 + np.arange(6, dtype=np.float32))


FOUR = Vector.from_elements
MISTAKES = [
    (lambda: prims.convert(pair(1, 2), Float16), "this conversion takes a rounding mode"),
    (lambda: prims.convert(pair(1, 2), BFloat16, rnd="rm"), "rnd must be rn or rz here, got rm"),
    (
        lambda: prims.convert(pair(1, 2), Float16, rnd="rs"),
        "a conversion that rounds at random needs compute capability",
    ),
    (lambda: prims.convert(pair(1, 2), Float8E5M2, rnd="rn"), "a conversion to 8 bits saturates"),
    (lambda: prims.convert(pair(1, 2), Float8E5M2, rnd="rn", sat="sat"), "sat must be satfinite here, got sat"),
    (
        lambda: prims.convert(pair(1, 2), Float4E2M1FN, rnd="rn"),
        "a conversion of Float32 to Float4E2M1FN needs compute",
    ),
    (lambda: prims.convert(pair(1, 2), Int8, rnd="rn"), "there is no packed conversion of Float32 to Int8"),
    (lambda: prims.convert(pair(1, 2), 3, rnd="rn"), "there is no packed conversion of Float32 to 3"),
    (lambda: prims.convert(Float32(1), Float16), "convert takes a Vector of two floats, got Float32"),
    (lambda: prims.convert(FOUR([Float32(1)] * 4, Float32), Float8E5M2), "a conversion of four Float32 needs compute"),
    (
        lambda: prims.cvt_f32x2_to_f8x2(1, 2, Float8E4M3FN, scale_factor=1),
        "a conversion with a scale, random bits or is",
    ),
    (lambda: prims.convert_float_to_tf32(1.0, rnd="rna", relu=True), "relu takes rnd rn or rz"),
    (
        lambda: prims.convert_float_to_integer(1.0, result_type=Float32),
        "result_type must be Int8 or Int32, got Float32",
    ),
    (lambda: prims.dot_accumulate_4way(1, "signed", 2, "signed", 3), "must be a Vector of 4 integers of 8 bits, got"),
    (lambda: prims.add_packed_f32x2(1, 2), "fix: packed arithmetic needs Blackwell"),
    (lambda: prims.mul(1, 2, "hi"), "fix: NVIDIA's release 4.8.1 does not compile it for Hopper either"),
    (lambda: prims.tcgen05_alloc(1), "fix: tcgen05 and tensor memory need Blackwell"),
    (lambda: prims.pmevent(), "pmevent takes event_id or mask"),
    (lambda: prims.pmevent(16), "event_id must be 0 to 15, got 16"),
    (lambda: prims.pmevent(mask=1 << 16), "mask must have at most 16 bits, got 65536"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake())
    assert message in str(error.value) and "test_conversions.py" in str(error.value) and "fix: " in str(error.value)
