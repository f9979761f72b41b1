"""The reductions of cp.reduce.async.bulk: their names, types and codes.
PTX ISA 9.7.9.25.4.2 (bytes), 9.7.9.27.1.3 (boxes of tensors)."""

from __future__ import annotations

from dsl.emulator.families.bulk.numbers import element, reduced_types, reduction

OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
TYPES = {
    "u32": element.U32,
    "b32": element.U32,
    "s32": element.S32,
    "u64": element.U64,
    "b64": element.U64,
    "s64": element.S64,
    "f16": element.F16,
    "f32": element.F32,
    "f64": element.F64,
    "bf16": element.BF16,
}


def code(operation: str, kind: int = 0) -> int:
    """The number of a reduction; without a type, for a box, the map defines it."""
    return getattr(reduction, operation.upper()) << reduction.OPERATION_SHIFT | kind


def types_of(operation: str) -> list[str]:
    """The types that an operation has."""
    return [name for name, kind in TYPES.items() if getattr(reduced_types, operation.upper()) >> kind & 1]
