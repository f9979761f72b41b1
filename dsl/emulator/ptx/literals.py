"""Constants in PTX text. PTX ISA 4.5."""

from __future__ import annotations

import math
import re
import struct

from dsl.emulator.ptx.syntax import FloatImm, Imm


class BadLiteral(ValueError):
    """Text that begins as a number and is not one; the message names the token, then the missing part."""


_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?")
_EXACT = re.compile(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}")
_DECIMAL = re.compile(r"([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?")
_FORMS = {
    "0x": "a hexadecimal number has digits 0-9 and a-f after `0x`",
    "0b": "a binary number has digits 0 and 1 after `0b`",
    "0f": "an exact f32 has 8 hexadecimal digits after `0f`",
    "0d": "an exact f64 has 16 hexadecimal digits after `0d`",
}


def begins(token: str) -> bool:
    """Whether a token can only be a number."""
    return token[:1].isdigit() or (token[:1] == "." and token[1:2].isdigit())


def integer(token: str) -> int:
    """Decimal, 0x, 0b or octal digits. Raises BadLiteral."""
    if not _INTEGER.fullmatch(token):
        raise BadLiteral(_problem(token))
    lower = token.rstrip("U").lower()
    if lower.startswith(("0x", "0b")):
        return int(lower, 0)
    return int(lower, 8 if lower[0] == "0" else 10)


def number(token: str) -> Imm | FloatImm:
    """An integer, an exact float (0f, 0d) or a decimal float, which is an f64. Raises BadLiteral."""
    if _EXACT.fullmatch(token):
        return FloatImm(int(token[2:], 16), 32 if token[1] in "fF" else 64)
    if _DECIMAL.fullmatch(token):
        value = float(token)
        if math.isinf(value):
            raise BadLiteral(f"`{token}` is not a literal: it is too large for an f64")
        return FloatImm(struct.unpack("<Q", struct.pack("<d", value))[0], 64)
    return Imm(integer(token))


def _problem(token: str) -> str:
    """The reason why a token is not a number."""
    form = _FORMS.get(token[:2].lower(), "a decimal number has digits 0-9, a float also a point or an exponent")
    if token[:1] == "0" and token.rstrip("U").isdigit():
        form = "a number that begins with 0 is octal and has digits 0-7"
    return f"`{token}` is not a literal: {form}"


def negated(value: FloatImm) -> FloatImm:
    """Minus a float constant."""
    return FloatImm(value.bits ^ (1 << (value.width - 1)), value.width)


def float_bits(value: FloatImm, width: int) -> int:
    """The bits of a float constant in an operand of `width` bits."""
    if value.width == width:
        return value.bits
    if value.width == 64 and width == 32:
        number = struct.unpack("<d", struct.pack("<Q", value.bits))[0]
        try:
            return struct.unpack("<I", struct.pack("<f", number))[0]
        except OverflowError:
            return 0x7F800000 | (0x80000000 if number < 0 else 0)
    if value.width == 32 and width == 64:
        number = struct.unpack("<f", struct.pack("<I", value.bits))[0]
        return struct.unpack("<Q", struct.pack("<d", number))[0]
    return value.bits & ((1 << width) - 1)


_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f"}


def file_name(token: str) -> str:
    """The name in a `.file` directive, quotes and all. LLVM escapes a backslash, a quote, and by three octal digits
    each byte outside ASCII.
    """

    def byte(escape: re.Match) -> bytes:
        text: bytes = escape[1]
        return bytes([int(text, 8) & 0xFF]) if len(text) == 3 else _LETTERS.get(text) or text

    return _ESCAPE.sub(byte, token[1:-1].encode()).decode(errors="surrogateescape")
