"""Hooks of rewritten code: statements, variables, and expressions that Python would decide itself.

Control flow is core's (branch, loop); here is which of it is a run-time statement. Loops are in `loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.control_flow import covered as coverage, statements
from dsl.core.number.dtypes import Boolean, Numeric, is_dynamic
from dsl.core.number.operators import operate
from dsl.quadrants.errors import errors, wording
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from dsl.quadrants.functions.annotations import MatrixAnnotation
from dsl.quadrants.functions.struct_types import StructType
from dsl.quadrants.functions.task import dynamic, program
from dsl.quadrants.memory import captured
from dsl.quadrants.memory.dense import Indexed
from dsl.quadrants.values import atomic, dtypes as types, structure
from dsl.quadrants.values.assignable import Lvalue, Variable, value_of
from dsl.quadrants.values.matrix import Matrix, entries_like
from dsl.quadrants.values.structure import Struct

bound, guard, surely = statements.bound, statements.guard, statements.surely
unless, use, returned = statements.unless, statements.use, statements.returned
Trips = statements.Trips


def covered(number: int) -> None:
    """Set the byte of a note of coverage when this is reached."""
    program().task.effect()
    coverage.covered(number)


def refuse(message: str, fix: str, kind: str):
    """Raise the error of a statement that no kernel can have, where it is reached."""
    raise getattr(errors, kind).at(message, fix)


# --- variables -------------------------------------------------------------------------------------------------------


def declare(value: Any, name: str) -> Any:
    """The value that the first assignment of a name binds: a variable for numbers, else the object itself."""
    if isinstance(value, Matrix):
        return value.variable()
    if isinstance(value, Struct):
        return structure.variable(value)
    number = types.number(value_of(value))
    if number is not None:
        return Variable(type(number), number)
    if value is None:
        return None
    if type(value).__module__ == "numpy" and getattr(value, "shape", ()) != ():
        raise QuadrantsTypeError.at(
            "Only 0-dimensional numpy array can be used to initialize a scalar expression",
            fix="qd.Matrix(array) makes a matrix of it, a qd.types.ndarray() argument brings it",
        )
    return [declare(part, name) for part in value] if type(value) is list else value


def store(variable: Any, value: Any, name: str) -> Any:
    """A later assignment of a name."""
    if isinstance(variable, (Lvalue, Matrix)):
        if isinstance(variable, Lvalue) and types.number(value_of(value)) is None:
            raise QuadrantsTypeError.at(
                f"`{name}` is {an(variable.dtype)}, but is assigned {described(value)}",
                "give it a number, or use another name",
            )
        variable.store(value)
        return variable
    if isinstance(variable, Struct):
        structure.store(variable, value)
        return variable
    if isinstance(variable, Numeric):
        raise QuadrantsSyntaxError.at(
            f"`{name}` cannot be assigned: it is a loop index or a kernel argument",
            fix=f"copy it first: `copy = {name}`",
        )
    kind = QuadrantsTypeError if isinstance(variable, str) else QuadrantsSyntaxError
    raise kind.at(
        f"`{name}` is {described(variable)}, known while compiling, so it cannot be assigned again", "use another name"
    )


def annotated(value: Any, annotation: Any) -> Any:
    """The value of `name: annotation = value`."""
    dtype = types.of(annotation)
    return value if dtype is None else dtype(value)


copied = structure.loaded


def converted(value: Any, annotation: Any) -> Any:
    """A returned value, read, in the annotated type."""
    if isinstance(value, tuple):
        parts = annotation if isinstance(annotation, tuple) else getattr(annotation, "__args__", ())
        return tuple(converted(part, parts[k] if k < len(parts) else None) for k, part in enumerate(value))
    value = copied(value)
    dtype = types.of(annotation) if annotation is not None else None
    if dtype is not None and types.number(value) is not None:
        return dtype(value)
    if isinstance(value, Matrix) and isinstance(annotation, MatrixAnnotation) and annotation.dtype is not None:
        return value.cast(annotation.dtype)
    if isinstance(value, Struct) and isinstance(annotation, StructType):
        return annotation.cast(value)
    return value


def ended() -> Any:
    """The value of a real_func that reaches its end without a `return`: zeros."""

    def zero(annotation: Any) -> Any:
        parts = annotation if isinstance(annotation, tuple) else getattr(annotation, "__args__", None)
        if parts:
            return tuple(map(zero, parts))
        return annotation(0) if isinstance(annotation, (MatrixAnnotation, StructType)) else 0

    return returned_value(zero(program().returns[-1]))


def loaded_parts(value: Any) -> Any:
    """A returned value with its places read."""
    return tuple(map(loaded_parts, value)) if isinstance(value, tuple) else copied(value)


def loaded(value: Any) -> Any:
    """A value to be returned from inside a run-time statement."""
    if isinstance(value, tuple):
        return tuple(map(loaded, value))
    value = copied(value)
    number = types.number(value)
    return value if number is None else dynamic(number)


def unpacked(value: Any, count: int, is_static: bool) -> list:
    """The parts of a value that is assigned to `count` names, read before any of them is stored."""
    if not isinstance(value, (Matrix, list, tuple, range, str)) and not hasattr(type(value), "__iter__"):
        raise QuadrantsSyntaxError.at(
            f"{described(value)} cannot be unpacked", "unpack a vector or a tuple of as many parts"
        )
    parts = list(value.parts()) if isinstance(value, Matrix) else list(value)
    if len(parts) != count:
        raise QuadrantsSyntaxError.at(
            f"Number of targets does not match value length: {count} and {len(parts)}",
            f"name {len(parts)} target{'s' * (len(parts) != 1)}",
        )
    return parts if is_static else [copied(part) for part in parts]


def set_item(container: Any, key: Any, value: Any) -> None:
    if type(container) in (list, dict):
        place = container[_static_key(key)] if type(container) is list else None
        if isinstance(place, Lvalue):
            place.store(value)
        else:
            container[_static_key(key)] = value
        return
    place = item(container, key)
    if not isinstance(place, (Lvalue, Matrix, Struct)):
        raise QuadrantsTypeError.at(
            f"an element of {described(container)} cannot be assigned in a kernel",
            "assign to an element of a field, an array or a vector",
        )
    structure.assign(place, value)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, (Matrix, Struct, Lvalue, Numeric, Indexed)) and not hasattr(owner, name):
        message, fix = wording.of_attribute(owner, name)
        raise (wording.component_error(owner, name) or QuadrantsCompilationError).at(message, fix)
    place = attribute(owner, name) if hasattr(owner, name) else None
    if not isinstance(place, (Lvalue, Matrix, Struct)):
        raise QuadrantsSyntaxError.at(
            f"`{name}` of {described(owner)} cannot be assigned in a kernel: it is not on the device",
            "make another one of it: `qd.Vector([...])`"
            if isinstance(owner, Matrix)
            else "keep what a kernel changes in a field: `qd.field(dtype, shape=())`",
        )
    structure.assign(place, value)


def augment(operator: str, place: Any, value: Any, name: str = "it") -> None:
    """`place op= value`: atomic for + - & | ^ where other threads see the place."""
    if isinstance(place, Matrix):
        for part, entry in zip(place.entries, [value_of(entry) for entry in entries_like(place, value)]):
            augment(operator, part, entry)
        return
    if isinstance(place, Struct):
        raise QuadrantsTypeError.at(f"{described(place)} has no arithmetic", "change its members: `s.a += ...`")
    if not isinstance(place, Lvalue):
        store(place, None, name)
    if isinstance(value, Matrix):
        raise QuadrantsTypeError.at(f"a number cannot be changed by {described(value)}", "use one element of it")
    if operator in atomic.ATOMIC:
        atomic.update(operator, place, value)
    else:
        place.store(operate(operator, place.load(), types.number(value_of(value))))


def augment_item(operator: str, container: Any, key: Any, value: Any) -> None:
    augment(operator, item(container, key), value)


def augment_attribute(operator: str, owner: Any, name: str, value: Any) -> None:
    augment(operator, attribute(owner, name), value, name)


def attribute(owner: Any, name: str) -> Any:
    """`owner.name`, where the owner comes from a parameter."""
    return captured.reached(owner, getattr(owner, name), ".", name)


def _static_key(key: Any) -> Any:
    key = value_of(key)
    if is_dynamic(key):
        raise QuadrantsTypeError.at(
            "a list, tuple or dict is looked up while compiling, but the index is a run-time value",
            fix="use a qd.Vector, or a static index",
        )
    return key.value if isinstance(key, Numeric) else key


def item(container: Any, key: Any) -> Any:
    """`container[key]`: an element's place for fields, arrays and matrices, Python's own for others."""
    if isinstance(container, (list, tuple, dict, str, range)):
        static_key = _static_key(key)
        try:
            return captured.reached(container, container[static_key], "[", static_key)
        except (LookupError, TypeError):
            raise _not_there(container, static_key) from None
    if isinstance(container, (Numeric, Lvalue)):
        raise QuadrantsTypeError.at(f"{described(container)} has no elements", "index a field, an array or a vector")
    return container[key]


def _not_there(container: Any, key: Any) -> QuadrantsCompilationError:
    """The error for a list or dict without that index or key."""
    if isinstance(container, dict):
        keys = ", ".join(map(repr, list(container)[:5]))
        return QuadrantsCompilationError.at(
            f"this dict has no key {key!r}", f"use one of {keys}" if keys else "give it that key before"
        )
    if type(key) in (int, bool):
        count = len(container)
        return QuadrantsIndexError.at(
            f"index {key} is out of range of {described(container)} of {count}",
            f"index from 0 to {count - 1}" if count else "it is empty",
        )
    return QuadrantsTypeError.at(
        f"{described(container)} is indexed by integers, got {described(key)}", "give an integer known while compiling"
    )


def slice_(lower: Any, upper: Any, step: Any) -> slice:
    for part in (lower, upper, step):
        if part is not None and is_dynamic(value_of(part)):
            raise QuadrantsCompilationError.at(
                "Quadrants does not support variables in slice now",
                "give bounds known while compiling, or write a loop",
            )
    return slice(*(None if part is None else _static_key(part) for part in (lower, upper, step)))


def returned_value(value: Any) -> Any:
    """The value of a `return`."""
    returns = program().returns
    value = loaded_parts(value)  # an access that fails does so at this line
    if type(value) in (int, float):
        types.number(value)  # a literal that no type holds is refused here
    return converted(value, returns[-1]) if returns else value


# --- tests -----------------------------------------------------------------------------------------------------------


def truth(value: Any) -> Any:
    """The test of a run-time statement as a Boolean."""
    value = value_of(value)
    number = types.number(value)
    if number is None:
        if isinstance(value, (Matrix, Struct)):
            several = isinstance(value, Matrix)
            raise QuadrantsTypeError.at(
                f"a test must be a number, got {described(value)}",
                fix="test its elements, or `v.any()`, `v.all()`" if several else "test its members",
            )
        number = Boolean(bool(value))
    if number.is_float:
        raise QuadrantsTypeError.at(
            f"a test must be an integer, got {an(types.of_core(type(number)))}", fix="compare it: `x != 0`"
        )
    return Boolean(number)


def if_(test: Any, then: Callable, orelse: Callable, state: tuple, names: tuple) -> tuple:
    with program().nested("if"):
        return statements.if_(test, then, orelse, state, names)


def while_(test: Callable, body: Callable, state: tuple, names: tuple) -> tuple:
    with program().nested("while"):
        return statements.while_(test, body, state, names)
