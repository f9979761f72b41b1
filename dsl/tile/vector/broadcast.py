"""Shapes of TensorSSA operands: which one two of them share, and which element each index of it reads.

Modes are matched from the first: missing ones count as 1 (numpy matches from the last). A mode of extent 1 repeats.
Nested modes match leaf by leaf and need the same nesting. Elements are numbered colexicographically, the first mode
fastest.  CuTe DSL documentation: TensorSSA.
"""

from __future__ import annotations

from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.layout import Layout
from dsl.layout.int_tuple import text, wrap


def _padded(shape: Any, modes: int) -> tuple:
    return wrap(shape) + (1,) * (modes - len(wrap(shape)))


def joined(a: Any, b: Any) -> Any:
    """The shape `a op b` has. Raises DSLUserCodeValueError, DSLUserCodeTypeError where they do not fit."""
    modes = max(len(wrap(a)), len(wrap(b)))
    left = _padded(a, modes)
    shape = _joined(left, _padded(b, modes), (a, b))
    return a if shape == left else shape


def _joined(a: Any, b: Any, whole: tuple) -> Any:
    if isinstance(a, tuple) or isinstance(b, tuple):
        if not (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b)):
            raise DSLUserCodeTypeError(
                f"the shapes {text(whole[0])} and {text(whole[1])} are nested differently, so they cannot be "
                "broadcast together",
                fix="reshape one of them",
            )
        return tuple(_joined(x, y, whole) for x, y in zip(a, b))
    if a != b and 1 not in (a, b):
        raise DSLUserCodeValueError(
            f"the shapes {text(whole[0])} and {text(whole[1])} cannot be broadcast together: {a} meets {b}",
            fix="modes are matched from the first, and one of two extents must be 1",
        )
    return b if a == 1 else a


def elements(shape: Any, target: Any) -> list[int]:
    """For each element of `target`, the element of `shape` that is repeated there.

    Raises DSLUserCodeValueError where `shape` does not repeat to `target`.
    """
    modes = len(wrap(target))
    while isinstance(shape, tuple) and len(shape) > max(modes, 1) and shape[-1] == 1:
        shape = shape[:-1]
    padded = _padded(shape, modes)
    if not _repeats(padded, wrap(target)):
        raise DSLUserCodeValueError(
            f"a value of shape {text(shape)} does not repeat to {text(target)}",
            fix="extents of 1 repeat; modes are matched from the first",
        )
    compact = lay.make_layout(padded)
    source = Layout(wrap(target), _strides(padded, compact.stride))
    return [source(i) for i in range(lay.size(source))]


def _repeats(shape: Any, target: Any) -> bool:
    if isinstance(shape, tuple) or isinstance(target, tuple):
        return (
            isinstance(shape, tuple)
            and isinstance(target, tuple)
            and len(shape) == len(target)
            and all(map(_repeats, shape, target))
        )
    return shape in (1, target)


def _strides(shape: Any, stride: Any) -> Any:
    if isinstance(shape, tuple):
        return tuple(map(_strides, shape, stride))
    return 0 if shape == 1 else stride
