"""Constants in PTX text."""

import struct

import pytest

from dsl.emulator.ptx import literals
from dsl.emulator.ptx.syntax import FloatImm, Imm


@pytest.mark.parametrize(
    "token, value", [("0", 0), ("12", 12), ("0x1F", 31), ("0b101", 5), ("017", 15), ("0XfF", 255), ("0B11", 3)]
)
def test_integers_of_each_base(token, value):
    assert literals.integer(token) == value and literals.number(token + "U") == Imm(value)


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 1e30])
def test_exact_and_decimal_floats(value):
    f32, f64 = struct.pack(">f", value).hex(), struct.pack(">d", value).hex()
    assert literals.number("0f" + f32) == FloatImm(int(f32, 16), 32)
    assert literals.number("0d" + f64) == literals.number(repr(value)) == FloatImm(int(f64, 16), 64)
    assert literals.negated(literals.number("0d" + f64)) == FloatImm(int(struct.pack(">d", -value).hex(), 16), 64)


def test_a_float_constant_takes_the_width_of_its_operand():
    one_f32, one_f64 = 0x3F800000, 0x3FF0000000000000
    assert literals.float_bits(FloatImm(one_f64, 64), 32) == literals.float_bits(FloatImm(one_f32, 32), 32) == one_f32
    assert literals.float_bits(FloatImm(one_f32, 32), 64) == one_f64
    assert literals.float_bits(literals.number("1e300"), 32) == 0x7F800000
    assert literals.float_bits(literals.negated(literals.number("1e300")), 32) == 0xFF800000


@pytest.mark.parametrize(
    "token, name",
    [
        ('"/home/a/k.py"', "/home/a/k.py"),
        (r'"/a\042b/k.py"', '/a"b/k.py'),
        (r'"/a\"b/k.py"', '/a"b/k.py'),
        (r'"/c\\d/k.py"', r"/c\d/k.py"),
        (r'"/c\\042/k.py"', r"/c\042/k.py"),
        (r'"/\303\244/k.py"', "/ä/k.py"),
        ('"/ä/k.py"', "/ä/k.py"),
        (r'"/a\nb.py"', "/a\nb.py"),
    ],
)
def test_names_of_files_lose_their_escapes(token, name):
    assert literals.file_name(token) == name
