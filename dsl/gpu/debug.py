"""printf, in kernels (vprintf) and in host functions (dprintf).  CUDA C++ Programming Guide: Formatted Output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dsl.core import conversion, mlir, text, trace
from dsl.core.dtypes import Float32, Float64, Int32, Int64, Numeric, Uint32, Uint64, is_dynamic, numeric
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.formats import FORMATS
from dsl.core.pointer import Pointer, element_name
from dsl.core.value import type_name
from dsl.layout import ComposedLayout, Layout, ScaledBasis, Swizzle

MOST_VALUES = 32                # of one vprintf. CUDA C++ Programming Guide: Formatted Output, Limitations
_C_PLACES = re.compile(r"%%|%[-+ #0]*[\d*]*(?:\.[\d*]*)?(?:hh|h|ll|l|j|z|t|L)?[diouxXeEfFgGaAcsp]")
_PLACES = re.compile(r"\{[^{}]*\}|" + _C_PLACES.pattern)


def printf(*args, end: str = "\n", braces: bool = True) -> None:
    """Print numbers, pointers, layouts, tensors and tuples of them. `{}` takes the form of its argument; %d, %f... are C's.

    Without a format string the arguments are printed with `, ` between them. `end` is appended. Without `braces` the
    format is C's alone.
    """
    if not args:
        raise DSLUserCodeTypeError("printf prints at least one argument", fix='printf("")')
    if isinstance(args[0], str):
        form, values = args[0], list(args[1:])
    else:
        form, values = ", ".join("{}" for _ in args), list(args)
    pattern = _PLACES if braces else _C_PLACES
    places = [place for place in pattern.findall(form) if place != "%%"]
    if len(places) != len(values):
        raise DSLUserCodeTypeError(f"the format has {len(places)} places for {len(values)} values",
                                   fix=f"write one {'{}' if braces else '%d'} for each value")
    leaves: list = []
    remaining = iter(values)
    emit(pattern.sub(lambda match: _place(match.group(), remaining, leaves), form) + end, leaves)


def _place(place: str, values: Iterator, leaves: list) -> str:
    """What stands in the C format for one place of the author's."""
    if place == "%%":
        return place
    if place.startswith("{"):
        return spell(next(values), leaves)
    leaves.append(_for_conversion(place, next(values)))
    return place


def _for_conversion(place: str, value: object) -> Numeric | Pointer:
    """A value as the conversion `place` of C's reads it: Float64, or an integer of the width it says."""
    kind, wide = place[-1], bool(re.search("[ljzt]", place[:-1]))
    if isinstance(value, Pointer):
        if kind == "p":
            return value
        raise DSLUserCodeTypeError(f"{place} prints no pointer", fix="%p, or {}")
    number = numeric(value)
    if number is None or kind in "ps" or "*" in place:
        raise DSLUserCodeTypeError(f"{place} does not print {type_name(value)}", fix="write {} in its place")
    if kind in "eEfFgGaA":
        return Float64(number)
    if number.is_float:
        raise DSLUserCodeTypeError(f"{place} prints integers, and got {type_name(value)}", fix="%f, or {}")
    return (Int64 if wide else Int32)(number) if kind in "dic" else (Uint64 if wide else Uint32)(number)


def _refuse(value: object) -> None:
    raise DSLUserCodeTypeError(f"printf prints numbers, pointers, layouts, tensors and tuples of them, and got "
                               f"{type_name(value)}", fix="print its parts, or use Python's print while compiling")


def spell(value: object, leaves: list) -> str:
    """The C conversion of `value` as CuTe prints it; what it converts goes to `leaves`."""
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(spell(item, leaves) for item in value) + ")"
    if value is None:
        return "_"
    if hasattr(type(value), "__printf__"):
        return value.__printf__(leaves)
    if isinstance(value, Pointer):
        leaves.append(value)
        return f"raw_ptr(0x%016llx: {element_name(value.dtype)}, {value.space_name}, align<{value.alignment_bytes}>)"
    if isinstance(value, Layout):
        return f"{spell(value.shape, leaves)}:{spell(value.stride, leaves)}"
    if isinstance(value, ComposedLayout):
        return " o ".join(spell(part, leaves) for part in (value.inner, value.offset, value.outer))
    if isinstance(value, ScaledBasis):
        return spell(value.value, leaves) + "".join(f"@{mode}" for mode in reversed(value.mode))
    if isinstance(value, Swizzle) or isinstance(value, str):
        return str(value).replace("%", "%%")
    number = numeric(value)
    if number is None:
        _refuse(value)
    return _spell_number(number, leaves)


def _spell_number(number: Numeric, leaves: list) -> str:
    if not is_dynamic(number):
        return ("%f" % number.value if number.is_float else str(int(number.value))).replace("%", "%%")
    leaves.append(number)
    if number.is_float:
        return "%f"
    wide = type(number).width == 64
    return ("%lld" if wide else "%d") if number.signed or type(number).width == 1 else ("%llu" if wide else "%u")


def printable(number: Numeric) -> Numeric:
    """The number in a type that printf has."""
    dtype = type(number)
    if conversion.is_bits(dtype) and dtype.width < 8:
        return Float32(conversion.decode(mlir.result("arith.extui", mlir.i32, number.ir()), FORMATS[dtype.__name__]))
    return Float32(number) if dtype.is_float and dtype.width < 32 else number


def _vararg(leaf) -> mlir.Value:
    """`leaf` after C's default argument promotions."""
    if isinstance(leaf, mlir.Value):
        return mlir.result("llvm.ptrtoint", mlir.i64, leaf)
    if isinstance(leaf, Pointer):
        return mlir.result("llvm.ptrtoint", mlir.i64, leaf.ir())
    if leaf.is_float:
        return Float64(printable(leaf)).ir()
    wide = type(leaf).width == 64
    promoted: type[Numeric] = (Int64 if leaf.signed else Uint64) if wide else (Int32 if leaf.signed else Uint32)
    return promoted(leaf).ir()


def emit(form: str, leaves: list) -> None:
    """Print a C format; a leaf is a number, a pointer, or the address of a text (%s) as an SSA value."""
    if trace.in_kernel() and len(leaves) > MOST_VALUES:
        for part, taken in _parts(form, leaves):
            emit(part, taken)
        return
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


def _parts(form: str, leaves: list) -> Iterator[tuple[str, list]]:
    """A format in parts of as many values as one call takes."""
    ends = [place.end() for place in _PLACES.finditer(form) if place.group() != "%%"]
    cuts = [0, *ends[MOST_VALUES - 1:-1:MOST_VALUES], len(form)]
    for i, (start, stop) in enumerate(zip(cuts, cuts[1:])):
        yield form[start:stop], leaves[i * MOST_VALUES:(i + 1) * MOST_VALUES]


def text_address(words: str) -> mlir.Value:
    """The address of a text for %s."""
    if trace.in_kernel():
        return text.generic_address(trace.kernel().module, words)
    return text.address(trace.host().module, words, 0)


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
