"""Operands of T.cuda's functions: a number, an address."""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, numeric
from dsl.core.number.pointer import Pointer
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.memory.buffer import Buffer


def number_of(name: str, value: object) -> Numeric:
    """`value`, an operand of T.cuda's function `name`, as a number."""
    number = numeric(value)
    if number is None:
        raise DSLUserCodeTypeError(
            f"T.cuda.{name} takes a number, got {type_name(value)}",
            id="OPERAND_TYPE",
            fix="give a number, or an element of a buffer: `A[i]`",
        )
    return number


def pointer_of(name: str, place: object) -> Pointer:
    """`place`, an operand of T.cuda's function `name`, as an address; a buffer means its first element."""
    if isinstance(place, Buffer):
        return place.data
    if not isinstance(place, Pointer):
        raise DSLUserCodeTypeError(
            f"T.cuda.{name} takes an address, got {type_name(place)}", id="POINTER_TYPE", fix="A.ptr_to([i])"
        )
    return place
