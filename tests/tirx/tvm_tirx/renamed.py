"""A program of tvm's TIRx as one of tvm_tirx: other names, launches in one place, registers declared as variables.

`renamed(source)` takes the text of a file with one or more T.prim_func or T.jit functions. Names without a counterpart stay.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
from collections.abc import Callable

import dsl.tirx as tvm
from dsl.tirx.syntax.grammar import TirxHooks
from dsl.tirx.values import dtypes

NAMES = {
    "prim_func": "function",
    "Buffer": "Tensor",
    "buffer_store": "tensor_store",
    "thread_return": "gpu_thread_return",
    "filter": "gpu_thread_filter",
    "tvm_storage_sync": "gpu_storage_sync",
    "tvm_warp_activemask": "gpu_warp_activemask",
    "tvm_warp_shuffle": "gpu_warp_shuffle",
    "tvm_warp_shuffle_up": "gpu_warp_shuffle_up",
    "tvm_warp_shuffle_down": "gpu_warp_shuffle_down",
    "tvm_warp_shuffle_xor": "gpu_warp_shuffle_xor",
}
INDICES = {
    "thread_id": "thread_idx",
    "cta_id": "block_idx",
    "cluster_id": "cluster_id",
    "cta_id_in_cluster": "cluster_cta_id",
}
LINEAR = {
    "warp_id": "warp_id",
    "lane_id": "lane_id",
    "warpgroup_id": "warpgroup_id",
    "warp_id_in_wg": "warp_in_warpgroup",
    "thread_id_in_wg": "thread_in_warpgroup",
}


def register_dtypes(source: str, file: str) -> dict[tuple[int, str], str]:
    """The dtype of each `name = value` that makes a register, by its line and name."""
    found: dict[tuple[int, str], str] = {}
    original = TirxHooks.first

    def first(value: object, name: str) -> object:
        result = original(value, name)
        try:
            found[sys._getframe(1).f_lineno, name] = str(dtypes.of(result))
        except (KeyError, AttributeError):
            pass
        return result

    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    TirxHooks.first = staticmethod(first)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, file, "exec"), {"__name__": "program", "tvm": tvm})
    finally:
        TirxHooks.first = staticmethod(original)
    return found


def _t(path: str) -> ast.expr:
    return ast.parse(f"T.{path}", mode="eval").body


def _name_of(node: ast.AST | None) -> str:
    """`cta_id` of the call `T.cta_id(...)`; "" for others."""
    call = node.func if isinstance(node, ast.Call) else None
    return call.attr if isinstance(call, ast.Attribute) and getattr(call.value, "id", "") == "T" else ""


def _extents(call: ast.Call) -> list[ast.expr]:
    extents = call.args[0]
    return list(extents.elts) if isinstance(extents, (ast.List, ast.Tuple)) else [extents]


class Renaming(ast.NodeTransformer):
    """Renames one function. `dynamic` are the extents that become T.dynamic, `launch` the extents of its ids."""

    def __init__(self, dtypes: dict[tuple[int, str], str]):
        self.dtypes, self.dynamic = dtypes, set()
        self.launch: dict[str, list[ast.expr]] = {}
        self.matched: dict[str, ast.expr] = {}

    def function(self, node: ast.FunctionDef) -> list[ast.stmt]:
        self._host_part(node)
        for call in ast.walk(node):
            if _name_of(call) in {*INDICES, *LINEAR}:
                self.launch.setdefault(_name_of(call), _extents(call))
            if _name_of(call) == "thread_binding":
                raise NotImplementedError("T.thread_binding")
        self.variables = self._variables(node)
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg) and argument.arg in self.matched:
                argument.arg, argument.annotation = self.matched[argument.arg]
        node = self.visit(node)
        symbols = [ast.parse(f'{name} = T.dynamic("{name}")').body[0] for name in sorted(self.dynamic)]
        return [*symbols, node]

    def _host_part(self, node: ast.FunctionDef) -> None:
        """Take T.match_buffer and T.int32() out of the host part."""
        kept = []
        for statement in node.body:
            value = getattr(statement, "value", None)
            if _name_of(value) == "match_buffer":
                arguments = [*value.args[1:]]
                type_ = ast.Call(_t("Tensor"), arguments, value.keywords)
                self.matched[value.args[0].id] = statement.targets[0].id, type_
            elif _name_of(value) in ("int32", "int64") and not value.args and isinstance(statement, ast.Assign):
                self.dynamic.add(statement.targets[0].id)
            else:
                kept.append(statement)
        node.body = kept

    def _variables(self, node: ast.FunctionDef) -> set[str]:
        """The names that are assigned more than once without a declaration, or declared without a value."""
        stores: dict[str, int] = {}
        declared = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                stores[inner.id] = stores.get(inner.id, 0) + 1
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                declared.add(inner.target.id)
        return {name for name, count in stores.items() if count > 1 and name not in declared}

    # --- statements ---

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        target = node.targets[0]
        node = self.generic_visit(node)
        if isinstance(target, ast.Name) and target.id in self.variables:
            dtype = self.dtypes.get((node.lineno, target.id))
            if dtype is not None:
                return ast.AnnAssign(ast.Name(target.id, ast.Store()), _t(dtype), node.value, 1)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        if _name_of(node.value) == "device_entry":
            return ast.Expr(ast.Call(_t("device_entry"), [], [ast.keyword("launch", self._launch())]))
        if isinstance(node.value, ast.Call) and getattr(node.value.func, "attr", "") == "vstore":
            call = self.generic_visit(node.value)
            lanes = ast.Constant(self._lanes_of(call.args[1]))
            return ast.Assign([self._slice(call.func.value, call.args[0].elts, lanes, ast.Store())], call.args[1])
        return self.generic_visit(node)

    def _launch(self) -> ast.Call:
        one: list[ast.expr] = [ast.Constant(1)]
        launch = self.launch
        block = launch.get("thread_id")
        if block is None and ("warp_id" in launch or "lane_id" in launch):
            block = [ast.BinOp(launch.get("warp_id", one)[0], ast.Mult(), ast.Constant(32))]
        if block is None:
            block = [ast.BinOp(launch.get("warpgroup_id", one)[0], ast.Mult(), ast.Constant(128))]
        cluster = launch.get("cta_id_in_cluster")
        grid = launch.get("cta_id") or cluster or one
        if "cluster_id" in launch and cluster is not None:
            grid = [ast.BinOp(a, ast.Mult(), b) for a, b in zip(launch["cluster_id"], cluster)]
        options = {"grid": grid, "block": block, **({"cluster": cluster} if cluster else {})}
        return ast.Call(
            _t("cuda.LaunchConfig"),
            [],
            [ast.keyword(name, ast.Tuple(list(extents), ast.Load())) for name, extents in options.items()],
        )

    # --- expressions ---

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = _name_of(node)
        if name in INDICES:
            axes = [
                ast.Call(_t(f"cuda.{INDICES[name]}"), [ast.Constant(axis)], [])
                for axis, _ in zip("xyz", _extents(node))
            ]
            return axes[0] if len(axes) == 1 else ast.Tuple(axes, ast.Load())
        if name in LINEAR:
            return ast.Call(_t(f"cuda.{LINEAR[name]}"), [], [])
        if getattr(node.func, "attr", "") == "vload":
            node = self.generic_visit(node)
            lanes = node.args[1].value.rpartition("x")[2]
            return self._slice(node.func.value, node.args[0].elts, ast.Constant(int(lanes)), ast.Load())
        node = self.generic_visit(node)
        rewrite: Callable | None = getattr(self, f"_of_{name}", None)
        return rewrite(node) if rewrite is not None else node

    def _of_alloc_buffer(self, node: ast.Call) -> ast.expr:
        return ast.Call(_t("alloc_tensor"), [], [self._type(node)])

    def _of_decl_buffer(self, node: ast.Call) -> ast.expr:
        data = next((each for each in node.keywords if each.arg == "data"), None)
        if data is None:
            return self._of_alloc_buffer(node)
        offset = next((each for each in node.keywords if each.arg == "elem_offset"), None)
        node.keywords = [each for each in node.keywords if each not in (data, offset)]
        pointer = data.value
        if offset is not None and isinstance(pointer, ast.Attribute):
            element = ast.List([offset.value], ast.Load())
            pointer = ast.Call(ast.Attribute(pointer.value, "ptr_to", ast.Load()), [element], [])
        return ast.Call(_t("decl_tensor"), [pointer], [self._type(node)])

    _of_buffer_decl = _of_decl_buffer

    def _type(self, node: ast.Call) -> ast.keyword:
        return ast.keyword("ty_args", ast.List([ast.Call(_t("Tensor"), node.args, node.keywords)], ast.Load()))

    def _slice(self, buffer: ast.expr, index: list[ast.expr], lanes: ast.Constant, context: ast.expr_context):
        whole = [*index[:-1], ast.Call(_t("ramp"), [index[-1], ast.Constant(1), lanes], [])]
        if isinstance(context, ast.Load):
            return ast.Call(_t("TensorLoad"), [buffer, ast.List(whole, ast.Load())], [])
        return ast.Subscript(buffer, whole[0] if len(whole) == 1 else ast.Tuple(whole, ast.Load()), context)

    def _lanes_of(self, value: ast.expr) -> int:
        return next(
            (
                int(ast.literal_eval(call.args[-1]))
                for call in ast.walk(value)
                if _name_of(call) in ("Broadcast", "ramp")
            ),
            4,
        )

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node = self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "T":
            node.attr = NAMES.get(node.attr, node.attr)
        return node


def renamed(source: str, file: str = "program.py") -> str:
    """The text of the functions of a program in tvm_tirx. Raises NotImplementedError for what has no counterpart."""
    dtypes_by_place = register_dtypes(source, file)
    body: list[ast.stmt] = [
        *ast.parse("import numpy as np\nimport tvm_tirx\nfrom tvm_tirx.script import tirx as T").body
    ]
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef):
            body += Renaming(dtypes_by_place).function(statement)
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, []))) + "\n"
