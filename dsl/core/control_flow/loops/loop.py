"""Loops at trace time: the author's `for` and `while`.

A loop carries the variables that its body assigns, and those slots of objects that its trips change. Which those are is
only seen by tracing the body: where an attempt finds more than was guessed, it is thrown away and made again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dsl.core import trace
from dsl.core.control_flow.branches.branch import condition, guard, inside, state_changes, surely, unless, warn_of_state
from dsl.core.control_flow.branches.merge import Scratch
from dsl.core.control_flow.branches.truth_value import described
from dsl.core.control_flow.loops import carried_values
from dsl.core.control_flow.loops.loop_carry import Carried, Late
from dsl.core.control_flow.loops.loop_invariants import Loop
from dsl.core.control_flow.loops.speculation import Attempt, Record, record_of
from dsl.core.control_flow.objects.mutable_state import Heap
from dsl.core.control_flow.text import result_names
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Int64, Numeric, is_dynamic, numeric, promote
from dsl.core.number.operators import maximum, operate, select, type_name
from dsl.core.phrase import Phrase, dynamic
from dsl.core.unbound import UNUSED, Name, Unbound
from dsl.span import here


class Range:
    """`range(...)` of the author: start, stop and step, each static or dynamic, and how to unroll."""

    def __init__(self, *bounds, unroll: int = -1, unroll_full: bool = False):
        if not 1 <= len(bounds) <= 3:
            raise DSLUserCodeTypeError(
                f"range takes one to three bounds, got {len(bounds)}",
                fix="write range(stop), range(start, stop) or range(start, stop, step)",
            )
        if not isinstance(unroll, int):
            raise DSLUserCodeTypeError(
                Phrase("unroll must be a number known while compiling, got {type}", type=type_name(unroll)),
                fix="unroll=4, for example",
                id="ARG_NON_CONSTANT",
            )
        for value in bounds:
            number = numeric(value)
            if number is None or not number.is_integer:
                raise DSLUserCodeTypeError(
                    Phrase("loop bound must be an integer, got {type}", type=type_name(value)),
                    fix=Phrase("convert it: `range({dtype}(n))`", "CONVERT_BOUND", dtype=Int32),
                )
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        dtype = Int32
        for value in (start, stop, step):
            number = numeric(value)
            assert number is not None
            dtype = promote(dtype, type(number))
        if not dtype.signed:
            dtype = Int64 if dtype.width == 64 else Int32
        self.dtype = dtype
        self.start, self.stop, self.step = dtype(start), dtype(stop), dtype(step)
        if not is_dynamic(self.step) and self.step.value == 0:
            raise DSLUserCodeError("a loop step of 0 never ends", fix="use a step other than 0")
        self.unroll, self.unroll_full = unroll, unroll_full

    def __iter__(self):
        raise DSLUserCodeError(
            Phrase("{range} is looped over by a `for` statement only", range=dynamic("range")),
            fix=Phrase("write `for i in range(...)`, or `cutlass.range_constexpr` where Python must iterate", "UNROLL"),
        )

    def trips(self) -> tuple[Numeric, Callable[[Numeric], Numeric]]:
        """How many trips, and the loop variable of trip k. Right for every step, and where stop is near the limit."""
        if not is_dynamic(self.step) and self.step.value == 1 and not is_dynamic(self.start) and self.start.value == 0:
            return self.stop, lambda k: k
        start, stop, step = Int64(self.start), Int64(self.stop), Int64(self.step)
        upward = select(step > 0, (stop - start + step - 1), (start - stop - step - 1))
        span = abs(step)
        count = select(step == 0, Int64(0), operate("floordiv", upward, maximum(span, Int64(1))))
        dtype = self.dtype
        return dtype(maximum(count, Int64(0))), lambda k: dtype(self.start + k * self.step)


def for_(
    domain: Range, body: Callable, state: tuple, names: tuple, target: Any = UNUSED, stop: Callable | None = None
) -> tuple:
    """A dynamic `for`: `body(i, *state) -> state`. Returns the state after it and the loop variable's last value.

    `target` is the loop variable's value before the loop: an Unbound where it has none, UNUSED where its value after
    does not matter. `stop(*state)` gives the flags of early exits: the loop ends once one is set.
    """
    place = dataclasses.astuple(here())
    is_new = type(target) is Unbound and target is not UNUSED
    own = Name(target._name if is_new else "the loop variable", *place, used_after=is_new)
    every = [Name("the trip", *place), own, *Name.all(names)]
    trips, variable = domain.trips()
    if stop is not None:
        return _for_until(domain, trips, variable, body, state, every, target, stop)
    keeps = target is not UNUSED
    index_type = domain.dtype.mlir_type

    def trip(carried: Carried) -> list[Scratch]:
        scratch = Scratch([index_type, *carried.types])
        with mlir.inside(scratch.block):
            i = variable(domain.dtype(scratch.block.arguments[0]))
            inner = carried.enter(list(scratch.block.arguments)[1:])
            results = body(i, *inner[: len(state)])
            carried.leave((*results, i) if keeps else results, trace.ends(scratch.block))
        return [scratch]

    variables = (*state, target) if keeps else state
    carried, (scratch,) = _settled("for", [body], variables, [*every[2:], own] if keeps else every[2:], trip)
    late = Late(carried, [scratch.block])
    end = scratch.end("scf.yield", carried.yielded + late.yielded)
    leading = [mlir.constant(0, index_type), trips.ir(), mlir.constant(1, index_type)]
    initial = carried.initial + late.initial
    carried_values.show("for", late.named())
    attributes = {**_loop_attributes(domain), **result_names.attribute(late.named(), len(initial))}
    op = mlir.op("scf.for", [value.type for value in initial], [*leading, *initial], attributes, regions=1)
    scratch.move_to(op, 0)
    trace.loops().append(Loop(op, leading, initial, [scratch.block], [end], attributes))
    runs = not is_dynamic(trips) and trips.value > 0
    after = late.after(list(op.results), runs)
    return after if keeps else (*after, target)


def _for_until(
    domain: Range,
    trips: Numeric,
    variable: Callable,
    body: Callable,
    state: tuple,
    names: list[Name],
    target: Any,
    stop: Callable,
) -> tuple:
    """A `for` with early exits: a `while` over the number of the trip."""

    def test(trip, *inner):
        return unless(stop(*inner[: len(state)]), lambda: operate("lt", trip, trips))

    def one_trip(trip, *inner):
        i = variable(trip)
        return (trip + 1, *body(i, *inner[: len(state)]), i)

    counter = domain.dtype(mlir.constant(0, domain.dtype.mlir_type))
    if target is UNUSED:
        after = _while(
            test, lambda *inner: one_trip(*inner)[:-1], (counter, *state), [names[0], *names[2:]], [body], "for"
        )
        return (*after[1:], target)
    return _while(test, one_trip, (counter, *state, target), [names[0], *names[2:], names[1]], [body], "for")[1:]


def _loop_attributes(domain: Range) -> dict:
    """How LLVM is to unroll the loop: as it likes (-1), not at all (1), `unroll` times, or wholly."""
    if domain.unroll_full:
        text = "unroll = <full = true>"
    elif domain.unroll == 1:
        text = "unroll = <disable = true>"
    elif domain.unroll > 1:
        text = f"unroll = <count = {domain.unroll} : i32>"
    else:
        return {}
    with mlir.context:
        return {"llvm.loop_annotation": mlir.ir.Attribute.parse(f"#llvm.loop_annotation<{text}>")}


_MOST_UNROLLED = 1 << 16  # trips of one loop


def counted(domain: Any) -> Any:
    """The items that a loop unrolls. Raises DSLUserCodeError for a range, or an iterator, of more than 65536 trips."""
    if isinstance(domain, range) and domain[_MOST_UNROLLED : _MOST_UNROLLED + 1]:
        raise _too_many()
    return _each(domain) if hasattr(type(domain), "__next__") else domain


def _each(iterator: Iterable) -> Iterator:
    trips = Trips()
    for value in iterator:
        trips(True)
        yield value


class Trips:
    """Counts the trips of a static `while`: `trips(test)` is the test. Raises DSLUserCodeError after 65536 of them."""

    def __init__(self):
        self.count = 0

    def __call__(self, test: Any) -> Any:
        self.count += 1
        if self.count > _MOST_UNROLLED:
            raise _too_many()
        return test


def _too_many() -> DSLUserCodeError:
    return DSLUserCodeError(
        f"this loop makes more than {_MOST_UNROLLED} trips while compiling",
        id="LOOP_TOO_LONG_TO_UNROLL",
        fix="make it a loop at run time, or end it earlier",
    )


def unrolled(
    domain: Iterable, body: Callable, state: tuple, names: tuple, stop: Callable | None = None, target: Any = UNUSED
) -> tuple:
    """A loop over Python's values, trip by trip; after a dynamic early exit the later trips are guarded by its flag.

    Returns the state after it and the loop variable's last value.
    """
    for i in counted(domain):
        flags = stop(*state) if stop is not None else ()
        if surely(flags):
            break
        if any(map(is_dynamic, flags)):
            place = dataclasses.astuple(here())
            after = guard(
                flags,
                lambda *inner, i=i: (*body(i, *inner[:-1]), i),
                (*state, target),
                (*names, ("the loop variable", *place)),
            )
            state, target = after[:-1], after[-1]
        else:
            state, target = body(i, *state), i
    return (*state, target)


_MOST_TRIPS = 1_000  # of a static `while` that only a value of the run time ends


def unrolled_while(
    test: Callable, body: Callable, state: tuple, names: tuple, stops: tuple[str, ...], stop: Callable
) -> tuple:
    """A static `while` with dynamic early exits: `test(*state) -> (whether it goes on, state)`,
    `body(*state) -> state`.

    `stops` are the names of the flags that `stop(*state)` gives. A trip starts from the state on the path that has not
    left: a counter stays static there, and the test with it.
    """
    start = state
    for _ in range(_MOST_TRIPS):
        flags = stop(*state)
        if surely(flags) or surely(stop(*start)):
            return state
        goes_on, start = test(*start)
        with inside(stops) as trip:
            if not any(map(is_dynamic, flags)):
                state = body(*start) if goes_on else start
            elif goes_on or any(new is not old for new, old in zip(start, state)):
                trip_on = body if goes_on else lambda *unchanged: unchanged
                state = guard(flags, lambda *_: trip_on(*start), state, names, called=stops)  # noqa: B023 - traced at once
            start = tuple(map(trip.of, state))
        if not goes_on:
            return state
    raise DSLUserCodeError(
        f"this loop has not ended after {_MOST_TRIPS} trips while compiling: what may leave it is "
        "known only at run time",
        fix=Phrase("drop const_expr, which makes it a loop at run time", "DROP_CONST_EXPR_OF_LOOP"),
    )


def while_(test: Callable, body: Callable, state: tuple, names: tuple) -> tuple:
    """A dynamic `while`: `test(*state)`, `body(*state) -> state`."""
    return _while(test, body, state, Name.all(names), [test, body], "while")


def _while(
    test: Callable, body: Callable, state: tuple, names: list[Name], functions: list[Callable], word: str
) -> tuple:
    """`functions`: what the author's objects are reached through."""
    flags = []

    def trip(carried: Carried) -> list[Scratch]:
        before, after = Scratch(carried.types), Scratch(carried.types)
        with mlir.inside(before.block):
            tested = test(*carried.enter(list(before.block.arguments)))
            flag = condition(tested)
            if flag is None:
                raise DSLUserCodeTypeError(
                    f"the condition of a `while` must be a number, got {described(tested)}",
                    fix="compare: `while x != 0:`",
                )
            flags[:] = [flag.ir()]
            carried.pass_on()
        with mlir.inside(after.block):
            results = body(*carried.enter(list(after.block.arguments)))
            carried.leave(results, trace.ends(after.block))
        return [before, after]

    carried, (before, after) = _settled(word, functions, state, names, trip)
    late = Late(carried, [before.block, after.block])
    passed = carried.passed + list(before.block.arguments)[len(carried.passed) :]
    ends = [before.end("scf.condition", [*flags, *passed]), after.end("scf.yield", carried.yielded + late.yielded)]
    initial = carried.initial + late.initial
    carried_values.show(word, late.named())
    attributes = result_names.attribute(late.named(), len(initial))
    op = mlir.op("scf.while", [value.type for value in initial], initial, attributes, regions=2)
    before.move_to(op, 0)
    after.move_to(op, 1)
    if carried.passes_as_it_came(before.block):
        trace.loops().append(Loop(op, [], initial, [before.block, after.block], ends, attributes))
    return late.after(list(op.results), runs=False)


def _settled(
    word: str, functions: list[Callable], state: tuple, names: Sequence[Name], trip: Callable[[Carried], list[Scratch]]
) -> tuple[Carried, list[Scratch]]:
    """The attempt at a loop that carries all it must: what it carries, and the regions of its trip."""
    heap = Heap(functions, [(name.name, value) for name, value in zip(names, state)])
    if not heap:
        carried = Carried(heap, state, names, Record())
        return carried, trip(carried)
    record = record_of(here())
    while True:
        with Attempt() as attempt, record:
            carried = Carried(heap, state, names, record)
            scratches = trip(carried)
            changes = state_changes(heap, "loop")
            new = record.learn({change.name for change in changes}, carried.replaced)
            heap.restore(heap.changes() if new else changes)
            if new:
                attempt.discard([scratch.holder for scratch in scratches])
                continue
        carried.refuse()
        warn_of_state(changes, word)
        return carried, scratches
