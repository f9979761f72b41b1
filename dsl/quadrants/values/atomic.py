"""Atomic operations on places: one instruction where other threads see the place, a load and a store elsewhere.

All return the old value.  PTX ISA: atom.  Source: Quadrants user guide, Atomics.
"""

from __future__ import annotations

from typing import Any

from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import operate, select
from dsl.gpu.memory import atomic
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.functions.task import program
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import Lvalue, value_of
from dsl.quadrants.values.matrix import Matrix, entries_like

# The public names.
__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
]

ATOMIC = ("add", "sub", "and", "or", "xor")  # of augmented assignments


def update(name: str, place: Lvalue, value: Any) -> Numeric:
    """`place = place name value`, atomic where it must be; the old value."""
    core = place.core
    number = types.number(value_of(value))
    if number is None:
        raise QuadrantsTypeError.at(f"atomic_{name} takes a number, got {described(value)}", "give a number")
    if (core.is_float and name in ("and", "or", "xor")) or (name in ("and", "or", "xor") and number.is_float):
        raise QuadrantsTypeError.at(
            f"unsupported operand type(s) for 'atomic_{name}': "
            f"'{types.of_core(core)}' and '{types.of_core(type(number))}'",
            "use integers: bits of floats have no meaning here",
        )
    place.warn_of_fraction(number)
    operand = core(number)
    if not place.is_shared:
        old = place.load()
        place.store(_combined(name, old, operand))
        return old
    program().task.effect()
    if name == "sub" and (core.is_float or core.width < 32):
        name, operand = "add", -operand
    if core.width < 32 or atomic.kind_of(name, core) is None:
        beyond = {"max": "gt", "min": "lt"}.get(name)
        unless = None if beyond is None else lambda old: operate(beyond, old, operand)
        return atomic.by_compare_and_swap(place.pointer(), lambda old: _combined(name, old, operand), unless)
    return atomic.update(name, place.pointer(), operand)


def _combined(name: str, old: Numeric, value: Numeric) -> Numeric:
    return value if name == "exch" else type(old)(operate(name, old, value))


def _fanned(name: str, place: Any, value: Any) -> Any:
    if isinstance(place, Matrix) and all(isinstance(entry, Lvalue) for entry in place.entries):
        pairs = zip(place.entries, entries_like(place, value))
        return place.like([update(name, entry, part) for entry, part in pairs])
    if not isinstance(place, Lvalue):
        raise QuadrantsSyntaxError.at(
            f"cannot use a non-writable target as the first operand of 'atomic_{name}'",
            fix="name a variable, or an element of a field or array",
        )
    return update(name, place, value)


def _atomic(name: str, spelled: str):
    def operation(x, y):
        return _fanned(name, x, y)

    operation.__name__ = f"atomic_{spelled}"
    operation.__doc__ = f"`x = x {spelled} y`; the old value of x."
    return operation


atomic_add, atomic_sub, atomic_min, atomic_max, atomic_and, atomic_or, atomic_xor, atomic_mul = (
    _atomic(name, name) for name in ("add", "sub", "min", "max", "and", "or", "xor", "mul")
)
atomic_exchange = _atomic("exch", "exchange")


def atomic_cas(x, expected, desired):
    """`x = desired` where x is `expected`; the old value of x."""
    if not isinstance(x, Lvalue):
        raise QuadrantsSyntaxError.at(
            "cannot use a non-writable target as the first operand of 'atomic_cas'",
            "name a variable, or an element of a field or array",
        )
    if x.core.is_float:
        raise QuadrantsTypeError.at(
            f"atomic_cas takes integers, got {an(x.dtype)}", "keep the bits in an integer: `qd.bit_cast(x, qd.i32)`"
        )
    expected, desired = (x.core(types.number(value_of(value))) for value in (expected, desired))

    def changed(old):
        return select(operate("eq", old, expected), desired, old)

    if not x.is_shared:
        old = x.load()
        x.store(changed(old))
        return old
    program().task.effect()
    if x.core.width < 32:
        return atomic.by_compare_and_swap(x.pointer(), changed)
    return atomic.compare_and_swap(x.pointer(), expected, desired)
