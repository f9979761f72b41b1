"""Guarded integer divisions as the instruction `div`, which gives by itself what the guard gives.

LLVM's division has undefined cases, so `dsl.core.ir.arithmetic` divides by a divisor that is safe and then selects:
x / 0 is all ones, x % 0 is x, INT_MIN / -1 wraps. PTX's `div` of 32 bits has these values by itself, so the guard's
instructions are for nothing. It is written as inline assembly; LLVM knows that it reads no memory. LLVM makes two ways
of a division of 64 bits, of which the short one divides 32 bits: such divisions stay as LLVM makes them.
"""

from __future__ import annotations

import re

from dsl.lower.llvm_ir import with_each_function

_DIVIDES = re.compile(r"= (?:sdiv|udiv|srem|urem) i32 ")
_DEFINITION = re.compile(
    r"^  (?P<name>%[\w.]+) = (?P<op>icmp eq|select i1|and i1|sdiv|udiv|srem|urem) "
    r"(?P<operands>[^!#\n]*?)(?P<tail>, !.*)?$",
    re.MULTILINE,
)
_SELECT = re.compile(r"(\S+), i32 (\S+), i32 (\S+)")
_LOWEST = str(-(1 << 31))


def divisions_without_guards(llvm_ir: str) -> str:
    """LLVM IR in which each guarded division of 32 bits by a divisor that is not a constant is one instruction."""
    if not _DIVIDES.search(llvm_ir):
        return llvm_ir
    return with_each_function(llvm_ir, lambda function: _Function(function).text())


class _Function:
    """The text of a function, and what its values are that a guard is made of."""

    def __init__(self, text: str):
        self._text = text
        self._defined = {match["name"]: (match["op"], match["operands"]) for match in _DEFINITION.finditer(text)}
        self._quotients: dict[tuple[str, str], str] = {}  # by what is divided and the safe divisor

    def text(self) -> str:
        return _DEFINITION.sub(self._without_guard, self._text)

    def _without_guard(self, line: re.Match) -> str:
        """The select after a division as the instruction; any other line as it is."""
        chosen = line["op"] == "select i1" and _SELECT.fullmatch(line["operands"])
        if not chosen:
            return line[0]
        is_zero, when_zero, otherwise = chosen.groups()
        op, operands = self._defined.get(otherwise, ("", ""))
        if op not in ("sdiv", "udiv", "srem", "urem") or not operands.startswith("i32 "):
            return line[0]
        dividend, safe = operands.removeprefix("i32 ").split(", ")
        divisor = self._guarded(dividend, safe, is_zero, op[0] == "s")
        if divisor is None or when_zero != ("-1" if op.endswith("div") else dividend):
            return line[0]
        name, tail = line["name"], line["tail"] or ""
        call = (
            f'call i32 asm "div.{op[0]}32 $0, $1, $2;", "=r,r,r"(i32 {dividend}, i32 {divisor}) '
            f"memory(none) nounwind willreturn{tail}"
        )
        if op.endswith("div"):
            self._quotients[dividend, safe] = name
            return f"  {name} = {call}"
        stem = name.removeprefix("%")
        quotient = self._quotients.get((dividend, safe))
        lines = [] if quotient else [f"  %quotient.{stem} = {call}"]
        lines.append(f"  %product.{stem} = mul i32 {quotient or f'%quotient.{stem}'}, {divisor}{tail}")
        return "\n".join([*lines, f"  {name} = sub i32 {dividend}, %product.{stem}{tail}"])

    def _guarded(self, dividend: str, safe: str, is_zero: str, signed: bool) -> str | None:
        """The divisor that `safe` is the safe form of, if `is_zero` tests whether it is 0; else None."""
        if signed:
            overflows, safe = self._one_if(safe)
            op, operands = self._defined.get(overflows, ("", ""))
            if op != "and i1":
                return None
            lowest, minus_one = operands.split(", ")
        condition, divisor = self._one_if(safe)
        if not divisor.startswith("%") or condition != is_zero or not self._compares(is_zero, divisor, "0"):
            return None
        if signed and not (self._compares(lowest, dividend, _LOWEST) and self._compares(minus_one, divisor, "-1")):
            return None if lowest != "false" else divisor
        return divisor

    def _one_if(self, name: str) -> tuple[str, str]:
        """The condition and the value of `select condition, 1, value`; empty where it is none."""
        op, operands = self._defined.get(name, ("", ""))
        chosen = op == "select i1" and _SELECT.fullmatch(operands)
        return (chosen[1], chosen[3]) if chosen and chosen[2] == "1" else ("", "")

    def _compares(self, name: str, value: str, number: str) -> bool:
        return self._defined.get(name) == ("icmp eq", f"i32 {value}, {number}")
