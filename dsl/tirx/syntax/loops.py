"""The loops of T: `range` and T.serial, T.unroll, T.vectorized, T.grid, T.thread_binding."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.control_flow.loops.loop import unrolled
from dsl.core.control_flow.statements import Range
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn
from dsl.core.number.dtypes import Int32, is_dynamic, numeric
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.functions import ids
from dsl.tirx.values import vector_lanes
from dsl.tirx.values.promotion import instead_of, number_of


def python_range(*bounds: Any) -> Range:
    """`range(...)`, a loop at run time."""
    if not 1 <= len(bounds) <= 3:
        raise DSLUserCodeTypeError(
            f"range takes 1 to 3 bounds, got {len(bounds)}",
            id="LOOP_BOUND",
            fix="range(stop), range(start, stop) or range(start, stop, step)",
        )
    _check("range", bounds)
    return Range(*bounds)


def _check(name: str, bounds: Sequence[Any]) -> None:
    """Raise DSLUserCodeTypeError for a bound that is not an integer, DSLUserCodeError for a step of 0 (the third)."""
    for bound in bounds:
        number = numeric(bound)
        if number is None or not number.is_integer:
            fix = (
                instead_of(bound)
                if number is None
                else "convert it: `T.int32(x)`"
                if is_dynamic(number)
                else f"write an integer: `{name}(4)`"
            )
            raise DSLUserCodeTypeError(
                f"a bound of {name} must be an integer, got {type_name(bound)}", fix=fix, id="LOOP_BOUND"
            )
    if len(bounds) == 3 and not is_dynamic(numeric(bounds[2])) and number_of(bounds[2]).value == 0:
        raise DSLUserCodeError("a loop step of 0 never ends", fix="use a step other than 0", id="LOOP_STEP")


def serial(
    start: Any,
    stop: Any = None,
    *,
    step: Any = 1,
    unroll: bool | int | None = None,
    annotations: dict | None = None,
    dtype: Any = None,
) -> Range:
    """`T.serial(stop)`, `T.serial(start, stop)`: `unroll` True wholly, False never, or so many trips at once."""
    start, stop = (0, start) if stop is None else (start, stop)
    if unroll is not None and not isinstance(unroll, int):
        raise DSLUserCodeTypeError(
            f"unroll must be True, False or a number of trips, got {type_name(unroll)}",
            fix="unroll=4",
            id="LOOP_UNROLL",
        )
    full = unroll is True
    _check("T.serial", (start, stop, 1 if step is None else step))
    return Range(
        start,
        stop,
        1 if step is None else step,
        unroll=-1 if unroll is None or full else int(unroll) or 1,
        unroll_full=full,
    )


class Unrolled:
    """A loop with one copy of the body for each trip."""

    def __init__(self, trips: range):
        self.trips = trips

    def run(self, body: Callable, state: tuple, names: tuple, stop: Callable | None) -> tuple:
        return unrolled(self.trips, lambda i, *inner: body(Int32(i), *inner), state, names, stop)[:-1]


class Vectorized(Unrolled):
    """A loop whose trips are lanes of vectors if its body allows that; else one copy of the body a trip."""

    def run(self, body: Callable, state: tuple, names: tuple, stop: Callable | None) -> tuple:
        trips = self.trips
        if stop is not None:
            why = "it is left early"
        elif trips.step != 1:
            why = f"its step is {trips.step}"
        else:
            why = vector_lanes.run(len(trips), trips.start, body, state)
        if why is None:
            return state
        if len(trips) > 1 and not vector_lanes.active():
            warn(f"T.vectorized is not made of vectors: {why}", "VECTORIZED_ONE_BY_ONE")
        return super().run(body, state, names, stop)


def _static(name: str, start: Any, stop: Any, step: Any, lonely: str) -> range:
    start, stop = (0, start) if stop is None else (start, stop)
    numbers = []
    _check(f"T.{name}", (start, stop, 1 if step is None else step))
    for bound in (start, stop, 1 if step is None else step):
        number = number_of(bound)
        if is_dynamic(number):
            raise DSLUserCodeTypeError(
                f"T.{name} needs bounds known while compiling, got one known at run time only",
                fix=lonely,
                id="LOOP_BOUND_DYNAMIC",
            )
        numbers.append(int(number.value))
    return builtins.range(*numbers)


def unroll(start: Any, stop: Any = None, *, step: Any = None, annotations: dict | None = None) -> Unrolled:
    return Unrolled(_static("unroll", start, stop, step, "T.serial(n, unroll=4)"))


def vectorized(start: Any, stop: Any = None, *, step: Any = None, annotations: dict | None = None) -> Vectorized:
    return Vectorized(_static("vectorized", start, stop, step, "T.serial(n)"))


# --- T.grid ----------------------------------------------------------------------------------------------------------


def axes(count: int, *extents: Any, annotations: dict | None = None) -> list[Range]:
    """The loops of T.grid, one for each extent or (start, extent)."""
    ranges = []
    for extent in extents:
        if isinstance(extent, (tuple, list)):
            if len(extent) != 2:
                raise DSLUserCodeError(
                    f"an extent of T.grid is a number or a pair (start, extent), got {len(extent)} numbers",
                    fix="for i, j in T.grid((1, 3), 2)",
                    id="LOOP_BOUND",
                )
            _check("T.grid", extent)
            start, extent = extent
            ranges.append(Range(start, start + extent))
        else:
            _check("T.grid", (extent,))
            ranges.append(Range(extent))
    if len(ranges) != count:
        raise DSLUserCodeError(
            f"T.grid has {len(ranges)} extent{'s' * (len(ranges) != 1)} for {count} variable{'s' * (count != 1)}",
            fix="for i, j in T.grid(m, n)",
            id="LOOP_TARGETS",
        )
    return ranges


def axis(ranges: list[Range], place: int) -> Range:
    return ranges[place]


# --- T.thread_binding ------------------------------------------------------------------------------------------------


class Bound:
    """A loop whose trips are the threads or blocks of one axis."""

    def __init__(self, extent: Any, thread: str):
        self.extent, self.thread = extent, thread

    def run(self, body: Callable, state: tuple, names: tuple, stop: Callable | None) -> tuple:
        return tuple(body(ids.bound(self.thread, self.extent), *state))


def thread(start: Any, stop: Any = None, thread: str = "", *, annotations: dict | None = None) -> Bound:
    """`for tx in T.thread_binding(128, thread="threadIdx.x")`."""
    return Bound(start if stop is None else stop - start, thread)
