"""Expressions of single-precision functions: written once in Python, printed as LLVM IR for kernels and as CUDA C++.

Every operation is correctly rounded or exact, and none is contracted, so a function gives the same bits on every GPU
and on the emulator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

FLOAT, DOUBLE, INT, LONG, TRUTH = "float", "double", "i32", "i64", "i1"
_C = {FLOAT: "float", DOUBLE: "double", INT: "unsigned", LONG: "unsigned long long", TRUTH: "bool"}

# operation: (type of the result or "" for the type of the first operand, LLVM IR, CUDA C++)
_OPERATIONS = {
    "add": ("", "fadd float {0}, {1}", "{0} + {1}"),
    "sub": ("", "fsub float {0}, {1}", "{0} - {1}"),
    "mul": ("", "fmul float {0}, {1}", "__fmul_rn({0}, {1})"),
    "div": ("", "fdiv float {0}, {1}", "{0} / {1}"),
    "neg": ("", "fneg float {0}", "-{0}"),
    "fma": ("", "call float @llvm.fma.f32(float {0}, float {1}, float {2})", "fmaf({0}, {1}, {2})"),
    "sqrt": ("", "call float @llvm.sqrt.f32(float {0})", "sqrtf({0})"),
    "abs": ("", "call float @llvm.fabs.f32(float {0})", "fabsf({0})"),
    "min": ("", "call float @llvm.minnum.f32(float {0}, float {1})", "fminf({0}, {1})"),
    "trunc": ("", "call float @llvm.trunc.f32(float {0})", "truncf({0})"),
    "lt": (TRUTH, "fcmp olt float {0}, {1}", "{0} < {1}"),
    "le": (TRUTH, "fcmp ole float {0}, {1}", "{0} <= {1}"),
    "eq": (TRUTH, "fcmp oeq float {0}, {1}", "{0} == {1}"),
    "ne": (TRUTH, "fcmp une float {0}, {1}", "{0} != {1}"),
    "bits": (INT, "bitcast float {0} to i32", "__float_as_uint({0})"),
    "float": (FLOAT, "bitcast i32 {0} to float", "__uint_as_float({0})"),
    "number": (FLOAT, "sitofp i32 {0} to float", "(float)(int){0}"),
    "wide": (DOUBLE, "sitofp i64 {0} to double", "(double)(long long){0}"),
    "wide_mul": ("", "fmul double {0}, {1}", "__dmul_rn({0}, {1})"),
    "wide_sub": ("", "fsub double {0}, {1}", "{0} - {1}"),
    "narrowed": (FLOAT, "fptrunc double {0} to float", "(float){0}"),
    "extended": (DOUBLE, "fpext float {0} to double", "(double){0}"),
    "iadd": ("", "add {t} {0}, {1}", "{0} + {1}"),
    "isub": ("", "sub {t} {0}, {1}", "{0} - {1}"),
    "imul": ("", "mul {t} {0}, {1}", "{0} * {1}"),
    "and": ("", "and {t} {0}, {1}", "{0} & {1}"),
    "or": ("", "or {t} {0}, {1}", "{0} | {1}"),
    "xor": ("", "xor {t} {0}, {1}", "{0} ^ {1}"),
    "shl": ("", "shl {t} {0}, {1}", "{0} << {1}"),
    "lshr": ("", "lshr {t} {0}, {1}", "{0} >> {1}"),
    "funnel": ("", "call i32 @llvm.fshl.i32(i32 {0}, i32 {1}, i32 {2})", "__funnelshift_l({1}, {0}, {2})"),
    "ieq": (TRUTH, "icmp eq {t} {0}, {1}", "{0} == {1}"),
    "ult": (TRUTH, "icmp ult i32 {0}, {1}", "{0} < {1}"),
    "widen": (LONG, "zext i32 {0} to i64", "(unsigned long long){0}"),
    "low": (INT, "trunc i64 {0} to i32", "(unsigned){0}"),
    "both": (TRUTH, "and i1 {0}, {1}", "{0} & {1}"),
    "either": (TRUTH, "or i1 {0}, {1}", "{0} | {1}"),
    "not": (TRUTH, "xor i1 {0}, true", "!{0}"),
    "select": ("", "select i1 {0}, {t} {1}, {t} {2}", "{0} ? {1} : {2}"),
}


class Value:
    """A number that an operation computes: a float, an integer of 32 or 64 bits, or a truth value."""

    __slots__ = ("operation", "operands", "type", "constant")

    def __init__(self, operation: str, operands: tuple[Value, ...], type_: str, constant: float | int | None = None):
        self.operation, self.operands, self.type, self.constant = operation, operands, type_, constant

    def __add__(self, other):
        return _binary("add", "iadd", self, other)

    def __sub__(self, other):
        return _binary("sub", "isub", self, other)

    def __rsub__(self, other):
        return _binary("sub", "isub", other, self)

    def __mul__(self, other):
        return _binary("mul", "imul", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other):
        return _make("div", self, other)

    def __rtruediv__(self, other):
        return _make("div", other, self)

    def __neg__(self):
        return _make("neg", self) if self.type == FLOAT else _make("isub", constant_of(0, self.type), self)

    def __abs__(self):
        return _make("abs", self)

    def __and__(self, other):
        return _make("both" if self.type == TRUTH else "and", self, other)

    def __or__(self, other):
        return _make("either" if self.type == TRUTH else "or", self, other)

    def __xor__(self, other):
        return _make("xor", self, other)

    def __invert__(self):
        return _make("not", self)

    def __lshift__(self, other):
        return _make("shl", self, other)

    def __rshift__(self, other):
        """Shift to the right; zeros come in."""
        return _make("lshr", self, other)

    def __lt__(self, other):
        return _make("lt", self, other)

    def __gt__(self, other):
        return _make("lt", other, self)

    def __le__(self, other):
        return _make("le", self, other)

    def __ge__(self, other):
        return _make("le", other, self)

    def equals(self, other) -> Value:
        return _binary("eq", "ieq", self, other)

    def bits(self) -> Value:
        return _make("bits", self)

    def as_float(self) -> Value:
        """The float of these bits."""
        return _make("float", self)

    def number(self) -> Value:
        """The float nearest to this signed integer."""
        return _make("number", self)

    def times(self, factor: float) -> tuple[Value, Value]:
        """This signed integer of 64 bits times `factor`, as a sum of two floats."""
        product = _make("wide_mul", _make("wide", self), factor)
        high = _make("narrowed", product)
        return high, _make("narrowed", _make("wide_sub", product, _make("extended", high)))

    def widened(self) -> Value:
        return _make("widen", self)

    def low(self) -> Value:
        return _make("low", self)


def constant_of(value: float | int, type_: str) -> Value:
    """A number as a value of one of the types."""
    if type_ in (FLOAT, DOUBLE):
        return Value("constant", (), type_, float(value))
    return Value("constant", (), type_, int(value))


def _typed(operands: tuple, types: tuple[str, ...]) -> tuple[Value, ...]:
    return tuple(
        operand if isinstance(operand, Value) else constant_of(operand, type_)
        for operand, type_ in zip(operands, types)
    )


def _make(operation: str, *operands) -> Value:
    start = 1 if operation == "select" else 0
    shared = next(operand.type for operand in operands[start:] if isinstance(operand, Value))
    types = (TRUTH,) * start + (shared,) * len(operands)
    operands = _typed(operands, types)
    return Value(operation, operands, _OPERATIONS[operation][0] or operands[start].type)


def _binary(of_floats: str, of_integers: str, a, b) -> Value:
    type_ = a.type if isinstance(a, Value) else b.type
    return _make(of_floats if type_ == FLOAT else of_integers, a, b)


def fma(a, b, c) -> Value:
    """a * b + c, rounded once."""
    return _make("fma", a, b, c)


def sqrt(x: Value) -> Value:
    return _make("sqrt", x)


def minimum(a, b) -> Value:
    """The smaller; a NaN gives way."""
    return _make("min", a, b)


def trunc(x: Value) -> Value:
    return _make("trunc", x)


def funnel(high: Value, low: Value, amount: Value) -> Value:
    """The high word of (high, low) << (amount modulo 32)."""
    return _make("funnel", high, low, amount)


def below(a: Value, b) -> Value:
    """a < b as unsigned integers."""
    return _make("ult", a, b)


def select(condition: Value, a, b) -> Value:
    """a or b; where both are Python numbers, floats."""
    if not isinstance(a, Value) and not isinstance(b, Value):
        a = constant_of(a, FLOAT)
    return _make("select", condition, a, b)


def polynomial(x: Value, coefficients: Sequence[float | Value]) -> Value:
    """Horner's rule; the coefficient of the highest power, of two at least, first."""
    result = fma(coefficients[0], x, coefficients[1])
    for coefficient in coefficients[2:]:
        result = fma(result, x, coefficient)
    return result


def with_sign(magnitude: Value, sign: Value) -> Value:
    """`magnitude`, which is not negative, with the sign of the float `sign`."""
    return (magnitude.bits() | sign.bits() & 0x80000000).as_float()


# --- functions -------------------------------------------------------------------------------------------------------


@dataclass
class Function:
    """A function of floats. If `rare` holds, its result is the result of the function `far`."""

    name: str
    operands: tuple[Value, ...]
    result: Value
    rare: Value | None = None
    far: Function | None = None

    def symbol(self) -> str:
        return f"dsl_{self.name}f"

    def llvm_ir(self) -> str:
        """The definition in LLVM IR."""
        names = {operand: f"%x{index}" for index, operand in enumerate(self.operands)}
        lines, heads = [], ", ".join(f"float {name}" for name in names.values())
        if self.rare is not None and self.far is not None:
            test = _emit(self.rare, names, lines, _llvm_line, _llvm_constant)
            calls = ", ".join(f"float {names[operand]}" for operand in self.operands)
            lines += [
                f"  br i1 {test}, label %rare, label %common",
                "rare:",
                f"  %far = call float @{self.far.symbol()}({calls})",
                "  ret float %far",
                "common:",
            ]
        result = _emit(self.result, names, lines, _llvm_line, _llvm_constant)
        text = (
            "\n".join(
                [
                    f"define internal float @{self.symbol()}({heads}) alwaysinline nounwind {{",
                    *lines,
                    f"  ret float {result}",
                    "}",
                ]
            )
            + "\n"
        )
        return (self.far.llvm_ir() if self.far else "") + text

    def cuda(self) -> str:
        """The definition in CUDA C++."""
        names = {operand: f"x{index}" if len(self.operands) > 1 else "x" for index, operand in enumerate(self.operands)}
        lines, heads = [], ", ".join(f"float {name}" for name in names.values())
        if self.rare is not None and self.far is not None:
            test = _emit(self.rare, names, lines, _cuda_line, _cuda_constant)
            arguments = ", ".join(names[operand] for operand in self.operands)
            lines.append(f"  if ({test}) {{ return {self.far.symbol()}({arguments}); }}")
        result = _emit(self.result, names, lines, _cuda_line, _cuda_constant)
        text = (
            "\n".join(
                [
                    f"static __device__ __forceinline__ float {self.symbol()}({heads}) {{",
                    *lines,
                    f"  return {result};",
                    "}",
                ]
            )
            + "\n"
        )
        return (self.far.cuda() if self.far else "") + text


def _emit(value: Value, names: dict[Value, str], lines: list[str], line: Callable, constant: Callable) -> str:
    """Append the lines that compute `value` and what it needs; its name."""
    stack = [value]
    while stack:
        here = stack[-1]
        if here in names:
            stack.pop()
        elif here.constant is not None:
            names[here] = constant(here)
        elif missing := [operand for operand in here.operands if operand not in names]:
            stack += reversed(missing)
        else:
            name = f"v{len(lines)}"
            text = line(name, here, [names[operand] for operand in here.operands])
            lines.append(text)
            names[here] = "%" + name if line is _llvm_line else name
            stack.pop()
    return names[value]


def _llvm_line(name: str, value: Value, operands: list[str]) -> str:
    kind = value.operands[-1].type
    return f"  %{name} = " + _OPERATIONS[value.operation][1].format(*operands, t=kind)


def _cuda_line(name: str, value: Value, operands: list[str]) -> str:
    operands = [
        f"({operand})" if operand.startswith("-") and value.operation == "neg" else operand for operand in operands
    ]
    return f"  const {_C[value.type]} {name} = " + _OPERATIONS[value.operation][2].format(*operands) + ";"


def _llvm_constant(value: Value) -> str:
    number = value.constant
    assert number is not None
    if value.type not in (FLOAT, DOUBLE):
        return str(number)
    return f"0x{int.from_bytes(struct.pack('>d', rounded(number) if value.type == FLOAT else number), 'big'):016X}"


def _cuda_constant(value: Value) -> str:
    number = value.constant
    assert number is not None
    if value.type == DOUBLE:
        return repr(number)
    if value.type != FLOAT:
        assert isinstance(number, int)
        if value.type == LONG:
            return f"{number & 0xFFFFFFFFFFFFFFFF:#x}ull"
        word = number & 0xFFFFFFFF
        return f"{word:#x}u" if abs(number) > 255 else f"{word}u"
    number = rounded(number)
    if number != number or number in (float("inf"), -float("inf")):
        return f"__uint_as_float({int.from_bytes(struct.pack('>f', number), 'big'):#x}u)"
    text = f"{number:.9g}"
    return (text if "." in text or "e" in text else text + ".0") + "f"


def rounded(number: float) -> float:
    """The nearest float of 32 bits."""
    return struct.unpack(">f", struct.pack(">f", number))[0]
