"""Binary float formats: what their bits mean, and Python floats rounded to them.

A row gives the widths of exponent and fraction and what the highest exponent holds: `ieee` infinities and NaNs, `fn`
one NaN and no infinity (all ones), `fnuz` one NaN in the place of -0, `finite` numbers only, `scale` powers of two
alone and one NaN.  OCP Microscaling Formats 1.0; OFP8; IEEE 754.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Format:
    """One float format; `bias` is the bias of the exponent."""

    exponent_bits: int
    fraction_bits: int
    specials: str
    bias: int

    @property
    def sign_bit(self) -> int:
        """The position of the sign (of `scale`, which has none, the width)."""
        return self.exponent_bits + self.fraction_bits

    @cached_property
    def greatest_code(self) -> int:
        """The bits of the greatest finite number."""
        codes = 1 << self.sign_bit
        if self.specials == "ieee":
            return codes - (1 << self.fraction_bits) - 1
        return codes - 2 if self.specials in ("fn", "scale") else codes - 1

    @property
    def nan_code(self) -> int | None:
        codes = 1 << self.sign_bit
        return {
            "ieee": codes - (1 << max(self.fraction_bits - 1, 0)),
            "fn": codes - 1,
            "scale": codes - 1,
            "fnuz": codes,
            "finite": None,
        }[self.specials]

    @property
    def infinity_code(self) -> int | None:
        return self.greatest_code + 1 if self.specials == "ieee" else None

    def encode(self, value: float, saturate: bool = False) -> int:
        """The bits of `value` rounded to nearest even; past the greatest: infinity, else NaN, else the greatest.

        `saturate` keeps finite numbers finite, as .satfinite does.
        """
        if self.specials == "scale":
            return self._encode_scale(value)
        sign = (math.copysign(1, value) < 0) << self.sign_bit
        if math.isnan(value):
            return self._overflow(sign, True)
        if math.isinf(value):
            return sign | self.greatest_code if saturate else self._overflow(sign, False)
        size, least = abs(value), 1 - self.bias
        exponent = max(math.frexp(size)[1] - 1, least) if size else least
        code = round(math.ldexp(size, self.fraction_bits - exponent)) + ((exponent - least) << self.fraction_bits)
        if code > self.greatest_code:
            return sign | self.greatest_code if saturate else self._overflow(sign, False)
        return 0 if self.specials == "fnuz" and not code else sign | code

    def _overflow(self, sign: int, nan: bool) -> int:
        if not nan and self.infinity_code is not None:
            return sign | self.infinity_code
        if self.nan_code is None:
            return sign | self.greatest_code
        return self.nan_code if self.specials == "fnuz" else sign | self.nan_code

    def _encode_scale(self, value: float) -> int:
        if value == 0:
            return 0
        if not value > 0 or math.isinf(value):
            assert self.nan_code is not None
            return self.nan_code
        fraction, exponent = math.frexp(value)
        exponent += self.bias - 1 + (fraction > 0.75 or (fraction == 0.75 and (exponent - 1 + self.bias) % 2 == 1))
        return min(max(exponent, 0), self.greatest_code)

    def decode(self, code: int) -> float:
        """The number that the bits `code` are."""
        if self.specials == "scale":
            return math.nan if code == self.nan_code else math.ldexp(1.0, code - self.bias)
        magnitude, negative = code & ((1 << self.sign_bit) - 1), code >> self.sign_bit & 1
        if self.specials == "fnuz" and code == self.nan_code:
            return math.nan
        if magnitude > self.greatest_code:
            size = math.inf if magnitude == self.infinity_code else math.nan
        else:
            exponent = max(magnitude >> self.fraction_bits, 1)
            fraction = magnitude - ((exponent - 1) << self.fraction_bits)
            size = math.ldexp(fraction, exponent - self.bias - self.fraction_bits)
        return -size if negative else size


FORMATS = {
    "Float64": Format(11, 52, "ieee", 1023),
    "Float32": Format(8, 23, "ieee", 127),
    "TFloat32": Format(8, 23, "ieee", 127),
    "Float16": Format(5, 10, "ieee", 15),
    "BFloat16": Format(8, 7, "ieee", 127),
    "Float8E5M2": Format(5, 2, "ieee", 15),
    "Float8E4M3": Format(4, 3, "ieee", 7),
    "Float8E4M3FN": Format(4, 3, "fn", 7),
    "Float8E4M3B11FNUZ": Format(4, 3, "fnuz", 11),
    "Float8E8M0FNU": Format(8, 0, "scale", 127),
    "Float6E3M2FN": Format(3, 2, "finite", 3),
    "Float6E2M3FN": Format(2, 3, "finite", 1),
    "Float4E2M1FN": Format(2, 1, "finite", 1),
}


def round_to(value: float, name: str) -> float:
    """`value` rounded to nearest even in the float type called `name`, as a Python float."""
    if name == "Float64" or not math.isfinite(value):
        return value
    if name in ("Float32", "TFloat32"):
        try:
            return struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    form = FORMATS[name]
    return form.decode(form.encode(value))
