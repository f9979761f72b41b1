"""The part of an author's program that some functions and classes reach, as the text of one module.

Code of installed packages stays an import. Everything else, the author's own modules and packages that nobody can
install, is copied by definition: the statement that binds a name, and what that statement mentions in turn.
"""

from __future__ import annotations

import ast
import builtins
import importlib.metadata
import importlib.util
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.capture.author import text as author_text
from harness.capture.author.text import Module, Statement

PLAIN = (bool, int, float, str, bytes, type(None))


@dataclass
class Slice:
    """`text` is module-level code. `names`: id of a root -> the expression for it in that text.

    `values`: names the text uses that have no source, with their values. `licences`: headers of files
    that code was copied from, where they speak of a licence.
    """

    text: str = ""
    names: dict[int, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    licences: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def slice_of(roots: Sequence[Any], taken: Iterable[str] = (), called: Iterable[str] = ()) -> Slice:
    """What these functions and classes reach. No definition gets a name of `taken`; `called`: methods that are used.

    It is done twice: what the first time shows that nothing mentions, methods of classes, reaches nothing the second.
    """
    author_text.forget()
    first = _Slicer(set(taken))
    first.slice(roots)
    first.drop_methods(set(called))
    return _Slicer(set(taken)).slice(roots)


class _Slicer:
    def __init__(self, taken: set[str]):
        self.result = Slice()
        self.imports: dict[str, None] = {}
        self.kept: dict[str, dict[int, Statement]] = {}  # module -> place in it -> statement
        self.order: list[str] = []
        self.local: list[str] = []  # definitions that stood in functions
        self.names: dict[str, Any] = dict.fromkeys(taken)  # name in the file -> what owns it
        self.spaces: dict[str, tuple[str, dict[str, str]]] = {}  # name of a module -> its first user, attribute -> name
        self.future = False
        self._locals: dict[int, str] = {}
        self._texts: list[ast.AST] = []

    def slice(self, roots: Sequence[Any]) -> Slice:
        for root in roots:
            self.result.names[id(root)] = self.define(root)
        self.result.text = self._text()
        return self.result

    # ** objects

    def define(self, value: Any) -> str:
        """Have a function or class in the text; the expression for it."""
        value = author_text.undecorated(value)
        module = sys.modules.get(getattr(value, "__module__", None) or "")
        name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
        if "<locals>" in name or "<lambda>" in name or (module is None and isinstance(value, types.FunctionType)):
            return self._define_local(value)
        if module is None:
            self.result.missing.append(f"the module of {name} is not imported")
            return name
        if not is_author(module):
            return f"{self._module(author_text.public_name(module.__name__))}.{name}"
        top, _, rest = name.partition(".")
        return self.need(module, top) + (f".{rest}" if rest else "")

    def need(self, module: types.ModuleType, name: str) -> str:
        """Have what `name` means in an author's module; its name in the text."""
        source = author_text.read(module)
        statement = source.bindings.get(name) if source else None
        if source is None or statement is None:
            return self._value(name, module.__dict__.get(name, _NOTHING), module)
        if statement.is_import:
            return self._imported(module, source, statement, name)
        constant = self._constant(module, statement, name)
        if constant is not None:
            return constant
        new = self._own(name, (module.__name__, name))
        if self._keep(module, source, statement):
            self._keep_changes(module, source, name)
        return new

    def _keep(self, module: types.ModuleType, source: Module, statement: Statement) -> bool:
        """Have a statement in the text, with what it mentions; False where it is there."""
        kept = self.kept.setdefault(module.__name__, {})
        if module.__name__ not in self.order:
            self.order.append(module.__name__)
        if statement.place in kept:
            return False
        kept[statement.place] = statement
        self.future = self.future or source.has_future_annotations
        if source.licence and source.licence not in self.result.licences:
            self.result.licences.append(source.licence)
        before = len(self.order)
        statement.renamed = {}
        self._keep_local_imports(module, source, statement)
        for used in statement.loads():
            if used not in statement.binds:
                self._use(module, source, statement, used)
        for later in self.order[before:]:  # what this needs comes first
            if self.order.index(later) > self.order.index(module.__name__):
                self.order.remove(later)
                self.order.insert(self.order.index(module.__name__), later)
        return True

    def _keep_changes(self, module: types.ModuleType, source: Module, name: str) -> None:
        """Statements at the top of the module that change what a name means: an item, an attribute, a registration."""
        is_container = isinstance(module.__dict__.get(name), (dict, list, set))
        for statement in source.changes(name, is_container):
            if isinstance(statement.node, (ast.For, ast.While, ast.With, ast.If, ast.Try)):
                line = statement.node.lineno
                self.result.missing.append(f"{name} is changed by a block at line {line} of its module")
            elif self._keep(module, source, statement):
                for bound in statement.binds:
                    self._own(bound, (module.__name__, bound))

    def _keep_local_imports(self, module: types.ModuleType, source: Module, statement: Statement) -> None:
        """Imports inside functions, where they import the author's modules: the names are in the text already."""
        statement.replaced = {}
        for node in statement.inner_imports():
            lines = []
            for alias in node.names:
                bound = alias.asname or alias.name
                origin = source.origin_of(node) if isinstance(node, ast.ImportFrom) else alias.name
                target = sys.modules.get(origin)
                if target is None or not is_author(target):
                    break
                if isinstance(node, ast.ImportFrom):
                    value = target.__dict__.get(alias.name)
                    if alias.name == "*" or isinstance(value, types.ModuleType):
                        break
                    new = self.need(target, alias.name)
                elif "." in bound:
                    break
                else:
                    new = self._namespace(bound, target, statement.attributes(bound), module.__name__)
                lines += [f"{bound} = {new}"] if new != bound else []
            else:
                statement.replaced[id(node)] = node, lines or ["pass"]
                continue
            if target is not None and is_author(target):
                self.result.missing.append(f"line {node.lineno} of {module.__name__} imports a module of the program")

    def _use(self, module: types.ModuleType, source: Module, statement: Statement, used: str) -> None:
        if used in module.__dict__ or used in source.bindings:
            attributes = statement.attributes(used)
            new = self._name_of_use(module, source, used, attributes)
            if new != used:
                statement.renamed[used] = new

    def _name_of_use(self, module: types.ModuleType, source: Module, used: str, attributes: set[str]) -> str:
        value = module.__dict__.get(used)
        if isinstance(value, types.ModuleType) and is_author(value):
            return self._namespace(used, value, attributes, module.__name__)
        return self.need(module, used)

    def _namespace(self, name: str, module: types.ModuleType, attributes: set[str], user: str) -> str:
        """An author's module that is used as `module.name`: a namespace of what is used of it."""
        new = self._own(name, ("module of the program", module.__name__))
        _, space = self.spaces.setdefault(new, (user, {}))
        for attribute in sorted(attributes):
            value = module.__dict__.get(attribute)
            if isinstance(value, types.ModuleType) and is_author(value):
                self.result.missing.append(f"{name}.{attribute} is a module inside another one")
            elif attribute not in space:
                space[attribute] = self.need(module, attribute)
        self._module("types")
        return new

    def _constant(self, module: types.ModuleType, statement: Statement, name: str) -> str | None:
        """A module's plain value whose statement would not give it again here: it is written as the value."""
        if not isinstance(statement.node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.For)):
            return None
        value = module.__dict__.get(name, _NOTHING)
        if not _is_plain(value):
            return None
        if isinstance(statement.node, (ast.Assign, ast.AnnAssign)) and statement.node.value is not None:
            try:
                if ast.literal_eval(statement.node.value) == value:
                    return None
            except (ValueError, TypeError, SyntaxError):
                pass
        return self._value(name, value, module)

    def _value(self, name: str, value: Any, module: types.ModuleType) -> str:
        """A name that no statement binds: an import, a definition elsewhere, or a value."""
        if value is _NOTHING:
            return name
        if isinstance(value, types.ModuleType):
            public = author_text.public_name(value.__name__)
            if is_author(value):
                self.result.missing.append(f"{name} is a module that no statement imports")
            return self._module(public, name)
        plain = author_text.undecorated(value)
        if isinstance(plain, (types.FunctionType, type)) and getattr(plain, "__module__", "") != module.__name__:
            return self.define(plain)
        if isinstance(plain, (types.FunctionType, type)) and "<locals>" in plain.__qualname__:
            return self._define_local(plain)
        new = self._own(name, (module.__name__, name))
        self.result.values[new] = value
        return new

    def _imported(self, module: types.ModuleType, source: Module, statement: Statement, name: str) -> str:
        """What an import statement of the author's binds."""
        alias = statement.aliases[name]
        origin = source.origin(statement)
        if isinstance(statement.node, ast.ImportFrom):
            target = sys.modules.get(origin)
            if target is not None and is_author(target):
                value = target.__dict__.get(alias.name, _NOTHING)
                if isinstance(value, types.ModuleType):
                    self.result.missing.append(f"{alias.name} is a module that is used whole")
                return self.need(target, alias.name)
            new = self._own(name, ("import", origin, alias.name))
            self._import(f"from {origin} import {alias.name}" + (f" as {new}" if new != alias.name else ""))
            return new
        target = sys.modules.get(alias.name)
        if target is not None and is_author(target):
            self.result.missing.append(f"{alias.name} is a module of the program that is used whole")
        if alias.asname:
            return self._module(alias.name, name)
        new = self._own(name, ("import", name))
        self._import(f"import {alias.name}" if new == name else f"import {name} as {new}")
        if new != name and alias.name != name:
            self._module(alias.name, f"{name}_module")  # so that it is an attribute of its package
        return new

    def _module(self, public: str, name: str = "") -> str:
        """Have an installed module imported; the expression for it: `name`, where that belongs to nothing else."""
        wanted = name or public.partition(".")[0]
        is_whole = wanted == public.partition(".")[0] and (not name or name == public)
        new = self._own(wanted, ("import", wanted if is_whole else public))
        if is_whole and new == wanted:
            self._import(f"import {public}")
            return public
        self._import(f"import {public} as {new}")
        return new

    # ** definitions inside functions

    def _define_local(self, value: Any) -> str:
        """The text of a nested function or class, with its closure variables moved to module level."""
        if id(value) in self._locals:
            return self._locals[id(value)]
        node = author_text.node_of(value)
        hint = value.__name__ if value.__name__.isidentifier() else "function"
        name = self._locals[id(value)] = self._own(hint, ("local", id(value)))
        if node is None:
            self.result.missing.append(f"the source of {value.__qualname__} is in no file")
            return name
        statement = Statement(node, -1, author_text.text_of(node, value), {hint})
        if name != hint:
            statement.renamed[hint] = name
        module = sys.modules.get(value.__module__)
        cells = _cells(value)
        for used in statement.loads():
            if used in statement.binds:
                continue
            if used in cells:
                new = self._captured(used, cells[used])
            elif module is not None and (source := author_text.read(module)) is not None:
                if used not in module.__dict__ and used not in source.bindings:
                    continue
                new = self._name_of_use(module, source, used, statement.attributes(used))
            else:
                namespace = getattr(value, "__globals__", {})
                if used not in namespace:
                    continue
                new = self._captured(used, namespace[used])
            if new != used:
                statement.renamed[used] = new
        text = statement.text()
        self.local.append(f"{name} = {text}" if isinstance(node, ast.Lambda) else text)
        self._texts.append(node)
        return name

    def _captured(self, name: str, value: Any) -> str:
        """A variable of the function around."""
        plain = author_text.undecorated(value)
        if isinstance(plain, types.ModuleType):
            return self._module(author_text.public_name(plain.__name__), name)
        if isinstance(plain, (types.FunctionType, type)) and plain.__module__ != "builtins":
            return self.define(plain)
        if isinstance(plain, type) and plain.__name__ in vars(builtins):
            return plain.__name__
        new = self._own(name, ("closure", name, id(value)))
        self.result.values[new] = value
        return new

    # ** the text

    def _own(self, name: str, owner: Any) -> str:
        """A name for a definition; another one where it belongs to something else already."""
        new, number = name, 2
        while new in self.names and self.names[new] != owner:
            new, number = f"{name}_{number}", number + 1
        self.names[new] = owner
        return new

    def _import(self, line: str) -> None:
        self.imports[line] = None

    def _text(self) -> str:
        parts = []
        if self.future:
            parts.append("from __future__ import annotations")
        parts.append("\n".join(sorted(self.imports, key=_import_order)))
        for module in self.order:
            parts += [self._space(name) for name, (user, _) in self.spaces.items() if user == module]
            kept = self.kept[module]
            for place in sorted(kept):
                statement = kept[place]
                mine = {
                    name: new
                    for name in statement.binds
                    if (new := self._name_in_file(module, name)) is not None and new != name
                }
                statement.renamed |= mine
                parts.append(statement.text())
        parts += [self._space(name) for name, (user, _) in self.spaces.items() if user not in self.order]
        return "\n\n\n".join(part for part in [*parts, *self.local] if part.strip()) + "\n"

    def _space(self, name: str) -> str:
        words = ", ".join(f"{attribute}={new}" for attribute, new in self.spaces[name][1].items())
        return f"{name} = {self._module('types')}.SimpleNamespace({words})"

    def _name_in_file(self, module: str, name: str) -> str | None:
        return next((new for new, owner in self.names.items() if owner == (module, name)), None)

    def drop_methods(self, called: set[str]) -> None:
        """Leave out methods that nothing in the text mentions, from the next slice on."""
        statements = [statement for kept in self.kept.values() for statement in kept.values()]
        trees = [statement.node for statement in statements] + self._texts
        author_text.drop_unused_methods(statements, trees, called)


def packages_of(code: str) -> dict[str, str]:
    """The distributions that a module imports, with the versions that are installed."""
    roots = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    names = {name for root in roots - sys.stdlib_module_names for name in _distributions().get(root, ())[:1]}
    return {name: importlib.metadata.version(name).partition("+")[0] for name in names}


_NOTHING = object()


def _is_plain(value: Any) -> bool:
    return type(value) in PLAIN or (type(value) in (tuple, list) and all(map(_is_plain, value)))


def _cells(value: Any) -> dict[str, Any]:
    """What a function, or the methods of a class, close over."""
    functions = [value] if isinstance(value, types.FunctionType) else list(vars(value).values())
    found = {}
    for function in functions:
        function = author_text.undecorated(function)
        code = getattr(function, "__code__", None)
        for name, cell in zip(code.co_freevars if code else (), getattr(function, "__closure__", None) or ()):
            try:
                if name != "__class__":
                    found[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                pass
    return found


def _import_order(line: str) -> tuple[int, str]:
    root = line.split()[1].partition(".")[0]
    return (0 if root in sys.stdlib_module_names else 1, line)


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


@cache
def _installed() -> tuple[str, ...]:
    """Folders whose code is not the author's: installed packages, the standard library, and this project."""
    paths = sysconfig.get_paths()
    folders = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    for name in ("dsl", "harness"):
        spec = importlib.util.find_spec(name)
        folders += list(spec.submodule_search_locations or ()) if spec else []
    return tuple(os.path.realpath(folder) + os.sep for folder in folders)


def is_author(module: types.ModuleType) -> bool:
    """Whether code of this module is copied: it is Python in no installed package."""
    file = getattr(module, "__file__", None)
    if module.__name__ == "__main__":
        return True
    if not file or not file.endswith(".py"):
        return False
    return not os.path.realpath(file).startswith(_installed())
