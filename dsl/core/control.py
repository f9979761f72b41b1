"""Control flow at trace time: what the rewritten `if`, `for` and `while` of an author call.

A branch or a loop body is a closure over the variables it only reads; the ones it assigns come in as `state` and go out
as its return value. Dynamic ones become scf.if / scf.for / scf.while, traced into a scratch region first, because the
result types are known only afterwards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dsl.core import failure, mlir, trace, tree
from dsl.core.dtypes import Boolean, Int32, Int64, Numeric, is_dynamic, numeric, promote
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.exits import VALUE
from dsl.core.invariant import Loop
from dsl.core.value import maximum, operate, select, type_name
from dsl.span import Span, here


class Name:
    """A variable that a branch or loop assigns, and the place of its last assignment there."""

    __slots__ = ("name", "_place")

    def __init__(self, name: str, *place):
        self.name, self._place = name, place

    @property
    def place(self) -> Span:
        return Span(*self._place)

    @staticmethod
    def all(names: tuple) -> list[Name]:
        """Names from the constants that rewritten code holds: (name, file, line, column, end line, end column)."""
        return [name if isinstance(name, Name) else Name(*name) for name in names]


class Unbound:
    """Stands for a variable on a path that never assigned it; any use is an error that shows the path."""

    __slots__ = ("_name", "_place", "_what")

    def __init__(self, name: str, place: Span | None = None, what: str = ""):
        self._name, self._place, self._what = name, place, what

    def _raise(self):
        where = f" on every path: line {self._place.line} assigns it only {self._what}" if self._place else ""
        raise DSLUserCodeError(f"`{self._name}` is not defined{where}", id="SCOPE_UNBOUND_NAME",
                               fix=f"assign `{self._name}` before the branch or loop")

    def __getattr__(self, attribute):
        self._raise()


def _refuse(self, *_args):
    self._raise()


for _name in ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow and or xor lshift rshift neg "
              "invert abs eq ne lt le gt ge bool index int float call getitem setitem iter len repr str").split():
    setattr(Unbound, f"__{_name}__", _refuse)
Unbound.__hash__ = object.__hash__


def bound(read: Callable[[], object], name: str) -> object:
    """The variable `read` reads, or an Unbound where it has no value yet."""
    try:
        return read()
    except NameError:
        return Unbound(name)


# --- scratch regions and joins ---------------------------------------------------------------------------------------


class _Scratch:
    """A region to trace a body into before the op that will own it can be made."""

    def __init__(self, argument_types: Sequence[mlir.Type] = ()):
        with mlir.context, mlir.location():
            self.holder = mlir.Operation.create("scf.execute_region", regions=1)
            trace.keep(self.holder)
            self.block = self.holder.regions[0].blocks.append(
                *argument_types, arg_locs=[mlir.location()] * len(argument_types))

    def move_to(self, operation: mlir.Operation, region: int) -> None:
        self.block.append_to(operation.regions[region])
        self.holder.erase()


def _terminate(block: mlir.Block, name: str, values: Sequence[mlir.Value]) -> mlir.Operation:
    with mlir.inside(block):
        return mlir.op(name, [], values)


def _converted(leaf, wanted: object):
    """`leaf` as a leaf of type `wanted`, where an untyped Python integer may take any integer type; None if it cannot."""
    if leaf.type_key() == wanted:
        return leaf
    literal = isinstance(leaf, Numeric) and not is_dynamic(leaf) and type(leaf) in (Int32, Int64)
    if literal and isinstance(wanted, type) and issubclass(wanted, Numeric) and wanted.is_integer and wanted is not Boolean:
        return wanted(leaf)
    return None


def _unstable(name: Name, before: object, after: object, where: str) -> DSLUserCodeTypeError:
    first, second = type_name(before), type_name(after)
    fix = f"give `{name.name}` one type on every path"
    if isinstance(numeric(after), Numeric):
        fix = f"start it as {type(numeric(after))}: `{name.name} = {type(numeric(after))}(...)`"
    return DSLUserCodeTypeError(f"`{name.name}` is {first} before this {where} and {second} after it",
                                fix=fix, id="TYPE_UNSTABLE_JOIN", place=name.place)


def _match(name: Name, node: tree.Node, leaves: list, wanted: tree.Node, before: object, after: object,
           where: str) -> list:
    """`leaves` converted to the structure `wanted`, or the author's error."""
    if not _same_structure(node, wanted):
        raise _unstable(name, before, after, where)
    keys = [leaf_node.key for leaf_node in _leaf_nodes(wanted)]
    converted = [_converted(leaf, key) for leaf, key in zip(leaves, keys)]
    if any(leaf is None for leaf in converted):
        raise _unstable(name, before, after, where)
    return converted


def _leaf_nodes(node: tree.Node) -> list[tree.Node]:
    if node.kind == "leaf":
        return [node]
    return [leaf for child in node.children for leaf in _leaf_nodes(child)]


def _same_structure(a: tree.Node, b: tree.Node) -> bool:
    if a.kind != b.kind or len(a.children) != len(b.children):
        return False
    if a.kind == "static" and a.key is not b.key and not _equal(a.key, b.key):
        return False
    if a.kind not in ("leaf", "static") and a.key != b.key:
        return False
    return all(map(_same_structure, a.children, b.children))


def _equal(a: object, b: object) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:       # an author's __eq__ may do anything; unequal is the safe answer
        return False


# --- if --------------------------------------------------------------------------------------------------------------


def condition(value: object) -> Boolean | None:
    """`value` as a Boolean, or None where it is no number (a container, None, a string: Python decides)."""
    number = numeric(value)
    return None if number is None else Boolean(number)


def if_(test: object, then: Callable, orelse: Callable, state: tuple, names: tuple) -> tuple:
    """An `if` of the author: dynamic for every number, Python's for anything else."""
    flag = condition(test)
    if flag is None:
        return then(*state) if test else orelse(*state)
    arms, results = [], []
    for arm in (then, orelse):
        scratch = _Scratch()
        with mlir.inside(scratch.block):
            results.append(arm(*state))
        arms.append(scratch)
    ended = [trace.ends(scratch.block) for scratch in arms]
    if any(ended):
        joins = _after_failure(state, results, ended, arms)
    else:
        joins = [_join(name, *values, arms) for name, *values in zip(Name.all(names), *results)]
    pairs = [pair for join in joins for pair in join.pairs]
    for side, scratch in enumerate(arms):
        _terminate(scratch.block, "scf.yield", [pair[side] for pair in pairs])
    made = mlir.op("scf.if", [pair[0].type for pair in pairs], [flag.ir()], regions=2)
    for side, scratch in enumerate(arms):
        scratch.move_to(made, side)
    values = iter(made.results)
    return tuple(join.rebuild(values) for join in joins)


@dataclass
class _Join:
    """One variable after an `if`: fixed, or rebuilt from the results for the pairs of values its arms yield."""

    pairs: list
    rebuild: Callable


def _after_failure(state: tuple, results: list[tuple], ended: list[bool], arms: list[_Scratch]) -> list[_Join]:
    """The variables after an `if` where `ended` arms fail: what the other arm made of them."""
    if all(ended):
        trace.end_path()
        return [_fixed(before) for before in state]
    side = ended.index(False)
    blocks = [scratch.block for scratch in arms]
    return [_Join(*failure.survivor(value, before, side, blocks)) for value, before in zip(results[side], state)]


def _fixed(value: object) -> _Join:
    return _Join([], lambda values: value)


def _join(name: Name, a: object, b: object, arms: list[_Scratch]) -> _Join:
    if a is b:
        return _fixed(a)
    if name.name == VALUE:
        a, b = _with_poison(a, b, arms[0]), _with_poison(b, a, arms[1])
    if isinstance(a, Unbound) or isinstance(b, Unbound):
        return _fixed(Unbound(name.name, name.place, "in one branch"))
    a_leaves, a_node = tree.flatten(a)
    b_leaves, b_node = tree.flatten(b)
    a_leaves, b_leaves, node = _unify(name, (a, a_leaves, a_node), (b, b_leaves, b_node))
    pairs, slots = [], []
    for left, right in zip(a_leaves, b_leaves):
        with mlir.inside(arms[0].block):
            left_value = left.ir()
        with mlir.inside(arms[1].block):
            right_value = right.ir()
        slots.append((left, None if left_value == right_value else len(pairs)))
        if left_value != right_value:
            pairs.append((left_value, right_value))

    def rebuild(values):
        leaves = [leaf if slot is None else leaf.with_ir(next(values)) for leaf, slot in slots]
        return tree.unflatten(node, iter(leaves), a)
    return _Join(pairs, rebuild)


def _poison(like: object) -> object:
    """A value of the type of `like` that nothing may depend on: what a function returns on a path that has not yet."""
    leaves, node = tree.flatten(like)
    made = [leaf.with_ir(mlir.result("llvm.mlir.poison", leaf.ir_type())) for leaf in leaves]
    return tree.unflatten(node, iter(made), like)


def _with_poison(value: object, other: object, arm: _Scratch) -> object:
    if not isinstance(value, Unbound) or isinstance(other, Unbound):
        return value
    with mlir.inside(arm.block):
        return _poison(other)


def guard(flags: tuple, body: Callable, state: tuple, names: tuple) -> tuple:
    """What follows an early exit: skipped where a flag is set, and no branch while none can be."""
    dynamic = [flag for flag in flags if is_dynamic(flag)]
    if surely(flags):
        return state
    if not dynamic:
        return body(*state)
    return if_(_none_of(dynamic), body, lambda *unchanged: unchanged, state, names)


def _none_of(flags: Sequence[Numeric]) -> Boolean:
    stop = flags[0]
    for flag in flags[1:]:
        stop = operate("or", stop, flag)
    return Boolean(operate("xor", Boolean(stop), Boolean(True)))


def unless(flags: tuple, test: Callable) -> object:
    """The test of a `while` that early exits may end: false, and not evaluated, once a flag is set."""
    dynamic = [flag for flag in flags if is_dynamic(flag)]
    if surely(flags):
        return False
    if not dynamic:
        return test()
    name = Name("the condition of the loop", *dataclasses.astuple(here()))
    return if_(_none_of(dynamic), lambda _: (_truth(test()),), lambda _: (Boolean(False),), (False,), (name,))[0]


def _truth(value: object) -> Boolean:
    flag = condition(value)
    return Boolean(bool(value)) if flag is None else flag


def surely(flags: tuple) -> bool:
    """Whether a flag is set on every path."""
    return any(bool(flag) for flag in flags if not is_dynamic(flag))


def returned(flag: object, value: object, falls_through: bool) -> object:
    """What a function with early returns returns. Raises where a path may return nothing and another a value."""
    if isinstance(value, Unbound) or value is None:
        return None
    if falls_through and (is_dynamic(flag) or not flag):
        raise DSLUserCodeTypeError(f"returns {type_name(value)} on one path and reaches its end on another",
                                   fix="end the function with a `return` of that type", id="TYPE_UNSTABLE_JOIN")
    return value


def _unify(name: Name, a: tuple, b: tuple) -> tuple[list, list, tree.Node]:
    """Both arms' leaves in one structure; a Python integer gives way to the other arm's integer type."""
    (a_value, a_leaves, a_node), (b_value, b_leaves, b_node) = a, b
    if _same_structure(a_node, b_node):
        a_keys, b_keys = ([leaf.key for leaf in _leaf_nodes(node)] for node in (a_node, b_node))
        for node, keys in ((a_node, a_keys), (b_node, b_keys)):
            left = [_converted(leaf, key) for leaf, key in zip(a_leaves, keys)]
            right = [_converted(leaf, key) for leaf, key in zip(b_leaves, keys)]
            if None not in left and None not in right:
                return left, right, node
    raise DSLUserCodeTypeError(f"`{name.name}` is {type_name(a_value)} on one path and {type_name(b_value)} on another",
                               fix=f"give `{name.name}` one type on both paths", id="TYPE_UNSTABLE_JOIN",
                               place=name.place)


# --- loops -----------------------------------------------------------------------------------------------------------


class _Carried:
    """The variables a loop carries: which are bound, their structure and their leaves before the loop."""

    def __init__(self, state: tuple, names: tuple):
        self.state, self.names = state, Name.all(names)
        self.entries = []           # (node, first leaf, leaf count) for bound variables, None for others
        self.leaves: list = []
        for before in state:
            if isinstance(before, Unbound):
                self.entries.append(None)
                continue
            leaves, node = tree.flatten(before)
            self.entries.append((node, len(self.leaves), len(leaves)))
            self.leaves.extend(leaves)
        self.initial = [leaf.ir() for leaf in self.leaves]

    def rebuild(self, values: Sequence[mlir.Value], after_loop: bool) -> tuple:
        """The variables with `values` as their leaves."""
        rebuilt = []
        for name, before, entry in zip(self.names, self.state, self.entries):
            if entry is None:
                what = "inside a loop that may run no trip"
                rebuilt.append(Unbound(name.name, name.place, what) if after_loop else before)
                continue
            node, first, count = entry
            pairs = zip(self.leaves[first:first + count], values[first:first + count])
            rebuilt.append(tree.unflatten(node, iter([leaf.with_ir(value) for leaf, value in pairs]), before))
        return tuple(rebuilt)

    def collect(self, results: tuple) -> list[mlir.Value]:
        """The leaves' values after one trip, in the types they had before the loop."""
        values = []
        for name, before, entry, after in zip(self.names, self.state, self.entries, results):
            if entry is None:
                continue
            leaves, node = tree.flatten(after)
            matched = _match(name, node, leaves, entry[0], before, after, "loop")
            values.extend(leaf.ir() for leaf in matched)
        return values


class Range:
    """`range(...)` of the author: start, stop and step, each static or dynamic, and how to unroll."""

    def __init__(self, *bounds, unroll: int = -1, unroll_full: bool = False):
        if not 1 <= len(bounds) <= 3:
            raise DSLUserCodeTypeError(f"range takes one to three bounds, and got {len(bounds)}")
        for value in bounds:
            number = numeric(value)
            if number is None or not number.is_integer:
                raise DSLUserCodeTypeError(f"a loop bound is an integer, and got {type_name(value)}",
                                           fix="convert it: `range(Int32(n))`")
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        dtype = Int32
        for value in (start, stop, step):
            dtype = promote(dtype, type(numeric(value)))
        if not dtype.signed:
            dtype = Int64 if dtype.width == 64 else Int32
        self.dtype = dtype
        self.start, self.stop, self.step = dtype(start), dtype(stop), dtype(step)
        if not is_dynamic(self.step) and self.step.value == 0:
            raise DSLUserCodeError("a loop step of 0 never ends", fix="use a step other than 0")
        self.unroll, self.unroll_full = unroll, unroll_full

    def __iter__(self):
        raise DSLUserCodeError("a dynamic range is looped over by a `for` statement only",
                               fix="write `for i in range(...)`, or `cutlass.range_constexpr` where Python must iterate")

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


def for_(domain: Range, body: Callable, state: tuple, names: tuple, target: object = None,
         stop: Callable | None = None) -> tuple:
    """A dynamic `for`: `body(i, *state) -> state`. Returns the state after it and the loop variable's last value.

    `target` is the loop variable's value before the loop (an Unbound where it has none). `stop(*state)` gives the flags
    of early exits: the loop ends once one is set.
    """
    if stop is not None:
        return _for_until(domain, body, state, names, target, stop)
    trips, variable = domain.trips()
    keeps_target = not isinstance(target, Unbound)
    target_name = Name("the loop variable", *dataclasses.astuple(here()))
    carried = _Carried((*state, target) if keeps_target else state, (*names, target_name) if keeps_target else names)
    index_type = domain.dtype.mlir_type()
    scratch = _Scratch([index_type, *(value.type for value in carried.initial)])
    with mlir.inside(scratch.block):
        i = variable(domain.dtype(scratch.block.arguments[0]))
        inner = carried.rebuild(list(scratch.block.arguments)[1:], after_loop=False)
        results = body(i, *inner[:len(state)])
        results = inner[:len(state)] if trace.ends(scratch.block) else results
        yielded = carried.collect((*results, i) if keeps_target else results)
    end = _terminate(scratch.block, "scf.yield", yielded)
    leading = [mlir.constant(0, index_type), trips.ir(), mlir.constant(1, index_type)]
    attributes = _loop_attributes(domain)
    made = mlir.op("scf.for", [value.type for value in carried.initial], [*leading, *carried.initial], attributes,
                   regions=1)
    scratch.move_to(made, 0)
    trace.loops().append(Loop(made, leading, carried.initial, [scratch.block], [end], attributes))
    after = carried.rebuild(list(made.results), after_loop=True)
    return after if keeps_target else (*after, target)


def _for_until(domain: Range, body: Callable, state: tuple, names: tuple, target: object, stop: Callable) -> tuple:
    """A `for` with early exits: a `while` over the number of the trip."""
    trips, variable = domain.trips()
    place = dataclasses.astuple(here())

    def test(trip, _target, *inner):
        return unless(stop(*inner), lambda: operate("lt", trip, trips))

    def one_trip(trip, _target, *inner):
        i = variable(trip)
        return (trip + 1, i, *body(i, *inner))
    counter = domain.dtype(mlir.constant(0, domain.dtype.mlir_type()))
    after = while_(test, one_trip, (counter, target, *state),
                   (("the trip", *place), ("the loop variable", *place), *names))
    return (*after[2:], after[1])


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


class _Late:
    """The value of an early `return` inside a loop: its type is known after the body, and only its last value counts."""

    def __init__(self, carried: _Carried, results: tuple, before: _Scratch, after: _Scratch):
        self.index = next((k for k, (name, entry) in enumerate(zip(carried.names, carried.entries))
                           if name.name == VALUE and entry is None and not isinstance(results[k], Unbound)), None)
        self.yielded: list[mlir.Value] = []
        self.initial: list[mlir.Value] = []
        if self.index is None:
            return
        self.value = results[self.index]
        self.leaves, self.node = tree.flatten(self.value)
        with mlir.inside(after.block):
            self.yielded = [leaf.ir() for leaf in self.leaves]
        for value in self.yielded:
            self.initial.append(mlir.result("llvm.mlir.poison", value.type))
            for scratch in (before, after):
                scratch.block.add_argument(value.type, mlir.location())

    def rebuild(self, state: tuple, results: Sequence[mlir.Value]) -> tuple:
        """The state after the loop with the value in it."""
        if self.index is None:
            return state
        last = list(results)[-len(self.leaves):] if self.leaves else []
        leaves = [leaf.with_ir(value) for leaf, value in zip(self.leaves, last)]
        value = tree.unflatten(self.node, iter(leaves), self.value)
        return (*state[:self.index], value, *state[self.index + 1:])


def while_(test: Callable, body: Callable, state: tuple, names: tuple) -> tuple:
    """A dynamic `while`: `test(*state)`, `body(*state) -> state`."""
    carried = _Carried(state, names)
    types = [value.type for value in carried.initial]
    before, after = _Scratch(types), _Scratch(types)
    with mlir.inside(before.block):
        flag = condition(test(*carried.rebuild(list(before.block.arguments), after_loop=False)))
        if flag is None:
            raise DSLUserCodeTypeError("the condition of a `while` is a number", fix="compare: `while x != 0:`")
        flag_value = flag.ir()
    with mlir.inside(after.block):
        inner = carried.rebuild(list(after.block.arguments), after_loop=False)
        results = body(*inner)
        results = inner if trace.ends(after.block) else results
        yielded = carried.collect(results)
    late = _Late(carried, results, before, after)
    yielded += late.yielded
    ends = [_terminate(before.block, "scf.condition", [flag_value, *before.block.arguments]),
            _terminate(after.block, "scf.yield", yielded)]
    initial = carried.initial + late.initial
    made = mlir.op("scf.while", [value.type for value in initial], initial, regions=2)
    before.move_to(made, 0)
    after.move_to(made, 1)
    trace.loops().append(Loop(made, [], initial, [before.block, after.block], ends))
    return late.rebuild(carried.rebuild(list(made.results), after_loop=True), made.results)
