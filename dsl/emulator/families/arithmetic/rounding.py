"""Arithmetic in the rounding modes a CPU has only as a mode register: .rz, .rm, .rp: the names of what rounding.cc has.
PTX ISA: rounding modifiers."""

from __future__ import annotations

MODES = ("rz", "rp", "rm")
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


def name_of(operation: str, kind: str, mode: str) -> str:
    """The function for `operation` on LLVM type `kind`, e.g. emu_fadd_float_rz."""
    return f"emu_{operation}_{kind}_{mode}"


def conversion_name(how: str, source: str, target: str, mode: str) -> str:
    return f"emu_{how}_{source}_{target}_{mode}"


def _rows():
    for mode in MODES:
        for kind in TYPES.values():
            for operation, arity in OPERATIONS.items():
                yield name_of(operation, kind, mode), kind, [kind] * arity
        for how, source, target in CONVERSIONS:
            yield conversion_name(how, source, target, mode), target, [source]


SIGNATURES = {name: f"{result} ({', '.join(arguments)})" for name, result, arguments in _rows()}
