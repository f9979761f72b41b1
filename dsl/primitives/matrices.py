"""8x8 matrices of 16-bit elements between shared memory and the registers of a warp.  PTX ISA: ldmatrix, stmatrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Int32, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace
from dsl.core.phrase import shown
from dsl.gpu import mma
from dsl.primitives.enums import LoadShape, LoadSrcFormat, MMALayout, StoreShape
from dsl.primitives.operands import needs_blackwell, pointer, static, word
from dsl.primitives.vector import Vector


def _transposed(layout: Any) -> bool:
    return word(layout, MMALayout, "layout") == "col"


def _only_8x8(name: str, shape: Any, known: Any, source: Any = None) -> None:
    """Raise for shapes and formats of 8-bit and narrower elements."""
    if (shape is not None and word(shape, known, "shape") != "m8n8") or source is not None:
        raise needs_blackwell(f"{name} of {getattr(shape, 'value', shape) or getattr(source, 'value', source)}")


def ldmatrix(ptr: Any, num: int, layout: Any, *, shape: Any = None, src_format: Any = None) -> Any:
    """`num` (1, 2, 4) matrices; lane 8 i + r names row r of matrix i. An Int32 or a Vector of them.

    `layout` COL transposes each matrix.  PTX ISA: ldmatrix.
    """
    if src_format is not None:
        word(src_format, LoadSrcFormat, "src_format")
    _only_8x8("ldmatrix", shape, LoadShape, src_format)
    count = static(num, "number of matrices")
    if count not in (1, 2, 4):
        raise DSLUserCodeValueError(f"ldmatrix loads 1, 2 or 4 matrices, got {shown(count)}", fix="num=4")
    values = mma.ldmatrix(pointer(ptr, AddressSpace.smem), count, _transposed(layout))
    registers = [Int32(value) for value in values]
    return registers[0] if count == 1 else Vector.from_elements(registers, Int32)


def stmatrix(ptr: Any, sources: Any, layout: Any, *, shape: Any = None) -> None:
    """Store 1, 2 or 4 matrices, the inverse of `ldmatrix`.  PTX ISA: stmatrix."""
    _only_8x8("stmatrix", shape, StoreShape)
    registers = _registers(sources)
    if len(registers) not in (1, 2, 4):
        raise DSLUserCodeValueError(
            f"stmatrix stores 1, 2 or 4 matrices, got {len(registers)}", fix="a Vector of 4 Int32"
        )
    mma.stmatrix(pointer(ptr, AddressSpace.smem), [each.ir() for each in registers], _transposed(layout))


def _registers(sources: Any) -> Sequence[Int32]:
    if isinstance(sources, Vector):
        sources = sources.to_elements()
    registers = list(sources) if isinstance(sources, (tuple, list)) else [sources]
    for each in registers:
        number = numeric(each)
        if number is None or type(number).width != 32:
            raise DSLUserCodeTypeError(f"stmatrix stores registers of 32 bits, got {type_name(each)}", fix="Int32(x)")
    return [Int32(each) for each in registers]
