"""Branches at trace time: the author's `if`, and what follows an early exit.

An arm is a closure over the variables it only reads; the ones it assigns come in as `state` and go out as its return
value. It is traced into a scratch region first, because the result types are known only afterwards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from dsl.core import trace
from dsl.core.control_flow.branches.merge import Arm, Join, Scratch, is_traced, refuse_shape
from dsl.core.control_flow.branches.merged_value import Same, leaf_of, opened
from dsl.core.control_flow.branches.truth_value import truth
from dsl.core.control_flow.loops import carried_values
from dsl.core.control_flow.loops.speculation import first_time
from dsl.core.control_flow.objects.mutable_state import WHOLE, Change, Heap, is_plain, slots_of
from dsl.core.control_flow.text import result_names
from dsl.core.errors import DSLUserCodeTypeError, warn_not_portable
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric, is_dynamic, numeric
from dsl.core.number.operators import operate, type_name
from dsl.core.phrase import Phrase
from dsl.core.state import Stack, never_runs
from dsl.core.syntax.early_exits import RETURNED, VALUE
from dsl.core.unbound import Conflict, Name, Partial, Unbound
from dsl.span import here


def condition(value: Any) -> Boolean | None:
    """`value` as a Boolean, or None if it is not a number (a container, None, a string: Python decides)."""
    number = numeric(value)
    return None if number is None else Boolean(number)


def if_(test: Any, then: Callable, orelse: Callable, state: tuple, names: tuple) -> tuple:
    """An `if` of the author: dynamic for every number, Python's for anything else."""
    flag = condition(test)
    if flag is None:
        return then(*state) if truth(test) else orelse(*state)
    named = Name.all(names)
    results = _branch(
        flag,
        then,
        orelse,
        state,
        named,
        ("nothing assigns `{}` where this is false", "nothing assigns `{}` where this is true"),
        warns=True,
    )
    warn_of_names(named, state, results)
    return results


def _branch(
    flag: Boolean,
    then: Callable,
    orelse: Callable,
    state: tuple,
    names: list[Name],
    missing: tuple[str, str],
    warns: bool = False,
    is_last: bool = False,
) -> tuple:
    """`missing`: the message for a variable that only one of the arms assigns. `warns`: of changed state. `is_last`:
    the author's function ends after it, so that its variables are not read any more.
    """
    heap = Heap((then, orelse), [(name.name, value) for name, value in zip(names, state)])
    ends = is_last and trace.in_entry()
    known = None if is_dynamic(flag) else flag.value
    arms = [
        _traced_arm(arm, state, heap, (here(), text), ends, names, known not in (None, side))
        for side, arm, text in zip((True, False), (then, orelse), reversed(missing))
    ]
    joins = Join(arms, heap)
    if joins.ended and all(arm.ended for arm in arms):
        trace.end_path()
    parts = [
        Same(before) if is_last and not name.name.startswith("__dsl_") else joins.variable(name, before, *values)
        for name, before, *values in zip(names, state, *(arm.results for arm in arms))
    ]
    by_key = {key: change for arm in reversed(arms) if not arm.ended for key, change in arm.changes.items()}
    changes = list(by_key.values())
    _check_new_keys(arms, changes, warns)
    slots = [(change, joins.slot(change)) for change in changes]
    if warns:
        warn_of_state(changes, "if")
    for side, arm in enumerate(arms):
        arm.scratch.end("scf.yield", [pair[side] for pair in joins.pairs])
    called = [(name.name, part) for name, part in zip(names, parts)] + [(change.name, part) for change, part in slots]
    carried_values.show("if", called)
    op = mlir.op(
        "scf.if",
        [left.type for left, _ in joins.pairs],
        [flag.ir()],
        result_names.attribute(called, len(joins.pairs)),
        regions=2,
    )
    for side, arm in enumerate(arms):
        arm.scratch.move_to(op, side)
    values, built = list(op.results), {}
    for change, part in slots:
        change.put(part.build(values, built))
    return tuple(part.build(values, built) for part in parts)


def _traced_arm(
    function: Callable, state: tuple, heap: Heap, missing: tuple, ends: bool, names: list[Name], never: bool
) -> Arm:
    scratch = Scratch()
    with mlir.inside(scratch.block), never_runs.pushed(never or never_runs.top(False)):
        results = function(*state)
    results_by_name = {name.name: result for name, result in zip(names, results)}
    left = results_by_name.get(RETURNED) is True
    if left and trace.in_entry() and not _has_parts(results_by_name.get(VALUE)):  # nothing reads what it has changed
        heap.restore([change for change in heap.changes() if not _is_effect(change)])
        return Arm(scratch, results, {}, {}, missing, trace.ends(scratch.block), left)
    changes = state_changes(heap, "branch", may_reshape=ends and not any(map(_has_parts, results)))
    changed = {id(change.reached.value): change.reached for change in changes}
    contents = {key: slots_of(reached.value, reached.kind) for key, reached in changed.items()}
    heap.restore(changes)
    ended = trace.ends(scratch.block)
    return Arm(scratch, results, {change.key: change for change in changes}, contents, missing, ended, left)


def _check_new_keys(arms: Sequence[Arm], changes: Sequence[Change], warns: bool) -> None:
    """Raise for a key that one arm has given a dict and another has not; warn of one that both have."""
    for change in changes:
        if change.is_new_key and not all(arm.ended or change.key in arm.changes for arm in arms):
            refuse_shape(change, "branch")
        if change.is_new_key and warns:
            name = change.reached.name
            warn_not_portable(
                f"`{name}` gets the key {change.slot!r} inside a dynamic `if`",
                "CONTAINER_STRUCTURE_CHANGED",
                fix=f"give `{name}` all its keys before the `if`, and assign to them",
            )


def _has_parts(value: Any) -> bool:
    """Whether a variable holds more than one number, pointer or name."""
    value = value.value if isinstance(value, Partial) else value
    return not isinstance(value, Unbound) and leaf_of(value) is None and opened(value) is not None


def state_changes(heap: Heap, where: str, may_reshape: bool = False) -> list[Change]:
    """The slots that a dynamic statement has changed. Raises DSLUserCodeTypeError for what no path can undo, unless
    nothing reads it any more (`may_reshape`).

    A change in a global that holds no traced value is an effect of tracing, as in NVIDIA's compiler.
    """
    changes = []
    for change in heap.changes():
        if _is_effect(change):
            continue
        if change.slot is WHOLE or change.is_new_key:
            if may_reshape:
                continue
            if change.slot is WHOLE or where != "branch":
                refuse_shape(change, where)
        changes.append(change)
    return changes


def _is_effect(change: Change) -> bool:
    """Whether a change is an effect of tracing: in a global, and of no traced value."""
    return change.reached.outside and not is_traced(change.before) and not is_traced(change.after)


def warn_of_state(changes: Sequence[Change], word: str) -> None:
    """Warn, once a statement, where it changes an object that NVIDIA's compiler does not carry."""
    plain = next((change for change in changes if is_plain(change.reached.value)), None)
    if plain is not None:
        warn_not_portable(
            f"`{plain.name}` of a plain object changes inside a dynamic `{word}`",
            "TYPE_DYNAMIC_EXPR_UNSUPPORTED",
            fix="make it a @dataclass, or assign to a variable",
        )


def warn_of_names(names: Sequence[Name], before: tuple, after: tuple) -> None:
    """Warn of the variables that a dynamic statement assigns first and that are used after it."""
    for name, old, new in zip(names, before, after):
        if (
            name.used_after
            and type(old) is Unbound
            and not isinstance(new, Conflict)
            and type(new) is not Unbound
            and first_time(name.place.file, name.name)
        ):
            warn_not_portable(
                f"`{name.name}` is first assigned inside a dynamic statement and used after it",
                "SCOPE_UNBOUND_NAME",
                fix=f"assign `{name.name}` before the statement",
                place=name.place,
            )


# --- early exits -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Inside:
    """The values that stay static on the path through a trip of a static `while` that sets no flag of `stops`."""

    stops: tuple[str, ...]
    known: list[tuple[Any, Any]] = dataclasses.field(default_factory=list)

    def note(self, flags: Sequence[str], ends: Sequence[Any], joined: Sequence[Any]) -> None:
        """After a guard of `flags`: where none is set, `joined` are the `ends` of its body."""
        if set(flags) <= set(self.stops):
            self.known += [(new, self.of(end)) for end, new in zip(ends, joined) if new is not end]

    def of(self, value: Any) -> Any:
        return next((known for new, known in reversed(self.known) if new is value and _is_plain_static(known)), value)


def _is_plain_static(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, str)


_trips: Stack[Inside] = Stack()  # the trips being made


def inside(stops: tuple[str, ...]) -> AbstractContextManager[Inside]:
    """While a trip is traced, keep what its guards imply for the path that goes on."""
    return _trips.pushed(Inside(stops))


def guard(
    flags: tuple, body: Callable, state: tuple, names: tuple, is_last: bool = False, called: tuple[str, ...] = ()
) -> tuple:
    """The code after an early exit: skipped if a flag is set, no branch while none can be. `is_last`: the function
    has nothing more to do then. `called`: the names of the flags."""
    dynamic = [flag for flag in flags if is_dynamic(flag)]
    if surely(flags):
        return state
    if not dynamic:
        return body(*state)
    ends: list[tuple] = []

    def noted(*inner):
        ends.append(body(*inner))
        return ends[-1]

    after = _branch(
        _none_of(dynamic),
        noted,
        lambda *unchanged: unchanged,
        state,
        Name.all(names),
        ("this leaves before anything assigns `{}`", "this leaves before anything assigns `{}`"),
        is_last=is_last,
    )
    trip = _trips.top()
    if trip is not None and called:
        trip.note(called, ends[-1], after)
    if len(dynamic) > 1:
        return after
    # Skipped because that flag is set, or left by setting it: it is set on every path, and nothing after it is reached.
    return tuple(True if old is dynamic[0] and end is True else new for old, end, new in zip(state, ends[-1], after))


def _none_of(flags: Sequence[Numeric]) -> Boolean:
    stop = flags[0]
    for flag in flags[1:]:
        stop = operate("or", stop, flag)
    return Boolean(operate("xor", Boolean(stop), Boolean(True)))


def unless(flags: tuple, test: Callable) -> Any:
    """The test of a `while` that early exits may end: false, and not evaluated, once a flag is set."""
    dynamic = [flag for flag in flags if is_dynamic(flag)]
    if surely(flags):
        return False
    if not dynamic:
        return test()
    name = Name("the condition of the loop", *dataclasses.astuple(here()))

    def go_on(_):
        return (_truth(test()),)

    return if_(_none_of(dynamic), go_on, lambda _: (Boolean(False),), (False,), (name,))[0]


def _truth(value: Any) -> Boolean:
    flag = condition(value)
    return Boolean(bool(value)) if flag is None else flag


def surely(flags: tuple) -> bool:
    """Whether a flag is set on every path."""
    return any(bool(flag) for flag in flags if not is_dynamic(flag))


def returned(flag: Any, value: Any, falls_through: bool) -> Any:
    """The value that a function with early returns returns. Raises if one path may return nothing, another a value."""
    if isinstance(value, Conflict):
        message = value.error.message
        if isinstance(message, Phrase) and message.fields.get("path") == VALUE:
            message = Phrase("returns {first} on one path and {second} on another", **message.fields)
        raise DSLUserCodeTypeError(
            message, id=value.error.id, fix="return one type on every path", place=value.error.place
        )
    if type(value) is Unbound:
        return None
    value = value.take(True) if isinstance(value, Unbound) else value
    if value is not None and falls_through and (is_dynamic(flag) or not flag):
        raise DSLUserCodeTypeError(
            Phrase("returns {type} on one path and reaches its end on another", type=type_name(value)),
            fix="end the function with a `return` of that type",
            id="TYPE_UNSTABLE_JOIN",
        )
    return value
