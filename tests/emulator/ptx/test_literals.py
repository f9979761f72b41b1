"""Constants in PTX text."""

import struct

import pytest

from dsl.emulator.ptx import literals
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import FloatImm, Imm, PtxError


@pytest.mark.parametrize(
    "token, value", [("0", 0), ("12", 12), ("0x1F", 31), ("0b101", 5), ("017", 15), ("0XfF", 255), ("0B11", 3)]
)
def test_integers_of_each_base(token, value):
    assert literals.integer(token) == value and literals.number(token + "U") == Imm(value)


@pytest.mark.parametrize("value", [0.0, 1.0, 2.5, 1e30])
def test_exact_and_decimal_floats(value):
    f32, f64 = struct.pack(">f", value).hex(), struct.pack(">d", value).hex()
    assert literals.number("0f" + f32) == FloatImm(int(f32, 16), 32)
    assert literals.number("0d" + f64) == literals.number(repr(value)) == FloatImm(int(f64, 16), 64)
    assert literals.negated(literals.number("0d" + f64)) == FloatImm(int(struct.pack(">d", -value).hex(), 16), 64)


BASES = {
    "octal": "a number that begins with 0 is octal and has digits 0-7",
    "hexadecimal": "a hexadecimal number has digits 0-9 and a-f after `0x`",
    "binary": "a binary number has digits 0 and 1 after `0b`",
    "decimal": "a decimal number has digits 0-9, a float also a point or an exponent",
    "f32": "an exact f32 has 8 hexadecimal digits after `0f`",
    "f64": "an exact f64 has 16 hexadecimal digits after `0d`",
    "large": "it is too large for an f64",
}
# The rule of BASES that a text breaks; None: it is a literal.
SPELLINGS = {
    "08": "octal", "019U": "octal", "017": None, "017U": None, "00": None, "0": None, "0U": None,
    "0x": "hexadecimal", "0xG": "hexadecimal", "0x1G": "hexadecimal", "0x1u": "hexadecimal", "0X1f": None, "0x1U": None,
    "0b": "binary", "0b12": "binary", "0B11": None, "0b11U": None,
    "12a": "decimal", "1u": "decimal", "9U7": "decimal", "1.5.2": "decimal", "1.5f": "decimal", "1e": "decimal",
    "1.5e": "decimal", "1U": None, "99999999999": None,
    "0f00": "f32", "0f3F8000000": "f32", "0f3F80000G": "f32", "0F": "f32", "0d12": "f64", "0d3FF00000000000000": "f64",
    "1e400": "large",
}  # fmt: skip
FLOATS = ["1e5", "1E5", "1.", ".5", "1.5e+3", "1.5e-3", "0F3F800000", "0f3f800000", "0d3FF0000000000000"]
_KERNEL = (
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {{ .reg .b32 r; .reg .f32 f;\n{}\nret; }}"
)


@pytest.mark.parametrize("literal", SPELLINGS)
def test_the_error_for_a_bad_literal_has_its_line(literal):
    text, why = _KERNEL.format(f"mov.b32 r, {literal};"), SPELLINGS[literal]
    if why is None:
        parse(text)
        return
    with pytest.raises(PtxError) as caught:
        parse(text)
    assert str(caught.value) == f"PTX line 5: `{literal}` is not a literal: {BASES[why]}"


def test_bad_literals_in_directives_and_offsets():
    for body, line in (
        (".reg .b32 %x<08>;", 5),
        (".loc 1 0x 3", 5),
        ("st.b32 [r+0b], r;", 5),
        ("{\n.shared .b8 s[0f1];}", 6),
    ):
        with pytest.raises(PtxError, match=rf"^PTX line {line}: `0[8xbf]1?` is not a literal: "):
            parse(_KERNEL.format(body))


def test_ptxas_reads_the_same_literals(ptxas):
    """One text has all that are literals; each other one alone is refused."""
    right = [f"mov.b32 r, {literal};" for literal, why in SPELLINGS.items() if why is None]
    ptxas(_KERNEL.format(" ".join(right + [f"mov.f32 f, {literal};" for literal in FLOATS])))
    parse(_KERNEL.format(" ".join(f"mov.f32 f, {literal};" for literal in FLOATS)))


@pytest.mark.slow
def test_ptxas_refuses_what_is_not_a_literal(ptxas):
    for literal, why in SPELLINGS.items():
        if why is not None:
            with pytest.raises(AssertionError):
                ptxas(_KERNEL.format(f"mov.{'f32 f' if why == 'large' else 'b32 r'}, {literal};"))


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
