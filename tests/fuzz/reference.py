"""The results of a generated program, found without any compiler: CPython runs its text, with numpy scalars as numbers.

The statements mean what Python means. Only what a traced number does is written down here: the type of each operator is
looked up in `tests/core/operator_table.json`, which records NVIDIA's compiler (release 4.8.1), and its value is made
of exact Python integers, wrapped, or of one numpy operation. docs/types.md has the rules in words. No import of dsl.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import operator
import types
from pathlib import Path

import numpy as np

TABLE_PATH = Path(__file__).parents[1] / "core" / "operator_table.json"
COLUMNS = [
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
    "int",
    "float",
    "bool",
    "long",
]
INTEGERS = ["Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64"]
FLOATS = ["Float16", "BFloat16", "Float32", "Float64"]
TYPES = ["Boolean", *INTEGERS, *FLOATS]
WIDTH = {"Boolean": 1} | {name: int(name.lstrip("Uint")) if name[0] == "U" else int(name[3:]) for name in INTEGERS}
NUMPY = {"Float16": np.float16, "BFloat16": np.float32, "Float32": np.float32, "Float64": np.float64}
FRACTION_BITS = {"Float16": 11, "BFloat16": 8, "Float32": 24, "Float64": 53}
LITERALS = {bool: "bool", int: "int", float: "float"}
AS_LITERAL = {"bool": "Boolean", "int": "Int32", "float": "Float32"}


@functools.cache
def table() -> dict[tuple[str, str, str], str]:
    """(operator, left type, right type): the type of the result; a literal's type is int, float or bool."""
    rows = json.loads(TABLE_PATH.read_text())["types"]
    return {
        (*key.split(), column): word
        for key, row in rows.items()
        if " " in key
        for column, word in zip(COLUMNS, row.split())
    }


def wrap(number: int, name: str) -> int:
    """`number` in the two's complement of an integer type."""
    bits = number & ((1 << WIDTH[name]) - 1)
    return bits - (1 << WIDTH[name]) if name[0] == "I" and bits >> (WIDTH[name] - 1) else bits


def rounded(number, name: str):
    """A number, an int or a float, as the nearest of a float type, to even; past the greatest it is an infinity."""
    if name == "Float64" and not isinstance(number, int):
        return np.float64(number)
    if isinstance(number, int):
        excess = max(number.bit_length() - FRACTION_BITS[name] - 1, 0)
        lost = abs(number) & ((1 << excess) - 1)
        sticky = (abs(number) >> excess << 1) | (lost != 0)
        return (
            rounded(math.copysign(math.ldexp(sticky, excess - 1), number), name)
            if name != "Float64"
            else np.float64(float(number))
        )
    number = float(number)
    if name != "BFloat16" or not math.isfinite(number) or number == 0:
        return NUMPY[name](number)
    exponent = max(math.frexp(number)[1], -125) - FRACTION_BITS[name]
    return np.float32(math.ldexp(round(math.ldexp(number, -exponent)), exponent))


class Scalar:
    """A traced number: `type` is its name, `value` a Python int or bool, or a numpy float."""

    __slots__ = ("type", "value")

    def __init__(self, type_: str, value):
        self.type, self.value = type_, value

    def __repr__(self):
        return f"{self.type}({self.value})"

    def __bool__(self):
        return bool(self.value != 0)

    def __index__(self):
        return self.value

    def __neg__(self):
        return Scalar(self.type, -self.value if self.type in FLOATS else wrap(-self.value, self.type))

    def __abs__(self):
        return Scalar(self.type, abs(self.value) if self.type in FLOATS else wrap(abs(self.value), self.type))

    def __invert__(self):
        return Scalar(self.type, not self.value if self.type == "Boolean" else wrap(~self.value, self.type))

    def to(self, type_):
        return type_(self)


def convert(x, name: str):
    """A number as the value of a type: integers wrap, floats truncate and saturate; see docs/types.md."""
    source, value = (x.type, x.value) if isinstance(x, Scalar) else (AS_LITERAL[LITERALS[type(x)]], x)
    if name == "Boolean":
        return bool(value != 0)
    if source == name:
        return value
    if source in FLOATS:
        if name in FLOATS:
            return rounded(value, name)
        low = -(1 << WIDTH[name] - 1) if name[0] == "I" else 0
        if math.isnan(value):
            return 0
        whole = int(value) if math.isfinite(value) else 1 << 70 if value > 0 else -1 << 70
        return min(max(whole, low), low + (1 << WIDTH[name]) - 1)
    value = int(value)
    if name in FLOATS:
        return rounded(value, name)
    if isinstance(x, Scalar) and name[0] == "U" and value < 0:
        value &= (1 << WIDTH[source]) - 1  # extended with zeros: not both are signed
    return wrap(value, name)


def kind(x) -> str:
    return x.type if isinstance(x, Scalar) else LITERALS[type(x)]


# ** integer operators, of numbers of one type


def floor_divide(a: int, b: int, name: str) -> int:
    return wrap(a // b if b else -1, name)


def remainder(a: int, b: int, name: str) -> int:
    return a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) if b else a


def shift_left(a: int, b: int, name: str) -> int:
    return wrap(a << b, name) if 0 <= b < WIDTH[name] else 0


def shift_right(a: int, b: int, name: str) -> int:
    return a >> (b if 0 <= b < WIDTH[name] else WIDTH[name])


def power(a: int, b: int, name: str) -> int:
    if b >= 0:
        return wrap(pow(a, b, 1 << WIDTH[name]), name)
    return {0: -1, 1: 1, -1: -1 if b & 1 else 1}.get(a, 0)


def _wrapped(function):
    return lambda a, b, name: wrap(function(a, b), name)


INTEGER = {
    "add": _wrapped(operator.add),
    "sub": _wrapped(operator.sub),
    "mul": _wrapped(operator.mul),
    "and": _wrapped(operator.and_),
    "or": _wrapped(operator.or_),
    "xor": _wrapped(operator.xor),
    "floordiv": floor_divide,
    "mod": remainder,
    "lshift": shift_left,
    "rshift": shift_right,
    "pow": power,
    "min": lambda a, b, name: min(a, b),
    "max": lambda a, b, name: max(a, b),
}
BOOLEAN = {
    "add": operator.or_,
    "sub": operator.xor,
    "mul": operator.and_,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
FLOAT = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": lambda a, b: np.floor(a / b),
    "mod": np.fmod,
    "min": lambda a, b: a if not a >= b else b,
    "max": lambda a, b: a if not a <= b else b,
}
COMPARE = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def operate(name: str, a, b):
    """`a name b`, at least one of them traced."""
    common = table()["add" if name in COMPARE or name == "truediv" else name, kind(a), kind(b)]
    x, y = convert(a, common), convert(b, common)
    if name in COMPARE:
        return Scalar("Boolean", bool(COMPARE[name](x, y)))
    result = table()[name, kind(a), kind(b)]
    if name == "truediv" and common != result:
        x, y = rounded(int(x), result), rounded(int(y), result)
    if result == "Boolean":
        return Scalar(result, bool(BOOLEAN[name](x, y)))
    if result not in FLOATS:
        return Scalar(result, INTEGER[name](int(x), int(y), result))
    value = FLOAT[name](x, y)
    if name == "floordiv" and result == "BFloat16":
        value = np.floor(rounded(x / y, result))
    return Scalar(result, rounded(value, result) if result == "BFloat16" else value)


for _name in INTEGER.keys() | FLOAT.keys() | COMPARE.keys():
    if _name not in ("min", "max"):
        setattr(Scalar, f"__{_name}__", lambda a, b, name=_name: operate(name, a, b))
        if _name not in COMPARE:
            setattr(Scalar, f"__r{_name}__", lambda a, b, name=_name: operate(name, b, a))


# ** what Python decides itself


def choose(test, a, b):
    """`a` or `b`, in their common type unless the test is Python's own. Both have been evaluated."""
    chosen = a if test else b
    if not isinstance(test, Scalar) or kind(a) == kind(b):
        return chosen
    return make(table()["add", kind(a), kind(b)])(chosen)


class Spelled(ast.NodeTransformer):
    """`and`, `or`, `not`, `a if c else b` and chained comparisons as calls, which Python would decide by bool()."""

    def _call(self, name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        name = "_and" if isinstance(node.op, ast.And) else "_or"
        return functools.reduce(lambda a, b: self._call(name, a, b), node.values)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return self._call("_not", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return self._call("_choose", node.test, node.body, node.orelse)

    def visit_Compare(self, node):
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        steps = [ast.Compare(a, [op], [b]) for a, op, b in zip(sides, node.ops, sides[1:])]
        return functools.reduce(lambda a, b: self._call("_and", a, b), steps)


def _and(a, b):
    return choose(a, b, a) if isinstance(a, Scalar) else a and b


def _or(a, b):
    return choose(a, a, b) if isinstance(a, Scalar) else a or b


def _not(a):
    return Scalar("Boolean", not a) if isinstance(a, Scalar) else not a


def extreme(name: str):
    return lambda *values: functools.reduce(lambda a, b: operate(name, a, b), values)


# ** the names that a program imports


@functools.cache
def make(name: str):
    return lambda x: Scalar(name, convert(x, name))


def dynamic_range(*bounds, unroll=1, unroll_full=False):
    wide = any(isinstance(bound, Scalar) and bound.type == "Int64" for bound in bounds)
    return map(make("Int64" if wide else "Int32"), range(*map(operator.index, bounds)))


def by_value_range(*bounds):
    """range in an undecorated function: Python's where its bounds are."""
    return dynamic_range(*bounds) if any(isinstance(bound, Scalar) for bound in bounds) else range(*bounds)


class Inputs(list):
    def __getitem__(self, index):
        return Scalar("Int32", super().__getitem__(operator.index(index)))


class Outputs(dict):
    def __setitem__(self, index, x):
        super().__setitem__(operator.index(index), x.value)


def names() -> dict:
    """The globals of a program."""
    cutlass = types.SimpleNamespace(
        const_expr=lambda x: x,
        range_constexpr=range,
        range=dynamic_range,
        min=extreme("min"),
        max=extreme("max"),
        **{name: make(name) for name in TYPES},
    )
    return {
        "cutlass": cutlass,
        "max": extreme("max"),
        "min": extreme("min"),
        "_and": _and,
        "_or": _or,
        "_not": _not,
        "_choose": choose,
        "_dynamic_range": dynamic_range,
        "_by_value_range": by_value_range,
        "__name__": "program",
    }


class Text(Spelled):
    """The text of a program for CPython: without cutlass and the decorators of functions."""

    def visit_Module(self, node):
        node.body = [self.visit(item) for item in node.body if not isinstance(item, ast.Import)]
        return node

    def visit_FunctionDef(self, node):
        outer, self.range = getattr(self, "range", None), "_dynamic_range" if node.decorator_list else "_by_value_range"
        node.decorator_list = []
        node.args.args = [ast.arg(argument.arg) for argument in node.args.args]
        self.generic_visit(node)
        self.range = outer
        return node

    def visit_Name(self, node):
        return ast.Name(self.range, node.ctx) if node.id == "range" else node


def run(text: str, threads: int, path: str = "program.py") -> tuple[dict[int, int], dict[int, float]]:
    """What `program(inputs, ints, floats, thread)` of a text stores, for each thread: by index, integers and floats."""
    tree = ast.fix_missing_locations(Text().visit(ast.parse(text)))
    space = names()
    ints, floats = Outputs(), Outputs()
    with np.errstate(all="ignore"):
        exec(compile(tree, path, "exec"), space)
        for thread in range(threads):
            space["program"](Inputs(space["INPUTS"]), ints, floats, Scalar("Int32", thread))
    return ints, floats
