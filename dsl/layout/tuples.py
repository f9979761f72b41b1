"""Functions of nested tuples that take functions, repeat and join; what CuTe calls tuple algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.layout.int_tuple import IntTuple, LayoutError, flatten_to_tuple, is_congruent, product, text, wrap


def tuple_cat(*tuples: Any) -> tuple:
    """The elements of all `tuples`, one after the other; a value that is not a tuple is its own only element."""
    return tuple(element for each in tuples for element in wrap(each))


def transform_apply(*args: Any, f: Callable, g: Callable) -> Any:
    """`g(f(a0, b0), f(a1, b1), ...)` of the leaves of trees of one nesting, left to right.

    Raises LayoutError where they are not nested alike.
    """
    if not args:
        raise LayoutError("transform_apply takes at least one tuple", "give at least one before `f`")
    return g(*_each("transform_apply", f, args))


def filter_tuple(*args: Any, f: Callable) -> tuple:
    """The tuples `f(a0, b0)`, `f(a1, b1)`, ... of the leaves joined: `()` drops one. Raises as transform_apply."""
    return tuple_cat(*_each("filter_tuple", f, args))


def _each(name: str, f: Callable, args: tuple) -> list:
    if not all(is_congruent(each, args[0]) for each in args):
        raise LayoutError(f"{name}: {', '.join(map(text, args))} are not nested alike", "give trees of one nesting")
    return [f(*leaves) for leaves in zip(*map(flatten_to_tuple, args), strict=True)]


def find_if(t: Any, pred_fn: Callable[[Any, Any], bool], hierarchical: bool = True) -> int | tuple[int, ...] | None:
    """The path of the first leaf of which `pred_fn(leaf, path)` is true, or None.

    A path is the number of a mode, or a tuple of them in a nested one. Not `hierarchical`: only the first of them.
    """
    if not isinstance(t, tuple):
        return 0 if pred_fn(t, 0) else None
    coord = _find_below(t, pred_fn, ())
    return coord[0] if isinstance(coord, tuple) and not hierarchical else coord


def _find_below(t: tuple, pred_fn: Callable, path: tuple) -> Any:
    for i, child in enumerate(t):
        at = (*path, i)
        if isinstance(child, tuple):
            below = _find_below(child, pred_fn, at)
            if below is not None:
                return below
        elif pred_fn(child, at if path else i):
            return at if path else i
    return None


def product_like(a: IntTuple, target_profile: Any) -> IntTuple:
    """The product of each subtree of `a` at the place of a leaf of `target_profile`.

    Raises LayoutError where `a` is less nested than the profile.
    """
    if not isinstance(target_profile, tuple):
        return product(a)
    if not isinstance(a, tuple) or len(a) != len(target_profile):
        raise LayoutError(
            f"product_like: {text(a)} has not the modes of the profile {text(target_profile)}",
            fix="give a tuple nested at least as deep as the profile",
        )
    return tuple(map(product_like, a, target_profile))


def repeat_as_tuple(x: Any, n: int) -> tuple:
    """`x`, `n` times."""
    if n < 1:
        raise LayoutError(f"a tuple of {n} elements", "repeat at least once")
    return (x,) * n


def repeat(x: Any, n: int) -> Any:
    """`x` itself for `n` of 1, else `n` times in a tuple."""
    return repeat_as_tuple(x, n) if n != 1 else x


def front(input: Any) -> Any:
    """The first element at the deepest level of a tuple, layout or tensor."""
    if isinstance(input, tuple) and not input:
        raise LayoutError("front: () has no first element", "give a tuple with one")
    while isinstance(input, tuple) or isinstance(getattr(input, "shape", None), tuple):
        input = input[0]
    return input
