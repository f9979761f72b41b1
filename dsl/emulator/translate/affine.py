"""Values of a thread as linear functions of its index: base + x * sx + y * sy + z * sz, modulo 2^bits.

Base and strides are the same for all threads of a block; where all strides are 0, the value is uniform. One set of
rules serves the analysis (uniform_branches.py), where a base is "?", and the emission (region_code.py), where it is IR
text: each gives `op`, `of` (the form of an operand), `apart` (whether two operands share no bit) and `need_range`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsl.emulator.ptx.syntax import FLOATS, SIGNED, TYPE_BITS, Reg, Vec, type_of

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
    """The int behind a base or a stride, None where only the launch knows it."""
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


# ** instructions that keep a form


def transfer(f, instr) -> Linear | None:
    """The form of what `instr` writes to its only destination, where that follows from the forms of what it reads."""
    rule = _RULES.get(instr.opcode)
    if rule is None or not isinstance(instr.operands[0], Reg) or any(isinstance(o, Vec) for o in instr.operands):
        return None
    kind = type_of(instr)
    if kind not in TYPE_BITS or (kind in FLOATS and instr.opcode not in ("mov", "selp")) or kind.endswith("x2"):
        return None
    return rule(f, instr, kind)


def _both(f, instr, bits: int, is_signed: bool) -> tuple[Linear, Linear] | None:
    """The forms of the two sources; None where one has none."""
    a = f.of(instr.operands[1], bits, is_signed)
    b = f.of(instr.operands[2], bits, is_signed) if a is not None else None
    return None if a is None or b is None else (a, b)


def _plain(instr) -> bool:
    return "sat" not in instr.mods and "cc" not in instr.mods


def _fits(instr, bits: int, result: Linear | None) -> Linear | None:
    return result if instr.operands[0].bits == bits else None


def _move(f, instr, kind):
    bits = TYPE_BITS[kind]
    return _fits(instr, bits, f.of(instr.operands[1], bits, False))


def _sum(how: str):
    def rule(f, instr, kind):
        bits = TYPE_BITS[kind]
        forms = _both(f, instr, bits, kind in SIGNED) if _plain(instr) else None
        return _fits(instr, bits, add(f, *forms, bits, how)) if forms else None

    return rule


def _union(f, instr, kind):
    """or, xor: the sum, where no bit may be 1 in both."""
    return _sum("add")(f, instr, kind) if f.apart(*instr.operands[1:3], TYPE_BITS[kind]) else None


def _product(f, instr, kind) -> tuple[Linear | None, int]:
    bits, is_signed = TYPE_BITS[kind], kind in SIGNED
    forms = _both(f, instr, bits, is_signed) if _plain(instr) and "hi" not in instr.mods else None
    if not forms or not (forms[0].uniform or forms[1].uniform):
        return None, bits
    a, b = forms
    if "wide" in instr.mods:
        a, b = (resize(f, form, bits, 2 * bits, is_signed) for form in forms)
        bits *= 2
        if a is None or b is None:
            return None, bits
    return multiply(f, a, b, bits), bits


def _multiply(f, instr, kind):
    result, bits = _product(f, instr, kind)
    return _fits(instr, bits, result)


def _multiply_add(f, instr, kind):
    wide = TYPE_BITS[kind] * (2 if "wide" in instr.mods else 1)
    term = f.of(instr.operands[3], wide, kind in SIGNED)
    result, bits = _product(f, instr, kind) if term else (None, 0)
    return _fits(instr, bits, add(f, result, term, bits)) if result else None


def _shift(f, instr, kind):
    bits = TYPE_BITS[kind]
    form, amount = f.of(instr.operands[1], bits, False), f.of(instr.operands[2], 32, False)
    by = number(amount.base) if amount and amount.uniform else None
    if form is None or by is None or not 0 <= by < bits:
        return None
    return _fits(instr, bits, multiply(f, form, Linear(str(signed(1 << by, bits))), bits))


def _negate(f, instr, kind):
    bits = TYPE_BITS[kind]
    form = f.of(instr.operands[1], bits, True)
    return _fits(instr, bits, add(f, Linear("0"), form, bits, "sub")) if form else None


def _convert(f, instr, kind):
    target, source = instr.mods[-2:]
    if len(instr.mods) != 2 or target in FLOATS or source in FLOATS or not {target, source} <= TYPE_BITS.keys():
        return None
    form = f.of(instr.operands[1], TYPE_BITS[source], source in SIGNED)
    bits = TYPE_BITS[target]
    if form is None or instr.operands[0].bits != bits:
        return None
    return resize(f, form, TYPE_BITS[source], bits, source in SIGNED)


def _address_space(f, instr, kind):
    form = f.of(instr.operands[1], 64, False)
    spaces = {m.split("::")[0] for m in instr.mods}
    if form is None or {"local", "param"} & spaces or ("shared" in spaces and "to" in instr.mods):
        return None
    if "shared" in spaces:
        form = add(f, form, Linear(f.shared_window()), 64, "add")
    return _fits(instr, 64, form)


def _select(f, instr, kind):
    bits = TYPE_BITS[kind]
    flag = f.of(instr.operands[3], 1, False)
    forms = _both(f, instr, bits, False)
    if not forms or flag is None or not flag.uniform:
        return None
    return _fits(instr, bits, choose(f, flag.base, *forms, bits))


_RULES = {
    "mov": _move, "add": _sum("add"), "sub": _sum("sub"), "mul": _multiply, "mad": _multiply_add, "shl": _shift,
    "neg": _negate, "cvt": _convert, "cvta": _address_space, "selp": _select,
    "or": _union, "xor": _union,
}  # fmt: skip
