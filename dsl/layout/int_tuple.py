"""Nested tuples of integers: shapes, strides and coordinates.

A leaf is static (a Python int) or dynamic (any object with Python's operators). Static leaves fold: a product with a
static 0 or 1 and a sum with a static 0 build nothing, so a dynamic leaf passes through them unchanged.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

IntTuple = Any  # int | dynamic integer | tuple of IntTuple
Coord = Any  # IntTuple with None where every value is meant
Mode = int | Sequence[int]


class LayoutError(ValueError):
    """A shape, stride, coordinate or tiler that the operation is not defined for."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(f"{message}\nfix: {fix}" if fix else message)
        self.message = message
        self.fix = fix


def is_static(x: Any) -> bool:
    """Whether every leaf of `x` (an int tuple, or something with a layout) is known while tracing."""
    if isinstance(x, tuple):
        return all(map(is_static, x))
    if isinstance(x, ScaledBasis):
        return is_static(x.value)
    if hasattr(x, "shape") and hasattr(x, "stride"):
        return is_static(x.shape) and is_static(x.stride)
    if hasattr(x, "static_parts"):
        return is_static(x.static_parts)
    if isinstance(x, (str, bytes, list, dict, set)):
        raise LayoutError(f"is_static takes int tuples and layouts, got {kind_of(x)}", fix="give a tuple")
    return isinstance(x, (int, float)) or x is None


def shape_of(x: Any) -> IntTuple:
    """The shape of a layout or tensor; an int tuple is its own shape, and of a tiled copy it is its threads."""
    if isinstance(x, (int, tuple)) or x is None:
        return x
    return x.shape if hasattr(x, "shape") else getattr(x, "size", x)


# --- leaves ---------------------------------------------------------------------------------------------------------


def is_constant(x: Any, value: int) -> bool:
    """Whether `x` is the static integer `value`."""
    return isinstance(x, int) and x == value


def add(a: Any, b: Any) -> Any:
    """a + b, folding a static 0; coordinates (tuples, basis elements) add mode by mode, the shorter one zero-padded."""
    if is_constant(a, 0):
        return as_coord(b)
    if is_constant(b, 0):
        return as_coord(a)
    if isinstance(a, (tuple, ScaledBasis)) or isinstance(b, (tuple, ScaledBasis)):
        return _add_coords(as_coord(a), as_coord(b))
    return _with_divisor(a + b, gcd(divisor_of(a), divisor_of(b)))


def _add_coords(a: Any, b: Any) -> tuple:
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        raise LayoutError(
            f"cannot add {text(a)} and {text(b)}: one is a coordinate, the other an integer", fix="nest both alike"
        )
    rank = max(len(a), len(b))
    return tuple(map(add, a + (0,) * (rank - len(a)), b + (0,) * (rank - len(b))))


def mul(a: Any, b: Any) -> Any:
    """a * b, folding a static 0 and 1."""
    if is_constant(a, 0) or is_constant(b, 0):
        return 0
    if is_constant(a, 1):
        return b
    return a if is_constant(b, 1) else _with_divisor(a * b, divisor_of(a) * divisor_of(b))


def divisor_of(leaf: Any) -> int:
    """A number that divides the leaf: a static one's absolute value, a dynamic one's `divisibility` if it has one."""
    return abs(leaf) if isinstance(leaf, int) else getattr(leaf, "divisibility", 1)


def assume(src: Any, divby: int = 1) -> Any:
    """`src`, known to be a multiple of `divby`. Raises LayoutError where `src` is static and is not."""
    if not isinstance(divby, int) or divby < 1:
        raise LayoutError(f"divby of assume must be a positive integer, got {text(divby)}", fix="for example divby=8")
    if isinstance(src, int):
        if src % divby:
            raise LayoutError(f"assume: {src} is not a multiple of {divby}", fix="assume a divisor of it")
        return src
    return _with_divisor(src, divby)


def _with_divisor(result: Any, divisor: int) -> Any:
    return result.with_divisibility(divisor) if divisor > 1 and hasattr(result, "with_divisibility") else result


def floor_div(a: Any, b: Any) -> Any:
    """a // b of non-negative integers, folding a static 0 and a division by 1."""
    return a if is_constant(b, 1) or is_constant(a, 0) else a // b


def modulo(a: Any, b: Any) -> Any:
    """a % b of non-negative integers, folding a static 0 and a division by 1."""
    return 0 if is_constant(b, 1) or is_constant(a, 0) else a % b


def quotient(a: Any, b: Any) -> Any:
    """a / b rounded towards zero, as CuTe's integers divide; folds a static 0 and a division by 1."""
    if is_constant(b, 1) or is_constant(a, 0):
        return floor_div(a, b)
    whole = _truncated(a, b)[0]
    return _with_divisor(whole, divisor_of(a) // abs(b)) if _divides(b, a) else whole


def remainder(a: Any, b: Any) -> Any:
    """What `quotient` leaves of `a`; nothing of one that is known to be a multiple."""
    if _divides(b, a):
        return 0
    return modulo(a, b) if is_constant(b, 1) or is_constant(a, 0) else _truncated(a, b)[1]


def _divides(b: Any, a: Any) -> bool:
    return isinstance(b, int) and b != 0 and not isinstance(a, int) and divisor_of(a) % b == 0


def _truncated(a: Any, b: Any) -> tuple[Any, Any]:
    divide = getattr(type(a), "truncated_divmod", None) or getattr(type(b), "truncated_divmod", None)
    if divide is not None:
        return divide(a, b)
    if not (isinstance(a, int) and isinstance(b, int)):
        return a // b, a % b
    whole = abs(a) // abs(b)
    whole = whole if (a < 0) == (b < 0) else -whole
    return whole, a - whole * b


def equal(a: Any, b: Any) -> bool:
    """Whether two int tuples are known to be the same: static leaves by value, dynamic ones by identity."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a is b or (isinstance(a, (ScaledBasis, Hole)) and a == b)


def text(x: Any) -> str:
    """An int tuple as CuTe prints it: `(4,(2,?))`, a dynamic leaf being `?`, `?{div=8}` or, of 64 bits, `?{i64}`."""
    if isinstance(x, tuple):
        return "(" + ",".join(map(text, x)) + ")"
    if x is None:
        return "_"
    if isinstance(x, (int, ScaledBasis)):
        return str(x)
    if isinstance(x, (type, types.FunctionType, types.ModuleType)):
        return x.__name__.removeprefix("dsl.")
    if isinstance(x, NO_INTEGERS):
        return repr(x)
    facts = " ".join(["i64"] * (getattr(x, "width", 32) == 64) + [f"div={divisor_of(x)}"] * (divisor_of(x) > 1))
    return f"?{{{facts}}}" if facts else "?"


def kind_of(x: Any) -> str:
    """What `x` is, for a message about what it should be."""
    if isinstance(x, types.ModuleType):
        return f"module {text(x)}"
    return f"the type {x.__name__}" if isinstance(x, type) else type(x).__name__


# what is neither an integer nor a dynamic value
NO_INTEGERS = (
    *(type(None), float, str, bytes, list, dict, set, type),
    *(types.EllipsisType, types.FunctionType, types.ModuleType),
)


# --- basis elements: strides whose index is a coordinate, so that a layout can compute where an element is ----------


class ScaledBasis:
    """`value` times the unit coordinate of the mode path `mode`; `3@1@0` is 3 in mode 1 of mode 0."""

    __slots__ = ("mode", "value")

    def __init__(self, value: Any, mode: Mode) -> None:
        self.value = value
        self.mode = (mode,) if isinstance(mode, int) else tuple(mode)
        if isinstance(value, NO_INTEGERS) or not all(isinstance(m, int) for m in self.mode):
            raise LayoutError(
                f"ScaledBasis({text(value)}, {text(mode)}): the value is an integer and the mode a list of them",
                fix="for example ScaledBasis(3, [0, 1])",
            )

    def __mul__(self, factor: Any) -> Any:
        return 0 if is_constant(factor, 0) else ScaledBasis(mul(self.value, factor), self.mode)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScaledBasis) and self.mode == other.mode and equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.mode, text(self.value)))

    def __str__(self) -> str:
        return text(self.value) + "".join(f"@{m}" for m in reversed(self.mode))

    __repr__ = __str__


def E(mode: Mode) -> Any:
    """The unit basis element of a mode path; of the empty path, 1."""
    path = (mode,) if isinstance(mode, int) else tuple(mode)
    return ScaledBasis(1, path) if path else 1


def basis_value(e: Any) -> Any:
    """The factor of a basis element; an integer is its own."""
    return e.value if isinstance(e, ScaledBasis) else e


def basis_get(basis: Any, t: Any) -> Any:
    """The mode of `t` that `basis` points at; for an integer, `t` itself."""
    return get_mode(t, basis.mode) if isinstance(basis, ScaledBasis) else t


def as_coord(x: Any) -> Any:
    """A basis element as a coordinate with zeros in the modes before it; anything else as it is."""
    if not isinstance(x, ScaledBasis):
        return x
    coord = x.value
    for i in reversed(x.mode):
        coord = (0,) * i + (coord,)
    return coord


def zero_coord(stride: IntTuple) -> Any:
    """The origin of the coordinates that basis strides make: zeros in every mode they point at; 0 for integers."""
    zero: Any = 0
    for leaf in flatten_to_tuple(stride):
        if isinstance(leaf, ScaledBasis):
            zero = add(as_coord(ScaledBasis(0, leaf.mode)), zero)
    return zero


def basis_like(shape: IntTuple, path: tuple[int, ...] = ()) -> Any:
    """The basis element of every leaf of `shape`: the strides of the identity layout."""
    if isinstance(shape, tuple):
        return tuple(basis_like(s, (*path, i)) for i, s in enumerate(shape))
    return E(path)


# --- structure ------------------------------------------------------------------------------------------------------


def is_tuple(x: Any) -> bool:
    return isinstance(x, tuple)


def wrap(x: Any) -> tuple:
    """`x` as a tuple of modes: a leaf is its own only mode."""
    return x if isinstance(x, tuple) else (x,)


def unwrap(x: Any) -> Any:
    """The only element of a 1-tuple, again and again; anything else as it is."""
    while isinstance(x, tuple) and len(x) == 1:
        x = x[0]
    return x


def depth(a: Any) -> int:
    """Levels of nesting: 0 for a leaf."""
    a = shape_of(a)
    return 1 + max((depth(e) for e in a), default=0) if isinstance(a, tuple) else 0


def flatten_to_tuple(a: Any) -> tuple:
    """The leaves, left to right."""
    if not isinstance(a, tuple):
        return (a,)
    return tuple(leaf for e in a for leaf in flatten_to_tuple(e))


def unflatten(sequence: Iterable[Any], profile: Any) -> Any:
    """Leaves put back into the nesting of `profile`. Raises LayoutError where the counts differ."""
    sequence = tuple(sequence)
    if len(sequence) != len(flatten_to_tuple(profile)):
        raise LayoutError(
            f"unflatten: {len(sequence)} leaves do not fill the profile {text(profile)}",
            fix="give as many leaves as the profile has",
        )
    rest = iter(sequence)

    def fill(p: Any) -> Any:
        return tuple(fill(e) for e in p) if isinstance(p, tuple) else next(rest)

    return fill(profile)


def transform_leaf(f: Callable[..., Any], *trees: Any) -> Any:
    """`f` applied to the corresponding leaves of congruent trees."""
    first = trees[0]
    if not isinstance(first, tuple):
        return f(*trees)
    if any(not isinstance(t, tuple) or len(t) != len(first) for t in trees):
        raise LayoutError(
            f"transform_leaf: the trees {', '.join(map(text, trees))} are not congruent", fix="nest all alike"
        )
    return tuple(transform_leaf(f, *children) for children in zip(*trees, strict=True))


def is_congruent(a: Any, b: Any) -> bool:
    """Whether `a` and `b` have the same nesting."""
    a, b = shape_of(a), shape_of(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(is_congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def is_weakly_congruent(a: Any, b: Any) -> bool:
    """Whether the nesting of `a` is the nesting of `b` with whole subtrees replaced by leaves."""
    a, b = shape_of(a), shape_of(b)
    if not isinstance(a, tuple):
        return True
    return isinstance(b, tuple) and len(a) == len(b) and all(map(is_weakly_congruent, a, b))


def is_compatible(a: Any, b: Any) -> bool:
    """Whether every coordinate of shape `a` is one of shape `b`: `a` refines to `b` with equal sizes."""
    a, b = shape_of(a), shape_of(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(is_compatible, a, b))
    return equal(a, product(b))


def has_none(a: Any) -> bool:
    """Whether a coordinate has a None (a mode kept whole)."""
    return any(has_none(e) for e in a) if isinstance(a, tuple) else a is None


# --- dynamic leaves taken out and put back -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hole:
    """The place of a dynamic leaf, and the number it is known to be a multiple of."""

    divisor: int

    def fill(self, leaf: Any) -> Any:
        return (
            leaf if isinstance(leaf, int) else leaf.with_divisibility(self.divisor)
        )  # an int: of a layout that returned


def split_dynamic(x: Any) -> tuple[tuple, Any]:
    """The dynamic leaves of an int tuple, left to right, and the hashable tuple with holes that they leave."""
    if isinstance(x, tuple):
        parts = [split_dynamic(e) for e in x]
        return tuple(leaf for leaves, _ in parts for leaf in leaves), tuple(hole for _, hole in parts)
    if isinstance(x, ScaledBasis) and not isinstance(x.value, int):
        return (x.value,), ScaledBasis(Hole(divisor_of(x.value)), x.mode)
    return ((), x) if is_static(x) else ((x,), Hole(divisor_of(x)))


def join_dynamic(holes: Any, leaves: Iterator[Any]) -> Any:
    """The inverse of split_dynamic."""
    if isinstance(holes, tuple):
        return tuple(join_dynamic(h, leaves) for h in holes)
    if isinstance(holes, ScaledBasis) and isinstance(holes.value, Hole):
        return ScaledBasis(holes.value.fill(next(leaves)), holes.mode)
    return holes.fill(next(leaves)) if isinstance(holes, Hole) else holes


# --- arithmetic -----------------------------------------------------------------------------------------------------


def product(a: IntTuple) -> Any:
    """The product of the leaves, 1 for `()`. Raises LayoutError for a leaf that is not an integer."""
    result: Any = 1
    for leaf in flatten_to_tuple(a):
        if isinstance(leaf, (*NO_INTEGERS, ScaledBasis)) or hasattr(leaf, "shape"):
            raise LayoutError(
                f"an int tuple holds integers, got {text(leaf)} in {text(a)}",
                fix="give integers, or nested tuples of them",
            )
        result = mul(result, int(leaf) if isinstance(leaf, bool) else leaf)
    return result


def mode_products(x: IntTuple) -> tuple:
    """The product of each mode, an integer being its own only mode."""
    return tuple(map(product, wrap(x)))


def product_each(a: IntTuple) -> IntTuple:
    """The product of each mode; of an integer, itself, and of `()`, 1."""
    return tuple(map(product, a)) if isinstance(a, tuple) and a else product(a)


def prefix_product(shape: IntTuple, init: Any = 1) -> IntTuple:
    """The exclusive prefix products, left to right: the strides of a compact column-major layout."""
    if not isinstance(shape, tuple):
        return init
    strides = []
    for mode in shape:
        strides.append(prefix_product(mode, init))
        init = mul(init, product(mode))
    return tuple(strides)


def _divides_numbers(leaf: Any) -> bool:
    return hasattr(leaf, "__floordiv__") or hasattr(leaf, "__rfloordiv__")


def _require_integers(function: str, a: Any, b: Any) -> None:
    if any(isinstance(each, NO_INTEGERS) or not _divides_numbers(each) for each in (a, b)):
        raise LayoutError(
            f"{function}: {text(a)} and {text(b)} are not both integers", fix="give integers, or tuples of them"
        )


def _one_way(a: Any, b: Any) -> Any:
    _require_integers("shape_div", a, b)
    if isinstance(a, int) and isinstance(b, int):
        if b == 0 or (a % b and b % a):
            raise LayoutError(
                f"shape_div: neither of {a} and {b} divides the other", "pad the shape or choose a tile that divides it"
            )
        return max(1, a // b)
    if is_constant(b, 1):
        return a
    return quotient(a, b) + ((a > 0) & (a < b))  # at least 1, as where both are static


def shape_div(lhs: IntTuple, rhs: IntTuple) -> IntTuple:
    """The shape left when `rhs` elements are taken out of `lhs`, from the left. Raises LayoutError: no such shape."""
    if isinstance(lhs, tuple) and isinstance(rhs, tuple):
        if len(lhs) != len(rhs):
            raise LayoutError(
                f"shape_div: {text(lhs)} and {text(rhs)} have different ranks", fix="give both the same rank"
            )
        return tuple(map(shape_div, lhs, rhs))
    if isinstance(lhs, tuple):
        result = []
        for mode in lhs:
            result.append(shape_div(mode, rhs))
            rhs = shape_div(rhs, product(mode))
        return tuple(result)
    return _one_way(lhs, product(rhs))


def ceil_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """a / b rounded up, for a positive divisor; mode by mode for tuples, by total size for a tuple and an int."""
    if isinstance(b, tuple):
        if not isinstance(a, tuple) or len(b) > len(a):
            raise LayoutError(
                f"ceil_div: the tiler {text(b)} has more modes than {text(a)}",
                fix="give the tiler at most as many modes",
            )
        return tuple(map(ceil_div, a, b)) + a[len(b) :]
    if b is None:
        return a
    a = product(a) if isinstance(a, tuple) else a
    _require_integers("ceil_div", a, b)
    return a if is_constant(b, 1) else (a + (b - 1)) // b


def round_up(a: IntTuple, b: IntTuple) -> IntTuple:
    """`a` rounded up to a multiple of `b`, leaf by leaf."""
    if isinstance(a, tuple):
        pairs = zip(a, b + (1,) * (len(a) - len(b)), strict=True)
        return tuple(round_up(x, y) for x, y in pairs)
    return mul(ceil_div(a, b), b)


# --- modes ----------------------------------------------------------------------------------------------------------


def get_mode(x: IntTuple, mode: Mode) -> IntTuple:
    """The subtree at a path of mode numbers."""
    for i in (mode,) if isinstance(mode, int) else mode:
        modes = wrap(x)
        if not -len(modes) <= i < len(modes):
            raise LayoutError(f"mode {i} does not exist in {text(x)}, which has {len(modes)}", fix="count modes from 0")
        x = modes[i]
    return x


def group_tuple(x: tuple, begin: int, end: int) -> tuple:
    """Modes begin..end gathered into one."""
    return x[:begin] + (x[begin:end],) + x[end:]


def find(t: Any, x: Any, hierarchical: bool = True) -> int | tuple[int, ...] | None:
    """The mode path of the first leaf equal to the integer `x`, or its first mode alone; None without one."""
    if isinstance(x, (tuple, ScaledBasis, *NO_INTEGERS)):
        raise LayoutError(f"find takes an integer, got {text(x)}", fix="write find(tuple, integer)")
    if not isinstance(t, tuple):
        return 0 if equal(t, x) else None
    for i, child in enumerate(t):
        inner = find(child, x)
        if inner is not None:
            return (i, *wrap(inner)) if isinstance(child, tuple) and hierarchical else i
    return None


def repeat_like(x: Any, target: Any) -> Any:
    """`x` at every leaf of `target`."""
    return transform_leaf(lambda _: x, target)
