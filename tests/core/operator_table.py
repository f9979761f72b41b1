"""Prints, as JSON, what a compiler makes of `x op y` for every pair of numeric types: the type, and the values.

    python tests/core/operator_table.py > tests/core/operator_table.json      nvidia-cutlass-dsl: records the table
    python -m dsl tests/core/operator_table.py                                this compiler

`types` has a row for each operator and left type, with a word for each right type: a type, `!` where the operator is
refused, `-` where both are Python numbers. `values` has the results of dynamic operands, converted to Int64 or Float64.
`static` has the results of static operands. Everything runs in host functions.
"""

import json
import operator
import warnings

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

warnings.simplefilter("ignore")

TYPES = [
    "Boolean",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
    "Float16",
    "BFloat16",
    "TFloat32",
    "Float32",
    "Float64",
    "Float8E5M2",
    "Float8E4M3FN",
]
STORAGE = {"TFloat32", "Float8E5M2", "Float8E4M3FN"}  # the operators take them and a later stage refuses
LITERALS = {"int": 3, "float": 2.5, "bool": True, "long": 2**40}
RUN = [
    "Boolean",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Float16",
    "BFloat16",
    "Float32",
    "Float64",
]  # those that host functions compute with
ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "min": cutlass.min,
    "max": cutlass.max,
}
BITWISE = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}
UNARY = {"neg": operator.neg, "abs": abs, "invert": operator.invert}
PAIRS = [(-7, 2), (-100, -9)]


def is_float(name: str) -> bool:
    return "loat" in name


def type_of(function, *operands) -> str:
    try:
        return type(function(*operands)).__name__
    except (TypeError, ValueError):
        return "!"


def tabulate(i, x, found):
    values = {name: (x if is_float(name) else i).to(getattr(cutlass, name)) for name in TYPES} | LITERALS
    for name, function in (ARITHMETIC | BITWISE).items():
        for left, a in values.items():
            row = []
            for right, b in values.items():
                if left in LITERALS and right in LITERALS:
                    row.append("-")
                elif (name in BITWISE and (is_float(left) or is_float(right))) or (name == "pow" and left in LITERALS):
                    row.append("!")  # refused, if not at once then by a later stage
                elif type_of(operator.add, a, b) in STORAGE:
                    row.append("!")
                else:
                    row.append(type_of(function, a, b))
            found[f"{name} {left}"] = " ".join(row)
    for name, function in UNARY.items():
        found[name] = " ".join(type_of(function, values[type_]) for type_ in TYPES if type_ not in STORAGE)


@cute.jit
def types(i: cutlass.Int32, x: cutlass.Float32, found: cutlass.Constexpr):
    tabulate(i, x, found)


def cases(name):
    """The pairs of types an operator is run on, and the pairs of numbers."""
    bitwise = name in BITWISE
    names = [n for n in RUN if not (bitwise and is_float(n)) and not ("shift" in name and n == "Boolean")]
    return [(a, b) for a in names for b in names]


def compute(name, left, right, numbers, out_integer, out_float):
    function = (ARITHMETIC | BITWISE)[name]
    place = 0
    for a, b in cases(name):
        for x, y in numbers:
            result = function(left[a, x], right[b, y])
            if is_float(type(result).__name__):
                out_float[place] = result.to(cutlass.Float64)
            else:
                out_integer[place] = result.to(cutlass.Int64)
            place += 1


@cute.jit
def values(
    name: cutlass.Constexpr,
    numbers: cutlass.Constexpr,
    integers: cute.Tensor,
    out_integer: cute.Tensor,
    out_float: cute.Tensor,
):
    flat = sorted({n for pair in numbers for n in pair})
    dynamic = {(t, n): integers[flat.index(n)].to(getattr(cutlass, t)) for t in RUN for n in flat}
    compute(name, dynamic, dynamic, numbers, out_integer, out_float)


def number(name, value):
    """A number of the type in range."""
    if name == "Boolean":
        return bool(value % 2)
    return float(value) if is_float(name) else abs(value) if name[0] == "U" else value


def fold(name, found):
    function = (ARITHMETIC | BITWISE)[name]
    for a, b in cases(name):
        for x, y in pairs(name):
            left, right = getattr(cutlass, a)(number(a, x)), getattr(cutlass, b)(number(b, y))
            if not right.value:
                continue
            try:
                result = function(left, right)
            except OverflowError:  # a 64-bit result that does not wrap
                found.append("overflow")
                continue
            kept = isinstance(result.value, (int, float)) and abs(result.value) < 1e30
            found.append(round(float(result.value), 9) if kept else "other")


@cute.jit
def folded(name: cutlass.Constexpr, found: cutlass.Constexpr):
    fold(name, found)


def pairs(name):
    if "shift" in name:
        return [(a, abs(b) % 8) for a, b in PAIRS]
    return [(a, abs(b) % 4) for a, b in PAIRS] if name == "pow" else PAIRS


def line(row) -> str:
    return f"{json.dumps(row[0])}: {json.dumps(row[1], separators=(',', ':'))}"


def main():
    found: dict = {"types": {}, "values": {}, "static": {}}
    types(1, 1.0, found["types"])
    for name in ARITHMETIC | BITWISE:
        numbers = pairs(name)
        flat = np.array(sorted({n for pair in numbers for n in pair}), np.int64)
        if name in ("floordiv", "mod", "truediv"):
            numbers = [(a, b) for a, b in numbers if b % 2]  # as a Boolean, an even number divides by zero
        count = len(cases(name)) * len(numbers)
        integers, floats = np.full(count, 0, np.int64), np.full(count, 0.0)
        values(name, numbers, from_dlpack(flat), from_dlpack(integers), from_dlpack(floats))
        found["values"][name] = [
            int(n) if n else round(float(f), 9) if np.isfinite(f) else str(abs(f)) for n, f in zip(integers, floats)
        ]
        found["static"][name] = []
        folded(name, found["static"][name])
    print(
        "{"
        + ",\n".join(f'"{kind}": {{' + ",\n".join(map(line, rows.items())) + "}" for kind, rows in found.items())
        + "}"
    )


main()
