"""The author's objects that a dynamic statement can reach, and which of their slots it has changed.

A slot is an attribute of an object, an item of a list or a value of a dict. The walk starts at the variables, the
closures and the globals of the statement's functions, meets every object once (so aliases and cycles are one), and
passes through tuples, methods and functions. Numbers, pointers, tensors, modules and objects of libraries stay shut.
docs/control-flow.md has the rule.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric
from dsl.core.syntax.function_source import is_authors, is_outer
from dsl.core.unbound import Unbound
from dsl.span import is_our_file

MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()  # a slot that is not there
WHOLE = type("Whole", (), {"__repr__": lambda self: "all of it"})()  # in place of a slot: what has which slots


# --- what kind of thing a value is -----------------------------------------------------------------------------------

_kinds: dict[type, str] = {
    type(None): "",
    int: "",
    float: "",
    bool: "",
    str: "",
    types.ModuleType: "",
    list: "list",
    dict: "dict",
    tuple: "tuple",
    types.FunctionType: "function",
    types.MethodType: "method",
    functools.partial: "partial",
    types.SimpleNamespace: "object",
    deque: "list",
}


def kind_of(value: Any) -> str:
    """The way the walk treats `value`: list, dict, set and object have slots, others lead on, "" is not entered."""
    cls = type(value)
    kind = _kinds.get(cls)
    if kind is None:
        kind = _kinds[cls] = _kind(cls)
    return "class" if kind == "type" and is_authors_class(value) else "" if kind == "type" else kind


def _kind(cls: type) -> str:
    if hasattr(cls, "__reached__"):
        return "reached"
    if issubclass(cls, type):
        return "type"
    if issubclass(cls, (enum.Enum, BaseException, Unbound)) or hasattr(cls, "__flatten__"):
        return ""
    for base, kind in ((tuple, "tuple"), (list, "list"), (deque, "list"), (dict, "dict"), (set, "set")):
        if issubclass(cls, base):
            return kind
    return "object" if is_authors_class(cls) or hasattr(cls, "__extract_mlir_values__") else ""


@functools.cache
def is_authors_class(cls: type) -> bool:
    """Whether the author wrote `cls`: not Python's library, an installed package or this one."""
    if cls.__flags__ & (1 << 8):  # immutable: no class statement made it
        return False
    name = cls.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is not None:
        return is_authors(file)
    if name == "builtins":  # made by exec in a namespace without a __name__
        return getattr(builtins, cls.__name__, None) is not cls
    return name not in sys.stdlib_module_names or name == "__main__"


def is_plain(value: Any) -> bool:
    """Whether NVIDIA's compiler refuses to carry `value`: an object without fields or a protocol for its contents."""
    return (
        kind_of(value) in ("object", "class", "set")
        and not dataclasses.is_dataclass(value)
        and type(value) is not types.SimpleNamespace
        and not hasattr(type(value), "__extract_mlir_values__")
    )


def is_frozen(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and getattr(type(value), "__dataclass_params__").frozen  # noqa: B009


def has_slots(value: Any) -> bool:
    """Whether something can be assigned inside `value`, which therefore is the same object on all paths or another."""
    return kind_of(value) in ("list", "dict", "object", "set") and not is_frozen(value)


@functools.cache
def _member_names(cls: type) -> tuple[str, ...]:
    """The attributes that `__slots__` of `cls` and its bases hold."""
    return tuple(
        name
        for base in cls.__mro__
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    )


_CODE = (
    types.FunctionType,
    staticmethod,
    classmethod,
    property,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
)


def slots_of(value: Any, kind: str) -> Any:
    """A copy of what `value` holds: a list's items, or a dict of its slots."""
    if kind == "list":
        return list(value)
    if kind == "dict":
        return dict(value)
    if kind == "set":
        return frozenset(value)
    if kind == "class":
        return {
            name: contents
            for name, contents in vars(value).items()
            if not (name.startswith("__") or isinstance(contents, _CODE) or hasattr(type(contents), "__reached__"))
        }
    contents = dict(getattr(value, "__dict__", ()))
    for name in _member_names(type(value)):
        inner = getattr(value, name, MISSING)
        if inner is not MISSING:
            contents[name] = inner
    return contents


def put(value: Any, kind: str, slot: Any, content: Any) -> None:
    """Store `content` in one slot, without calling a `__setattr__` or `__setitem__` of the author."""
    if kind == "list":
        kind_of_list: Any = deque if isinstance(value, deque) else list
        kind_of_list.__setitem__(value, slot, content)
    elif kind == "dict":
        dict.pop(value, slot, None) if content is MISSING else dict.__setitem__(value, slot, content)
    elif content is MISSING:
        if slot in slots_of(value, kind):
            (type if kind == "class" else object).__delattr__(value, slot)
    else:
        (type if kind == "class" else object).__setattr__(value, slot, content)


def inherited(value: Any, kind: str, slot: Any) -> Any:
    """What Python finds in a class where `value` itself has no `slot`: a default; MISSING where there is none."""
    if kind not in ("object", "class"):
        return MISSING
    for base in (type(value) if kind == "object" else value).__mro__:
        if slot in vars(base):
            attribute = vars(base)[slot]
            return MISSING if hasattr(type(attribute), "__get__") else attribute
    return MISSING


def slot_name(owner: str, kind: str, slot: Any) -> str:
    """How the author writes a slot: `owner.attribute` or `owner[0]`."""
    return f"{owner}.{slot}" if kind in ("object", "class") else f"{owner}[{slot!r}]"


def same(a: Any, b: Any) -> bool:
    """Whether two contents of a slot are the same, without asking an author's `__eq__`."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in (int, bool, str):
        return a == b
    if type(a) is float:
        return a == b and repr(a) == repr(b)
    if type(a) is types.MethodType:
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    if isinstance(a, Numeric):
        return a.value is b.value or same(a.value, b.value)
    return isinstance(a, mlir.Value) and a == b


# --- the walk --------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Reached:
    """One object with slots, how the author reaches it, and what it held when the walk came by.

    `outside`: it is reached only through a global, or a variable of Python around the traced function.
    """

    value: Any
    kind: str
    name: str
    held: Any
    outside: bool = False


@dataclass(eq=False)
class Change:
    """The contents of one slot before and after. A slot that is there only before or after holds MISSING otherwise.

    `slot` is WHOLE where the number of a list's items or the members of a set have changed, or a dict has lost keys.
    """

    reached: Reached
    slot: Any
    before: Any
    after: Any

    @property
    def name(self) -> str:
        return self.reached.name if self.slot is WHOLE else slot_name(self.reached.name, self.reached.kind, self.slot)

    @property
    def key(self) -> tuple[int, Any]:
        return id(self.reached.value), self.slot

    @property
    def is_new_key(self) -> bool:
        """Whether a dict has got another key."""
        return self.reached.kind == "dict" and self.slot is not WHOLE and self.before is MISSING

    def put(self, content: Any) -> None:
        put(self.reached.value, self.reached.kind, self.slot, content)


class Heap:
    """The objects that `functions` and `variables` (name, value) can reach, as they are now."""

    def __init__(self, functions: Sequence[Callable], variables: Sequence[tuple[str, Any]]):
        self.reached: dict[int, Reached] = {}
        self._seen: set[int] = set()
        self._kept: list[Any] = []  # what `_seen` has the ids of
        self._outside: list[tuple[str, Any]] = []  # what is outside, walked last
        todo = deque(variables)
        for function in functions:
            if isinstance(function, types.FunctionType):
                todo.extend(self._closure(function))
        self._walk(todo, outside=False)
        while self._outside:
            todo, self._outside = deque(self._outside), []
            self._walk(todo, outside=True)

    def __bool__(self) -> bool:
        return bool(self.reached)

    def __contains__(self, value: Any) -> bool:
        return id(value) in self.reached

    def _walk(self, todo: deque[tuple[str, Any]], outside: bool) -> None:
        """Breadth first, so that an object is called by the shortest way to it."""
        while todo:
            name, value = todo.popleft()
            kind = _kinds.get(type(value))
            if kind == "":
                continue
            kind = kind_of(value)
            if not kind or id(value) in self._seen or (kind == "function" and _is_foreign(value)):
                continue
            self._seen.add(id(value))
            self._kept.append(value)
            if kind in ("list", "dict", "object", "set", "class"):
                contents = slots_of(value, kind)
                self.reached[id(value)] = Reached(value, kind, name, contents, outside)
                if kind == "set":
                    continue
                items = enumerate(contents) if kind == "list" else contents.items()
                todo.extend(
                    [(slot_name(name, kind, slot), inner) for slot, inner in items if _kinds.get(type(inner)) != ""]
                )
            if kind in ("object", "class"):
                todo.extend(
                    (cls.__name__, cls)
                    for cls in (type(value) if kind == "object" else value).__mro__
                    if id(cls) not in self._seen and is_authors_class(cls)
                )
            elif kind == "function":
                todo.extend(self._closure(value))
            if kind not in ("list", "dict", "object", "function"):
                todo.extend(_led_to(value, kind, name))

    def _closure(self, function: types.FunctionType) -> list[tuple[str, Any]]:
        """The free variables of a function that belong to the traced function;
        the others are walked last, as globals are."""
        inside = []
        for name, value in _closure_of(function):
            ours = is_our_file(function.__code__.co_filename)
            (inside if ours or not is_outer(function.__code__, name) else self._outside).append((name, value))
        (inside if "<locals>" in function.__qualname__ else self._outside).extend(_defaults_of(function))
        self._outside.extend(_globals_of(function))
        return inside

    def changes(self) -> list[Change]:
        """The slots that no longer hold what they held."""
        changed: list[Change] = []
        for reached in self.reached.values():
            now, old = slots_of(reached.value, reached.kind), reached.held
            if reached.kind == "set":
                if now != old:
                    changed.append(Change(reached, WHOLE, old, now))
                continue
            if reached.kind == "list":
                if len(now) != len(old):
                    changed.append(Change(reached, WHOLE, old, now))
                    continue
                pairs = enumerate(zip(old, now))
            elif reached.kind == "dict" and now.keys() != old.keys() and list(now)[: len(old)] != list(old):
                changed.append(Change(reached, WHOLE, old, now))
                continue
            else:
                slots = old if now.keys() == old.keys() else {**old, **now}
                pairs = ((slot, (old.get(slot, MISSING), now.get(slot, MISSING))) for slot in slots)
            changed.extend(
                Change(reached, slot, before, after)
                for slot, (before, after) in pairs
                if before is not after and not same(before, after)
            )
        return changed

    @staticmethod
    def restore(changes: Sequence[Change]) -> None:
        """Undo `changes`."""
        for change in changes:
            if change.slot is not WHOLE:
                change.put(change.before)
                continue
            value, before = change.reached.value, change.before
            value.clear()
            value.update(before) if change.reached.kind in ("dict", "set") else value.extend(before)


def _is_foreign(function: types.FunctionType) -> bool:
    """Whether a function is of a library; what this package wraps round an author's function is passed through."""
    file = function.__code__.co_filename
    return not (is_authors(file) or (is_our_file(file) and function.__closure__))


def _closure_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The free variables of a function; of one of this package, the functions among them alone."""
    ours = is_our_file(function.__code__.co_filename)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if not ours or kind_of(value) in ("function", "method", "reached"):
            yield name, value


def _defaults_of(function: types.FunctionType) -> list[tuple[str, Any]]:
    """The defaults of a function's parameters."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return [*zip(names, defaults), *(function.__kwdefaults__ or {}).items()]


def _globals_of(function: types.FunctionType) -> list[tuple[str, Any]]:
    """The globals that a function of the author may look up."""
    if is_our_file(function.__code__.co_filename):
        return []
    space = function.__globals__
    return [(name, space[name]) for name in _global_names(function.__code__) if name in space]


def _led_to(value: Any, kind: str, name: str) -> Iterator[tuple[str, Any]]:
    """The values that the author's code reaches through `value`, other than its slots."""
    if kind == "tuple":
        names = getattr(value, "_fields", None)
        yield from ((f"{name}.{names[k]}" if names else f"{name}[{k}]", inner) for k, inner in enumerate(value))
    elif kind == "method":
        yield name.rpartition(".")[0] or name, value.__self__
        yield name, value.__func__
    elif kind == "partial":
        yield from ((name, inner) for inner in (value.func, *value.args, *value.keywords.values()))
    elif kind == "reached":
        yield from ((name, inner) for inner in value.__reached__())
    elif kind == "class":
        for member in vars(value).values():
            if isinstance(member, property):
                yield from ((name, inner) for inner in (member.fget, member.fset) if inner)
            else:
                yield name, getattr(member, "__func__", member)


_names_of: dict[int, tuple[types.CodeType, tuple[str, ...]]] = {}


def _global_names(code: types.CodeType) -> tuple[str, ...]:
    """The names that `code` and the functions in it may look up among the globals."""
    cached = _names_of.get(id(code))
    if cached is None:
        names = dict.fromkeys(code.co_names)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                names.update(dict.fromkeys(_global_names(const)))
        cached = _names_of[id(code)] = code, tuple(names)
    return cached[1]
