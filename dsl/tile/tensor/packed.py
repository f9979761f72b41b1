"""Elements smaller than a byte (Int4, Float4E2M1FN, Float6...):
between the bytes in memory and a vector's elements.

Element k takes bits k * width and up of the bytes, the first byte lowest, so an element of 6 bits may be in two bytes.
Every element of a TensorSSA is a separate value (i4, or the bits in an i8). Memory is read and written in whole bytes
only: an access that begins or ends inside a byte is refused, as upstream refuses it.
"""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeValueError, warn_not_portable
from dsl.core.ir import arithmetic, mlir
from dsl.core.number import conversion
from dsl.core.number.dtypes import Float32, Int32, Int64, Numeric, Uint8
from dsl.core.number.float_formats import FORMATS
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.tile.vector.mlir_vector import extract, from_elements

_NATIVE = (4,)  # widths of which NVIDIA's compiler reads memory


def unpack(stored: mlir.Value, dtype: type[Numeric], count: int) -> mlir.Value:
    """The first `count` elements of a vector of bytes, as a vector of the carriers of `dtype`."""
    words, bits = _words(stored)
    return from_elements([_element(words, bits, k * dtype.width, dtype) for k in range(count)])


def pack(elements: mlir.Value, dtype: type[Numeric]) -> mlir.Value:
    """The bytes, a vector of i8, that the elements of a vector take. They are whole."""
    count = elements.type.shape[0]
    size_bytes = count * dtype.width // 8
    bits = 32 if size_bytes % 4 == 0 else 8
    type_ = mlir.i32 if bits == 32 else mlir.i8
    wide = [_low_bits(extract(elements, k), type_, dtype.width) for k in range(count)]
    words: list[mlir.Value | None] = [None] * (size_bytes * 8 // bits)

    def put(index: int, value: mlir.Value) -> None:
        words[index] = value if words[index] is None else arithmetic.binary("or", words[index], value, False)

    for k, value in enumerate(wide):
        index, shift = divmod(k * dtype.width, bits)
        put(index, _shifted("shli", value, shift))
        if shift + dtype.width > bits:
            put(index + 1, _shifted("shrui", value, bits - shift))
    return _as_bytes(from_elements(words))


def _words(stored: mlir.Value) -> tuple[list[mlir.Value], int]:
    """A vector of bytes as integers of 32 bits where it has whole ones, else of 8."""
    size_bytes = stored.type.shape[0]
    if size_bytes % 4:
        return [extract(stored, i) for i in range(size_bytes)], 8
    words = mlir.result("vector.bitcast", mlir.vector(mlir.i32, size_bytes // 4), stored)
    return [extract(words, i) for i in range(size_bytes // 4)], 32


def _as_bytes(words: mlir.Value) -> mlir.Value:
    count = words.type.shape[0] * words.type.element_type.width // 8
    return words if count == words.type.shape[0] else mlir.result("vector.bitcast", mlir.vector(mlir.i8, count), words)


def _element(words: list[mlir.Value], bits: int, start: int, dtype: type[Numeric]) -> mlir.Value:
    """The element whose lowest bit is bit `start`."""
    index, shift = divmod(start, bits)
    value = _shifted("shrui", words[index], shift)
    if shift + dtype.width > bits:
        value = arithmetic.binary("or", value, _shifted("shli", words[index + 1], bits - shift), False)
    if dtype.carrier.width < value.type.width:
        value = mlir.result("arith.trunci", dtype.carrier, value)
    if dtype.width == dtype.carrier.width:
        return value
    return arithmetic.binary("and", value, mlir.constant((1 << dtype.width) - 1, value.type), False)


def _low_bits(value: mlir.Value, type_: mlir.Type, width: int) -> mlir.Value:
    return value if value.type == type_ else mlir.result("arith.extui", type_, value)


def _shifted(name: str, value: mlir.Value, amount: int) -> mlir.Value:
    return mlir.result(f"arith.{name}", value.type, value, mlir.constant(amount, value.type)) if amount else value


def check_run(dtype: type[Numeric], count: int, run: int, space: AddressSpace, what: str) -> None:
    """Raise if runs of `run` elements are not whole bytes; warn if NVIDIA's compiler refuses what works here."""
    if dtype.width > 8:
        raise DSLUserCodeValueError(
            f"elements of {dtype} are groups of bits, so they cannot be loaded or stored as values",
            fix="recast the tensor to Uint8, or to the type of one of the group",
        )
    if run * dtype.width % 8:
        raise DSLUserCodeValueError(
            f"this {what} moves {run} contiguous element{'s' * (run != 1)} of {dtype} at a time, {run * dtype.width} "
            "bits: memory has whole bytes only",
            fix="move a multiple of " + ("2" if dtype.width == 4 else "4") + " contiguous elements",
        )
    bits = count * dtype.width
    if dtype.is_float and space is AddressSpace.rmem and bits % 32:
        warn_not_portable(f"{count} elements of {dtype} in registers are {bits} bits", fix="use multiples of 32 bits")
    elif dtype.width not in _NATIVE and space is not AddressSpace.rmem and what == "load":
        warn_not_portable(f"elements of {dtype} are loaded from memory", fix="load bytes, and recast in registers")


def check_start(start: Pointer, what: str) -> Pointer:
    """`start`, where it is at the beginning of a byte."""
    if start.bit != 0:
        where = "may begin" if start.bit is None else "begins"
        raise DSLUserCodeValueError(
            f"this {what} of {start.dtype} {where} inside a byte",
            fix="begin at an even element (every fourth of 6 bits); declare a dynamic "
            "offset with `cute.assume(n, divby=...)`",
        )
    return start


def check_copy(start: Pointer, count: int) -> None:
    """Raise where a copy of `count` elements from or to `start` is not one of whole bytes."""
    if count * start.dtype.storage_width % 8:
        raise DSLUserCodeValueError(
            f"this copy moves {count} contiguous element{'s' * (count != 1)} of {start.dtype} at a time, "
            f"{count * start.dtype.storage_width} bits: memory has whole bytes only",
            fix="copy tensors whose contiguous mode has whole bytes, or recast them to Uint8",
        )
    if start.dtype.width not in _NATIVE:
        warn_not_portable(f"elements of {start.dtype} are copied", fix="copy the tensors recast to Uint8")
    check_start(start, "copy")


def element(start: Pointer, offset: Any) -> Numeric:
    """The element `offset` (static or dynamic) elements from the pointer, in a type that has arithmetic."""
    dtype = start.dtype
    at = Int64(offset) * dtype.width + (check_start(start, "load").bit or 0)
    first, last = at >> 3, (at + (dtype.width - 1)) >> 3
    low, high = (Pointer(Uint8, start.address, start.space, 1)[place] for place in (first, last))
    bits = ((Int32(high) << 8) | Int32(low)) >> Int32(at & 7) if dtype.width != 4 else Int32(low) >> Int32(at & 7)
    code = bits & ((1 << dtype.width) - 1)
    if dtype.is_integer:
        return (code ^ 8) - 8
    return Float32(conversion.decode(code.ir(), FORMATS[dtype.__name__]))
