"""cvt.rs against integers: the random bits are added to the bits of the fraction that are cut off. PTX ISA 9.7.9.21."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import HEADER_100, use
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


# fraction bits, exponent bias, the greatest code, the code of a NaN, bits of an element in the result
NARROW = {
    "e4m3": (3, 7, 0x7E, 0x7F, 8),
    "e5m2": (2, 15, 0x7B, 0x7F, 8),
    "e2m3": (3, 1, 0x1F, 0x1F, 8),
    "e3m2": (2, 3, 0x1F, 0x1F, 8),
    "e2m1": (1, 1, 0x07, 0x07, 4),
}
SIGN = {"e4m3": 0x80, "e5m2": 0x80, "e2m3": 0x20, "e3m2": 0x20, "e2m1": 8}


def value_of(code: int, fraction_bits: int, bias: int) -> Fraction:
    exponent, fraction = divmod(code, 1 << fraction_bits)
    whole = fraction + (1 << fraction_bits) * (exponent > 0)
    return whole * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)


def random_of(word: int, kind: str) -> list[int]:
    """The random bits of each element, the first of the instruction first, as the docstring of stochastic.py has it."""
    high, low = f"{word >> 16:016b}", f"{word & 0xFFFF:016b}"
    if kind == "e2m1":
        return [int(each, 2) for each in (high[:8], low[:8], high[8:], low[8:])]
    return [int(each, 2) for each in (high[::-1], high, low[::-1], low)]


def narrow(pattern: int, random: int, kind: str, relu: bool) -> int:
    """The code below the size of a number, or the next one: the distance in steps, cut to the random bits, decides."""
    fraction_bits, bias, most, nan, _ = NARROW[kind]
    value, negative = decode(pattern, "f32"), pattern >> 31
    if is_nan(value):
        return nan
    if negative and relu:
        return 0
    values = [value_of(code, fraction_bits, bias) for code in range(most + 1)]
    code = most
    if abs(value) < values[-1]:
        code = next(code for code in range(most) if values[code + 1] > abs(value))
        distance = (abs(value) - values[code]) / (values[code + 1] - values[code])
        count = 8 if kind == "e2m1" else 16
        code += int(distance * 2**count) + random >= 2**count
    return code | SIGN[kind] * negative


def numbers_near(kind: str, seed: int) -> np.ndarray:
    """Patterns of all sizes, numbers of the format and between them, all with either sign."""
    fraction_bits, bias, most, *_ = NARROW[kind]
    stream = np.random.default_rng(seed)
    codes = stream.integers(0, most + 2, 500)
    values = np.array([float(value_of(int(code), fraction_bits, bias)) for code in codes]) * stream.choice([-1, 1], 500)
    between = values * stream.uniform(0.9, 1.1, 500)
    numbers = np.concatenate([values, between]).astype(np.float32).view(np.uint32)
    return stream.permutation(np.concatenate([numbers, patterns("f32", seed, 500)]))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", NARROW)
def test_four_elements(machine_100, kind, relu):
    numbers = [numbers_near(kind, seed) for seed in (1, 2)]
    random = np.random.default_rng(3).integers(0, 1 << 32, len(numbers[0]), dtype=np.uint32)
    random[::10], random[5::10] = 0, 0xFFFFFFFF
    step = NARROW[kind][4]
    for first in (0, 2):  # the places of the two arrays among the operands
        places = ["%a", "%b", "%a", "%b"] if first == 0 else ["%b", "%b", "%a", "%a"]
        name = f"cvt.rs{'.relu' * relu}.satfinite.{kind}x4.f32"
        text = f"{name} %d, {{{', '.join(places)}}}, %c;"
        got = machine_100.each(text, *numbers, random, out=np.uint16 if step == 4 else np.uint32)
        for *pair, word, result in zip(*(each.tolist() for each in (*numbers, random, got))):
            for place, (register, bits) in enumerate(zip(places, random_of(word, kind))):
                code = result >> step * (3 - place) & (1 << step) - 1
                wanted = narrow(pair["%a %b".split().index(register)], bits, kind, relu)
                assert code == wanted, (place, [hex(each) for each in pair], hex(word))


@pytest.mark.parametrize("kind", NARROW)
def test_each_element_is_rounded_by_all_its_bits(machine_100, kind):
    """A number three eighths of the way to the next one, with every random half: three eighths of them round up."""
    half = np.arange(1 << 16, dtype=np.uint32)
    number = np.full(1 << 16, np.array(1 + 0.375 * 2.0 ** -NARROW[kind][0], np.float32).view(np.uint32))
    one = next(code for code in range(128) if value_of(code, *NARROW[kind][:2]) == 1)
    step = NARROW[kind][4]
    got = machine_100.each(f"cvt.rs.satfinite.{kind}x4.f32 %d, {{%a, %a, %a, %a}}, %b;", number, half << 16 | half,
                           out=np.uint16 if step == 4 else np.uint32)  # fmt: skip
    for place in range(4):
        codes = got >> step * place & (1 << step) - 1
        assert (codes == one + 1).sum() == 3 << 13 and (codes == one).sum() == 5 << 13


@pytest.mark.parametrize("operands, why", [
    ("{%f, %f, %f, %f}, 7", "operand 3 must be a register declared .b32, got 7"),
    ("{%f, %f, %f, %f}, %s", "operand 3 must be a register declared .b32, got `%s`, a register of .s32"),
    ("{%f, %f, %f}, %r", "operand 2 must be 4 values of .f32 in braces, got 3"),
])  # fmt: skip
def test_operands_of_another_kind(operands, why):
    registers = ".reg .b32 %r; .reg .s32 %s; .reg .f32 %f;"
    text = f"cvt.rs.satfinite.e4m3x4.f32 %r, {operands};"
    with pytest.raises(emulator.PtxError) as caught:
        use(f"{HEADER_100}.visible .entry k() {{ {registers}\n{text}\nret; }}", "b200")
    assert str(caught.value) == f"PTX line 5: {why}: {text}"
