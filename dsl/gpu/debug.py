"""printf, in kernels (vprintf) and in host functions (dprintf).  CUDA C++ Programming Guide: Formatted Output."""

from __future__ import annotations

import re

from dsl.core import mlir, text, trace
from dsl.core.dtypes import Float64, Int32, Int64, Numeric, Uint32, Uint64, numeric
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.pointer import Pointer
from dsl.core.value import type_name

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def printf(*args, end: str = "\n") -> None:
    """Print numbers, pointers and tuples of them. `{}` takes the form of its argument; %d, %f... are C's.

    Without a format string the arguments are printed with blanks between them. `end` is appended.
    """
    if args and isinstance(args[0], str):
        form, values = args[0], list(args[1:])
    else:
        form, values = " ".join("{}" for _ in args), list(args)
    leaves: list = []
    if _PLACEHOLDER.search(form):
        if len(_PLACEHOLDER.findall(form)) != len(values):
            raise DSLUserCodeTypeError(f"the format has {len(_PLACEHOLDER.findall(form))} places for {len(values)} values",
                                       fix="write one {} for each value")
        remaining = iter(values)
        form = _PLACEHOLDER.sub(lambda match: _spell(next(remaining), leaves), form)
    else:
        for value in values:
            _spell(value, leaves)
    _emit(form + end, leaves)


def _spell(value: object, leaves: list) -> str:
    """The C conversion of `value`; what it converts goes to `leaves`."""
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(_spell(item, leaves) for item in value) + ")"
    if isinstance(value, Pointer):
        leaves.append(value)
        return "%p"
    number = numeric(value)
    if number is None:
        if isinstance(value, str) or not hasattr(value, "__dict__"):
            return str(value).replace("%", "%%")
        raise DSLUserCodeTypeError(f"printf prints numbers, pointers and tuples of them, and got {type_name(value)}",
                                   fix="print its elements, or use Python's print while compiling")
    leaves.append(number)
    if number.is_float:
        return "%f"
    wide = type(number).width == 64
    return ("%lld" if wide else "%d") if number.signed or type(number).width == 1 else ("%llu" if wide else "%u")


def _vararg(leaf) -> mlir.Value:
    """`leaf` after C's default argument promotions."""
    if isinstance(leaf, Pointer):
        return mlir.result("llvm.ptrtoint", mlir.i64, leaf.ir())
    if leaf.is_float:
        return Float64(leaf).ir()
    wide = type(leaf).width == 64
    promoted: type[Numeric] = (Int64 if leaf.signed else Uint64) if wide else (Int32 if leaf.signed else Uint32)
    return promoted(leaf).ir()


def _emit(form: str, leaves: list) -> None:
    values = [_vararg(leaf) for leaf in leaves]
    if trace.in_kernel():
        module = trace.kernel().module
        address = text.generic_address(module, form)
        module.declare("vprintf", "llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32")
        mlir.call("vprintf", mlir.i32, address, _buffer(values))
        return
    module = trace.host().module
    module.declare("dprintf", "llvm.func @dprintf(i32, !llvm.ptr, ...) -> i32")
    mlir.call_variadic("dprintf", mlir.i32, [mlir.i32, mlir.ptr()], mlir.constant(1, mlir.i32),
                       text.address(module, form, 0), *values)


def _buffer(values: list[mlir.Value]) -> mlir.Value:
    """The argument buffer of vprintf: each value at its natural alignment."""
    offset, places = 0, []
    for value in values:
        size_bytes = 8 if str(value.type) in ("i64", "f64") else 4
        offset = -(-offset // size_bytes) * size_bytes
        places.append((offset, size_bytes))
        offset += size_bytes
    buffer = trace.entry_alloca(mlir.i8, max(offset, 1), 8)
    for value, (place, size_bytes) in zip(values, places):
        mlir.store(value, mlir.gep(buffer, mlir.i8, place), size_bytes)
    return buffer
