"""The operands of an instruction, as its row has them: how many, and of which kind and type. PTX ISA 9.4.1.

A row's text has a word for each operand:

    1, 2, 3    a value of the first, second, third type among the modifiers: a register whose declared type agrees,
               a constant of that kind, the address of a variable
    u32, pred  a value of this type
    w1         of the first type, twice as wide if `.wide` is among the modifiers
    =1         the same as a destination: a register;  =1_ takes the sink `_` too
    ~1, =~1    a register may be wider than the type (ld, st, cvt), or there is a vector of them
    %1         or a special register, as %tid.x: ptxas takes them in mov and cvt alone
    n          an integer constant
    []         an address in brackets
    *          anything: the emitter looks at it
    x?         may be left out, with all that follow

A register agrees with a type of its size that is of the same kind: integers with integers, floats with the same float,
.b types with all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dsl.emulator.ptx.syntax import SINK, TYPE_BITS, Addr, FloatImm, Imm, Instr, Not, Pair, Reg, Special, Sym, Vec

_WORD = re.compile(r"(=)?(~)?(%)?(?:(w?)([123])|(\[\])|(\*)|(n)|([a-z]+\d*))(_)?(\?)?")
_INTEGER, _BITS = re.compile(r"[us]\d+"), re.compile(r"b\d+|\w+x2")


@dataclass(frozen=True, slots=True)
class Operand:
    """A word of the notation."""

    text: str
    is_written: bool
    is_loose: bool  # a wider register, or a vector
    takes_special: bool
    place: int  # of its type among those of the modifiers, from 1; 0: `type` says it
    may_be_wide: bool
    type: str
    takes_sink: bool
    is_optional: bool

    def problem(self, given: Any, types: Sequence[str], modifiers: Sequence[str]) -> str:
        """What it must be, if it is not that; else ''."""
        if self.text == "*":
            return ""
        if self.text == "[]":
            return "" if type(given) is Addr else "an address in brackets"
        if self.text == "n":
            return "" if type(given) is Imm else "an integer constant"
        wanted = types[self.place - 1] if self.place and self.place <= len(types) else self.type
        if not wanted or (self.is_loose and type(given) is Vec):
            return ""
        bits = TYPE_BITS[wanted]
        if self.may_be_wide and "wide" in modifiers:
            wanted, bits = f"{wanted[0]}{2 * bits}", 2 * bits
        if self.is_written:
            return self._unwritable(given, wanted, bits)
        if type(given) is Special and not self.takes_special:
            return f"a value of .{wanted} that is no special register (`mov` it into one)"
        return "" if _is_value(given, wanted, bits, self.is_loose) else f"a value of .{wanted}"

    def _unwritable(self, given: Any, wanted: str, bits: int) -> str:
        if type(given) is Pair:  # d|p, of which either may be the sink
            fits = given.first is SINK or _agrees(given.first, wanted, bits, self.is_loose)
            fits &= given.second is SINK or _agrees(given.second, "pred", 1)
            return "" if fits else f"a register of .{wanted} and one of .pred"
        if given is SINK or given == SINK:
            return "" if self.takes_sink else f"a register of .{wanted}, as this form has no `_`"
        return "" if _agrees(given, wanted, bits, self.is_loose) else f"a register of .{wanted}"


def _shown(given: Any) -> str:
    match given:
        case Reg():
            return f"`{given.name.partition('@')[0]}`, a register of .{given.type}"
        case Imm():
            return str(given.value)
        case Addr():
            return "an address in brackets"
        case Vec():
            return "a vector"
        case FloatImm():
            return "a float constant"
    return f"`{given.name}`" if hasattr(given, "name") else "something else"


def _is_value(given: Any, wanted: str, bits: int, is_loose: bool) -> bool:
    kind = type(given)
    if kind is Reg:
        return _agrees(given, wanted, bits, is_loose)
    if kind is Imm:
        return wanted[0] in "usb" or wanted == "pred"
    if kind is FloatImm:
        return wanted[0] == "f" or (_is_bits(wanted) and given.width == bits)  # 0f3F800000 as 32 bits
    if kind is Not:
        return wanted == "pred" and _agrees(given.item, "pred", 1)
    return kind in (Special, Sym)


def _agrees(given: Any, wanted: str, bits: int, is_loose: bool = False) -> bool:
    if type(given) is not Reg:
        return False
    if given.bits != bits and not (is_loose and given.bits > bits):
        return False
    declared = given.type
    if not declared or declared == wanted or _is_bits(declared) or _is_bits(wanted):
        return True
    return _INTEGER.fullmatch(declared) is not None and _INTEGER.fullmatch(wanted) is not None


def _is_bits(kind: str) -> bool:
    """Whether a type agrees with all of its size: .b16, and packed ones such as .f16x2 (ptxas takes these so)."""
    return _BITS.fullmatch(kind) is not None


@functools.cache
def read(text: str) -> tuple[Operand, ...]:
    """The operands of a row's text. Raises ValueError for a word that is none of the notation."""
    found = []
    for word in text.split():
        match = _WORD.fullmatch(word)
        if match is None or (match[9] and match[9] not in TYPE_BITS):
            raise ValueError(f"{word!r} is no operand")
        written, loose, special, wide, place, *others, kind, sink, optional = match.groups()
        bare = "".join(filter(None, others))
        before = bool(written), bool(loose), bool(special)
        found.append(Operand(bare, *before, int(place or 0), bool(wide), kind or "", bool(sink), bool(optional)))
    return tuple(found)


@functools.cache
def types_of(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """The types among the modifiers of an instruction, in their order."""
    return tuple(each for each in modifiers if each in TYPE_BITS)


def problem(text: str, instr: Instr) -> str:
    """What is wrong with the operands of an instruction, or ''."""
    wanted, given = read(text), instr.operands
    least = sum(not one.is_optional for one in wanted)
    if not least <= len(given) <= len(wanted):
        counts = " or ".join(map(str, range(least, len(wanted) + 1))) if wanted else "no"
        return f"`{instr.opcode}` takes {counts} operand{'s' * (counts != '1')}, got {len(given)}"
    types = types_of(instr.mods)
    for place, (one, operand) in enumerate(zip(wanted, given), 1):
        if why := one.problem(operand, types, instr.mods):
            return f"operand {place} must be {why}, got {_shown(operand)}"
    return ""
