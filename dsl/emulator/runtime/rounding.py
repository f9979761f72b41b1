"""Arithmetic in the rounding modes a CPU has only as a mode register: .rz, .rm, .rp. PTX ISA: rounding modifiers.

Each function sets the mode, does one constrained operation and goes back to nearest-even.
"""

from __future__ import annotations

MODES = {"rz": 0, "rp": 2, "rm": 3}  # as llvm.set.rounding counts; rn is 1
TYPES = {"f32": "float", "f64": "double"}
OPERATIONS = {"fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2, "sqrt": 1, "fma": 3}
CONVERSIONS = [
    ("fptrunc", "double", "float"),
    *(
        (how, source, target)
        for how in ("sitofp", "uitofp")
        for source in ("i32", "i64")
        for target in ("float", "double")
    ),
]
_META = 'metadata !"round.dynamic", metadata !"fpexcept.ignore"'


def name_of(operation: str, kind: str, mode: str) -> str:
    """The function for `operation` on LLVM type `kind`, e.g. emu_fadd_float_rz."""
    return f"emu_{operation}_{kind}_{mode}"


def conversion_name(how: str, source: str, target: str, mode: str) -> str:
    return f"emu_{how}_{source}_{target}_{mode}"


def _rows():
    """(function name, result type, argument types, intrinsic name)."""
    short = {"float": "f32", "double": "f64", "i32": "i32", "i64": "i64"}
    for mode, number in MODES.items():
        for kind in TYPES.values():
            for operation, arity in OPERATIONS.items():
                intrinsic = f"llvm.experimental.constrained.{operation}.{short[kind]}"
                yield name_of(operation, kind, mode), kind, [kind] * arity, intrinsic, number
        for how, source, target in CONVERSIONS:
            intrinsic = f"llvm.experimental.constrained.{how}.{short[target]}.{short[source]}"
            yield conversion_name(how, source, target, mode), target, [source], intrinsic, number


SIGNATURES = {name: f"{result} ({', '.join(arguments)})" for name, result, arguments, _, _ in _rows()}

DECLARATIONS = "declare void @llvm.set.rounding(i32)\n" + "".join(
    f"declare {line}\n"
    for line in dict.fromkeys(
        f"{result} @{intrinsic}({', '.join(arguments)}, metadata, metadata)"
        for _, result, arguments, intrinsic, _ in _rows()
    )
)
ATTRIBUTES = "attributes #7 = { strictfp noinline }\n"


def functions() -> list[str]:
    """The IR text of all functions."""
    return [_function(*row) for row in _rows()]


def _function(name: str, result: str, arguments: list[str], intrinsic: str, number: int) -> str:
    formals = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(arguments))
    return "\n".join(
        [
            f"define {result} @{name}({formals}) #7 {{",
            f"  call void @llvm.set.rounding(i32 {number}) #7",
            f"  %r = call {result} @{intrinsic}({formals}, {_META}) #7",
            "  call void @llvm.set.rounding(i32 1) #7",
            f"  ret {result} %r",
            "}",
        ]
    )
