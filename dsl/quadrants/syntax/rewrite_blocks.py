"""`with` blocks of a kernel and `while qd.graph.do_while(...)`, as calls of hooks where they begin and end.

Source: Quadrants user guide, Streams and Graph.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

from dsl.core.syntax.rewrite_expression import is_hook
from dsl.quadrants import graph, streams
from dsl.quadrants.syntax.rewrite_expression import ExpressionRewriter
from dsl.quadrants.syntax.unsupported_syntax import header

_FLAT = {
    graph.do_while: ("graph_do_while", "do_while"),
    graph.parallel_context: ("graph_parallel_context", "parallel_context"),
    graph.parallel: ("graph_parallel", "parallel"),
}
_SIGNATURE = "write `with qd.checkpoint(cp_id, yield_on=flag):`"
_BARE = ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr


class BlockRewriter(ExpressionRewriter):
    """Rewrites the blocks of one kernel or func."""

    is_region = False  # directly in a qd.graph.parallel_context()

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.stages: set[ast.AST] = set()

    def _called(self, node: ast.AST) -> Callable | None:
        """The function that is called here; None for anything that is not a call."""
        return self._callee(node) if isinstance(node, ast.Call) else None

    def _opens(self, statement: ast.stmt, *callees: Callable) -> bool:
        """Whether it is a `with` of one of these."""
        return isinstance(statement, ast.With) and any(
            self._called(item.context_expr) is callee for item in statement.items for callee in callees
        )

    def _is_graph_loop(self, node: ast.AST) -> bool:
        return isinstance(node, ast.While) and self._called(node.test) is graph.do_while

    def _warn_of_flat_name(self, call: ast.Call) -> None:
        """`qd.graph_do_while` is the old name of `qd.graph.do_while`."""
        flat, name = _FLAT[self._callee(call)]
        if flat in (getattr(call.func, "attr", ""), getattr(call.func, "id", "")):
            warnings.warn_explicit(
                f"qd.{flat}() is an old name: write qd.graph.{name}()", DeprecationWarning, self.file, call.lineno
            )

    def _hook_statement(self, node: ast.stmt, hook: str, *arguments: ast.expr) -> ast.stmt:
        return ast.copy_location(ast.Expr(self._at(header(node), hook, *arguments)), node)

    # --- qd.graph ---

    def _graph_loop(self, node: ast.While) -> list[ast.stmt] | ast.stmt:
        call = node.test
        assert isinstance(call, ast.Call)
        if len(call.args) != 1 or call.keywords:
            return self._refuse(
                node, "qd.graph.do_while() takes one array of one qd.i32", "`while qd.graph.do_while(flag):`"
            )
        self._warn_of_flat_name(call)
        text = ast.Constant(ast.unparse(call.args[0]))
        begin = self._hook_statement(node, "begin_do_while", self._thunk(call.args[0]), text)
        with self._scope():
            body = super()._block(node.body)
        return [begin, *body, self._hook_statement(node, "end_do_while")]

    def _mark_stages(self, statements: list[ast.stmt]) -> None:
        """Note which loops a resumed launch may leave out: the loops of the outermost scope."""
        for statement in statements:
            if isinstance(statement, ast.For):
                self.stages.add(statement)
            elif isinstance(statement, ast.While) and self._is_graph_loop(statement):
                self._mark_stages(statement.body)

    def visit(self, node: ast.AST):
        rewritten = super().visit(node)
        if node not in self.stages:
            return rewritten
        assert isinstance(node, ast.For)
        begin, end = (self._hook_statement(node, hook) for hook in ("begin_stage", "end_stage"))
        return [begin, *(rewritten if isinstance(rewritten, list) else [rewritten]), end]

    def _region(self, node: ast.With, call: ast.Call) -> list[ast.stmt] | ast.stmt:
        """`with qd.graph.parallel_context():`"""
        if refused := self._only_in_kernel(node, "qd.graph.parallel_context()"):
            return refused
        if call.args or call.keywords:
            return self._refuse(node, "qd.graph.parallel_context() takes no arguments", "drop them")
        if wrong := self._foreign(node.body):
            return self._refuse(
                wrong,
                "a qd.graph.parallel_context() may contain only `with qd.graph.parallel():` blocks, also in an `if` or "
                "`for` that qd.static decides",
                "take it out of the `with`",
            )
        self._warn_of_flat_name(call)
        begin = self._hook_statement(node, "begin_region")
        self.is_region = True
        with self._scope():
            body = super()._block(node.body)
        self.is_region = False
        return [begin, *body]

    def _foreign(self, statements: list[ast.stmt]) -> ast.stmt | None:
        """The first statement that a parallel region cannot have."""
        for statement in statements:
            if self._opens(statement, graph.parallel) or _is_note(statement):
                continue
            if isinstance(statement, (ast.If, ast.For)) and not self._is_dynamic(statement):
                inner = self._foreign(statement.body) or self._foreign(statement.orelse)
                if inner is None:
                    continue
                return inner
            return statement
        return None

    def _section(self, node: ast.With, call: ast.Call) -> list[ast.stmt] | ast.stmt:
        """`with qd.graph.parallel():`"""
        if not self.is_region:
            return self._refuse(
                node,
                "qd.graph.parallel() can only be used directly inside a qd.graph.parallel_context()",
                "write `with qd.graph.parallel_context():` around these blocks",
            )
        if call.args or call.keywords:
            return self._refuse(node, "qd.graph.parallel() takes no arguments", "drop them")
        for child in (each for statement in node.body for each in ast.walk(statement)):
            if self._is_graph_loop(child):
                assert isinstance(child, ast.stmt)
                return self._refuse(
                    child,
                    "qd.graph.do_while() cannot appear inside a qd.graph.parallel() block",
                    "write the loop around the qd.graph.parallel_context()",
                )
            if not isinstance(child, ast.With):
                continue
            if self._opens(child, graph.checkpoint):
                return self._refuse(
                    child, "qd.checkpoint() cannot appear inside a qd.graph.parallel() block", "take it out"
                )
            if self._opens(child, graph.parallel, graph.parallel_context):
                return self._refuse(child, "parallel sections cannot be nested", "write them one after the other")
        self._warn_of_flat_name(call)
        self.is_region = False
        with self._scope():
            body = super()._block(node.body)
        self.is_region = True
        return body

    def _checkpoint(self, node: ast.With, call: ast.Call) -> list[ast.stmt] | ast.stmt:
        """`with qd.checkpoint(label, yield_on=flag):`"""
        if refused := self._only_in_kernel(node, "qd.checkpoint()"):
            return refused
        given = dict(zip(("cp_id", "yield_on"), call.args)) | {
            each.arg: each.value for each in call.keywords if each.arg
        }
        unknown = [each.arg for each in call.keywords if each.arg not in ("cp_id", "yield_on")]
        if unknown or len(call.args) > 2:
            what = f"an unexpected keyword argument '{unknown[0]}'" if unknown else "more than two arguments"
            return self._refuse(node, f"qd.checkpoint() got {what}", _SIGNATURE)
        if "cp_id" not in given:
            return self._refuse(node, "a checkpoint needs a label: qd.checkpoint(cp_id, yield_on=flag)", _SIGNATURE)
        if "yield_on" not in given:
            return self._refuse(node, "qd.checkpoint() is missing required argument `yield_on`", _SIGNATURE)
        flag = given["yield_on"]
        if not isinstance(flag, (ast.Name, ast.Attribute)):
            return self._refuse(
                node,
                "qd.checkpoint(yield_on=...) must reference a kernel ndarray argument, not an expression",
                "name a parameter of the kernel, or a member of one",
            )
        for statement in node.body:
            if isinstance(statement, _BARE) and not _is_note(statement):
                return self._refuse(
                    statement,
                    f"the body of a qd.checkpoint() has a bare top-level {type(statement).__name__} statement, which a "
                    "resumed launch cannot leave out: write it in `for _ in range(1):`",
                    "write `for _ in range(1):` over it",
                )
        label = self._in_static(given["cp_id"])
        text = ast.Constant(ast.unparse(flag))
        begin = self._hook_statement(node, "begin_checkpoint", label, self._thunk(flag), text)
        with self._scope():
            body = super()._block(node.body)
        return [begin, *body, self._hook_statement(node, "end_checkpoint")]

    def _only_in_kernel(self, node: ast.With, name: str) -> ast.stmt | None:
        if self.grammar.decorator == "qd.kernel":
            return None
        return self._refuse(
            node, f"{name} can only be used inside @qd.kernel, not @qd.func", "write the `with` in the kernel"
        )

    # --- `with` ---

    def visit_With(self, node: ast.With):
        item = node.items[0]
        if len(node.items) > 1:
            return self._refuse(
                node, "'with' in Quadrants kernels only supports a single context manager", "write one `with` for each"
            )
        call = item.context_expr
        if item.optional_vars is not None:
            is_ours = self._called(call) in (streams.stream_parallel, *_FLAT, graph.checkpoint)
            fix = "drop the `as`" if is_ours else "take it out of the kernel"
            return self._refuse(node, "'with ... as ...' is not supported in Quadrants kernels", fix)
        if not isinstance(call, ast.Call):
            return self._refuse(
                node, "'with' in Quadrants kernels requires a call expression", "`with qd.stream_parallel():`"
            )
        callee = self._callee(call)
        if callee is graph.parallel_context:
            return self._region(node, call)
        if callee is graph.parallel:
            return self._section(node, call)
        if callee is graph.checkpoint:
            return self._checkpoint(node, call)
        if callee is not streams.stream_parallel:
            return self._refuse(
                node,
                "'with' in Quadrants kernels only supports qd.stream_parallel(), qd.graph.parallel_context(), "
                "qd.graph.parallel() and qd.checkpoint()",
                "take it out of the kernel",
            )
        if refused := self._only_in_kernel(node, "qd.stream_parallel()"):
            return refused
        with self._scope():
            body = super()._block(node.body)
        return [self._hook_statement(node, "begin_parallel"), *body]

    def _refuse_mixed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements of a kernel, the first refused that is not a `with` next to one of qd.stream_parallel()."""
        others = [each for each in body if not (self._opens(each, streams.stream_parallel) or _is_note(each))]
        if (
            not others
            or len(others) == len(body)
            or not any(self._opens(each, streams.stream_parallel) for each in body)
        ):
            return body
        refused = self._refuse(
            others[0],
            "When using qd.stream_parallel(), all top-level statements in the kernel must be "
            "'with qd.stream_parallel():' blocks",
            "move the others to a separate kernel",
        )
        return [refused if each is others[0] else each for each in body]


def _is_note(statement: ast.stmt) -> bool:
    """Whether it is a docstring or a note of coverage."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and is_hook(value.func))
