"""The operands of an instruction, as its row has them: how many, and of which kind and type. PTX ISA 9.4.1.

A row's text has a word for each operand:

    1, 2, 3    a value of the first, second, third type among the modifiers: a register whose declared type agrees,
               a constant of that kind, the address of a variable
    u32, pred  a value of this type
    w1         of the first type, twice as wide if `.wide` is among the modifiers
    =1         the same as a destination: a register;  =1_ takes the sink `_` too
    ~1, =~1    a register may be wider than the type (ld, st, cvt), or there is a vector of them
    %1         or a special register, as %tid.x: ptxas takes them in mov and cvt alone
    b32!       a register declared .b32, nothing else
    n          an integer constant;  n=0..4, n=1/-1  one of these
    []         an address in brackets;  [d] of a tensor map, with a coordinate for each dimension
    {4}u32     four values in braces, {x}u32 the number in `.x2` (for tensor memory times the registers of the
               shape), {p}u16 one for each dimension but two
    {v}1       the number in `.v2`, `.v4` or `.v8`; without them a value, in braces or not
    {mk}2      a thread's part of a matrix of m x k elements, in registers of the kind that such elements have;
               {mh}2  the same of half of its columns
    *          anything: the emitter looks at it
    x?         may be left out, with all that follow
    x@sp       is there if, and only if, `.sp` is among the modifiers

`|` separates lists of which the operands must fit one.

A register agrees with a type of its size that is of the same kind: integers with integers, floats with the same float,
.b types with all. `u32` in a row also is for what the ISA calls .b32 and takes no floats, such as masks of lanes.
Values in braces must also agree with each other; if one is a register of a .b type, they need not agree with the type.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dsl.emulator.ptx.syntax import SINK, TYPE_BITS, Addr, FloatImm, Imm, Instr, Not, Pair, Reg, Special, Sym, Vec

_COUNT = r"(?:\{(\d+|x|p|v|mn|mk|mh|kn)\})?"
_BARE = r"(\[d?\])|(\*)|(n)(?:=(-?\d+(?:/-?\d+|\.\.\d+)*))?"
_WORD = re.compile(rf"(=)?(~)?(%)?{_COUNT}(?:(w?)([1-4])|{_BARE}|([a-z]+\d*(?:x2)?))(!)?(_)?(?:(\?)|@([\w:]+))?")
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
REPETITIONS = [f"x{1 << each}" for each in range(8)]
SHAPE_REGISTERS = {"16x128b": 2, "16x256b": 4}  # of tensor memory, for .x1; of other shapes one
# the type of registers that hold elements of a type; elements of other types are in registers of the same type
REGISTER_TYPE = {"f16": "f16x2", "bf16": "bf16x2", "f64": "b64"} | dict.fromkeys(
    ("s8", "u8", "e4m3", "e5m2", "s4", "u4", "b1"), "b32"
)


class Operand(NamedTuple):
    """A word of the notation."""

    text: str
    is_written: bool
    is_loose: bool  # a wider register, or a vector
    takes_special: bool
    count: str  # of values in braces; '': no braces
    place: int  # of its type among the types of the modifiers, from 1; 0: see `type`
    may_be_wide: bool
    type: str
    values: tuple[int, ...]  # of a constant; (): all
    is_exact: bool  # a register declared with the type
    takes_sink: bool
    is_optional: bool
    modifier: str  # with which alone it is there

    def problem(self, given: Any, types: Sequence[str], modifiers: Sequence[str]) -> str:
        """The kind of operand that it must be, and the one given, if it is of another; else ''."""
        match self.text:
            case "*":
                return ""
            case "[]" | "[d]":
                return self._wrong_address(given, modifiers)
            case "n":
                return self._wrong_constant(given)
        wanted = types[self.place - 1] if self.place and self.place <= len(types) else self.type
        if not wanted or (self.is_loose and type(given) is Vec):
            return ""
        if self.may_be_wide and "wide" in modifiers:
            wanted = f"{wanted[0]}{2 * TYPE_BITS[wanted]}"
        if self.count and not (self.count == "v" and type(given) is not Vec and _vector(modifiers) == 1):
            return self._wrong_list(given, wanted, self.number(wanted, modifiers))
        if self.is_exact:
            why = "" if type(given) is Reg and given.type == wanted else f"a register declared .{wanted}"
        elif self.is_written:
            why = self._unwritable(given, wanted)
        elif type(given) is Special and not self.takes_special:
            why = f"a value of .{wanted} other than a special register (`mov` it into another)"
        else:
            why = "" if self._is_value(given, wanted) else f"a value of .{wanted}"
        return why and f"{why}, got {_shown(given)}"

    def _wrong_address(self, given: Any, modifiers: Sequence[str]) -> str:
        if type(given) is not Addr:
            return f"an address in brackets, got {_shown(given)}"
        if type(given.base) is Reg and not (_is_bits(given.base.type) or _is_integer(given.base.type)):
            return f"an integer register in brackets, got {_shown(given.base)}"
        if self.text == "[]":
            return "" if given.coords is None else "an address without coordinates"
        if type(given.coords) is not Vec:
            return "the address of a tensor map and coordinates, `[map, {...}]`"
        why = self._wrong_list(given.coords, "s32", _coordinates(modifiers))
        return why and f"an address and {why}"

    def _wrong_constant(self, given: Any) -> str:
        if type(given) is not Imm:
            return f"an integer constant, got {_shown(given)}"
        if not self.values or given.value in self.values:
            return ""
        numbers = [*map(str, self.values)]
        return (
            f"{' to '.join(numbers[:: len(numbers) - 1]) if numbers[2:] else ' or '.join(numbers)}, got {given.value}"
        )

    def number(self, wanted: str, modifiers: Sequence[str]) -> int:
        """How many values there are in the braces."""
        match self.count:
            case "x":
                times = next(each[1:] for each in modifiers if each in REPETITIONS)
                return int(times) * next((n for each, n in SHAPE_REGISTERS.items() if each in modifiers), 1)
            case "v":
                return _vector(modifiers)
            case "p":
                return _dimensions(modifiers) - 2
            case "mn" | "mk" | "mh" | "kn":
                return _part(self.count, wanted, modifiers)
        return int(self.count)

    def _wrong_list(self, given: Any, wanted: str, count: int) -> str:
        """The list in braces that it must be, and the first difference; '' if there is none."""
        if self.count in ("mn", "mk", "mh", "kn"):
            wanted = REGISTER_TYPE.get(wanted, wanted)
        noun = ("register" if self.is_written else "value") + "s" * (count != 1)
        must = f"{count} {noun} of .{wanted} in braces"
        if type(given) is not Vec:
            return f"{must}, got {_shown(given)}"
        if len(given.items) != count:
            return f"{must}, got {len(given.items)}"
        wrong = self._stranger(given.items, wanted)
        return "" if wrong is None else f"{must}, got {_shown(wrong)}, among them"

    def _stranger(self, items: tuple, wanted: str) -> Any:
        """The first of the items in braces that does not agree with the others, or with the type; None if all do."""
        if all(each == SINK for each in items):
            return items[0]
        kinds = [each for item in items if (each := _kind(item, TYPE_BITS[wanted]))]
        if any(map(_is_bits, [wanted, *kinds])):
            wanted = next((each for each in kinds if not _is_bits(each)), wanted)
        return next((each for each in items if not self._is_item(each, wanted)), None)

    def _is_item(self, item: Any, wanted: str) -> bool:
        if item == SINK:
            return self.takes_sink
        if self.is_written:
            return self._agrees(item, wanted)
        return type(item) is Special or (type(item) is not Not and self._is_value(item, wanted))

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
                return _is_integer(wanted) or _is_bits(wanted) or wanted == "pred"
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


def _kind(item: Any, bits: int) -> str:
    """The type of an item in braces if it can be of `bits`; else ''."""
    match item:
        case Reg():
            return item.type if item.bits == bits else ""
        case Imm():
            return f"s{bits}"
        case FloatImm():
            return f"f{bits}"
    return ""


def _vector(modifiers: Sequence[str]) -> int:
    return next((int(each[1:]) for each in modifiers if each in ("v2", "v4", "v8")), 1)


def _coordinates(modifiers: Sequence[str]) -> int:
    """A coordinate for each dimension, or a column and four rows."""
    return 5 if {"tile::gather4", "tile::scatter4"} & {*modifiers} else _dimensions(modifiers)


def _dimensions(modifiers: Sequence[str]) -> int:
    return next(int(each[0]) for each in modifiers if each in ("1d", "2d", "3d", "4d", "5d"))


def _part(sides: str, kind: str, modifiers: Sequence[str]) -> int:
    """How many registers of a thread hold its part of a matrix: a warp has it, or a warpgroup; or, of the shape
    m8n8k4 of f16, eight threads."""
    m, n, k = next(tuple(map(int, found.groups())) for each in modifiers if (found := _SHAPE.fullmatch(each)))
    extents = {"m": m, "n": n, "k": k, "h": k // 2}
    threads = 128 if m == 64 else 8 if (m, n, k) == (8, 8, 4) and "f64" not in modifiers else 32
    bits = extents[sides[0]] * extents[sides[1]] * TYPE_BITS[kind] // threads
    return bits // (64 if kind == "f64" else 32)


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
def read(text: str) -> tuple[tuple[Operand, ...], ...]:
    """The lists of operands of a row's text. Raises ValueError for a word that is none of the notation."""
    return tuple(tuple(map(_read_word, each.split())) for each in text.split("|"))


def _read_word(word: str) -> Operand:
    match = _WORD.fullmatch(word)
    if match is None or (match[11] and match[11] not in TYPE_BITS):
        raise ValueError(f"{word!r} is not an operand")
    written, loose, special, count, wide, place, *bare, values, kind, exact, sink, optional, modifier = match.groups("")
    before = bool(written), bool(loose), bool(special), count, int(place or 0), bool(wide)
    return Operand("".join(bare), *before, kind, _values(values), bool(exact), bool(sink), bool(optional), modifier)


def _values(text: str) -> tuple[int, ...]:
    first, _, last = text.partition("..")
    return tuple(range(int(first), int(last) + 1)) if last else tuple(map(int, filter(None, first.split("/"))))


@functools.cache
def types_of(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """The types among the modifiers of an instruction, in their order."""
    return tuple(each for each in modifiers if each in TYPE_BITS)


def problem(text: str, instr: Instr) -> str:
    """The problem with the operands of an instruction, or ''."""
    counts, given = by_count(text, instr.mods), len(instr.operands)
    if given not in counts:
        known = " or ".join(map(str, sorted(counts))) if any(counts) else "no"
        return f"`{instr.opcode}` takes {known} operand{'s' * (known != '1')}, got {given}"
    return max(_problem(each, instr) for each in counts[given])[1]


@functools.cache
def by_count(text: str, modifiers: tuple[str, ...]) -> dict[int, list[tuple[Operand, ...]]]:
    """The lists of operands of an instruction with these modifiers, by how many operands they take."""
    found: dict[int, list[tuple[Operand, ...]]] = {}
    for words in read(text):
        there = tuple(each for each in words if not each.modifier or each.modifier in modifiers)
        for count in range(sum(not each.is_optional for each in there), len(there) + 1):
            found.setdefault(count, []).append(there[:count])
    return found


def _problem(wanted: Sequence[Operand], instr: Instr) -> tuple[int, str]:
    """The number of the first operand that is of another kind, and the problem; if there is none, a higher one."""
    types = types_of(instr.mods)
    for place, (one, operand) in enumerate(zip(wanted, instr.operands), 1):
        if why := one.problem(operand, types, instr.mods):
            return place, f"operand {place} must be {why}"
    return len(wanted) + 1, ""
