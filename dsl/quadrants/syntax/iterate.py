"""Iterables of loops: range, ndrange, grouped, fields and arrays, and those that qd.static unrolls."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

from dsl.core.control_flow.loops.loop import counted
from dsl.core.number.dtypes import Int32, Numeric, Uint32, is_dynamic
from dsl.core.number.operators import operate
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import Variable, value_of
from dsl.quadrants.values.matrix import Vector
from dsl.span import here


class StaticIterable:
    """Something known while compiling that a `for` is unrolled over."""

    def __init__(self, items):
        self.items = items

    def static_items(self):
        return list(counted(self.items))


def _bound(value: Any) -> Any:
    """A loop bound as an int or Int32."""
    value = value_of(value)
    number = types.number(value)
    if number is None:
        raise QuadrantsTypeError.at(f"a loop bound must be an integer, got {_described(value)}", "give a number")
    if number.is_float or number.width > 32:
        place = here()
        warnings.warn_explicit(
            f"Loop bound of type {types.of_core(type(number))} is cast to i32", UserWarning, place.file, place.line
        )
    return number.value if not is_dynamic(number) and number.is_integer else Int32(number)


class Domain:
    """A box of integers: `low` and `high` of each axis, the last fastest; `order` permutes the axes that vary."""

    def __init__(
        self, bounds: list[tuple], order: tuple[int, ...] | None = None, grouped: bool = False, scalar: bool = False
    ):
        self.bounds = bounds
        self.order = tuple(range(len(bounds))) if order is None else order
        self.is_grouped, self.is_scalar = grouped, scalar

    def grouped(self) -> Domain:
        return Domain(self.bounds, self.order, grouped=True)

    @property
    def axes(self) -> tuple[int, ...] | None:
        """`axes` of ndrange; None where they vary in order."""
        return None if self.order == tuple(range(len(self.bounds))) else self.order

    def check_targets(self, targets: int) -> None:
        wanted = 1 if self.is_grouped or self.is_scalar else len(self.bounds)
        if targets != wanted:
            names = ", ".join("ijklmnop"[:wanted])
            raise QuadrantsSyntaxError.at(
                "Ndrange for loop with number of the loop variables not equal to the "
                f"dimension of the ndrange is not supported: {targets} and {wanted}",
                f"write `for {names} in ...`"
                if wanted < 2
                else f"write `for {names} in ...`, or `for I in qd.grouped(...)`",
            )

    def extents(self) -> list:
        """Of each axis; never negative."""
        extents = []
        for low, high in self.bounds:
            if is_dynamic(low) or is_dynamic(high):
                extent = (
                    high if not is_dynamic(low) and low == 0 else operate("sub", types.number(high), types.number(low))
                )
                extents.append(extent if len(self.bounds) == 1 else operate("max", Int32(extent), Int32(0)))
            else:
                extents.append(max(0, high - low))
        return extents

    def count(self) -> Any:
        """The number of iterations: an int, or an Int32 that may be negative for none."""
        total: Any = 1
        for extent in self.extents():
            if not is_dynamic(total) and not is_dynamic(extent):
                total = total * extent
            elif not is_dynamic(total) and total == 1:
                total = extent
            else:
                total = operate("mul", types.number(total), types.number(extent))
        return Int32(total) if isinstance(total, Numeric) else total

    def count_on(self, program) -> Any:
        """`count` as the host knows it; a Variable where only the device does."""
        count = program.on_host(self.count)
        if count is not None:
            return count
        return Variable(Int32, self.count())

    def at(self, k: Numeric) -> Any:
        """The loop variables of iteration `k`."""
        if len(self.bounds) <= 1:
            return self.values(dict.fromkeys(self.order, k))
        extents, rest = self.extents(), Uint32(k)
        axes: dict[int, Numeric] = {}
        for axis in reversed(self.order[1:]):
            extent = Uint32(extents[axis])
            quotient = operate("floordiv", rest, extent)
            axes[axis] = Int32(rest - quotient * extent)
            rest = quotient
        return self.values(axes | {self.order[0]: Int32(rest)})

    def values(self, places: dict[int, Numeric]) -> Any:
        """The loop variables at a place, which counts from 0 along each axis."""
        values = [
            places[axis] if not is_dynamic(low) and low == 0 else operate("add", places[axis], types.number(low))
            for axis, (low, _) in enumerate(self.bounds)
        ]
        if self.is_grouped:
            return Vector(values)
        return values[0] if self.is_scalar or len(values) == 1 else tuple(values)

    def static_items(self) -> Iterator:
        """The loop variables one after the other, where all bounds are known while compiling."""
        if any(is_dynamic(bound) for bounds in self.bounds for bound in bounds):
            raise QuadrantsTypeError.at(
                "qd.static needs bounds known while compiling, got a run-time value",
                "pass the bound as qd.Template, or drop qd.static",
            )
        ranges = [range(*self.bounds[axis]) for axis in self.order]
        for values in itertools.product(*ranges):
            placed = [value for _, value in sorted(zip(self.order, values))]
            one = self.is_scalar or len(placed) == 1
            yield Vector(placed) if self.is_grouped else placed[0] if one else tuple(placed)

    __iter__ = static_items


def range_(*bounds) -> Domain:
    """`range` of a kernel: one or two bounds."""
    if not 1 <= len(bounds) <= 2:
        raise QuadrantsSyntaxError.at(
            f"Range should have 1 or 2 arguments, found {len(bounds)}",
            fix="compute the step in the loop: `i = start + k * step`, or unroll it: qd.static(range(...))"
            if bounds
            else "give a bound: `range(n)`",
        )
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    return Domain([(_bound(low), _bound(high))], scalar=True)


def ndrange(*ranges, axes=None) -> Domain:
    """All combinations: an extent, or (low, high), an axis. `axes`: which axis varies slowest first."""
    bounds = []
    for each in ranges:
        several = isinstance(each, (tuple, list)) or hasattr(each, "parts")
        if several and len(each) != 2:
            raise QuadrantsSyntaxError.at(
                "Every argument of ndrange should be a scalar or a tuple/list like (begin, "
                f"end), got {len(each)} numbers",
                "for a step, compute the index in the loop: `i = begin + k * step`",
            )
        bounds.append(tuple(map(_extent, each)) if several else (0, _extent(each)))
    return Domain(bounds, None if axes is None else _checked(tuple(axes), len(bounds)))


def _extent(value: Any) -> Any:
    """A bound of ndrange."""
    number = types.number(value_of(value))
    if number is None or number.is_float:
        raise QuadrantsTypeError.at(
            "Every argument of ndrange should be an integer scalar or a tuple/list of (int, int).",
            fix="convert it: `int(x)`",
        )
    return _bound(value)


def _checked(axes: tuple, rank: int) -> tuple[int, ...]:
    """`axes` of ndrange, a permutation of its axes."""
    if any(type(axis) is not int for axis in axes):
        raise QuadrantsTypeError.at(f"qd.ndrange(axes={axes}): entries must be Python ints", "for example axes=(1, 0)")
    if len(axes) != rank:
        raise QuadrantsSyntaxError.at(
            f"qd.ndrange(axes={axes}) has {len(axes)} entries but ndrange has {rank} axes", "name every axis once"
        )
    if sorted(axes) != list(range(rank)):
        raise QuadrantsSyntaxError.at(
            f"qd.ndrange(axes={axes}) is not a permutation of range({rank})", "name every axis once"
        )
    return axes


def grouped(x: Any) -> Domain:
    """The same iterations with one vector of indices as the loop variable."""
    domain = domain_of(x)
    if not isinstance(domain, Domain) or domain.is_scalar or domain.is_grouped:
        raise QuadrantsTypeError.at(
            f"qd.grouped takes an ndrange, a field or an array, got {_described(x)}",
            "write `for i in range(n):`, or group qd.ndrange(n, m)",
        )
    return domain.grouped()


def domain_of(value: Any, has_static: bool = False) -> Domain | StaticIterable:
    """The iterable of a `for`; `has_static`: the author marked a part of the expression with qd.static."""
    if isinstance(value, (Domain, StaticIterable)):
        return value
    if has_static and isinstance(value, (range, list, tuple, enumerate, zip, map, filter)):
        return StaticIterable(value)
    if hasattr(value, "loop_domain"):
        return value.loop_domain()
    raise QuadrantsSyntaxError.at(
        f"a `for` runs over range, qd.ndrange, qd.grouped, a field or an array, got {_described(value)}",
        fix=_fix_of(value),
    )


def _fix_of(value: Any) -> str:
    """The fix for a loop over `value`."""
    if isinstance(value, (Numeric, Variable)) or types.number(value_of(value)) is not None:
        return "write `for i in range(n):`"
    if isinstance(value, (enumerate, zip, map, filter)):
        return "loop over the indices: `for i in x:`, then `x[i]`"
    if hasattr(value, "parts"):
        return "write `for i in qd.static(range(v.n)):`, then `v[i]`"
    return "write `for x in qd.static(...):`, which unrolls it"


def _described(value: Any) -> str:
    return "a range" if isinstance(value, Domain) and value.is_scalar else described(value)
