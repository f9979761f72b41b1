"""vprintf: a C format string and a packed argument buffer -> text. CUDA C++ guide, formatted output; C11 7.21.6.1."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

_SPEC = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%])")
_HEXADECIMAL = re.compile(r"(-?)0x([01])\.([0-9a-f]+)(p[-+]\d+)")  # of float.hex


class BadPointer(Exception):
    """The kernel gave printf an address (with a length in bytes) outside its memory."""

    def __init__(self, address: int, nbytes: int):
        super().__init__(f"0x{address:x}")
        self.address, self.nbytes = address, nbytes


class _Arguments:
    """Arguments lie one after another, each aligned to its size: 4 bytes for int, 8 for the rest."""

    def __init__(self, read_bytes, address: int):
        self.read_bytes, self.address, self.offset = read_bytes, address, 0
        self.count = 0

    def take(self, code: str) -> Any:
        size = struct.calcsize(code)
        self.offset = -(-self.offset // size) * size
        (value,) = struct.unpack("<" + code, self.read_bytes(self.address + self.offset, size))
        self.offset += size
        self.count += 1
        return value


def render(read_string, read_bytes, format_address: int, arguments_address: int) -> tuple[str, int]:
    """The text and the number of arguments used. Raises BadPointer."""
    arguments = _Arguments(read_bytes, arguments_address)
    text = _SPEC.sub(lambda m: _one(m, arguments, read_string), read_string(format_address))
    return text, arguments.count


def _one(match: re.Match, arguments: _Arguments, read_string) -> str:
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"
    if width == "*":
        width = arguments.take("i")
        if width < 0:
            flags, width = flags + "-", -width
    has_precision = "." in match.group()[: match.group().rindex(kind)]
    if precision == "*":
        precision = arguments.take("i")
        has_precision = precision >= 0
    spec = "%" + flags + str(width or "") + (f".{precision or 0}" if has_precision else "")
    least_digits = int(precision or 0) if has_precision else None
    if kind in "diouxX":
        wide = length in ("l", "ll", "j", "z", "t")
        if kind in "di":
            value = _narrowed(arguments.take("q" if wide else "i"), length)
        else:
            value = arguments.take("Q" if wide else "I") & {"hh": 0xFF, "h": 0xFFFF}.get(length, 0xFFFFFFFFFFFFFFFF)
        return _integer(flags, int(width or 0), least_digits, kind, value)
    if kind in "eEfFgG":
        return _float(spec + kind, arguments.take("d"))
    if kind in "aA":
        text = _hexadecimal(flags, int(width or 0), least_digits, arguments.take("d"))
        return text.upper() if kind == "A" else text
    if kind == "c":
        return (spec + "s") % chr(arguments.take("i") & 0xFF)
    address = arguments.take("Q")
    if kind == "p":
        return ("%" + flags + str(width or "") + "s") % f"0x{address:x}"
    return (spec + "s") % ("(null)" if address == 0 else read_string(address))


def _narrowed(value: int, length: str | None) -> int:
    if length == "hh":
        return (value + 128) % 256 - 128
    if length == "h":
        return (value + 32768) % 65536 - 32768
    return value


def _integer(flags: str, width: int, least_digits: int | None, kind: str, value: int) -> str:
    """An integer as C11 7.21.6.1 has it.

    Signs are of signed conversions; `0` pads where there is no precision, and precision 0 leaves a 0 no digit.
    """
    digits = format(abs(value), {"i": "d", "u": "d"}.get(kind, kind))
    if least_digits is not None:
        digits = digits.rjust(least_digits, "0") if value or least_digits else ""
    prefix = ""
    if kind in "di":
        prefix = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    elif "#" in flags and kind in "xX" and value:
        prefix = "0" + kind
    elif "#" in flags and kind == "o" and digits[:1] != "0":
        digits = "0" + digits
    if "-" in flags:
        return (prefix + digits).ljust(width)
    if "0" in flags and least_digits is None:
        return prefix + digits.rjust(width - len(prefix), "0")
    return (prefix + digits).rjust(width)


def _hexadecimal(flags: str, width: int, digits: int | None, value: float) -> str:
    """A number by `%a`: with all digits that are not 0, or as many as the precision, rounded to even."""
    if not math.isfinite(value):
        return _float(f"%{flags}{width or ''}f", value)
    parts: Any = _HEXADECIMAL.fullmatch(value.hex())
    sign, lead, fraction, exponent = parts.groups()
    if digits is None:
        fraction = fraction.rstrip("0")
    elif digits < len(fraction):
        dropped = 16 ** (len(fraction) - digits)
        kept, rest = divmod(int(lead + fraction, 16), dropped)
        kept += rest * 2 > dropped or (rest * 2 == dropped and kept % 2)
        lead, fraction = f"{kept:x}"[:1], f"{kept:x}"[1:]
    fraction = fraction.ljust(digits or 0, "0")
    sign = sign or ("+" if "+" in flags else " " if " " in flags else "")
    body = f"{lead}{'.' if fraction or '#' in flags else ''}{fraction}{exponent}"
    if "0" in flags and "-" not in flags:
        body = body.rjust(width - len(sign) - 2, "0")
    text = f"{sign}0x{body}"
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _float(spec: str, value: float) -> str:
    text = spec % value
    if value != value:  # Python drops the sign of a NaN and pads infinities with zeros
        return text.replace("0", " ") if text.strip("0") != text else text
    return text
