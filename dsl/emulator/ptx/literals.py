"""Constants in PTX text. PTX ISA 4.5."""

from __future__ import annotations

import re
import struct

from dsl.emulator.ptx.syntax import FloatImm, Imm


def integer(token: str) -> int:
    """Decimal, 0x, 0b or octal digits. Raises ValueError."""
    lower = token.lower()
    if lower.startswith(("0x", "0b")):
        return int(lower, 0)
    return int(lower, 8) if len(lower) > 1 and lower[0] == "0" and lower.isdigit() else int(lower)


def number(token: str) -> Imm | FloatImm:
    """An integer, an exact float (0f, 0d) or a decimal float, which is an f64."""
    kind = token[:2].lower()
    if kind == "0f":
        return FloatImm(int(token[2:], 16), 32)
    if kind == "0d":
        return FloatImm(int(token[2:], 16), 64)
    if kind != "0x" and any(c in token for c in ".eE"):
        return FloatImm(struct.unpack("<Q", struct.pack("<d", float(token)))[0], 64)
    return Imm(integer(token.rstrip("U")))


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
        text = escape.group(1)
        return bytes([int(text, 8) & 0xFF]) if len(text) == 3 else _LETTERS.get(text, text)

    return _ESCAPE.sub(byte, token[1:-1].encode()).decode(errors="surrogateescape")
