"""Calls of public functions, and the shapes they are given, checked where the author wrote them."""

from __future__ import annotations

import functools
import inspect
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.diagnosis.spelling import alike
from dsl.core.phrase import shown
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import QuadrantsTypeError

MOST_AXES = 12  # of a field or array. Quadrants user guide, Tensor
_MOST_EXTENT = (1 << 31) - 1


_PUBLIC = {
    "_VectorMaker.__call__": "Vector",
    "Template.__init__": "Template",
    "vector": "types.vector",
    "NdarrayAnnotation.__init__": "types.ndarray",
    "matrix": "types.matrix",
}  # the author's names


def checked(function: Callable) -> Callable:
    """`function`, whose calls are compared with its signature. They raise QuadrantsTypeError at the author's line."""
    signature = inspect.signature(function)
    name = "qd." + _PUBLIC.get(function.__qualname__, re.sub("^_(Vector|Matrix)Maker", r"\1", function.__qualname__))

    @functools.wraps(function)
    def call(*arguments, **keywords):
        try:
            signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise _wrong_call(name, signature, len(arguments), keywords, error) from None
        return function(*arguments, **keywords)

    return call


def _wrong_call(name: str, signature: inspect.Signature, count: int, keywords: dict, error: TypeError) -> Exception:
    parameters = {key: each for key, each in signature.parameters.items() if key != "self"}
    takes = f"{name} takes {', '.join(parameters) or 'nothing'}"
    unknown = next((key for key in keywords if key not in parameters), None)
    if unknown is not None:
        meant = alike(unknown, parameters) or next((key for key in parameters if unknown.startswith(key)), "")
        return QuadrantsTypeError.at(
            f"`{name}` has no argument `{unknown}`", f"did you mean `{meant}`?" if meant else takes
        )
    places = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters.values())
    if count > places + ("self" in signature.parameters):
        return QuadrantsTypeError.at(
            f"`{name}` takes at most {places} argument{'s' * (places != 1)} by position, got {count}", takes
        )
    return QuadrantsTypeError.at(f"`{name}`: {error}", takes)


def shape_of(shape: Any, what: str) -> tuple[int, ...]:
    """A shape (an extent or some) as a tuple. Raises QuadrantsTypeError, QuadrantsRuntimeError of its extents."""
    if isinstance(shape, str) or shape is None or isinstance(shape, (dict, set)):
        raise QuadrantsTypeError.at(
            f"a shape is an integer or a tuple of integers, got {_shown(shape)}", _example(what)
        )
    try:
        parts = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    except TypeError:  # a numpy array of no dimensions
        parts = (shape,)
    if len(parts) > MOST_AXES:
        raise QuadrantsTypeError.at(
            f"{an(what)} has at most {MOST_AXES} dimensions, got {len(parts)}",
            "put several into one, and compute the index",
        )
    return tuple(extent_of(part, what, axis) for axis, part in enumerate(parts))


def extent_of(value: Any, what: str, axis: int | None = None, least: int = 1) -> int:
    """The extent of an axis, a positive integer."""
    where = "" if axis is None else f" in dimension {axis}"
    try:
        extent = operator.index(value)
    except TypeError:
        raise QuadrantsTypeError.at(
            f"an extent of {an(what)} is an integer, got {_shown(value)}{where}",
            "convert it: `int(x)`" if isinstance(value, float) else _example(what),
        ) from None
    if isinstance(value, bool):
        raise QuadrantsTypeError.at(f"an extent of {an(what)} is an integer, got {value}{where}", _example(what))
    if extent < least:
        raise QuadrantsTypeError.at(f"an extent of {an(what)} is positive, got {extent}{where}", f"use {least} or more")
    if extent > _MOST_EXTENT:
        raise QuadrantsTypeError.at(
            f"an extent of {an(what)} is below 2**31, got {extent}{where}", "split it into several dimensions"
        )
    return extent


def order_of(order: str, rank: int) -> None:
    """Check the order of a field's axes, "ij" or "ji": a field is row-major here in any case."""
    names = "ijklmnopqrst"[:rank]
    if not isinstance(order, str) or sorted(order) != sorted(names):
        raise QuadrantsTypeError.at(
            f"the order of a field of {rank} dimension{'s' * (rank != 1)} names each of "
            f"{', '.join(names)} once, got {shown(order)}",
            f'order="{names}"',
        )


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (str, float)) else described(value)


def _example(what: str) -> str:
    return {"vector": "qd.types.vector(3, qd.f32)", "matrix": "qd.types.matrix(3, 3, qd.f32)"}.get(
        what, "shape=8, or shape=(8, 16)"
    )


def element_shape_of(counts: Sequence) -> tuple[int, ...]:
    """The rows, and columns, of vectors or matrices."""
    return tuple(extent_of(count, "vector" if len(counts) == 1 else "matrix") for count in counts)
