"""Values taken apart and put together again: the structure of what a branch or loop carries, and its leaves.

An object that is the same on all paths stays that object; a value that differs becomes a new one of the same structure,
whose leaves are results of the scf op.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dsl.core import trace, value_structure
from dsl.core.control_flow.objects.mutable_state import MISSING, kind_of, put, same, slot_name, slots_of
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, of_python
from dsl.core.number.pointer import Pointer
from dsl.core.pytree import RawValue
from dsl.core.unbound import Partial
from dsl.span import Span, here

# --- values taken apart ----------------------------------------------------------------------------------------------


def leaf_of(value: Any):
    """`value` as a leaf, or None where it is none. A Python number is one: bool Boolean, int Int32, float Float32."""
    if isinstance(value, (Numeric, Pointer)) or getattr(type(value), "is_leaf", False) is True:
        return value
    if dtype := of_python(value):
        return dtype(value)
    return RawValue(value) if isinstance(value, mlir.Value) else None


def poison(type_: mlir.Type) -> mlir.Value:
    """A value that nothing may depend on."""
    return mlir.result("llvm.mlir.poison", type_)


@dataclass
class Opened:
    """One level of a value: what rebuilds it, and what it holds under the names the author would use."""

    kind: str  # tuple | list | dict | object | protocol | tree
    key: Any
    slots: list
    held: list

    def name(self, owner: str, position: int) -> str:
        if self.kind in ("protocol", "tree"):
            slot = self.slots[position]
            return owner if isinstance(slot, int) else f"{owner}{slot}"
        return slot_name(owner, self.kind, self.slots[position])


def opened(value: Any, content: Any = None) -> Opened | None:
    """`value` taken apart one level, None where it has no parts. `content`: what it holds, if not what it holds now."""
    if hasattr(type(value), "__flatten__"):
        parts, key = value.__flatten__()
        return Opened("tree", (type(value), key), list(range(len(parts))), list(parts))
    if hasattr(type(value), "__extract_mlir_values__"):
        raw, structure = value_structure.taken_apart(value.__extract_mlir_values__())
        slots = list(range(len(raw))) if structure is None else value_structure.names(structure)
        return Opened("protocol", (type(value), structure), slots, raw)
    kind = kind_of(value)
    if kind == "tuple":
        return Opened("tuple", type(value), list(range(len(value))), list(value))
    if kind not in ("list", "dict", "object"):
        return None
    content = slots_of(value, kind) if content is None else content
    slots = list(range(len(content))) if kind == "list" else list(content)
    return Opened(kind, type(value), slots, list(content) if kind == "list" else list(content.values()))


def paired(a: Opened | None, b: Opened | None) -> list[tuple[Any, Any]] | None:
    """The contents of two values of one structure, in pairs, or None if their structures differ."""
    if a is None or b is None or a.kind != b.kind or a.key != b.key or len(a.slots) != len(b.slots):
        return None
    if a.slots != b.slots:
        if set(a.slots) != set(b.slots):
            return None
        b.held = [b.held[b.slots.index(slot)] for slot in a.slots]
    return list(zip(a.held, b.held))


# --- values put together ---------------------------------------------------------------------------------------------


@dataclass
class Same:
    """A value that all paths agree on."""

    value: Any

    def build(self, values: Sequence[mlir.Value], objects: dict) -> Any:
        return self.value


@dataclass
class Leaf:
    """A number or pointer like `like`, with the SSA value at `index`."""

    index: int
    like: Any

    def build(self, values: Sequence[mlir.Value], objects: dict) -> Any:
        leaf = self.like.with_ir(values[self.index])
        return leaf.value if isinstance(leaf, RawValue) else leaf


@dataclass
class Tree:
    """An object that is made from its parts again; it is built once, wherever it is held.

    `origin`: the author's name for it where, on some path, it is a plain object that was there before.
    """

    opened: Opened
    like: Any
    origin: str = ""
    parts: list = field(default_factory=list)

    def build(self, values: Sequence[mlir.Value], objects: dict) -> Any:
        if id(self) in objects:
            return objects[id(self)]
        kind, key = self.opened.kind, self.opened.key
        if kind in ("list", "dict", "object"):
            shell = objects[id(self)] = self._shell(kind, key)
            for slot, part in zip(self.opened.slots, self.parts):
                content = part.build(values, objects)
                shell.append(content) if kind == "list" else put(shell, kind, slot, content)
            if self.origin:
                trace.loops().append(Copied(shell, self.origin, slots_of(shell, kind), here()))
            return shell
        parts = [part.build(values, objects) for part in self.parts]
        if kind == "tuple":
            whole = key(*parts) if hasattr(key, "_fields") else key(parts)
        elif kind == "protocol":
            whole = self.like.__new_from_mlir_values__(value_structure.put_together(key[1], parts))
        else:
            whole = key[0].__unflatten__(key[1], parts)
        objects[id(self)] = whole
        return whole

    def _shell(self, kind: str, cls: type) -> Any:
        if kind == "object":
            return object.__new__(cls)
        if cls in (list, dict):
            return cls()
        shell = deque(maxlen=self.like.maxlen) if cls is deque else copy.copy(self.like)
        shell.clear()
        return shell


@dataclass
class Copied:
    """A plain object that stands for one of several, and may therefore only be read: checked after tracing."""

    value: Any
    name: str
    held: dict
    place: Span

    def simplify(self) -> None:
        now = slots_of(self.value, "object")
        changed = [
            slot for slot in {**self.held, **now} if not same(self.held.get(slot, MISSING), now.get(slot, MISSING))
        ]
        if changed:
            name = slot_name(self.name, "object", changed[0])
            raise DSLUserCodeTypeError(
                f"`{self.name}` is a different object on each path, but `{name}` is assigned after that: which "
                "object changes is known only at run time",
                fix=f"assign a new object to `{self.name}`, or make it a @dataclass, which is copied",
                id="TYPE_DYNAMIC_EXPR_UNSUPPORTED",
                place=self.place,
            )


@dataclass
class Maybe:
    """A value that the paths of `missing` lack."""

    part: Any
    name: str
    missing: tuple

    def build(self, values: Sequence[mlir.Value], objects: dict) -> Any:
        return Partial(self.name, self.missing, self.part.build(values, objects))
