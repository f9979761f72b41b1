"""printf, in kernels (vprintf) and in host functions (dprintf).  CUDA C++ Programming Guide: Formatted Output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import NoneType
from typing import Any, NoReturn

from dsl.core import trace
from dsl.core.control_flow.text.runtime_text import RuntimeText, Value
from dsl.core.control_flow.text.trace_output import Formatted
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn, warn_not_portable
from dsl.core.ir import constant_text, mlir
from dsl.core.number import conversion
from dsl.core.number.dtypes import Float32, Float64, Int32, Int64, Numeric, Uint32, Uint64, is_dynamic, numeric
from dsl.core.number.float_formats import FORMATS, round_to
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import Pointer, element_name
from dsl.core.phrase import Phrase
from dsl.layout import ComposedLayout, Layout, ScaledBasis, Swizzle

MOST_VALUES = 32  # of one vprintf. CUDA C++ Programming Guide: Formatted Output, Limitations
_CONVERSION = r"[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?(?:hh|h|ll|l|j|z|t|L)?[diouxXeEfFgGaAcsp]"
_INSERTED = "\0"  # where a RuntimeText has a value
_C_PLACES = re.compile(f"{_INSERTED}|%%|%(?={_INSERTED})|%{_CONVERSION}")
_PLACES = re.compile(
    rf"{_INSERTED}|%%|%(?={_INSERTED})|%{_CONVERSION}|\{{\}}|(?P<field>\{{\w*(?:![rsa])?(?::[^{{}}]*)?\}})|(?P<stray>%.)",
    re.DOTALL,
)


def printf(*args, end: str | None = "\n", braces: bool = True) -> None:
    """Print numbers, pointers, layouts, tensors and tuples of them. `{}` takes the form of its argument;
    %d, %f... are formats of C.

    An f-string is formatted when the program runs: the formats in it are formats of C, and values known while compiling
    are text that Python makes. Without a format the arguments are printed with `, ` between them. `end` is appended.
    Without `braces` the format is a format of C. Raises DSLUserCodeTypeError for a format that does not fit its values.
    """
    if not args:
        raise DSLUserCodeTypeError("printf prints at least one argument", fix='printf("")')
    if not isinstance(end, (str, NoneType)):
        raise DSLUserCodeTypeError(Phrase("`end` must be a string, got {end}", end=type_name(end)), fix='end="\\n"')
    leaves: list = []
    tail = "\n" if end is None else end.replace("%", "%%")
    if isinstance(args[0], Formatted):
        emit(_formatted(args[0], args[1:], leaves) + tail, leaves)
        return
    if isinstance(args[0], str):
        form, values = args[0], list(args[1:])
    else:
        form, values = ", ".join("{}" for _ in args), list(args)
    parts = form.parts if isinstance(form, RuntimeText) else (form,)
    inserted = [part for part in parts if isinstance(part, Value)]
    form = "".join(part if isinstance(part, str) else _INSERTED for part in parts)
    pattern = _PLACES if braces else _C_PLACES
    wanted = sum(_values_of(place) for place in pattern.finditer(form))
    if wanted != len(values):
        raise DSLUserCodeTypeError(
            f"the format has {wanted} place{'s' * (wanted != 1)} for {len(values)} value{'s' * (len(values) != 1)}",
            fix=_one_for_each(form, braces),
        )
    remaining, inserted = iter(values), iter(inserted)
    text = pattern.sub(lambda match: _place(match.group(), remaining, inserted, leaves), form)
    emit(text + "%" * _ends_in_percent(text) + tail, leaves)


def _values_of(place: re.Match) -> int:
    """How many values a place takes. Raises DSLUserCodeTypeError for a conversion that printf lacks."""
    text, kind = place.group(), place.lastgroup
    if kind == "field":
        raise DSLUserCodeTypeError(
            f"printf does not support `{text}`: values are printed in order and as they are",
            fix='write {}, or a conversion of C\'s (%5d), or an f-string: f"{x:5d}"',
        )
    if kind == "stray":
        raise DSLUserCodeTypeError(f"printf has no conversion `{text}`", fix="%% prints a percent sign")
    return 0 if text in ("%", "%%", _INSERTED) else 1 + text.count("*")


def _one_for_each(form: str, braces: bool) -> str:
    has_percent = any(place.startswith("%") and place != "%%" for place in _C_PLACES.findall(form))
    return f"write one {'{}' if braces else '%d'} for each value" + "; %% prints a percent sign" * has_percent


def _ends_in_percent(form: str) -> bool:
    """Whether a C format ends in a percent sign that begins nothing."""
    return (len(form) - len(form.rstrip("%"))) % 2 == 1


def _formatted(form: Formatted, more: tuple, leaves: list) -> str:
    """The C format of an f-string. Raises DSLUserCodeTypeError for values next to it,
    and for formats that C does not have."""
    if more and any("{}" in part for part in form.parts if isinstance(part, str)):
        warn(
            "printf prints `{{}}` of an f-string as braces, not as a value: write the values in the "
            "f-string, or the format in a variable",
            "PRINTF_VALUES_UNUSED",
        )
    elif more:
        raise DSLUserCodeTypeError(
            f"an f-string contains its values, but {len(more)} more follow{'s' * (len(more) == 1)} it",
            fix="write them all in the f-string, or all after a plain string",
        )
    pieces = []
    for part in form.parts:
        if isinstance(part, tuple):
            pieces.append(_spell_formatted(*part, leaves))
            continue
        place = next((place for place in _C_PLACES.findall(part) if place != "%%"), None)
        if place:
            raise DSLUserCodeTypeError(
                f"`{place}` in an f-string stands for no value",
                fix="write the value there: {x:d}; %% prints a percent sign",
            )
        pieces.append(part.replace("%%", "%").replace("%", "%%"))
    return "".join(pieces)


def _spell_inserted(part: str | Value, leaves: list) -> str:
    """The C conversion of a part of a RuntimeText: a tensor and an object read as Python shows them."""
    if isinstance(part, str):
        return part.replace("%", "%%")
    if not isinstance(part.value, _PRINTED_IN_TEXT):
        return part.text.replace("%", "%%")
    return _spell_formatted(part.value, part.conversion, part.spec, part.is_known, part.text, leaves)


_PRINTED_IN_TEXT = (Numeric, Pointer, Layout, ComposedLayout, ScaledBasis, tuple, list)


def _spell_formatted(value: Any, conversion: str, spec: str, is_known: bool, name: str, leaves: list) -> str:
    """The C conversion of a value in an f-string: Python's text where it is known while compiling."""
    numbers: list = []
    try:
        spelt = spell(value, numbers)
    except DSLUserCodeTypeError:  # a dict, a type, an object: Python has a text for it
        spelt = ""
    if not numbers and not isinstance(value, Numeric):
        return format({"r": repr, "s": str, "a": ascii}.get(conversion, lambda same: same)(value), spec).replace(
            "%", "%%"
        )
    if not spec:
        leaves += numbers
        return spelt
    if not is_known:
        warn_not_portable("the format of a value known at run time is computed", id="UNSUP_FSTRING_FORMAT")
    if set("<>^=") & set(spec):
        raise DSLUserCodeError(
            f"`:{spec}` aligns a value known at run time",
            id="UNSUP_FSTRING_ALIGN",
            fix="give a width as C does: {x:5d}, and {x:-5d} for the left",
        )
    if not re.fullmatch(_CONVERSION, spec) or "*" in spec:
        raise DSLUserCodeError(
            f"`:{spec}` is not a format for a value known at run time",
            id="UNSUP_FSTRING_FORMAT",
            fix="write it as C does, with its conversion: {x:5d}, {x:.2f}, {x:08x}",
        )
    leaves.append(_for_conversion("%" + spec, value))
    return "%" + spec


def _place(place: str, values: Iterator, inserted: Iterator[Value], leaves: list) -> str:
    """The text in the C format for one place of the author's format."""
    if place == _INSERTED:
        return _spell_inserted(next(inserted), leaves)
    if place in ("%", "%%"):
        return "%%"
    if place == "{}":
        return spell(next(values), leaves)
    for _ in range(place.count("*")):
        leaves.append(_for_conversion("%d", next(values)))
    leaves.append(_for_conversion(place, next(values)))
    return place


def _for_conversion(place: str, value: Any) -> Numeric | Pointer:
    """A value as the conversion `place` of C's reads it: Float64, or an integer of the conversion's width."""
    kind, wide = place[-1], bool(re.search("[ljzt]", place[:-1]))
    if isinstance(value, Pointer):
        if kind == "p":
            return value
        raise DSLUserCodeTypeError(f"{place} prints no pointer", fix="%p, or {}")
    number = numeric(value)
    if number is None or kind in "ps":
        raise DSLUserCodeTypeError(
            Phrase("{place} does not print {value}", place=place, value=type_name(value)), fix="write {} in its place"
        )
    if kind in "eEfFgGaA":
        return Float64(rounded(number))
    if number.is_float:
        raise DSLUserCodeTypeError(
            Phrase("{place} prints integers, got {value}", place=place, value=type_name(value)), fix="%f, or {}"
        )
    if kind in "oxX" and number.signed and type(number).width < 32:
        number = Int32(number)  # as C promotes it
    return (Int64 if wide else Int32)(number) if kind in "dic" else (Uint64 if wide else Uint32)(number)


def _refuse(value: Any) -> NoReturn:
    raise DSLUserCodeTypeError(
        Phrase(
            "printf prints numbers, pointers, layouts, tensors and tuples of them, got {value}", value=type_name(value)
        ),
        fix="print its parts, or use Python's print while compiling",
    )


def spell(value: Any, leaves: list) -> str:
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
    if isinstance(value, RuntimeText):
        return "".join(_spell_inserted(part, leaves) for part in value.parts)
    if isinstance(value, (Swizzle, str)):
        return str(value).replace("%", "%%")
    if type(value) is int:
        return str(value)
    number = numeric(value)
    if number is None:
        _refuse(value)
    return _spell_number(number, leaves)


def _spell_number(number: Numeric, leaves: list) -> str:
    if not is_dynamic(number):
        return f"{rounded(number).value:f}" if number.is_float else str(int(number.value))
    if type(number).width == 128:
        high = mlir.result("arith.shrui", mlir.i128, number.ir(), mlir.constant(64, mlir.i128))
        leaves += [Uint64(mlir.result("arith.trunci", mlir.i64, half)) for half in (high, number.ir())]
        return "0x%016llx%016llx"
    leaves.append(number)
    if number.is_float:
        return "%f"
    wide = type(number).width == 64
    return ("%lld" if wide else "%d") if number.signed or type(number).width == 1 else ("%llu" if wide else "%u")


def rounded(number: Numeric) -> Numeric:
    """A static float as its type holds it at run time."""
    if is_dynamic(number) or not number.is_float:
        return number
    return type(number)(round_to(number.value, type(number).__name__))


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
        for part, numbers in _parts(form, leaves):
            emit(part, numbers)
        return
    values = [_vararg(leaf) for leaf in leaves]
    if trace.in_kernel():
        module = trace.kernel().module
        address = constant_text.generic_address(module, form)
        module.declare("vprintf", "llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32")
        mlir.call("vprintf", mlir.i32, address, _buffer(values))
        return
    module = trace.host().module
    module.declare("dprintf", "llvm.func @dprintf(i32, !llvm.ptr, ...) -> i32")
    mlir.call_variadic(
        "dprintf",
        mlir.i32,
        [mlir.i32, mlir.ptr()],
        mlir.constant(1, mlir.i32),
        constant_text.address(module, form, 0),
        *values,
    )


def _parts(form: str, leaves: list) -> Iterator[tuple[str, list]]:
    """A format in parts of as many values as one call takes."""
    start = stop = first = last = 0  # of the part: in the format, in the values
    for place in _C_PLACES.finditer(form):
        count = 0 if place.group() == "%%" else 1 + place.group().count("*")
        if last + count - first > MOST_VALUES:
            yield form[start:stop], leaves[first:last]
            start, first = stop, last
        stop, last = place.end(), last + count
    yield form[start:], leaves[first:]


def text_address(words: str) -> mlir.Value:
    """The address of a text for %s."""
    if trace.in_kernel():
        return constant_text.generic_address(trace.kernel().module, words)
    return constant_text.address(trace.host().module, words, 0)


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
