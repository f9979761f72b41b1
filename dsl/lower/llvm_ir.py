"""llvm dialect text to LLVM IR text that llvmlite reads: the one adapter between two LLVM versions.

The MLIR bindings print LLVM 24, llvmlite 0.50 reads LLVM 22. Four things differ or get lost, and are put right here:
float constants, `convergent` on inline assembly, attributes of intrinsics, and the contraction NVIDIA's compiler does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dsl.core.ir import mlir
from dsl.lower.passes import LoweringError


def to_llvm_ir(llvm_dialect_text: str, contract: bool = False) -> str:
    """LLVM IR for llvmlite. `contract` lets `a * b + c` become one fma, as NVIDIA does in kernels but not on hosts."""
    try:
        text = mlir.translate_to_llvm_ir(llvm_dialect_text)
    except mlir.ir.MLIRError as error:
        raise LoweringError("translation to LLVM IR", str(error)) from None
    return adapt(text, contract)


_FUNCTION = re.compile(r"^define .*?^}", re.MULTILINE | re.DOTALL)


def with_each_function(llvm_ir: str, change: Callable[[str], str]) -> str:
    """LLVM IR in which the text of each function that is defined is what `change` makes of it."""
    return _FUNCTION.sub(lambda function: change(function[0]), llvm_ir)


def adapt(newer_text: str, contract: bool = False) -> str:
    """LLVM 24 text as LLVM 22 text of the same meaning."""
    lines = [_adapt_line(line, contract) for line in newer_text.split("\n")]
    if contract:
        _keep_rounded(lines)
    if "bfloat" in newer_text and _TO_HALF.search(newer_text):
        lines = [_BFLOAT_EXTENSION.sub(_by_bits, line) for line in lines]
    return "\n".join(_without_unused_attribute_groups(lines))


_CONTRACTABLE = re.compile(
    r"(= (?:(?:fadd|fsub|fmul) |call (?=(?:float|double) @llvm\.vector\.reduce\.fadd)))(?!.*\b(?:contract|fast)\b)"
)


_PRODUCT = re.compile(r"  (%[\w.]+) = fmul contract ")
_ROUNDED = re.compile(r" = fptrunc (?:<[^>]*>|\w+) (%[\w.]+) to ")


def _keep_rounded(lines: list[str]) -> None:
    """A product that is rounded to a narrower type stays out of an fma:
    LLVM computes it in that type, and would fuse it."""
    products: dict[str, int] = {}
    for index, line in enumerate(lines):
        if line.startswith("define "):
            products.clear()
        elif product := _PRODUCT.match(line):
            products[product[1]] = index
        elif (product := _ROUNDED.search(line)) and product[1] in products:
            at = products[product[1]]
            lines[at] = lines[at].replace("fmul contract ", "fmul ", 1)


def _adapt_line(line: str, contract: bool) -> str:
    if line.startswith("declare ") and " @llvm." in line:
        return _INTRINSIC_ATTRIBUTES.sub("", line)
    if " asm " in line and "call " in line:
        line = _ASM_TAIL.sub(r"\1 convergent\2", line)
    if contract and line.startswith("  %"):
        line = _CONTRACTABLE.sub(r"\1contract ", line)
    if _FLOAT_TYPE.search(line):
        line = convert_float_constants(line)
    return line


# --- bfloat and half ----------------------------------------------------------------------------------------------

_TO_HALF = re.compile(r"\bfptrunc .* to (?:half|<\d+ x half>)")
_BFLOAT_EXTENSION = re.compile(
    r"^( *)(%[\w.]+) = fpext (bfloat|<(\d+) x bfloat>) (\S+) to "
    r"((?:<\d+ x )?(?:float|double)>?)(, !.*)?$"
)


def _by_bits(bitcast: re.Match) -> str:
    """An extension of bfloat as a shift of its bits.

    instcombine computes the half of `fptrunc (frem (fpext bfloat %x to float), 5.0) to half` in half, and of fadd, fsub
    and fmul too: it takes bfloat, with fewer bits of fraction, for a narrower type. But half has fewer bits of
    exponent, so that numbers past 65504 become infinities. It does not look through a shift.
    """
    indent, name, source, count, value, target, place = bitcast.groups(default="")
    short, word, single = (f"<{count} x {type_}>" if count else type_ for type_ in ("i16", "i32", "float"))
    sixteen = "<" + ", ".join(["i32 16"] * int(count)) + ">" if count else "16"
    part = "%bf." + name[1:]
    steps = [
        f"{part}.short = bitcast {source} {value} to {short}",
        f"{part}.word = zext {short} {part}.short to {word}",
        f"{part}.bits = shl {word} {part}.word, {sixteen}",
    ]
    if "double" in target:
        steps += [
            f"{part}.single = bitcast {word} {part}.bits to {single}",
            f"{name} = fpext {single} {part}.single to {target}",
        ]
    else:
        steps.append(f"{name} = bitcast {word} {part}.bits to {target}")
    return "\n".join(indent + step + place for step in steps)


# --- inline assembly and attributes -------------------------------------------------------------------------------

_ASM_TAIL = re.compile(r"^(.*\))((?: #\d+)?(?:, ![\w.]+ !\d+)*)$")
_INTRINSIC_ATTRIBUTES = re.compile(r" #\d+$")  # LLVM 22 gives an intrinsic its own attributes when it reads it
_GROUP = re.compile(r"^attributes (#\d+) = ")
_GROUP_USE = re.compile(r"#\d+")


def _without_unused_attribute_groups(lines: list[str]) -> list[str]:
    used = {use for line in lines if not _GROUP.match(line) for use in _GROUP_USE.findall(line)}
    return [line for line in lines if not (group := _GROUP.match(line)) or group[1] in used]


# --- float constants ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Format:
    prefix: str
    width: int
    mantissa_bits: int

    @property
    def exponent_bits(self) -> int:
        return self.width - 1 - self.mantissa_bits


_FORMATS = {
    "half": _Format("0xH", 16, 10),
    "bfloat": _Format("0xR", 16, 7),
    "float": _Format("0x", 32, 23),
    "double": _Format("0x", 64, 52),
}
_FLOAT_TYPE = re.compile(r"\b(?:half|bfloat|float|double)\b")
_TOKEN = re.compile(
    r'"[^"]*"'  # strings and quoted names: untouched
    r"|[%@!][-\w.$]+"  # names
    r"|(?P<type>\b(?:half|bfloat|float|double)\b)"
    r"|(?P<hex>\bf0x[0-9A-Fa-f]+)"
    r"|(?P<special>[+-](?:inf\b|qnan\b|s?nan\(0x[0-9A-Fa-f]+\)))"
    r"|(?P<decimal>[+-]?\b\d+\.\d*(?:[eE][+-]?\d+)?)"
)


def convert_float_constants(line: str) -> str:
    """Every float constant of `line` as a bit pattern of the float type last named before it."""
    current: list[str] = []

    def convert(token: re.Match) -> str:
        kind = token.lastgroup
        if kind is None:
            return token[0]
        if kind == "type":
            current[:] = [token[0]]
            return token[0]
        if not current:
            return token[0]
        return _constant(_bits(kind, token[0], _FORMATS[current[0]]), current[0])

    return _TOKEN.sub(convert, line)


def _bits(kind: str, text: str, format_: _Format) -> int:
    if kind == "hex":
        return int(text[3:], 16)
    if kind == "decimal":
        return encode(Fraction(text), text.startswith("-"), format_.exponent_bits, format_.mantissa_bits)
    sign = int(text[0] == "-") << (format_.width - 1)
    infinity = ((1 << format_.exponent_bits) - 1) << format_.mantissa_bits
    quiet = 1 << (format_.mantissa_bits - 1)
    if text[1:] == "inf":
        return sign | infinity
    if text[1:] == "qnan":
        return sign | infinity | quiet
    payload = int(text[text.index("(") + 1 : -1], 16)
    return sign | infinity | payload | (0 if text[1] == "s" else quiet)


def encode(value: Fraction, negative: bool, exponent_bits: int, mantissa_bits: int) -> int:
    """The bits of `value` rounded to nearest even in one step (a decimal through double would round twice)."""
    sign = int(negative) << (exponent_bits + mantissa_bits)
    magnitude = abs(value)
    if not magnitude:
        return sign
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    units = round(magnitude / Fraction(2) ** (exponent - mantissa_bits))  # Python rounds halves to even
    return sign | units + ((exponent + bias - 1) << mantissa_bits)


def _constant(bits: int, type_: str) -> str:
    """A constant LLVM 22 reads; a signalling float NaN has no literal there that keeps its payload."""
    format_ = _FORMATS[type_]
    if type_ != "float":
        return f"{format_.prefix}{bits:0{format_.width // 4}X}"
    exponent, mantissa = bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF and mantissa and not mantissa & 0x400000:
        return f"bitcast (i32 {bits} to float)"
    return f"0x{_as_double(bits):016X}"


def _as_double(bits: int) -> int:
    """The double of the same value as float `bits`: LLVM writes float constants that way."""
    sign, exponent, mantissa = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return sign << 63 | 0x7FF << 52 | mantissa << 29
    if exponent == 0 and mantissa:
        shift = 24 - mantissa.bit_length()
        return sign << 63 | (1023 - 126 - shift) << 52 | (mantissa << shift & 0x7FFFFF) << 29
    return sign << 63 | ((exponent + 896) << 52 if exponent else 0) | mantissa << 29
