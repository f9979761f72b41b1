"""Values seen as trees: what is inside a tuple, a dataclass or a tensor, so that control flow and calls can carry it.

A leaf is anything with `ir()`, `ir_type()`, `with_ir(value)` and `type_key()`: Numeric, Pointer, and classes with
`is_leaf`. A class takes part by `__flatten__() -> (children, key)` and the class method
`__unflatten__(key, children)`, or by upstream's `__extract_mlir_values__` / `__new_from_mlir_values__`. Any other value
is static: it must stay the same object.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dsl.core import value_structure
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, of_python
from dsl.core.number.pointer import Pointer


@dataclass(frozen=True)
class RawValue:
    """An SSA value that an object hands out itself, without a type of ours."""

    value: mlir.Value

    def ir(self) -> mlir.Value:
        return self.value

    def ir_type(self) -> mlir.Type:
        return self.value.type

    def with_ir(self, value: mlir.Value) -> RawValue:
        return RawValue(value)

    def type_key(self) -> Any:
        return str(self.value.type)


@dataclass(frozen=True)
class Node:
    """One level of a tree: its kind, what rebuilds it, and its children's nodes."""

    kind: str  # leaf | static | tuple | list | dict | dataclass | object | protocol
    key: Any
    children: tuple[Node, ...] = ()


def flatten(value: Any, promote: bool = True) -> tuple[list, Node]:
    """The leaves of `value` from left to right, and the structure that holds them.

    With `promote`, Python numbers are leaves too (bool Boolean, int Int32, float Float32); without, they are static.
    """
    leaves: list = []
    return leaves, _flatten(value, promote, leaves)


def _flatten(value: Any, promote: bool, leaves: list) -> Node:
    if isinstance(value, (Numeric, Pointer)) or getattr(type(value), "is_leaf", False) is True:
        leaves.append(value)
        return Node("leaf", value.type_key())
    if promote and (dtype := of_python(value)):
        leaves.append(dtype(value))
        return Node("leaf", dtype)
    if hasattr(type(value), "__flatten__"):
        parts, key = value.__flatten__()
        return Node("object", (type(value), key), tuple(_flatten(part, promote, leaves) for part in parts))
    if hasattr(type(value), "__extract_mlir_values__"):
        raw, structure = value_structure.taken_apart(value.__extract_mlir_values__())
        leaves.extend(RawValue(v) for v in raw)
        return Node("protocol", (type(value), structure), tuple(Node("leaf", str(v.type)) for v in raw))
    parts = _container_parts(value)
    if parts is None:
        return Node("static", value)
    kind, key, children = parts
    return Node(kind, key, tuple(_flatten(child, promote, leaves) for child in children))


def _container_parts(value: Any) -> tuple[str, Any, tuple] | None:
    if isinstance(value, tuple):
        return "tuple", type(value), tuple(value)
    if isinstance(value, list):
        return "list", len(value), tuple(value)
    if isinstance(value, dict):
        return "dict", tuple(value), tuple(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value))
        return "dataclass", (type(value), names), tuple(getattr(value, name) for name in names)
    return None


def unflatten(node: Node, leaves: Iterator, like: Any = None) -> Any:
    """A value of structure `node` from `leaves`; `like` is the original, for what an object keeps other than leaves."""
    if node.kind == "leaf":
        return next(leaves)
    if node.kind == "static":
        return node.key
    if node.kind == "protocol":
        values = [next(leaves).ir() for _ in node.children]
        return like.__new_from_mlir_values__(value_structure.put_together(node.key[1], values))
    parts = _container_parts(like)
    likes = parts[2] if parts and len(parts[2]) == len(node.children) else (None,) * len(node.children)
    children = [unflatten(child, leaves, part) for child, part in zip(node.children, likes)]
    if node.kind == "object":
        cls, key = node.key
        return cls.__unflatten__(key, children)
    return _rebuild_container(node, children, like)


def _rebuild_container(node: Node, children: list, like: Any) -> Any:
    if node.kind == "tuple":
        return node.key(*children) if hasattr(node.key, "_fields") else node.key(children)
    if node.kind == "list":
        return children
    if node.kind == "dict":
        return dict(zip(node.key, children))
    cls, names = node.key
    rebuilt = copy.copy(like) if like is not None else cls.__new__(cls)
    for name, child in zip(names, children):
        object.__setattr__(rebuilt, name, child)
    return rebuilt
