"""Values of a thread as linear functions of its index: base + x * sx + y * sy + z * sz, modulo 2^bits.

Base and strides are the same for all threads of a block; where all strides are 0, the value is uniform. One set of
rules serves the analysis (uniform_branches.py), where a base is "?", and the emission (region_code.py), where it is IR
text: each gives `op`, `of` (the form of an operand), `apart` (whether two operands share no bit) and `need_range`.
"""

from __future__ import annotations

from dataclasses import dataclass

FLAT = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Linear:
    """`base` is IR text, a stride an int where it is known, else IR text."""

    base: str
    strides: tuple = FLAT

    @property
    def uniform(self) -> bool:
        return self.strides == FLAT


def signed(value: int, bits: int) -> int:
    """`value` modulo 2^bits, as LLVM writes it."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


def number(value) -> int | None:
    """The int in a base or a stride, None if only the launch knows it."""
    if isinstance(value, int):
        return value
    return int(value) if value.lstrip("-").isdigit() else None


def _binary(f, how: str, a, b, bits: int):
    """a how b for bases or strides; an int where both are known."""
    left, right = number(a), number(b)
    if left is not None and right is not None:
        return signed({"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}[how](left, right), bits)
    if how == "mul" and 0 in (left, right):
        return 0
    if how != "mul" and right == 0:
        return a
    return f.op(f"{how} i{bits} {a}, {b}")


def add(f, a: Linear, b: Linear, bits: int, how: str = "add") -> Linear:
    """The sum, or the difference."""
    rows = [_binary(f, how, x, y, bits) for x, y in zip((a.base, *a.strides), (b.base, *b.strides))]
    return Linear(str(rows[0]), tuple(rows[1:]))


def multiply(f, a: Linear, b: Linear, bits: int) -> Linear | None:
    """The product, if one factor is uniform."""
    if not b.uniform:
        a, b = b, a
    if not b.uniform:
        return None
    rows = [_binary(f, "mul", each, b.base, bits) for each in (a.base, *a.strides)]
    return Linear(str(rows[0]), tuple(rows[1:]))


def choose(f, flag: str, a: Linear, b: Linear, bits: int) -> Linear:
    """a where `flag` holds, else b."""
    rows = []
    for x, y in zip((a.base, *a.strides), (b.base, *b.strides)):
        rows.append(x if x == y else f.op(f"select i1 {flag}, i{bits} {x}, i{bits} {y}"))
    return Linear(str(rows[0]), tuple(rows[1:]))


def resize(f, form: Linear, source: int, target: int, is_signed: bool) -> Linear | None:
    """Fewer bits, or more: those must not wrap for any thread (`need_range`); None where that cannot be asked."""
    if source == target:
        return form

    def cast(how: str, value):
        constant = number(value)
        if constant is not None:
            wide = constant & ((1 << source) - 1) if how == "zext" else constant
            return signed(wide, target)
        return f.op(f"{how} i{source} {value} to i{target}")

    if source > target:
        return Linear(str(cast("trunc", form.base)), tuple(cast("trunc", s) for s in form.strides))
    base = str(cast("sext" if is_signed else "zext", form.base))
    if form.uniform:
        return Linear(base)
    if (source, target) != (32, 64):
        return None
    wide = Linear(base, tuple(cast("sext", s) for s in form.strides))
    half = 1 << (source - 1)
    f.need_range(wide, *((-half, half - 1) if is_signed else (0, 2 * half - 1)))
    return wide


# ** parts of a value, by its bits: None where a carry may pass between them


@dataclass(frozen=True, slots=True)
class Reach:
    """Bounds of a form: `mask` has the bits of its base that may be 1, `last` the greatest coordinates of a block."""

    mask: int
    last: tuple[int, int, int]

    def added(self, strides) -> int:
        """The most that strides add to the base."""
        return sum(stride * last for stride, last in zip(strides, self.last))

    def carries(self, strides, bit: int) -> bool:
        """Whether the base and the strides may carry into a bit from below."""
        return (self.mask & ((1 << bit) - 1)) + self.added(strides) >= 1 << bit


def _split(form: Linear, reach: Reach, bit: int) -> tuple[tuple, tuple] | None:
    """The strides that are multiples of 2^bit, and the others, which with the base stay below it."""
    if not all(isinstance(stride, int) and stride >= 0 for stride in form.strides):
        return None
    upper = tuple(0 if stride % (1 << bit) else stride for stride in form.strides)
    lower = tuple(stride - part for stride, part in zip(form.strides, upper))
    return None if reach.carries(lower, bit) else (upper, lower)


def below(f, form: Linear, reach: Reach, bit: int, bits: int) -> Linear | None:
    """The bits of a value below one, the others as 0."""
    if bit == bits:
        return form
    parts = _split(form, reach, bit)
    return parts and Linear(_masked(f, form.base, (1 << bit) - 1, bits), parts[1])


def from_bit(f, form: Linear, reach: Reach, bit: int, bits: int) -> Linear | None:
    """The bits of a value from one on, the others as 0."""
    parts = _split(form, reach, bit)
    return parts and Linear(_masked(f, form.base, -1 << bit, bits), parts[0])


def shift_right(f, form: Linear, reach: Reach, by: int, bits: int, is_signed: bool) -> Linear | None:
    """A value without its lowest bits; `is_signed`: copies of its sign come in from above."""
    parts = _split(form, reach, by)
    if parts is None:
        return None
    ends = range(by, bits if is_signed else bits + 1)
    if any(parts[0]) and all(reach.carries(form.strides, end) for end in ends):
        return None  # it may wrap around
    base, how = number(form.base), "ashr" if is_signed else "lshr"
    if base is None:
        shifted = f.op(f"{how} i{bits} {form.base}, {by}")
    else:
        shifted = str(signed((signed(base, bits) if is_signed else base & ((1 << bits) - 1)) >> by, bits))
    return Linear(shifted, tuple(stride >> by for stride in parts[0]))


def _masked(f, base: str, mask: int, bits: int) -> str:
    value = number(base)
    return f.op(f"and i{bits} {base}, {signed(mask, bits)}") if value is None else str(signed(value & mask, bits))


# ** what the rules of families have in common


def both(f, instr, bits: int, is_signed: bool) -> tuple[Linear, Linear] | None:
    """The forms of the two sources; None where one has none."""
    a = f.of(instr.operands[1], bits, is_signed)
    b = f.of(instr.operands[2], bits, is_signed) if a is not None else None
    return None if a is None or b is None else (a, b)


def plain(instr) -> bool:
    """Whether its result is taken modulo 2^bits, and it sets no carry."""
    return "sat" not in instr.mods and "cc" not in instr.mods


def fits(instr, bits: int, result: Linear | None) -> Linear | None:
    """The result, if the destination has its size."""
    return result if instr.operands[0].bits == bits else None
