"""Print the results of operators and casts of static numbers: a list in a line of JSON for each pair of types.

A result is the type and the value, `dynamic` where an operation was made for run time, or the class of the exception.
"""

import json
import math
import operator
import sys
import warnings

import cutlass
import cutlass.cute as cute

warnings.simplefilter("ignore")
INTEGERS = {
    "Int8": (-128, -7, -1, 0, 1, 3, 127),
    "Int32": (-(1 << 31), -7, -1, 0, 1, 3, 31, 32, 33, (1 << 31) - 1),
    "Int64": (-(1 << 63), -1, 0, 5, 64, (1 << 63) - 1),
    "Uint8": (0, 1, 200, 255),
    "Uint32": (0, 1, 7, 32, (1 << 32) - 1),
    "Boolean": (False, True),
}
FLOATS = {
    "Float32": (0.0, -0.0, 1.5, -2.5, 1e30, math.inf, -math.inf, math.nan),
    "Float64": (0.0, 2.5, 1e300, math.nan),
    "Float16": (0.0, 1.5, -3.0),
}
VALUES = {**INTEGERS, **FLOATS, "int": (-3, 0, 2, 40, 1 << 33), "float": (0.0, -1.5, math.inf)}
OPERATORS = {
    name: getattr(operator, name)
    for name in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "lshift",
        "rshift",
        "and_",
        "or_",
        "xor",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
    )
} | {"divmod": divmod}
UNARY = {
    "neg": operator.neg,
    "invert": operator.invert,
    "abs": abs,
    "int": int,
    "float": float,
    "bool": bool,
    "index": operator.index,
    "not": operator.not_,
}
SHARE = int(sys.argv[1])  # 1 of this many pairs of types and operators runs
LINES = []


def made(name, value):
    return value if name in ("int", "float") else getattr(cutlass, name)(value)


def told(run):
    try:
        result = run()
    except Exception as error:
        bases = [base.__name__ for base in type(error).__mro__]
        return next(
            name
            for name in bases
            if name
            in (
                "ZeroDivisionError",
                "OverflowError",
                "TypeError",
                "ValueError",
                "AttributeError",
                "AssertionError",
                "RuntimeError",
                "Exception",
            )
        )
    return shown(result)


def shown(result):
    if isinstance(result, tuple):
        return [shown(each) for each in result]
    value = getattr(result, "value", result)
    if not isinstance(value, (bool, int, float)):
        return "dynamic" if result is not NotImplemented else "NotImplemented"
    return [type(result).__name__, repr(float(value) if isinstance(value, float) else int(value))]


def sweep():
    number = 0
    for left, lefts in VALUES.items():
        for right, rights in VALUES.items():
            if left in ("int", "float") and right in ("int", "float"):
                continue
            for name, function in OPERATORS.items():
                number += 1
                if number % SHARE:
                    continue
                few = [b for b in rights if name not in ("lshift", "pow") or not abs(b) > 64]
                found = [told(lambda: function(made(left, a), made(right, b))) for a in lefts for b in few]
                LINES.append([name, left, right, found])
    for left, lefts in VALUES.items():
        if left in ("int", "float"):
            continue
        for name, function in UNARY.items():
            LINES.append([name, left, "", [told(lambda: function(made(left, a))) for a in lefts]])
        for right in (*INTEGERS, *FLOATS):
            LINES.append(["cast", left, right, [told(lambda: made(right, made(left, a))) for a in lefts]])
    for right in (*INTEGERS, *FLOATS):
        odd = (
            1 << 31,
            -(1 << 31) - 1,
            1 << 64,
            -(1 << 63) - 1,
            1e30,
            -1e30,
            math.inf,
            math.nan,
            2.7,
            -2.7,
            300,
            70000.0,
            3000000001.0,
            -3e9,
            1e12,
        )
        LINES.append(["from", "", right, [told(lambda: made(right, value)) for value in odd]])


@cute.jit
def host():
    sweep()


host()
for line in LINES:
    print(json.dumps(line))
