"""The part of an author's program that some functions and classes reach, as the text of one module.

Code of installed packages stays an import. Everything else, the author's own modules and packages that nobody can
install, is copied by definition: the statement that binds a name, and what that statement mentions in turn. Statements
stay in the order in which the program ran them.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.capture.author import methods, nested, order, patches, text as author_text
from harness.capture.author.import_lines import grouped
from harness.capture.author.places import is_author
from harness.capture.author.plain_values import is_plain, part_of
from harness.capture.author.statement import Statement, Use
from harness.capture.author.text import Module
from harness.capture.refusal import CannotBeCaptured

_OF_A_MODULE = ("__file__", "__name__", "__doc__", "__package__", "__path__", "__spec__", "__loader__", "__builtins__")
MOST_TRIES = 8


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


def slice_of(roots: Sequence[Any], taken: Mapping[str, Any] | Iterable[str] = (), called: Iterable[str] = ()) -> Slice:
    """The code that these functions and classes reach. `called`: methods that are used from outside.

    No definition gets a name of `taken`; a mapping gives the import for which a name is reserved. It is done more
    than once: methods that nothing mentions reach nothing the next time, and a definition gets another name if a
    function that uses it has a variable of that name.
    """
    author_text.forget()
    reserved = dict(taken) if isinstance(taken, Mapping) else dict.fromkeys(taken)
    avoided: dict[Any, set[str]] = {}
    changes = patches.patches()
    first = _Slicer(reserved, avoided, changes)
    first.slice(roots)
    first.drop_methods(set(called))
    for _ in range(MOST_TRIES):
        slicer = _Slicer(reserved, avoided, changes)
        slicer.slice(roots)
        hidden = slicer.hidden_names()
        if not hidden:
            break
        for owner, name in hidden:
            avoided.setdefault(owner, set()).add(name)
    return slicer.result


class _Slicer:
    def __init__(self, reserved: Mapping[str, Any], avoided: Mapping[Any, set[str]], changes: patches.Patches):
        self.result = Slice()
        self.imports: dict[str, None] = {}
        self.kept: dict[int, tuple[types.ModuleType, Statement]] = {}  # by id of the statement
        self.local: list[tuple[str, Statement]] = []  # definitions inside functions, with their names
        self.modules: dict[str, tuple[types.ModuleType, dict[str, str]]] = {}  # those that are values, with their parts
        self.changes: list[str] = []  # attributes of classes that other files assigned
        self.names: dict[str, Any] = dict(reserved)  # name in the file -> what owns it
        self.own: dict[Any, str] = {}  # what owns a name -> the name
        self._avoided, self._patches = avoided, changes
        self._locals: dict[int, str] = {}
        self._alive: list[Any] = []  # values whose ids are keys

    def slice(self, roots: Sequence[Any]) -> None:
        for root in roots:
            self.result.names[id(root)] = self.define(root)
        self._fill_modules()
        self.result.text = self._text()

    # ** objects

    def define(self, value: Any) -> str:
        """Have a function or class in the text; the expression for it."""
        wrapper, value = value, author_text.undecorated(value)
        module = sys.modules.get(getattr(value, "__module__", None) or "")
        name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
        if "<locals>" in name or "<lambda>" in name or module is None:
            return self._define_local(value)
        top, _, rest = name.partition(".")
        rest = f".{rest}" if rest else ""
        if not is_author(module):
            return self._imported_from(author_text.public_name(module.__name__), top) + rest
        if not rest and _is_hidden(value, module, top):
            return self._define_local(wrapper) if _is_authors(wrapper) else self._define_local(value, is_plain=True)
        return self.need(module, top) + rest

    def need(self, module: types.ModuleType, name: str) -> str:
        """Have what `name` means in an author's module; its name in the text."""
        value = module.__dict__.get(name, _NOTHING)
        source = author_text.read(module)
        statement = source.bindings.get(name) if source else None
        if statement is None and name in _OF_A_MODULE:
            return name  # the captured file has one too, and the program's names its folders
        if source is None or statement is None:
            return self._value(name, value, module)
        replacing = self._patches.get((module.__name__, name), [])
        if not replacing and _is_replaced(value, statement.node):
            return self.define(value)
        if statement.is_import and not replacing:
            return self._imported(module, source, statement, name, value)
        constant = self._constant(module, statement, name)
        if constant is not None:
            return constant
        new = self._own(name, (module.__name__, name))
        is_new = id(statement) not in self.kept
        for each in source.bindings_of(name):
            if not each.is_import:
                self._keep(module, source, each)
        for other, each in replacing:
            if (its := author_text.read(other)) is not None:
                self._keep(other, its, each)
        if is_new:
            self._keep_changes(module, source, name)
            if isinstance(value, type) and isinstance(statement.node, ast.ClassDef):
                self._keep_attributes(value, statement.node, new)
        return new

    def _keep(self, module: types.ModuleType, source: Module, statement: Statement) -> bool:
        """Have a statement in the text, with what it mentions; False if it is there."""
        if id(statement) in self.kept:
            return False
        self.kept[id(statement)] = module, statement
        if source.licence and source.licence not in self.result.licences:
            self.result.licences.append(source.licence)
        statement.begin(source.has_future_annotations)
        self._keep_local_imports(module, source, statement)
        for use in statement.uses():
            if use.node.id not in statement.binds and use.node.id not in statement.renamed:
                self._use(module, source, statement, use)
        for name in statement.other_names():
            if name not in statement.binds and name in module.__dict__:
                self._rename(statement, name, self.need(module, name))
        for bound in statement.binds:
            self._rename(statement, bound, self._own(bound, (module.__name__, bound)))
        return True

    def _rename(self, statement: Statement, name: str, new: str) -> None:
        if new != name:
            statement.renamed[name] = new

    def _use(self, module: types.ModuleType, source: Module, statement: Statement, use: Use) -> None:
        """Have what a name of a statement means, and put its name in the file there."""
        name = use.node.id
        binding = source.bindings.get(name)
        if name not in module.__dict__ and (binding is None or binding.is_import):
            return  # a builtin, or an import that type checkers alone see
        value = module.__dict__.get(name)
        if isinstance(value, types.ModuleType) and is_author(value):
            self._flatten(statement, use, value)
        else:
            self._rename(statement, name, self.need(module, name))

    def _flatten(self, statement: Statement, use: Use, module: types.ModuleType) -> None:
        """Replace `module.name`, of an author's module, by the name that this has in the file."""
        whole: ast.AST = use.node
        for node in use.attributes:
            inner = module.__dict__.get(node.attr, _NOTHING)
            if isinstance(inner, types.ModuleType) and is_author(inner):
                module, whole = inner, node
                continue
            new = self.need(module, node.attr)
            statement.replaced[id(node)] = node, new
            function = statement.function_around(node)
            if not isinstance(node.ctx, ast.Load) and function is not None:
                statement.stored.append((function, new))
            return
        statement.replaced[id(whole)] = whole, self._module_value(module)

    def _module_value(self, module: types.ModuleType) -> str:
        """Have an author's module that is used as a value: an object with what the file mentions of it."""
        new = self._own(module.__name__.rpartition(".")[2], ("module", module.__name__))
        if new not in self.modules:
            self.modules[new] = module, {}
            self._import("import types")
        return new

    def _fill_modules(self) -> None:
        """Have the parts of such modules that some statement mentions as an attribute, or by a string."""
        count = -1
        while self.modules and count != len(self.kept) + len(self.local) + len(self.modules):
            count = len(self.kept) + len(self.local) + len(self.modules)
            nodes = [node for statement in self._statements() for node in statement.nodes()]
            mentioned = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            mentioned |= {
                node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            for module, parts in list(self.modules.values()):
                source = author_text.read(module)
                for name in sorted(mentioned & source.bindings.keys()) if source else ():
                    if name in module.__dict__ and name not in parts:
                        parts[name] = self.need(module, name)

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

    def _keep_attributes(self, kind: type, node: ast.ClassDef, name: str) -> None:
        """Methods that the program put into a class, or replaced, from outside of its body."""
        for attribute, value in list(vars(kind).items()):
            method = author_text.undecorated(value)
            if not isinstance(method, types.FunctionType) or method.__qualname__ == f"{kind.__qualname__}.{attribute}":
                continue
            module = sys.modules.get(method.__module__ or "")
            is_below = any(getattr(each, "name", "") == method.__name__ for each in node.body)
            if module is not None and is_author(module) and not is_below and nested.definition(method) is not None:
                self.changes.append(f"{name}.{attribute} = {self.define(method)}")

    def _keep_local_imports(self, module: types.ModuleType, source: Module, statement: Statement) -> None:
        """Imports inside functions, where they import the author's modules: the names are in the text already."""
        for node in statement.inner_imports():
            lines = []
            for alias in node.names:
                origin = source.origin_of(node) if isinstance(node, ast.ImportFrom) else alias.name
                target = sys.modules.get(origin)
                if target is None or not is_author(target):
                    break
                value = target.__dict__.get(alias.name) if isinstance(node, ast.ImportFrom) else target
                bound = (alias.asname or alias.name).partition(".")[0]
                if alias.name == "*":
                    self.result.missing.append(f"line {node.lineno} of {module.__name__} imports all of a module")
                elif isinstance(value, types.ModuleType) and is_author(value):
                    value = value if alias.asname or isinstance(node, ast.ImportFrom) else sys.modules[bound]
                    self._flatten_local(statement, node, bound, value)
                elif (new := self.need(target, alias.name)) != bound:
                    lines.append(f"{bound} = {new}")
            else:
                statement.replaced[id(node)] = node, "; ".join(lines) or "pass"

    def _flatten_local(self, statement: Statement, at: ast.AST, name: str, module: types.ModuleType) -> None:
        around = statement.function_around(at)
        for node in statement.nodes():
            if isinstance(node, ast.Name) and node.id == name:
                above = statement.function_around(node)
                while above is not None and above is not around:
                    above = statement.function_around(above)
                if above is around:
                    self._flatten(statement, statement.use_of(node), module)

    def _constant(self, module: types.ModuleType, statement: Statement, name: str) -> str | None:
        """A module's plain value whose statement would not give it again here: it is written as the value."""
        if not isinstance(statement.node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.For)):
            return None
        value = module.__dict__.get(name, _NOTHING)
        if not is_plain(value):
            return None
        if isinstance(statement.node, (ast.Assign, ast.AnnAssign)) and statement.node.value is not None:
            try:
                written = ast.literal_eval(statement.node.value)
                if repr(part_of(written, statement.node, name)) == repr(value):
                    return None
            except (ValueError, TypeError, SyntaxError):
                pass
        return self._value(name, value, module)

    def _value(self, name: str, value: Any, module: types.ModuleType) -> str:
        """A name that no statement binds: an import, a definition elsewhere, or a value."""
        if value is _NOTHING:
            return name
        if isinstance(value, types.ModuleType):
            if is_author(value):
                return self._module_value(value)
            return self._module(author_text.public_name(value.__name__), name)
        plain = author_text.undecorated(value)
        if isinstance(plain, (types.FunctionType, type)) and getattr(plain, "__module__", "") != module.__name__:
            return self.define(value)
        if isinstance(plain, (types.FunctionType, type)):  # made in a function, in a cell of a notebook, or by exec
            return self._define_local(plain)
        new = self._own(name, (module.__name__, name))
        self.result.values[new] = value
        return new

    # ** imports

    def _imported(self, module: types.ModuleType, source: Module, statement: Statement, name: str, value: Any) -> str:
        """The text for a name that an import statement of the author binds."""
        alias = statement.aliases[name]
        if isinstance(statement.node, ast.ImportFrom):
            origin = source.origin_of(statement.node)
            target = sys.modules.get(origin)
            if target is not None and is_author(target):
                if isinstance(value, types.ModuleType):
                    return self._module_value(value)
                if value is not target.__dict__.get(alias.name):  # the other module has another value there by now
                    return self._value(name, value, module)
                return self.need(target, alias.name)
            return self._imported_from(origin, alias.name, name)
        if alias.asname:
            return self._module(alias.name, name)
        new = self._own(name, ("import", name))
        if new == name:
            self._import(f"import {alias.name}")
            return new
        self._import(f"import {name} as {new}")
        if alias.name != name:
            self._module(alias.name, f"{name}_module")  # so that it is an attribute of its package
        return new

    def _imported_from(self, origin: str, name: str, bound: str = "") -> str:
        new = self._own(bound or name, ("import", origin, name))
        self._import(f"from {origin} import {name}" + (f" as {new}" if new != name else ""))
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

    def _define_local(self, value: Any, is_plain: bool = False) -> str:
        """The text of a nested function or class, with its closure variables moved to module level.

        `is_plain`: it is what a decorator was given, without this decorator.
        """
        if id(value) in self._locals:
            return self._locals[id(value)]
        statement = nested.definition(value)
        hint = own if (own := nested.name_of(value)).isidentifier() else "function"
        name = self._locals[id(value)] = self._own(hint, ("local", id(value)))
        self._alive.append(value)
        if statement is None:
            raise CannotBeCaptured(
                f"the source of {value.__qualname__} is in no file: write the text that is executed to a file, or put "
                "it into linecache.cache under the name that it is compiled by"
            )
        self._rename(statement, hint, name)
        module = sys.modules.get(value.__module__)
        source = author_text.read(module) if module is not None else None
        if source is not None and source.licence and source.licence not in self.result.licences:
            self.result.licences.append(source.licence)
        statement.has_future_annotations = bool(source and source.has_future_annotations)
        cells, around = nested.cells_of(value), nested.globals_of(value)
        once = nested.evaluated_with(value, statement.node)
        for node, parameter, default in nested.defaults_of(value, statement.node):
            statement.replaced[id(node)] = node, self._captured(parameter, default, ("default", id(default)))
        if is_plain:
            statement.leave_out_decorators()
        if source is not None and module is not None:
            self._keep_local_imports(module, source, statement)
        skipped = statement.inside_of_replaced()
        for use in statement.uses():
            used = use.node.id
            if used in statement.binds or used in statement.renamed or id(use.node) in skipped:
                continue
            if used in cells:
                statement.cells.add(used)
                self._rename(
                    statement, used, self._captured(used, cells[used].cell_contents, ("cell", id(cells[used])))
                )
            elif module is not None and source is not None and (used in module.__dict__ or used in source.bindings):
                self._use(module, source, statement, use)
            elif used in once:
                self._rename(statement, used, self._captured(used, once[used], ("once", id(once[used]))))
            elif source is None and used in around:
                found = around[used]
                self._rename(statement, used, self._captured(used, found, ("global", id(found))))
        self.local.append((name, statement))
        return name

    def _captured(self, name: str, value: Any, owner: Any) -> str:
        """A variable of the function around."""
        plain = author_text.undecorated(value)
        if isinstance(plain, types.ModuleType):
            if is_author(plain):
                return self._module_value(plain)
            return self._module(author_text.public_name(plain.__name__), name)
        if isinstance(plain, type) and plain.__module__ == "builtins":
            return plain.__name__
        if isinstance(plain, (types.FunctionType, type)):
            return self.define(value)
        new = self._own(name, owner)
        self._alive.append(value)
        self.result.values[new] = value
        return new

    # ** the text

    def _own(self, name: str, owner: Any) -> str:
        """A name for a definition; another one if it belongs to something else, to Python too."""
        if owner in self.own:
            return self.own[owner]
        avoided = self._avoided.get(owner, ())
        new, number = name, 2
        while new in avoided or new in _BUILTINS or (new in self.names and self.names[new] != owner):
            new, number = f"{name}_{number}", number + 1
        self.names[new], self.own[owner] = owner, new
        return new

    def _import(self, line: str) -> None:
        self.imports[line] = None

    def _statements(self) -> list[Statement]:
        return [statement for _, statement in self.kept.values()] + [statement for _, statement in self.local]

    def hidden_names(self) -> list[tuple[Any, str]]:
        """Names of definitions that a function which uses them has as a variable: (owner, name)."""
        found = []
        for statement in self._statements():
            inner = statement.inner_names()
            new = list(statement.renamed.values())
            new += [name for _, text in statement.replaced.values() for name in _NAME.findall(text)]
            found += [(self.names[name], name) for name in new if name in inner and name in self.names]
        return found

    def _text(self) -> str:
        parts = []
        statements = self._statements()
        later = [each for each in statements if each.has_future_annotations]
        is_mixed = any(each.annotations() for each in statements if not each.has_future_annotations)
        for each in later:
            each.quotes_annotations = is_mixed
        if later and not is_mixed:
            parts.append("from __future__ import annotations")
        parts.append("\n".join(grouped(self.imports)))
        modules = {module.__name__: module for module, _ in self.kept.values()}
        for statement in order.statements(modules):
            if id(statement) in self.kept:
                parts.append(statement.text())
        for name, (_, members) in self.modules.items():
            words = [f"{member}={new}" for member, new in members.items()]
            parts.append(f"{name} = types.SimpleNamespace({', '.join(words)})")
        for name, statement in self.local:
            text = statement.text()
            parts.append(f"{name} = {text}" if isinstance(statement.node, ast.Lambda) else text)
        parts.append("\n".join(self.changes))
        return "\n\n\n".join(part for part in parts if part.strip()) + "\n"

    def drop_methods(self, called: set[str]) -> None:
        """Leave out methods that nothing in the text mentions, from the next slice on."""
        statements = [statement for _, statement in self.kept.values()]
        trees = [statement.node for statement in self._statements()]
        methods.drop_unused(statements, trees, called)


_NOTHING = object()
_NAME = re.compile(r"[A-Za-z_]\w*")
_BUILTINS = frozenset(vars(builtins))


def _is_hidden(value: Any, module: types.ModuleType, name: str) -> bool:
    """Whether the module has another function under the name: what a decorator made of this one, or a replacement."""
    now = author_text.undecorated(module.__dict__.get(name, _NOTHING))
    return isinstance(value, types.FunctionType) and isinstance(now, types.FunctionType) and now is not value


def _is_authors(wrapper: Any) -> bool:
    """Whether it is a function around another one, which a decorator of the author made."""
    if not isinstance(wrapper, types.FunctionType) or not hasattr(wrapper, "__wrapped__"):
        return False
    module = sys.modules.get(wrapper.__globals__.get("__name__", ""))
    return module is not None and is_author(module)


def _is_replaced(value: Any, node: ast.AST) -> bool:
    """Whether another function or class was assigned to the name after its definition, which has no decorator."""
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.decorator_list:
        return False
    plain = author_text.undecorated(value)
    return isinstance(plain, (types.FunctionType, type)) and plain.__qualname__ != node.name
