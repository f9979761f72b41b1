"""Integers of several registers: additions and products that leave a carry for the next one, and take the last carry.

The carry is a flag of the thread (CC.CF) that `add_cc`, `sub_cc` and `mad_cc` write and `addc`, `subc` and `madc` read:
the latter do not write it, so a chain has two links.  PTX ISA: Extended-Precision Integer Arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Int32, Int64, Numeric, Uint32, Uint64, numeric
from dsl.core.number.operators import type_name
from dsl.gpu import inline

_TYPES: dict[type[Numeric], tuple[str, str, str]] = {
    Int32: ("32", "s", "r"),
    Uint32: ("32", "u", "r"),
    Int64: ("64", "s", "l"),
    Uint64: ("64", "u", "l"),
}


def _two(operation: Callable) -> Callable:
    return lambda a, b: operation(a, b)


def _three(operation: Callable) -> Callable:
    return lambda a, b, c: operation(a, b, c)


def _chained(name: str, instruction: str, count: int, text: str) -> Callable:
    def of(*operands) -> Numeric:
        numbers = [numeric(operand) for operand in operands]
        kinds = {type(number) for number in numbers if number is not None}
        typed = {type(operand) for operand in operands if isinstance(operand, Numeric)} or kinds
        if (
            len(operands) != count
            or any(number is None for number in numbers)
            or len(typed) != 1
            or not typed <= set(_TYPES)
        ):
            raise DSLUserCodeTypeError(
                f"{name} takes {count} integers of one type of 32 or 64 bits, got "
                f"{', '.join(map(type_name, operands))}",
                fix="convert them, for example `Int32(x)`",
            )
        (dtype,) = typed
        width, sign, letter = _TYPES[dtype]
        sign = sign if "mad" in instruction else "u"
        places = ", ".join(f"${i}" for i in range(count + 1))
        return inline.ptx(
            f"{instruction}.{sign}{width} {places};", dtype, f"={letter}" + f",{letter}" * count, *map(dtype, operands)
        )

    operation = _two(of) if count == 2 else _three(of)
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"{text}  PTX ISA: {instruction}"
    return operation


add_cc = _chained("add_cc", "add.cc", 2, "a + b; the carry out of it becomes the flag.")
addc = _chained("addc", "addc", 2, "a + b and the flag, which stays as it is.")
sub_cc = _chained("sub_cc", "sub.cc", 2, "a - b; the borrow becomes the flag.")
subc = _chained("subc", "subc", 2, "a - b less the borrow in the flag, which stays as it is.")
mad_cc = _chained("mad_cc", "mad.lo.cc", 3, "The low half of a * b, and c; the carry of that sum becomes the flag.")
madc = _chained("madc", "madc.lo", 3, "The low half of a * b, c and the flag, which stays as it is.")
