"""The calls of print() of a script, and the expressions in them whose values may be arrays."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any, cast

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

RECORD = "__adopt__"  # the function that the recorded script calls with each value
_CONVERSIONS = {"tolist", "cpu", "numpy", "detach", "item", "clone", "contiguous", "copy"}
_CASTS = {"list", "int", "float", "bool", "str", "repr"}
_ARRAYS = {"np.asarray", "np.array", "numpy.asarray", "numpy.array"}
_ABOUT = {"shape", "dtype", "device", "ndim", "strides", "size", "dim", "stride", "data_ptr", "numel", "element_size"}
_ABOUT |= {"is_contiguous", "type", "len", "id", "layout"}  # properties of an array, which are not arrays
_Loop = cst.For | cst.While
_WRITTEN_OUT = cst.List | cst.Tuple | cst.ListComp | cst.GeneratorExp


@dataclass
class Piece:
    """An expression that is printed. `names` are those in it; `base` is the variable whose element it is, if any."""

    code: str
    names: tuple[str, ...]
    base: str = ""
    through: str = ""  # the array over which the loop of `base` runs


@dataclass
class Site:
    """A call of print(). `scope` are names whose values may tell its executions apart."""

    line: int
    column: int
    pieces: list[Piece]
    in_loop: bool = False
    in_branch: bool = False
    function: str = ""  # the outermost function it is in
    is_statement: bool = True
    loop_line: int = 0  # of the outermost loop around it, in its function
    scope: tuple[str, ...] = ()


@dataclass
class Prints:
    """All sites, and the script with a recorder around each of their values; it has the same lines as the script."""

    sites: list[Site] = field(default_factory=list)
    recorded: str = ""


def find(text: str) -> Prints:
    """The calls of print() that are not in decorated functions, which a compiler reads."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    finder = _Finder(wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider))
    recorded = wrapper.module.visit(finder)
    return Prints(finder.sites, recorded.code)


def values_of(call: cst.Call) -> list[cst.BaseExpression]:
    """The values that a call of print() prints, without constants and conversions of arrays."""
    found: list[cst.BaseExpression] = []
    for argument in call.args:
        if argument.keyword is None:
            found += _parts(argument.value)
    return [node for node in found if not _is_about(node)]


def _is_about(node: cst.BaseExpression) -> bool:
    """Whether it is a shape, a dtype or the like."""
    called = node.func if isinstance(node, cst.Call) else node
    name = called.attr if isinstance(called, cst.Attribute) else called
    if isinstance(called, cst.Subscript):
        return _is_about(called.value)
    is_one = isinstance(name, cst.Name) and name.value in _ABOUT
    if isinstance(node, cst.Call) and node.args and isinstance(node.func, cst.Name):
        is_one = is_one and isinstance(node.args[0].value, cst.Name)  # len(x.unique()) is an answer
    return is_one and (called is not node or isinstance(node, cst.Attribute))


def _parts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.SimpleString | cst.Integer | cst.Float):
        return []
    if isinstance(node, cst.FormattedString):
        return [
            one
            for part in node.parts
            if isinstance(part, cst.FormattedStringExpression)
            for one in _parts(part.expression)
        ]
    if isinstance(node, cst.ConcatenatedString):
        return _parts(node.left) + _parts(node.right)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.left, cst.SimpleString):
        if isinstance(node.right, cst.Tuple):
            return [one for element in node.right.elements for one in _parts(element.value)]
        return _parts(node.right)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add) and _is_text(node):
        return _parts(node.left) + _parts(node.right)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        if isinstance(node.func.value, cst.SimpleString):
            return [one for argument in node.args for one in _parts(argument.value)]
    return [_unconverted(node)]


def _is_text(node: cst.BaseExpression) -> bool:
    """Whether a sum has a string in it: `"x = " + str(x)`."""
    if isinstance(node, cst.BinaryOperation):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, cst.SimpleString | cst.FormattedString)


def _unconverted(node: cst.BaseExpression) -> cst.BaseExpression:
    """`x` of `x.cpu().tolist()`, of `list(x)` and of `np.asarray(x)`."""
    while isinstance(node, cst.Call):
        called = code_of(node.func)
        plain = len(node.args) == 1 and node.args[0].keyword is None and not node.args[0].star
        if isinstance(node.func, cst.Attribute) and not node.args and node.func.attr.value in _CONVERSIONS:
            node = node.func.value
        elif plain and (called in _CASTS or called in _ARRAYS) and not isinstance(node.args[0].value, _WRITTEN_OUT):
            node = node.args[0].value
        else:
            break
    return node


def code_of(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node).strip()


class _Finder(cst.CSTTransformer):
    """Collects sites, and wraps their values."""

    def __init__(self, positions, parents) -> None:
        self.positions, self.parents = positions, parents
        self.sites: list[Site] = []
        self._wrapped: dict[cst.CSTNode, tuple[int, int]] = {}
        self._decorated = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._decorated += bool(node.decorators)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._decorated -= bool(original_node.decorators)
        return updated_node

    def visit_Call(self, node: cst.Call) -> None:
        if self._decorated or not isinstance(node.func, cst.Name) or node.func.value != "print":
            return
        nodes = values_of(node)
        place = self.positions[node].start
        site = Site(place.line, place.column, [])
        loops = self._look_around(node, site)
        for one in nodes:
            self._wrapped[one] = (len(self.sites), len(site.pieces))
            site.pieces.append(_piece(one, loops))
        self.sites.append(site)

    def _look_around(self, node: cst.Call, site: Site) -> list[_Loop]:
        """Note what the call is in; the loops around it, in its function."""
        parent = self.parents[node]
        line = self.parents.get(parent)
        site.is_statement = (
            isinstance(parent, cst.Expr) and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        )
        loops: list[_Loop] = []
        scope: list[str] = []
        one: cst.CSTNode | None = node
        while one is not None:
            if isinstance(one, _Loop) and not site.function:
                loops.append(one)
            if isinstance(one, cst.For):
                scope += _names(one.target)
            if isinstance(one, cst.If | cst.Try | cst.With | cst.While):
                site.in_branch = True
            if isinstance(one, cst.FunctionDef):
                site.function = one.name.value
                scope += [p.name.value for p in (*one.params.params, *one.params.kwonly_params)]
            one = self.parents.get(one)
        site.loop_line = self.positions[loops[-1]].start.line if loops else 0
        site.in_loop, site.scope = bool(loops), tuple(dict.fromkeys(scope))
        return loops

    def on_leave(self, original_node, updated_node):
        updated_node = super().on_leave(original_node, updated_node)
        if original_node not in self._wrapped:
            return updated_node
        site, piece = self._wrapped[original_node]
        arguments = [
            cst.Arg(cst.Integer(str(site))),
            cst.Arg(cst.Integer(str(piece))),
            cst.Arg(cast(Any, updated_node)),
        ]
        return cst.Call(cst.Name(RECORD), arguments)


def _names(node: cst.CSTNode) -> list[str]:
    tree = ast.parse(code_of(node).strip("()") or "0")
    return [one.id for one in ast.walk(tree) if isinstance(one, ast.Name)]


def _piece(node: cst.BaseExpression, loops: list[_Loop]) -> Piece:
    code = code_of(node)
    tree = ast.parse(code.strip(), mode="eval").body if "\n" not in code else ast.parse(f"({code})", mode="eval").body
    inner = {
        t.id
        for c in ast.walk(tree)
        if isinstance(c, ast.comprehension)
        for t in ast.walk(c.target)
        if isinstance(t, ast.Name)
    }
    names = tuple(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in inner))
    root = tree
    while isinstance(root, ast.Subscript):
        root = root.value
    base = root.id if isinstance(root, ast.Name) else ""
    through = ""
    for loop in loops:
        for name in names:
            if isinstance(loop, cst.For) and name in _names(loop.target):
                through = through or _iterated(loop, name)
    return Piece(code, tuple(dict.fromkeys((*names, *([through] if through else [])))), base, through)


def _iterated(loop: cst.For, base: str) -> str:
    """`t` of `for base in t`, `for i, base in enumerate(t.tolist())`, `for a, base in zip(s, t)`."""
    target = ast.parse(code_of(loop.target), mode="eval").body
    over = ast.parse(code_of(loop.iter), mode="eval").body
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and isinstance(target, ast.Tuple):
        place = next((p for p, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == base), None)
        if over.func.id == "enumerate" and place == 1:
            over = over.args[0]
        elif over.func.id == "zip" and place is not None and place < len(over.args):
            over = over.args[place]
    while isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in _CONVERSIONS:
        over = over.func.value
    return over.id if isinstance(over, ast.Name) else ""


def identifier(code: str) -> str:
    """A name for the value of an expression: `out_3` of `out[3]`, `out_sum` of `out.sum()`."""
    short = re.sub(r"\b(torch|np|numpy|cute|qd)\.|\.to_numpy\(\)", "", code)
    words = re.sub(r"\W+", "_", short).strip("_")[:40].rstrip("_")
    return words if words and not words[0].isdigit() else f"value_{words}".rstrip("_")
