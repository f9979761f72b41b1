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
.b types with all. `u32` in a row also is for what the ISA calls .b32 and takes no floats, such as masks of lanes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dsl.emulator.ptx.syntax import SINK, TYPE_BITS, Addr, FloatImm, Imm, Instr, Not, Pair, Reg, Special, Sym, Vec

_WORD = re.compile(r"(=)?(~)?(%)?(?:(w?)([123])|(\[\])|(\*)|(n)|([a-z]+\d*))(_)?(\?)?")


@dataclass(frozen=True, slots=True)
class Operand:
    """A word of the notation."""

    text: str
    is_written: bool
    is_loose: bool  # a wider register, or a vector
    takes_special: bool
    place: int  # of its type among the types of the modifiers, from 1; 0: see `type`
    may_be_wide: bool
    type: str
    takes_sink: bool
    is_optional: bool

    def problem(self, given: Any, types: Sequence[str], modifiers: Sequence[str]) -> str:
        """The kind of operand that it must be, if it is of another; else ''."""
        if self.text == "*":
            return ""
        if self.text == "[]":
            return "" if type(given) is Addr else "an address in brackets"
        if self.text == "n":
            return "" if type(given) is Imm else "an integer constant"
        wanted = types[self.place - 1] if self.place and self.place <= len(types) else self.type
        if not wanted or (self.is_loose and type(given) is Vec):
            return ""
        if self.may_be_wide and "wide" in modifiers:
            wanted = f"{wanted[0]}{2 * TYPE_BITS[wanted]}"
        if self.is_written:
            return self._unwritable(given, wanted)
        if type(given) is Special and not self.takes_special:
            return f"a value of .{wanted} other than a special register (`mov` it into another)"
        return "" if self._is_value(given, wanted) else f"a value of .{wanted}"

    def _unwritable(self, given: Any, wanted: str) -> str:
        if type(given) is Pair:  # d|p, of which either may be the sink
            fits = given.first == SINK or self._agrees(given.first, wanted)
            fits &= given.second == SINK or self._agrees(given.second, "pred")
            return "" if fits else f"a register of .{wanted} and one of .pred"
        if given == SINK:
            return "" if self.takes_sink else f"a register of .{wanted}, as this form has no `_`"
        return "" if self._agrees(given, wanted) else f"a register of .{wanted}"

    def _is_value(self, given: Any, wanted: str) -> bool:
        match given:
            case Reg():
                return self._agrees(given, wanted)
            case Imm():
                return wanted[0] in "usb" or wanted == "pred"
            case FloatImm():  # 0f3F800000 is also 32 bits
                return wanted in ("f32", "f64") or (_is_bits(wanted) and given.width == TYPE_BITS[wanted])
            case Not():
                return wanted == "pred" and self._agrees(given.item, wanted)
        return type(given) in (Special, Sym)

    def _agrees(self, given: Any, wanted: str) -> bool:
        """Whether a register's declared type agrees with the type of the operand.

        ptxas also takes registers of packed types as integers, but not for an operand whose type no modifier gives.
        """
        bits = TYPE_BITS[wanted]
        if type(given) is not Reg or not (given.bits == bits or (self.is_loose and given.bits > bits)):
            return False
        declared = given.type
        if not declared or declared == wanted or _is_bits(declared) or _is_bits(wanted):
            return True
        return _is_integer(wanted) and (_is_integer(declared) or (self.place > 0 and declared.endswith("x2")))


def _is_bits(kind: str) -> bool:
    return kind[0] == "b" and kind[1:].isdigit()


def _is_integer(kind: str) -> bool:
    return kind[0] in "us" and kind[1:].isdigit()


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


@functools.cache
def read(text: str) -> tuple[Operand, ...]:
    """The operands of a row's text. Raises ValueError for a word that is none of the notation."""
    found = []
    for word in text.split():
        match = _WORD.fullmatch(word)
        if match is None or (match[9] and match[9] not in TYPE_BITS):
            raise ValueError(f"{word!r} is not an operand")
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
    """The problem with the operands of an instruction, or ''."""
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
