"""The values of variables and slots where paths meet: the values from two arms of a branch become one value.

A value is taken apart down to its numbers and pointers (merged_value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dsl.core import trace
from dsl.core.control_flow.branches.merged_value import Leaf, Maybe, Same, Tree, leaf_of, opened, paired, poison
from dsl.core.control_flow.objects.mutable_state import MISSING, Change, Heap, inherited, is_plain, kind_of
from dsl.core.control_flow.objects.shape_change import changed_at
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, is_dynamic, literal_as
from dsl.core.number.operators import type_name
from dsl.core.phrase import Phrase
from dsl.core.pytree import RawValue
from dsl.core.syntax.function_source import assignment_to, is_authors
from dsl.core.unbound import UNUSED, Conflict, Name, Partial, Unbound, missing_of
from dsl.span import Span, here


class Scratch:
    """A region to trace a body into before the op that will own it can be made."""

    def __init__(self, argument_types: Sequence[mlir.Type] = ()):
        with mlir.context, mlir.location():
            self.holder = mlir.Operation.create("scf.execute_region", regions=1)
            trace.keep(self.holder)
            self.block = self.holder.regions[0].blocks.append(
                *argument_types, arg_locs=[mlir.location()] * len(argument_types)
            )

    def move_to(self, operation: mlir.Operation, region: int) -> None:
        self.block.append_to(operation.regions[region])
        self.holder.erase()

    def end(self, name: str, values: Sequence[mlir.Value]) -> mlir.Operation:
        """The terminator `name` of the block."""
        with mlir.inside(self.block):
            return mlir.op(name, [], values)


# --- types that must agree -------------------------------------------------------------------------------------------


def converted(leaf, wanted: Any) -> Any:
    """`leaf` in type `wanted`, which a static integer may take if it is an integer type that holds it; else None."""
    return leaf if leaf.type_key() == wanted else literal_as(leaf, wanted)


def equal(a: Any, b: Any) -> bool:
    """Whether two static values are interchangeable."""
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # an author's __eq__ may do anything; unequal is the safe answer
        return False


def described(a: Any, b: Any) -> tuple[str, str]:
    """Two values that differ, in the author's words."""
    if isinstance(a, mlir.Value) and isinstance(b, mlir.Value):
        return Phrase("a value of {type}", type=str(a.type)), Phrase("one of {type}", type=str(b.type))
    if isinstance(a, str) and isinstance(b, str):
        return repr(a), repr(b)
    first, second = type_name(a), type_name(b)
    if first == second:
        if (without := _without(a, b)) or _without(b, a):
            names = ", ".join(f"`{name}`" for name in without or _without(b, a))
            words = (
                ("one {type} without {names}", "one with it") if without else ("one {type} with {names}", "one without")
            )
            return Phrase(words[0], type=first, names=names), words[1]
        return Phrase("one {type}", type=first), Phrase("another {type}", type=second)
    return first, second


def _without(a: Any, b: Any) -> list[str]:
    """The names of values that `b` has and `a`, an object of the same class with a protocol, has not."""
    if not all(hasattr(type(each), "__extract_mlir_values__") for each in (a, b)):
        return []
    first, second = opened(a), opened(b)
    if first is None or second is None or not first.kind == second.kind == "protocol":
        return []
    return [slot for slot in second.slots if isinstance(slot, str) and slot not in first.slots]


def diagnostic(a: Any, b: Any) -> str:
    """The id of the error where `a` and `b` meet: a type that differs, or what no dynamic statement can change."""
    if (isinstance(a, str) and isinstance(b, str)) or (type(a) is type(b) and is_plain(a)):
        return "TYPE_DYNAMIC_EXPR_UNSUPPORTED"
    return "CONTAINER_STRUCTURE_CHANGED" if any(_is_structure(x) for x in (a, b)) else "TYPE_UNSTABLE_JOIN"


def _is_structure(value: Any) -> bool:
    """Whether `value` is a tensor, a TensorSSA or the like, whose type holds a shape."""
    return hasattr(type(value), "__flatten__") and hasattr(type(value), "type_text")


CHOOSE = "choose among what the objects hold, or assign to the attributes of one object"


def place_of(change: Change) -> Span:
    """The place where the author changes a slot: the assignment in the statement's text, else where it was computed."""
    statement = here()
    assignment = assignment_to(change.slot, statement)
    leaf = leaf_of(change.after)
    if assignment is None and leaf is not None and (is_dynamic(leaf) or isinstance(leaf, RawValue)):
        owner = leaf.ir().owner
        computed = None if isinstance(owner, mlir.Block) else mlir.place_of(owner.location)
        assignment = computed if computed is not None and is_authors(computed.file) else None
    return assignment or statement


class SlotName(Name):
    """A slot, as the author names it, and where what is in it now was computed."""

    def __init__(self, change: Change):
        super().__init__(change.name)
        self.change = change

    @property
    def place(self) -> Span:
        return place_of(self.change)


def refuse_shape(change: Change, where: str) -> None:
    """Raise where a list changed its length, a dict its keys or a set its members."""
    before, after = change.before, change.after
    kind = change.reached.kind
    if kind == "list":
        text = f"holds {len(before)} items on one path and {len(after)} on another"
    elif kind == "dict":
        differing = repr(change.slot) if change.is_new_key else ", ".join(map(repr, before.keys() ^ after.keys()))
        text = f"has the key {differing} on one path and not on another"
    else:
        text = "holds other members on one path than on another"
    parts = "keys" if kind == "dict" else "items"
    name = change.reached.name
    id = "CONTAINER_STRUCTURE_CHANGED" if kind == "dict" else "TYPE_UNSTABLE_JOIN"
    statement = here()
    place = changed_at(name, statement)
    dynamic = ((statement, f"this {where} is known only at run time"),) if place is not None else ()
    raise DSLUserCodeTypeError(
        f"`{name}` {text}",
        id=id,
        place=place or statement,
        also=dynamic,
        fix=f"give `{name}` all its {parts} before this {where}, and assign to them",
    )


# --- the join of two arms --------------------------------------------------------------------------------------------


@dataclass
class Arm:
    """One traced arm: its region, the variables it leaves, and the contents of the objects that it changed."""

    scratch: Scratch
    results: tuple
    changes: dict[tuple, Change]
    contents: dict[int, Any]
    missing: tuple[Span, str]  # the message for a variable that this arm does not assign
    ended: bool = False  # its end is never reached: it fails
    left: bool = False  # it returns: nothing reads the author's variables after it


class Join:
    """Joins what two arms left. `pairs`: for each leaf that differs its SSA value in the one arm and in the other."""

    def __init__(self, arms: Sequence[Arm], heap: Heap):
        self.arms, self.heap = arms, heap
        self.pairs: list[tuple[mlir.Value, mlir.Value]] = []
        self.trees: dict[tuple[int, int], Tree] = {}
        self.held: list[Any] = []  # objects whose ids are in `trees`, in addition to what its trees hold

    def variable(self, name: Name, before: Any, a: Any, b: Any):
        """The part that a variable becomes. Raises DSLUserCodeTypeError where it was there and its types differ."""
        if self.ended:
            return self._survivor(before, (a, b))
        stays = None if name.name.startswith("__dsl_") else self._stays
        if stays is None and not (name.lenient and isinstance(before, Unbound)):
            return self.join(name, name.name, a, b)
        first = len(self.pairs)
        try:
            return self.join(name, name.name, a, b)
        except DSLUserCodeTypeError as error:
            del self.pairs[first:]
            return Same(Conflict(name.name, error)) if stays is None else self._of_one((a, b), before, stays)

    @property
    def _stays(self) -> int | None:
        """The arm that goes on where the other returns; None where both do, or neither."""
        first, second = (arm.left for arm in self.arms)
        return None if first == second else int(first)

    def slot(self, change: Change):
        """The part that a slot becomes which an arm has changed."""
        a, b = (self._content(arm, change) for arm in self.arms)
        if self.ended:
            return self._survivor(change.before, (a, b))
        return self.join(SlotName(change), change.name, a, b)

    @property
    def ended(self) -> bool:
        return any(arm.ended for arm in self.arms)

    def _survivor(self, before: Any, values: tuple):
        """The value of a variable or slot if an arm fails: the value that the other arm gave it."""
        if all(arm.ended for arm in self.arms):
            return Same(before)
        return self._of_one(values, before, 1 if self.arms[0].ended else 0)

    def _of_one(self, values: tuple, before: Any, side: int):
        """The value that one arm gave a variable or slot; nothing reads the value from the other arm."""
        value = values[side]
        if value is before or type(value) is Unbound:
            return Same(value)
        return self._alone(value, side)

    def _content(self, arm: Arm, change: Change) -> Any:
        change_in_arm = arm.changes.get(change.key)
        value = change.before if change_in_arm is None else change_in_arm.after
        if value is MISSING:
            value = inherited(change.reached.value, change.reached.kind, change.slot)
        return Unbound(change.name) if value is MISSING else value

    def join(self, name: Name, path: str, a: Any, b: Any):
        if a is b:
            return Same(a)
        if isinstance(a, Unbound) or isinstance(b, Unbound):
            return self._partial(name, path, a, b)
        left, right = leaf_of(a), leaf_of(b)
        if left is not None and right is not None:
            return self._leaf(name, path, a, b, left, right)
        joined = self.trees.get((id(a), id(b)))
        if joined is not None:
            return joined
        if self._is_choice(a, b):
            raise self._unlike(name, path, a, b)
        left_half, right_half = (opened(value, arm.contents.get(id(value))) for arm, value in zip(self.arms, (a, b)))
        pairs = paired(left_half, right_half)
        if left_half is None or pairs is None:
            if equal(a, b) and kind_of(a) in ("", "class", "function", "method"):
                return Same(a)
            raise self._unlike(name, path, a, b)
        was_there = is_plain(a) and (a in self.heap or b in self.heap)
        tree = self.trees[id(a), id(b)] = Tree(left_half, a, path if was_there else "")
        self.held.append(b)
        for position, (x, y) in enumerate(pairs):
            tree.parts.append(self.join(name, left_half.name(path, position), x, y))
        return tree

    def _is_choice(self, a: Any, b: Any) -> bool:
        """Whether which of two objects is meant would be known only at run time."""
        return a in self.heap and b in self.heap and (is_plain(a) or is_plain(b))

    def _leaf(self, name: Name, path: str, a: Any, b: Any, left, right):
        pairs = ((converted(left, key), converted(right, key)) for key in (left.type_key(), right.type_key()))
        agreed = next((pair for pair in pairs if not any(part is None for part in pair)), None)
        if agreed is None:
            raise self._unlike(name, path, a, b)
        values = []
        for arm, leaf in zip(self.arms, agreed):
            with mlir.inside(arm.scratch.block):
                values.append(leaf.ir())
        if values[0] == values[1]:
            return Same(a)
        return self._carried(agreed[0], *values)

    def _carried(self, like, left: mlir.Value, right: mlir.Value) -> Leaf:
        self.pairs.append((left, right))
        return Leaf(len(self.pairs) - 1, like)

    def _partial(self, name: Name, path: str, a: Any, b: Any):
        """A variable that an arm, or a path in it, has not assigned."""
        for value, other, side in ((a, b, 1), (b, a, 0)):
            if isinstance(value, Conflict):
                return Same(value)
            if value is UNUSED:  # where that arm leads, nothing reads it
                return Same(other) if isinstance(other, Unbound) else self._alone(other, side)
        missing = [
            missing_of(value) or (arm.missing,) if isinstance(value, Unbound) else ()
            for arm, value in zip(self.arms, (a, b))
        ]
        bare = [type(value) is Unbound for value in (a, b)]
        missing = tuple(dict.fromkeys((*missing[0], *missing[1])))
        if all(bare):
            return Same(Unbound(path, missing))
        a, b = (value.value if isinstance(value, Partial) else value for value in (a, b))
        part = self._alone(b, 1) if bare[0] else self._alone(a, 0) if bare[1] else self.join(name, path, a, b)
        return Maybe(part, path, missing)

    def _alone(self, value: Any, side: int):
        """A value that one arm has; the other has poison."""
        if isinstance(value, Partial):
            return Maybe(self._alone(value.value, side), value._name, missing_of(value))
        leaf = leaf_of(value)
        if self.ended and isinstance(leaf, Numeric) and not is_dynamic(leaf):
            return Same(value)
        if leaf is not None:
            with mlir.inside(self.arms[side].scratch.block):
                own = leaf.ir()
            with mlir.inside(self.arms[1 - side].scratch.block):
                nothing = poison(own.type)
            return self._carried(leaf, *((own, nothing) if side == 0 else (nothing, own)))
        half = None if value in self.heap else opened(value)
        if half is None:
            return Same(value)
        tree = self.trees.get((id(value), side))
        if tree is None:
            tree = self.trees[id(value), side] = Tree(half, value)
            tree.parts.extend([self._alone(inner, side) for inner in half.held])
        return tree

    def _unlike(self, name: Name, path: str, a: Any, b: Any) -> DSLUserCodeTypeError:
        first, second = described(a, b)
        fix = f"give `{path}` one type on both paths"
        if diagnostic(a, b) == "TYPE_DYNAMIC_EXPR_UNSUPPORTED":
            static = Phrase("mark the test `const_expr(...)` where it is static, or choose among numbers", "MARK_TEST")
            fix = CHOOSE if is_plain(a) else static
        return DSLUserCodeTypeError(
            Phrase("`{path}` is {first} on one path and {second} on another", path=path, first=first, second=second),
            fix=fix,
            id=diagnostic(a, b),
            place=name.place,
        )


def is_traced(value: Any, met: set[int] | None = None) -> bool:
    """Whether a value known only at run time is anywhere in `value`."""
    leaf = leaf_of(value)
    if leaf is not None:
        return not isinstance(leaf, Numeric) or is_dynamic(leaf)
    met = set() if met is None else met
    half = None if id(value) in met or isinstance(value, Unbound) else opened(value)
    met.add(id(value))
    return half is not None and any(is_traced(inner, met) for inner in half.held)
