"""How a number, pointer or other leaf of an argument is passed to a kernel."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric
from dsl.core.number.pointer import Pointer

# A value that an object hands out itself: what it is as a kernel parameter, and its bytes.
_RAW_PARAMS = {
    "i1": ("int", 1),
    "i8": ("int", 1),
    "i16": ("int", 2),
    "i32": ("int", 4),
    "i64": ("int", 8),
    "f16": ("float", 2),
    "bf16": ("float", 2),
    "f32": ("float", 4),
    "f64": ("float", 8),
}


def of(leaf) -> tuple[str, int, mlir.Type]:
    """Kind, size in bytes and MLIR type of the kernel parameter that carries `leaf`.

    One of kind "bytes" (a leaf with `param_bytes`, `param_alignment_bytes`) is memory that the leaf's `ir()` points at.
    """
    if isinstance(leaf, Pointer):
        return "ptr", 8, leaf.ir_type()
    if hasattr(leaf, "param_bytes"):
        return "bytes", leaf.param_bytes, leaf.ir_type()
    if isinstance(leaf, Boolean):
        return "int", 1, mlir.i8
    if isinstance(leaf, Numeric):
        return "float" if leaf.is_float else "int", leaf.storage_width // 8, leaf.mlir_type
    kind, size_bytes = _RAW_PARAMS.get(str(leaf.value.type), ("ptr", 8))
    if kind == "ptr" and not str(leaf.value.type).startswith("!llvm.ptr"):
        raise DSLUserCodeTypeError(
            f"an object made of a {leaf.value.type} cannot be a kernel parameter", fix="make it of numbers and pointers"
        )
    return kind, size_bytes, mlir.i8 if str(leaf.value.type) == "i1" else leaf.value.type


def stored(leaf) -> mlir.Value:
    """The value of `leaf` as its parameter holds it."""
    return mlir.result("arith.extui", mlir.i8, leaf.ir()) if leaf.ir_type() == mlir.i1 else leaf.ir()


def loaded(leaf, argument: mlir.Value):
    """A leaf like `leaf` whose parameter is `argument`."""
    if leaf.ir_type() == mlir.i1:
        argument = mlir.result("arith.trunci", mlir.i1, argument)
    return leaf.with_ir(argument)


def sort(kernel: mlir.Block, host: mlir.Block, values: Sequence[mlir.Value]) -> list[int]:
    """Sort a kernel's parameters, which were added as they were first used, into the order of the host's signature.

    Parameter k carries `values[k]` of the host function, whose entry block loads its arguments in that order. Values
    from elsewhere come after those. The result gives the old positions in the new order.
    """
    order = sorted(range(len(values)), key=functools.cmp_to_key(lambda a, b: _before(host, values[b], values[a])))
    old = list(kernel.arguments)
    for position in order:
        argument = kernel.add_argument(old[position].type, old[position].location)
        old[position].replace_all_uses_with(argument)
    for _ in old:
        kernel.erase_argument(0)
    return order


def _before(host: mlir.Block, first: mlir.Value, second: mlir.Value) -> int:
    """1 if `first` is computed before `second`, -1 if after, 0 if neither is known."""
    places = [getattr(value.owner, "operation", None) for value in (first, second)]
    one, other = (op if op is not None and op.block == host else None for op in places)
    if one is None or other is None:
        return (one is not None) - (other is not None)
    return 0 if one == other else 1 if one.is_before_in_block(other) else -1
