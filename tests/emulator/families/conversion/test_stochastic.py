"""cvt.rs against integers: the random bits are added to the bits of the fraction that are cut off. PTX ISA 9.7.9.21."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.emulator.families.arithmetic.test_float import FORMATS, decode, is_nan, patterns

CUT = {"f16": 13, "bf16": 16}


def rounded(pattern: int, random: int, kind: str, relu: bool, saturates: bool) -> int:
    """The code of an f32 whose result is a normal number: the next code if the bits cut off and the random ones carry."""
    value = decode(pattern, "f32")
    bits, fraction_bits, bias = FORMATS[kind]
    greatest = ((1 << bits - 1 - fraction_bits) - 1 << fraction_bits) - 1
    if is_nan(value):
        return 0x7FFF
    negative = pattern >> 31
    if negative and relu:
        return 0
    size = pattern & 0x7FFFFFFF
    code, cut = size >> CUT[kind], size & (1 << CUT[kind]) - 1
    code += cut + (random & (1 << CUT[kind]) - 1) >> CUT[kind]
    code -= (127 - bias) << fraction_bits
    if abs(value) == float("inf"):
        code = greatest + 1
    return min(code, greatest + 1 - saturates) | negative << 15


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", CUT)
def test_a_carry_rounds_away_from_zero(machine_100, kind, relu, saturates):
    high, low = patterns("f32", 1, 900), patterns("f32", 2, 900)
    high[::7] = 0x477FF000 + np.arange(len(high[::7]), dtype=np.uint32)  # next to the greatest f16
    low[::7] = 0xFF7FFFFF - np.arange(len(low[::7]), dtype=np.uint32)  # and bf16
    random = np.random.default_rng(3).integers(0, 1 << 32, len(high), dtype=np.uint32)
    name = f"cvt.rs{'.relu' * relu}{'.satfinite' * saturates}.{kind}x2.f32"
    got = machine_100.each(f"{name} %d, %a, %b, %c;", high, low, random, out=np.uint32)
    compared = 0
    for shift, numbers in ((16, high), (0, low)):
        for pattern, bits, code in zip(numbers.tolist(), (random >> shift).tolist(), (got >> shift & 0xFFFF).tolist()):
            if kind == "f16" and (pattern & 0x7FFFFFFF) < 0x38800000:  # it may be subnormal
                continue
            compared += 1
            assert code == rounded(pattern, bits & 0xFFFF, kind, relu, saturates), (hex(pattern), hex(bits))
    assert compared > 800


def test_subnormal_halves_are_next_to_the_number(machine_100):
    """The ISA leaves open which of the bits cut off the random ones meet. Zeros cut, ones round up unless it is exact."""
    number = np.random.default_rng(4).uniform(-(2.0**-14), 2.0**-14, 500).astype(np.float32).view(np.uint32)
    exact = (np.arange(1, 400) * np.float32(2.0**-24)).astype(np.float32).view(np.uint32)
    number = np.concatenate([number, exact])
    zeros, ones = (
        machine_100.each(
            "cvt.rs.f16x2.f32 %d, %a, %b, %c;", number, number, np.full(len(number), bits, np.uint32), out=np.uint32
        )
        for bits in (0, 0xFFFFFFFF)
    )
    step = Fraction(1, 2**24)
    for pattern, below, above in zip(number.tolist(), zeros.tolist(), ones.tolist()):
        size = abs(decode(pattern, "f32"))
        assert below & 0x7FFF == below >> 16 & 0x7FFF == size // step
        assert above & 0x7FFF in ({size // step} if size % step == 0 else {size // step, size // step + 1})


def test_the_distance_gives_the_share(machine_100):
    """A number three eighths of the way to the next bf16, with every random half."""
    random = np.arange(1 << 16, dtype=np.uint32)
    number = np.full(1 << 16, 0x3F806000, np.uint32)
    got = machine_100.each("cvt.rs.bf16x2.f32 %d, %a, %b, %c;", number, number, random, out=np.uint32)
    assert (got & 0xFFFF == 0x3F81).sum() == 3 << 13 and (got & 0xFFFF == 0x3F80).sum() == 5 << 13
