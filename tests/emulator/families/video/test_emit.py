"""Video instructions against the pseudocode of PTX ISA 9.7.18, in Python's unbounded integers."""

from __future__ import annotations

import itertools
import operator
import random

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.arithmetic.test_integer import clamp, patterns

TYPES = ("u32", "s32")
PARTS = ("", "b0", "b1", "b2", "b3", "h0", "h1")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
FIRST = {
    "vadd": operator.add,
    "vsub": operator.sub,
    "vmin": min,
    "vmax": max,
    "vabsdiff": lambda a, b: abs(a - b),
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
}
SECOND = {"add": operator.add, "min": min, "max": max}
WORDS = [patterns("u32", seed, 400).astype(np.uint32) for seed in (1, 2, 3)]


def bits(part: str) -> int:
    return {"b": 8, "h": 16, "": 32}[part[:1]]


def extended(value: int, size: int, kind: str) -> int:
    value &= (1 << size) - 1
    return value - (1 << size) if kind[0] == "s" and value >> size - 1 else value


def taken(value: int, part: str, kind: str) -> int:
    return extended(value >> bits(part) * int(part[1:] or 0), bits(part), kind)


def finished(value: int, kind: str, sat: bool, second: str, into: str, c: int) -> int:
    """optSaturate, optSecOp, optMerge."""
    if sat:
        value = clamp(value, f"{kind[0]}{bits(into)}")
    if second:
        return SECOND[second](value, extended(c, 32, kind))
    if into:
        ones, place = (1 << bits(into)) - 1, bits(into) * int(into[1:])
        return (value & ones) << place | c & ~(ones << place)
    return value


def spelled(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name


def agrees(machine, text: str, function) -> None:
    got = machine.each(text, *WORDS, out=np.uint32)
    want = [function(*map(int, row)) & 0xFFFFFFFF for row in zip(*WORDS)]
    np.testing.assert_array_equal(got, np.array(want, np.uint32), err_msg=text)


ENDINGS = [("", ""), *((each, "") for each in SECOND), *(("", part) for part in PARTS[1:])]
SCALAR = [
    (opcode, types, sat, *random.Random(str((opcode, types, sat))).sample(ENDINGS, 2))
    for opcode in ("vadd", "vsub", "vmin", "vmax", "vabsdiff")
    for types in itertools.product(TYPES, repeat=3)
    for sat in (False, True)
]


@pytest.mark.parametrize("opcode, types, sat, one, two", SCALAR)
def test_scalar(machine, opcode, types, sat, one, two):
    for number, (second, into) in enumerate((("", ""), one, two)):
        part_a, part_b = PARTS[(len(opcode) + number) % 7], PARTS[(len(second) + 3 * number) % 7]
        name = ".".join(filter(None, (opcode, *types, sat and "sat", second)))
        third = ", %c" if second or into else ""
        text = f"{name} {spelled('%d', into)}, {spelled('%a', part_a)}, {spelled('%b', part_b)}{third};"

        def expected(a, b, c):
            value = FIRST[opcode](taken(a, part_a, types[1]), taken(b, part_b, types[2]))
            return finished(value, types[0], sat, second, into, c)

        agrees(machine, text, expected)


SHIFTS = itertools.product(("vshl", "vshr"), TYPES, TYPES, (False, True), ("clamp", "wrap"), ("", "add", "max"))


@pytest.mark.parametrize("opcode, kind, of_a, sat, mode, second", [*SHIFTS])
def test_shifts(machine, opcode, kind, of_a, sat, mode, second):
    part_a, part_b = ("h1", "b0") if mode == "wrap" else ("", "h0" if sat else "")
    name = ".".join(filter(None, (opcode, kind, of_a, "u32", sat and "sat", mode, second)))

    def expected(a, b, c):
        amount = taken(b, part_b, "u32")
        amount = min(amount, 32) if mode == "clamp" else amount & 31
        value = taken(a, part_a, of_a)
        return finished(value << amount if opcode == "vshl" else value >> amount, kind, sat, second, "", c)

    third = ", %c" if second else ""
    agrees(machine, f"{name} %d, {spelled('%a', part_a)}, {spelled('%b', part_b)}{third};", expected)


SIGNS = [("", "", ""), ("-", "", ""), ("", "-", ""), ("-", "-", ""), ("", "", "-"), ("po", "", "")]
PRODUCTS = itertools.product(TYPES, TYPES, SIGNS, (False, True), ("", "shr7", "shr15"))


@pytest.mark.parametrize("of_a, of_b, signs, sat, scale", [*PRODUCTS])
def test_multiply_add(machine, of_a, of_b, signs, sat, scale):
    adds_one = signs[0] == "po"
    sign_a, sign_b, sign_c = ("", "", "") if adds_one else signs
    part_a, part_b = ("h0", "b3") if sat and scale else ("", "h1" if scale else "")
    name = ".".join(filter(None, ("vmad.s32", of_a, of_b, adds_one and "po", sat and "sat", scale)))
    text = f"{name} %d, {sign_a}{spelled('%a', part_a)}, {sign_b}{spelled('%b', part_b)}, {sign_c}%c;"
    negates = (sign_a == "-") != (sign_b == "-")
    is_signed = "s32" in (of_a, of_b) or negates or sign_c == "-"

    def expected(a, b, c):
        total = taken(a, part_a, of_a) * taken(b, part_b, of_b)
        c = extended(c, 32, "s32" if is_signed else "u32")
        total = (-total if negates else total) + (-c if sign_c and not negates else c) + adds_one
        total >>= int(scale[3:] or 0)
        return clamp(total, "s32" if is_signed else "u32") if sat else total

    agrees(machine, text, expected)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("second, into", [("", ""), ("add", ""), ("min", ""), ("max", ""), ("", "b2"), ("", "h1")])
def test_set(machine, comparison, second, into):
    for of_a, of_b in itertools.product(TYPES, TYPES):
        name = ".".join(filter(None, ("vset", of_a, of_b, comparison, second)))
        third = ", %c" if second or into else ""

        def expected(a, b, c):
            flag = getattr(operator, comparison)(taken(a, "h1", of_a), taken(b, "b1", of_b))
            return finished(int(flag), "u32", False, second, into, c)

        agrees(machine, f"{name} {spelled('%d', into)}, %a.h1, %b.b1{third};", expected)


MASKS = {2: ("", "h0", "h1", "h10"), 4: ("", *(f"b{number}" for number in (0, 1, 10, 2, 20, 210, 3, 310, 32, 321)))}
DEFAULTS = {2: ("h10", "h32"), 4: ("b3210", "b7654")}
PICKS = {2: ("", "h00", "h31", "h23"), 4: ("", "b7531", "b0000", "b1647")}
VECTORS = [
    (f"{opcode}{lanes}", lanes, types, how)
    for opcode in FIRST
    for lanes in (2, 4)
    for types in itertools.product(TYPES, repeat=3)
    for how in ("", "sat", "add")
]


def of_lanes(a: int, b: int, c: int, lanes: int, mask: str, picks: tuple, types: tuple, adds: bool, function) -> int:
    size = 32 // lanes
    picks = [pick or whole for pick, whole in zip(picks, DEFAULTS[lanes])]
    total = c
    for lane in range(lanes):
        if mask and str(lane) not in mask[1:]:
            continue
        one, two = (
            extended((a | b << 32) >> size * int(pick[1:][::-1][lane]), size, kind) for pick, kind in zip(picks, types)
        )
        value, ones = function(one, two), (1 << size) - 1
        total = total + value if adds else total & ~(ones << size * lane) | (value & ones) << size * lane
    return total


@pytest.mark.parametrize("opcode, lanes, types, how", VECTORS)
def test_vectors(machine, opcode, lanes, types, how):
    number = VECTORS.index((opcode, lanes, types, how))
    mask = MASKS[lanes][number % len(MASKS[lanes])]
    picks = PICKS[lanes][number % 3], PICKS[lanes][number // 3 % 4]

    def one(a, b):
        value = FIRST[opcode[:-1]](a, b)
        return clamp(value, f"{types[0][0]}{32 // lanes}") if how == "sat" else value

    def expected(a, b, c):
        return of_lanes(a, b, c, lanes, mask, picks, types[1:], how == "add", one)

    name = ".".join(filter(None, (opcode, *types, how)))
    agrees(
        machine, f"{name} {spelled('%d', mask)}, {spelled('%a', picks[0])}, {spelled('%b', picks[1])}, %c;", expected
    )


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("lanes, adds", [*itertools.product((2, 4), (False, True))])
def test_vector_set(machine, comparison, lanes, adds):
    mask = MASKS[lanes][1 + COMPARISONS.index(comparison) % 3]
    for types in itertools.product(TYPES, TYPES):
        name = ".".join(filter(None, (f"vset{lanes}", *types, comparison, adds and "add")))

        def expected(a, b, c):
            return of_lanes(a, b, c, lanes, mask, ("", ""), types, adds, getattr(operator, comparison))

        agrees(machine, f"{name} {spelled('%d', mask)}, %a, %b, %c;", expected)


@pytest.mark.parametrize("text, message", [
    ("vadd.u32.u32.u32 %d.h0, %a, %b;", "a fourth operand is missing"),
    ("vadd.u32.u32.u32.add %d, %a, %b;", "a fourth operand is missing"),
    ("vadd.u32.u32.u32.add %d.b0, %a, %b, %c;", "not both"),
    ("vadd.u32.u32.u32 %d, %a.h2, %b;", "`.h2` is not a part"),
    ("vadd.u32.u32.u32 %d, -%a, %b;", "`.-` is not a part"),
    ("vadd.u32.u32.u32.add %d, %a, %b, %c.b0;", "`.b0` is not a part"),
    ("vmad.u32.u32.u32 %d.h0, %a, %b, %c;", "only the factors have parts"),
    ("vmad.u32.u32.u32.po %d, -%a, %b, %c;", ".po does not go with"),
    ("vset2.u32.u32.eq %d.h01, %a, %b, %c;", "`.h01` is not a part"),
    ("vadd4.u32.u32.u32 %d, %a.b7, %b, %c;", "`.b7` is not a part"),
    ("vadd4.u32.u32.u32 %d, %a.b8000, %b, %c;", "`.b8000` is not a part"),
    ("add.u32 %d, %a.h0, %b;", "`add` takes no part of a register"),
    ("sub.u32 %d, %a, -%b;", "`sub` takes no part of a register and no negated one"),
])  # fmt: skip
def test_parts_that_no_instruction_has(machine, text, message):
    with pytest.raises(emulator.PtxError, match="(?s)" + message.replace(".", r"\.")):
        machine.each(text, *WORDS, out=np.uint32)
