"""The values that loops carry from trip to trip: variables and the slots of objects that change, leaf by leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core.control_flow.branches.branch import warn_of_names
from dsl.core.control_flow.branches.merge import CHOOSE, SlotName, converted, described, diagnostic, equal
from dsl.core.control_flow.branches.merged_value import Leaf, Maybe, Same, Tree, leaf_of, opened, paired, poison
from dsl.core.control_flow.loops.speculation import Record
from dsl.core.control_flow.objects.mutable_state import (
    MISSING,
    Change,
    Heap,
    has_slots,
    inherited,
    is_plain,
    kind_of,
    slot_name,
    slots_of,
)
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import numeric
from dsl.core.number.operators import type_name
from dsl.core.phrase import Phrase
from dsl.core.unbound import UNUSED, Name, Partial, Unbound, missing_of
from dsl.span import here


class Carried:
    """The values that one attempt at a loop carries. `record` lists changed slots, and what becomes another object.

    A variable without a value before the loop has no part; what the body makes of it is known after the body (Late).
    """

    def __init__(self, heap: Heap, state: tuple, names: Sequence[Name], record: Record):
        self.heap, self.state, self.names, self.record = heap, state, list(names), record
        self.initial: list[mlir.Value] = []
        self.keys: list[Any] = []  # the type of each leaf
        self.trees: dict[int, Tree] = {}
        self.parts = [self._part(value, name.name) for name, value in zip(names, state)]
        self.slots = self._changing() if record.changed else []
        self.slot_parts = [
            self._part(Unbound(slot.name) if slot.before is MISSING else slot.before, slot.name) for slot in self.slots
        ]
        self.types = [value.type for value in self.initial]
        self.passed: list[mlir.Value] = []
        self.yielded: list[mlir.Value] = []
        self.place = here()

    def _changing(self) -> list[Change]:
        """The slots that change according to the record, as they are before the loop."""
        changes = []
        for reached in self.heap.reached.values():
            if reached.kind == "set":
                continue
            slots: dict[Any, Any] = dict(enumerate(reached.held)) if reached.kind == "list" else reached.held
            created = [
                name.rpartition(".")[2]
                for name in sorted(self.record.changed)
                if reached.kind in ("object", "class") and name.rpartition(".")[0] == reached.name
            ]
            for slot in (*slots, *(name for name in created if name.isidentifier() and name not in slots)):
                if slot_name(reached.name, reached.kind, slot) in self.record.changed:
                    before = slots.get(slot, MISSING)
                    before = inherited(reached.value, reached.kind, slot) if before is MISSING else before
                    changes.append(Change(reached, slot, before, before))
        return changes

    # --- before a trip ---

    def _part(self, value: Any, path: str):
        """How `value` looks at the start of a trip; None for a variable without a value."""
        if isinstance(value, Unbound):
            if not isinstance(value, Partial):
                return None
            return Maybe(self._part(value.value, path), value._name, missing_of(value))
        leaf = leaf_of(value)
        if leaf is not None:
            self.initial.append(leaf.ir())
            self.keys.append(leaf.type_key())
            return Leaf(len(self.initial) - 1, leaf)
        if has_slots(value) and path not in self.record.replaced:
            return Same(value)
        own = f"own {path}" in self.record.replaced
        if id(value) in self.trees and not own:
            return self.trees[id(value)]
        half = opened(value)
        if half is None:
            return Same(value)
        tree = Tree(half, value, path if is_plain(value) and value in self.heap else "")
        if not own:
            self.trees[id(value)] = tree
        for position, inner in enumerate(half.held):
            part = self._part(inner, half.name(path, position))
            tree.parts.append(Same(inner) if part is None else part)
        return tree

    def enter(self, values: Sequence[mlir.Value]) -> tuple:
        """The variables at the start of a trip, whose leaves are `values`; the slots are given theirs in place."""
        built: dict = {}
        for slot, part in zip(self.slots, self.slot_parts):
            if part is not None:
                slot.put(part.build(values, built))
        missing = ((self.place, "on the first trip nothing has assigned `{}`"),)
        return tuple(
            Unbound(name.name, missing) if part is None else part.build(values, built)
            for name, part in zip(self.names, self.parts)
        )

    # --- after a trip ---

    def _contents(self) -> list[Any]:
        """The values that the carried slots hold now."""
        slots: dict[int, Any] = {}
        contents = []
        for slot in self.slots:
            key = id(slot.reached.value)
            if key not in slots:
                now = slots_of(slot.reached.value, slot.reached.kind)
                slots[key] = dict(enumerate(now)) if slot.reached.kind == "list" else now
            contents.append(slots[key].get(slot.slot, MISSING))
        return contents

    def _begin(self, values: Sequence[mlir.Value]) -> None:
        self.values = list(values)
        self.objects: dict[int, Any] = {}  # for each Tree: the object that took its place
        self.walking: set[int] = set()  # the objects being taken apart: cycles end there
        self.replaced: set[str] = set()
        self.problem: DSLUserCodeTypeError | None = None

    def pass_on(self) -> None:
        """After the test of a `while`: what the body starts from. Only slots can differ from what the test got."""
        block = mlir.current_block()
        assert block is not None
        self._begin(block.arguments)
        self._match_slots(self._contents())
        self.passed = self.values
        self.tested = self.replaced

    def passes_as_it_came(self, block: mlir.Block) -> bool:
        """Whether the test of a `while` has left everything as it was."""
        return all(a == b for a, b in zip(self.passed, block.arguments))

    def leave(self, results: tuple, ended: bool) -> None:
        """At the end of a trip: `results` are the variables. `ended`: its end is never reached, so nothing is new."""
        tested = getattr(self, "tested", set())
        block = mlir.current_block()
        assert block is not None
        arguments = list(block.arguments)
        self._begin(arguments[len(arguments) - len(self.initial) :])
        self.replaced |= tested
        self.results = self.state if ended else results
        contents = self._contents()
        self.contents = [slot.before for slot in self.slots] if ended else contents
        if not ended:
            for name, part, before, after in zip(self.names, self.parts, self.state, results):
                if part is not None:
                    self._match(part, name, name.name, before, after)
            self._match_slots(contents)
        self.yielded = self.values

    def _match_slots(self, contents: Sequence[Any]) -> None:
        for slot, part, after in zip(self.slots, self.slot_parts, contents):
            if part is not None:
                after = Unbound(slot.name) if after is MISSING else after
                name = SlotName(Change(slot.reached, slot.slot, slot.before, after))
                self._match(part, name, slot.name, slot.before, after)

    def _match(self, part, name: Name, path: str, before: Any, after: Any) -> None:
        """Take the leaves of `after` where `part` has them; note what does not fit."""
        if after is UNUSED:  # nothing reads it: it stays what it was
            return
        if isinstance(part, Maybe):
            part, before = part.part, before.value if isinstance(before, Partial) else before
            after = after.value if isinstance(after, Partial) else after
        if isinstance(after, Unbound):
            self._unlike(name, path, before, after)
        elif isinstance(part, Leaf):
            leaf = leaf_of(after)
            leaf = leaf if leaf is None else converted(leaf, self.keys[part.index])
            if leaf is None:
                self._unlike(name, path, before, after)
            else:
                self.values[part.index] = leaf.ir()
        elif isinstance(part, Tree):
            self._match_tree(part, name, path, before, after)
        elif after is not part.value:
            self._match_same(part, name, path, before, after)

    def _match_tree(self, part: Tree, name: Name, path: str, before: Any, after: Any) -> None:
        earlier = self.objects.setdefault(id(part), after)
        if earlier is not after and has_slots(after):
            self.replaced.add(f"own {path}")  # two names of one object that are given different ones
            return
        half = opened(after)
        pairs = paired(part.opened, half)
        if pairs is None:
            self._unlike(name, path, before, after)
        elif earlier is after and id(after) in self.walking:
            return
        else:
            self.walking.add(id(after))
            for position, (inner, (old, new)) in enumerate(zip(part.parts, pairs)):
                self._match(inner, name, part.opened.name(path, position), old, new)
            self.walking.discard(id(after))

    def _match_same(self, part: Same, name: Name, path: str, before: Any, after: Any) -> None:
        if has_slots(part.value) and paired(opened(part.value), opened(after)) is not None:
            if after in self.heap and is_plain(after):
                self._unlike(name, path, before, after)
            else:
                self.replaced.add(path)
        elif has_slots(part.value) or not (
            kind_of(after) in ("", "class", "function", "method") and equal(part.value, after)
        ):
            self._unlike(name, path, before, after)

    def _unlike(self, name: Name, path: str, before: Any, after: Any) -> None:
        if self.problem is not None:
            return
        if isinstance(after, Unbound):
            first, second, fix = "there", "not there", f"keep `{path}`"
        else:
            first, second = described(before, after)
            number = numeric(after)
            fix = (
                Phrase("start it as {dtype}: `{path} = {dtype}(...)`", "START_AS", dtype=type(number), path=path)
                if number is not None
                else f"give `{path}` one type on every path"
                if first != f"one {type_name(before)}"
                else CHOOSE
            )
        self.problem = DSLUserCodeTypeError(
            Phrase("`{path}` is {first} before this loop and {second} after it", path=path, first=first, second=second),
            fix=fix,
            id=diagnostic(before, after),
            place=name.place,
        )

    def refuse(self) -> None:
        """Raise what did not fit."""
        if self.problem is not None:
            raise self.problem


class Late:
    """The variables and slots that a loop's body is the first to assign: carried too, starting as poison.

    `blocks` are the regions of a trip, the last being its body; each is given an argument for every leaf.
    """

    def __init__(self, carried: Carried, blocks: Sequence[mlir.Block]):
        carried.refuse()
        self.carried, self.blocks = carried, blocks
        self.yielded: list[mlir.Value] = []
        self.initial: list[mlir.Value] = []
        self.first = len(carried.initial)
        self.trees: dict[int, Tree] = {}
        self.parts = [part or self._late(after) for part, after in zip(carried.parts, carried.results)]
        self.slot_parts = [
            part or self._late(Unbound(slot.name) if after is MISSING else after)
            for slot, part, after in zip(carried.slots, carried.slot_parts, carried.contents)
        ]

    def _late(self, after: Any):
        if isinstance(after, Partial):
            return Maybe(self._late(after.value), after._name, missing_of(after))
        leaf = leaf_of(after)
        if leaf is not None:
            with mlir.inside(self.blocks[-1]):
                self.yielded.append(leaf.ir())
            type_ = self.yielded[-1].type
            self.initial.append(poison(type_))
            for block in self.blocks:
                block.add_argument(type_, mlir.location())
            return Leaf(self.first + len(self.yielded) - 1, leaf)
        half = None if isinstance(after, Unbound) or after in self.carried.heap else opened(after)
        if half is None:
            return Same(after)
        if id(after) not in self.trees:
            tree = self.trees[id(after)] = Tree(half, after)
            tree.parts.extend([self._late(inner) for inner in half.held])
        return self.trees[id(after)]

    def named(self) -> list[tuple[str, Any]]:
        """The parts that the loop carries, under the author's names."""
        carried = self.carried
        return [
            *((name.name, part) for name, part in zip(carried.names, self.parts)),
            *((slot.name, part) for slot, part in zip(carried.slots, self.slot_parts)),
        ]

    def after(self, values: Sequence[mlir.Value], runs: bool) -> tuple:
        """The variables after the loop; slots are written in place. `runs`: it surely runs a trip to its end."""
        carried, built = self.carried, {}
        contents = [
            self._after(slot.name, part, old, after, values, built, runs)
            for slot, part, old, after in zip(carried.slots, self.slot_parts, carried.slot_parts, carried.contents)
        ]
        for slot, content in zip(carried.slots, contents):
            slot.put(content)
        variables = tuple(
            before
            if before is UNUSED and not name.used_after
            else self._after(name.name, part, old, after, values, built, runs)
            for name, part, old, after, before in zip(
                carried.names, self.parts, carried.parts, carried.results, carried.state
            )
        )
        warn_of_names(carried.names, carried.state, variables)
        return variables

    def _after(self, name: str, part, old, after: Any, values: Sequence[mlir.Value], built: dict, runs: bool) -> Any:
        value = part.build(values, built)
        has_none = isinstance(after, Unbound) and type(after) is not Partial
        if (old is not None and not isinstance(old, Maybe)) or has_none:
            return value
        full = not isinstance(after, Unbound)
        bare = value.value if isinstance(value, Partial) else value
        if full and runs:
            return bare
        zero = (self.carried.place, "it may run no trip, and nothing else assigns `{}`")
        before = missing_of(value) if old is not None else ()
        missing = tuple(dict.fromkeys((*missing_of(after), *before, *(() if runs else (zero,)))))
        return Partial(name, missing, bare)
