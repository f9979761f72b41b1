"""Prints, as JSON, the type NVIDIA's compiler gives `x op y` for every pair of types. Run in a process of its own."""

import json
import operator

import cutlass
import cutlass.cute as cute

NAMES = ["Boolean", "Int8", "Int16", "Int32", "Int64", "Float16", "BFloat16", "Float32", "Float64"]
OPERATORS = {"add": operator.add, "mul": operator.mul, "truediv": operator.truediv, "floordiv": operator.floordiv,
             "mod": operator.mod, "and": operator.and_, "lshift": operator.lshift, "lt": operator.lt}
INTEGER_ONLY = ("and", "lshift")


def probe(values):
    rows = {}
    operands = dict(zip(NAMES, values)) | {"int": 1, "float": 1.0, "bool": True}
    for name, function in OPERATORS.items():
        for a, x in operands.items():
            for b, y in operands.items():
                if name in INTEGER_ONLY and "loat" in a + b:
                    continue
                if a in ("int", "float", "bool") and b in ("int", "float", "bool"):
                    continue
                rows[f"{name} {a} {b}"] = type(function(x, y)).__name__
    print(json.dumps(rows))


@cute.jit
def main(b: cutlass.Boolean, i8: cutlass.Int8, i16: cutlass.Int16, i32: cutlass.Int32, i64: cutlass.Int64,
         f16: cutlass.Float16, bf16: cutlass.BFloat16, f32: cutlass.Float32, f64: cutlass.Float64):
    probe([b, i8, i16, i32, i64, f16, bf16, f32, f64])


main(True, 1, 1, 1, 1, 1.0, 1.0, 1.0, 1.0)
