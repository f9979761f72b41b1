"""The values that tracing a function reads besides its arguments; a later call sees whether they are still the same.

The code of the function, and of all the author's functions it reaches, is looked through for what it takes from
outside: globals, closure cells, defaults, attributes of modules. Each becomes a comparison by identity of a value that
cannot change. Anything that cannot be compared that way (a list, an object of an author's class, a library's function,
print, import, a global that is set) makes every call trace the function again: Unseen.
"""

from __future__ import annotations

import builtins
import dis
import enum
import inspect
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.core.syntax.function_source import is_authors
from dsl.layout import Layout
from dsl.span import is_our_file

# Builtins that read nothing but their arguments and do nothing else.
_PURE = {
    getattr(builtins, name)
    for name in (
        "abs all any bool complex dict divmod enumerate float frozenset int isinstance issubclass len list map max min "
        "pow range repr reversed round set slice sorted str sum tuple type zip"
    ).split()
}
_PURE |= {value for value in vars(builtins).values() if isinstance(value, type) and issubclass(value, BaseException)}
_PURE |= {value for value in vars(math).values() if callable(value)}
_CONSTANTS = (type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes, range, enum.Enum)
_REFUSED = {
    "IMPORT_NAME",
    "IMPORT_FROM",
    "STORE_GLOBAL",
    "DELETE_GLOBAL",
    "LOAD_BUILD_CLASS",
    "LOAD_NAME",
    "STORE_NAME",
    "DELETE_DEREF",
    "LOAD_CLASSDEREF",
    "YIELD_VALUE",
    "LOAD_FROM_DICT_OR_GLOBALS",
    "LOAD_FROM_DICT_OR_DEREF",
}
_SPEAKS = {"print", "warn", "open", "input"}  # names in a function of ours that tells somebody something


class Unseen(Exception):
    """Something is read that a call cannot compare at a glance."""


class Reads:
    """The values that were found to be read, as comparisons."""

    def __init__(self):
        self._tests: dict[str, None] = {}
        self._names: dict[str, Any] = {}
        self._by_id: dict[int, str] = {}
        self._visited: set[int] = set()

    def validator(self) -> Callable[[], bool]:
        """A function that returns whether all that was read is unchanged."""
        text = (
            "def same():\n    try:\n        return "
            + (" and ".join(self._tests) or "True")
            + "\n    except Exception:\n        return False\n"
        )
        names = dict(self._names)
        exec(compile(text, "<dsl reads>", "exec"), names)  # every name in it was made here
        return names["same"]

    def _name(self, value: Any) -> str:
        name = self._by_id.get(id(value))
        if name is None:
            name = self._by_id[id(value)] = f"o{len(self._names)}"
            self._names[name] = value
        return name

    def _is(self, expression: str, value: Any) -> None:
        self._tests[f"{expression} is {self._name(value)}"] = None

    # ** values

    def value(self, value: Any) -> None:
        """Look through what `value` reads when it is used. Raises Unseen."""
        if isinstance(value, _CONSTANTS):
            return
        if type(value) in (tuple, frozenset):
            for part in value:
                self.value(part)
        elif hasattr(value, "static_marker") and isinstance(getattr(value, "function", None), types.FunctionType):
            self._is(f"{self._name(value)}.symbol", value.symbol)  # a jit function or a kernel
            self.function(value.function)
        elif isinstance(value, types.FunctionType):
            self._of_file(value)
        elif isinstance(value, type):
            if value not in _PURE and not value.__module__.startswith("dsl."):
                raise Unseen(value)
        elif isinstance(value, types.BuiltinFunctionType):
            if value not in _PURE:
                raise Unseen(value)
        elif not (type(value) is Layout or (isinstance(value, Numeric) and not is_dynamic(value))):
            raise Unseen(value)

    def _of_file(self, function: types.FunctionType) -> None:
        file = function.__code__.co_filename
        if is_our_file(file):
            inner = inspect.unwrap(function)
            if not isinstance(inner, types.FunctionType) or _SPEAKS & set(inner.__code__.co_names):
                raise Unseen(function)
        elif is_authors(file):
            self.function(function)
        else:
            raise Unseen(function)

    # ** functions

    def function(self, function: types.FunctionType) -> None:
        """Look through one of the author's functions. Raises Unseen."""
        if id(function) in self._visited:
            return
        self._visited.add(id(function))
        name = self._name(function)
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            self._is(f"{name}.{part}", getattr(function, part))
        for default in function.__defaults__ or ():
            self.value(default)
        for key, default in (function.__kwdefaults__ or {}).items():
            self._is(f"{self._name(function.__kwdefaults__)}.get({key!r})", default)
            self.value(default)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        self._code(function.__code__, function.__globals__, cells)

    def _code(self, code: types.CodeType, names: dict, cells: dict) -> None:
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                inner = {name: cell for name, cell in cells.items() if name in const.co_freevars}
                self._code(const, names, {name: cell for name, cell in inner.items() if name not in code.co_cellvars})
        loaded: list = []  # the value a name has just brought, until it is seen how it is used
        for instruction in dis.get_instructions(code):
            what, of = instruction.opname, instruction.argval
            if what in ("CACHE", "PRECALL", "EXTENDED_ARG", "RESUME", "NOP"):
                continue
            if what in _REFUSED or what.startswith(("GET_A", "SEND")):
                raise Unseen(what)
            if what in ("STORE_DEREF", "STORE_ATTR", "DELETE_ATTR") and (of in cells or loaded):
                raise Unseen(of)  # nonlocal, or an attribute of what is outside
            if what in ("LOAD_ATTR", "LOAD_METHOD"):
                if of.startswith("__"):
                    raise Unseen(of)
                if loaded and isinstance(loaded[0], types.ModuleType):
                    loaded = [self._attribute(loaded[0], of)]
                    continue
            for value in loaded:
                self.value(value)
            loaded = list(self._loads(what, of, names, cells))
        for value in loaded:
            self.value(value)

    def _loads(self, what: str, of: str, names: dict, cells: dict) -> Iterator[Any]:
        """The value from outside that an instruction loads."""
        if what == "LOAD_GLOBAL":
            if of in names:
                self._is(f"{self._name(names)}.get({of!r})", names[of])
                yield names[of]
            else:
                self._tests[f"{of!r} not in {self._name(names)}"] = None
                self._is(f"{self._name(vars(builtins))}.get({of!r})", getattr(builtins, of, None))
                yield getattr(builtins, of, None)
        elif what == "LOAD_DEREF" and of in cells:
            try:
                value = cells[of].cell_contents
            except ValueError:
                raise Unseen(of) from None
            self._is(f"{self._name(cells[of])}.cell_contents", value)
            yield value

    def _attribute(self, module: types.ModuleType, name: str) -> Any:
        if name not in vars(module):
            raise Unseen(name)
        self._is(f"{self._name(vars(module))}.get({name!r})", vars(module)[name])
        return vars(module)[name]
