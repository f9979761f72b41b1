"""AST -> AST: control flow statements become calls of hooks, with the branch and loop bodies as closures.

    if test:            def then(x): x = ...; return (x,)
        x = ...         def orelse(x): return (x,)
                        (x,) = __dsl__.if_(test, then, orelse, (bound(lambda: x, "x"),), (("x", place),))

Every new node carries the place of the statement it replaces, so that places and tracebacks still lead to the author's
code. A `Grammar` defines what a surface's words mean; the callee of a call is judged by the object it names, not by its
spelling.
"""

from __future__ import annotations

import ast
import types

from dsl.core.errors import DSLWarning, warn_at, warn_not_portable
from dsl.core.syntax import branches, nonlocals
from dsl.core.syntax.assigned_names import Assignments, assigned_in
from dsl.core.syntax.early_exits import Exits, Guard, put_at, stops_of, tests_inside
from dsl.core.syntax.function_source import arguments_named
from dsl.core.syntax.handlers import arithmetic_handlers
from dsl.core.syntax.liveness import Analysis, Flow, Placed
from dsl.core.syntax.rewrite_expression import Expressions, constants

# The code around a statement: a test known while compiling, one that may not be, a dynamic early exit before it, and
# code that this rewriting adds itself.
_STATIC, _DYNAMIC, _BEHIND, _OURS = "static", "dynamic", "behind", "ours"
_ENTRY = "__dsl_entry"  # the block a function starts in


def _mark_last(statements: list[ast.stmt]) -> None:
    """Mark the guards after which a function only returns."""
    last = [statement for statement in statements[-2:] if not isinstance(statement, ast.Return)]
    if last and isinstance(last[-1], Guard):
        last[-1].is_last = True
        _mark_last(last[-1].body)


class Rewriter(Expressions):
    """Rewrites statements."""

    around: tuple[str, ...] = ()  # the tests that decide whether the statement runs, the innermost last
    caught = False  # whether a `try` of the function may catch what the statement raises
    raises = False  # whether the function has a `raise` that may be dynamic
    suspects: set[str] = set()  # variables that may be missing where they are read
    deleted: frozenset[str] = frozenset()  # names that a `del` seen so far takes away
    assignments: Assignments = {}  # what statements of the function assign; they are rewritten from outside to inside
    shared: set[str] = set()  # variables that functions inside this one read: every closure has the one variable
    inner: dict[str, int] = {}  # functions inside functions: how many dynamic statements are around their `def`
    lambdas: dict[str, tuple[int, set[str]]] = {}  # names of lambdas: the same, and the variables they read

    # --- functions ---

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A rewritten copy of `node` without decorators and annotations."""
        outer = self.locals, self.around, self.raises, self.caught, self.inner, self.lambdas
        self.locals, self.around, self.raises, self.caught = self.locals | self._local_names(node), (), False, False
        self.inner = {name: depth for name, depth in self.inner.items() if name not in self._local_names(node)}
        self.lambdas = {}
        parameters = [*node.args.posonlyargs, *node.args.args]
        if self.instance is None and parameters:
            self.instance = parameters[0].arg
        self._refuse_unsupported(node)
        statements = tests_inside(self._is_dynamic, self._warn_of_exit, node.body)
        outer_suspects, outer_shared, own = self.suspects, self.shared, self._local_names(node)
        outer_assignments, self.assignments = self.assignments, {}
        exits = Exits(self._is_dynamic, self._warn_of_exit)
        analysis = Analysis(own, {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}, self._is_dynamic)
        analysis.run(statements, exits.lowers(statements))
        self.suspects = self.suspects - own | analysis.suspects
        self.shared = analysis.escaping if self.grammar.by_value else analysis.shared
        lowered = exits.function(statements)
        _mark_last(lowered)
        body = self._block(lowered)
        self.suspects, self.shared, self.assignments = outer_suspects, outer_shared, outer_assignments
        if self.raises:
            body.insert(0, self._located(node, [self._assign_name(_ENTRY, self._hook("block", node))])[0])
        definition = ast.FunctionDef(name=node.name, args=self._bare(node.args), body=body, decorator_list=[])
        self.locals, self.around, self.raises, self.caught, self.inner, self.lambdas = outer
        return ast.copy_location(definition, node)

    def _local_names(self, node: ast.FunctionDef) -> set[str]:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        return {arg.arg for arg in every if arg} | set(assigned_in(node.body))

    def without_defaults(self, arguments: ast.arguments) -> ast.arguments:
        """`arguments` of a function that gets its defaults from the one it stands for."""
        return ast.arguments(**{**vars(arguments), "defaults": [], "kw_defaults": [None] * len(arguments.kwonlyargs)})

    def _bare(self, arguments: ast.arguments) -> ast.arguments:
        def strip(arg):
            return arg and ast.copy_location(ast.arg(arg.arg), arg)

        return ast.arguments(
            posonlyargs=[strip(a) for a in arguments.posonlyargs],
            args=[strip(a) for a in arguments.args],
            vararg=strip(arguments.vararg),
            kwonlyargs=[strip(a) for a in arguments.kwonlyargs],
            kw_defaults=[d and self.visit(d) for d in arguments.kw_defaults],
            kwarg=strip(arguments.kwarg),
            defaults=[self.visit(d) for d in arguments.defaults],
        )

    def _refuse_unsupported(self, node: ast.FunctionDef) -> None:
        if isinstance(node, ast.AsyncFunctionDef):
            self._error(node, "an `async` function cannot be compiled", "write `def`", "UNSUP_YIELD")
        for child in ast.walk(node):
            if isinstance(child, (ast.Yield, ast.YieldFrom, ast.Await)):
                self._error(child, "a generator cannot be compiled", "return a tuple", "UNSUP_YIELD")
            if (
                not self.grammar.by_value
                and isinstance(child, ast.Name)
                and child.id == "_"
                and isinstance(child.ctx, ast.Load)
            ):
                self._error(child, "`_` is write-only here", "give the value a name", "UNSUP_READ_UNDERSCORE")
        if refusal := nonlocals.refused(node, self._is_dynamic):
            self._error(*refusal)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.inner[node.name] = self._depth
        definition = node if nonlocals.stays(node) else self.function(node)
        definition.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        definition.args = self._annotated(definition.args, node.args)
        definition.returns = node.returns
        return definition

    def _annotated(self, bare: ast.arguments, arguments: ast.arguments) -> ast.arguments:
        """`bare` with the annotations of `arguments`: a decorator may read them."""
        annotated = {each.arg: each for each in ast.walk(arguments) if isinstance(each, ast.arg)}
        for each in ast.walk(bare):
            if isinstance(each, ast.arg) and each.arg in annotated:
                each.annotation = annotated[each.arg].annotation
        return bare

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        arguments = node.args
        names = {
            a.arg
            for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            if a
        }
        outer, self.locals = self.locals, self.locals | names
        function = self.generic_visit(ast.copy_location(ast.Lambda(arguments, node.body), node))
        self.locals = outer
        return function

    def _block(self, statements: list[ast.stmt], around: str = "") -> list[ast.stmt]:
        """Statements rewritten; `around`, where given, is the kind of statement that decides whether they run."""
        statements_made: list[ast.stmt] = []
        outer, self.around = self.around, self.around + ((around,) if around else ())
        for statement in statements:
            result = self.visit(statement)
            statements_made.extend(result if isinstance(result, list) else [result])
            if isinstance(statement, ast.Raise):
                break  # the rest is unreachable
        self.around = outer
        return statements_made

    # --- statements ---

    def visit_If(self, node: ast.If):
        if not self._is_dynamic(node):
            around = _OURS if getattr(node, "is_static", False) else _STATIC
            return ast.copy_location(
                ast.If(self.visit(node.test), self._block(node.body, around), self._block(node.orelse, around)), node
            )
        return branches.rewritten(self, node, _DYNAMIC)

    def _branch(self, node: ast.If, then: str, orelse: str, names: list[str], assigned: dict[str, Placed]) -> ast.Call:
        arms = self._load(then), self._load(orelse)
        return self._hook(
            "if_", node.test, self.visit(node.test), *arms, self._state(names), self._places(node, assigned, names)
        )

    def visit_Guard(self, node: Guard):
        assigned = assigned_in(node.body, self.assignments)
        names = self._carried(node, assigned)
        body = self._fresh("rest")
        flags = ast.Tuple([self._load(flag) for flag in node.flags], ast.Load())
        call = self._hook(
            "guard",
            node.cause or node,
            flags,
            self._load(body),
            self._state(names),
            self._places(node, assigned, names),
            ast.Constant(node.is_last),
            constants(node.flags),
        )
        return self._located(
            node, [self._closure(body, names, self._block(node.body, _BEHIND)), self._assign(names, call)]
        )

    def visit_For(self, node: ast.For):
        dynamic, stops = self._is_dynamic(node), stops_of(node)
        if not dynamic and not stops:
            loop = self.generic_visit(node)
            assert isinstance(loop, ast.For)
            loop.iter = self._hook("iterated", loop.iter, self._hook("counted", loop.iter, loop.iter))
            return loop
        if dynamic and not self.grammar.by_value and not isinstance(node.target, ast.Name):
            self._error(node.target, "a dynamic `for` has one loop variable", "write `for i in range(...)`", None)
        if not isinstance(node.target, ast.Name) or node.target.id in assigned_in(node.body, self.assignments):
            node = self._with_own_variable(node)
        assert isinstance(node.target, ast.Name)
        assigned = assigned_in(node.body, self.assignments)
        self._warn_of_lambdas(node, assigned if dynamic else {})
        target = node.target.id
        names = [name for name in self._carried(node, assigned) if name != target]
        body, flow = self._fresh("body"), getattr(node, "flow", None)
        domain = self._domain(node.iter) if dynamic else self.visit(node.iter)
        before = self._before(target, flow, node.iter)
        call = self._hook(
            "for_" if dynamic else "unrolled",
            node.iter,
            domain,
            self._load(body),
            self._state(names),
            self._places(node, assigned, names),
        )
        around = _DYNAMIC if dynamic else _BEHIND
        result = [self._closure(body, [target, *names], self._block(node.body, around), returned=names)]
        if stops:
            result.append(self._stop(stops, names, call))
        call.keywords.append(ast.keyword("target", before))
        return self._located(node, [*result, self._assign([*names, target], call)])

    def _before(self, target: str, flow: Flow | None, place: ast.expr) -> ast.expr:
        """The value of a loop's variable before the loop, as far as anything after it can read that."""
        if flow is not None and not flow.needs(target):
            return self._attribute("UNUSED", place)
        before = self._bound(target)
        if flow is not None and not flow.is_read_after(target):
            before.args.append(self._attribute("Unread", place))
        return before

    def _domain(self, node: ast.expr) -> ast.Call:
        """The call of a range of this grammar as a call of its hook."""
        assert isinstance(node, ast.Call)
        word = self.grammar.hook_of(self.grammar.ranges, self._callee(node))
        assert word is not None
        call = self._hook(word, node, *map(self.visit, node.args))
        call.keywords = [self.visit(keyword) for keyword in node.keywords]
        return call

    def _stop(self, stops: tuple[str, ...], names: list[str], call: ast.Call) -> ast.FunctionDef:
        """The closure that gives a loop's flags of early exits, told to the loop's `call`."""
        name = self._fresh("stop")
        call.keywords.append(ast.keyword("stop", self._load(name)))
        return ast.FunctionDef(
            name=name,
            args=arguments_named(names),
            decorator_list=[],
            body=[ast.Return(ast.Tuple([self._load(flag) for flag in stops], ast.Load()))],
        )

    def visit_While(self, node: ast.While):
        dynamic, stops = self._is_dynamic(node), stops_of(node)
        if not dynamic and not stops:
            trips = self._fresh("trips")
            test = ast.copy_location(ast.Call(self._load(trips), [self.visit(node.test)], []), node.test)
            counter = ast.Assign([ast.Name(trips, ast.Store())], self._hook("Trips", node.test))
            loop = ast.While(test, self._block(node.body, _STATIC), self._block(node.orelse))
            return self._located(node, [counter, loop])
        assigned = assigned_in([*node.body, ast.Expr(node.test)], self.assignments)
        names = self._carried(node, assigned)
        self._warn_of_lambdas(node, assigned if dynamic else {})
        test, body = self._fresh("test"), self._fresh("body")
        around = _DYNAMIC if dynamic else _BEHIND
        self.around = (*self.around, around)
        tested, self.around = self.visit(node.test), self.around[:-1]
        call = self._hook(
            "while_" if dynamic else "unrolled_while",
            node.test,
            self._load(test),
            self._load(body),
            self._state(names),
            self._places(node, assigned, names),
        )
        after = ast.Tuple([self._load(name) for name in names], ast.Load())
        returned = tested if dynamic else ast.Tuple([tested, after], ast.Load())
        result = [
            self._closure(test, names, [put_at(ast.Return(returned), node.test)]),
            self._closure(body, names, self._block(node.body, around)),
        ]
        if not dynamic:
            call.args.append(constants(stops))
            result.append(self._stop(stops, names, call))
        return self._located(node, [*result, self._assign(names, call)])

    def _with_own_variable(self, node: ast.For) -> ast.For:
        """`for TARGET in ...` as Python means it where the body assigns TARGET too: one more assignment a trip."""
        variable = self._fresh("variable")
        first = ast.Assign([node.target], self._load(variable))
        loop = ast.For(ast.Name(variable, ast.Store()), node.iter, [first, *node.body], node.orelse)
        for mark in ("stops", "flow"):
            if hasattr(node, mark):
                setattr(loop, mark, getattr(node, mark))
        return put_at(loop, node)

    def visit_Expr(self, node: ast.Expr):
        """Warn of a statement that names a function and does not call it."""
        named = self.resolve(node.value, self.locals) if isinstance(node.value, (ast.Name, ast.Attribute)) else None
        if self.grammar.warns_of_exits and isinstance(named, types.FunctionType):
            text = ast.unparse(node.value)
            warn_at(f"NO_EFFECT: `{text}` is not called (write `{text}()`)", DSLWarning, self._span(node))
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise):
        """Python's own, unless a dynamic statement decides whether it runs;
        then the device or the host function stops."""
        rewritten = self.generic_visit(node)
        deciding = [kind for kind in self.around if kind != _OURS]
        if rewritten.exc is None or not deciding or deciding[-1] == _STATIC:
            return rewritten
        self.raises = True
        own = ast.If(self._hook("raises", node, self._load(_ENTRY)), [rewritten], [])
        fail = self._hook("fail", node, self._thunk_of(rewritten.exc), ast.Constant(self.caught))
        return self._located(node, [own, ast.Expr(fail)])

    def visit_Assert(self, node: ast.Assert):
        text = self._text(node.test)
        rewritten = self.generic_visit(node)
        message = rewritten.msg or ast.copy_location(ast.Constant(text), node)
        test = self._hook("asserted", node, rewritten.test, self._thunk_of(message), ast.Constant(self.caught))
        return ast.copy_location(ast.Assert(test, rewritten.msg), node)

    def visit_Delete(self, node: ast.Delete):
        self.deleted |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return self.generic_visit(node)

    def visit_Match(self, node: ast.Match):
        rewritten = self.generic_visit(node)
        rewritten.subject = self._hook("matched", node.subject, rewritten.subject)
        return rewritten

    def visit_Try(self, node: ast.Try | ast.TryStar):
        """An exception raised in a `try` itself is Python's own: a handler of this function may want it."""
        outer = self.around, self.caught
        self.around, self.caught = (), self.caught or bool(node.handlers)
        body = self._block(node.body) + self._asks_of_handlers(node)
        self.caught = outer[1]
        handlers = [self.visit(handler) for handler in node.handlers]
        rewritten = type(node)(body, handlers, self._block(node.orelse), self._block(node.finalbody))
        self.around = outer[0]
        return ast.copy_location(rewritten, node)

    visit_TryStar = visit_Try

    def _asks_of_handlers(self, node: ast.Try | ast.TryStar) -> list[ast.stmt]:
        """`__dsl__.unraised("ZeroDivisionError", lambda: (n,))` for a handler of what run-time values do not raise."""
        asks: list[ast.stmt] = []
        for at, name, operands in arithmetic_handlers(node) if self.grammar.warns_of_exits else ():
            values = put_at(ast.Tuple([self._load(each.id) for each in operands], ast.Load()), operands[0])
            ask = self._hook("unraised", at, ast.Constant(name), self._thunk_of(values))
            asks.append(put_at(ast.Expr(ask), node.body[-1]))
        return asks

    # --- what is dynamic, and what upstream rejects ---

    def _marks_static(self, test: ast.expr) -> bool:
        """Whether every part of `test` is marked as known while compiling."""
        if isinstance(test, ast.BoolOp):
            return all(map(self._marks_static, test.values))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._marks_static(test.operand)
        return isinstance(test, ast.Call) and self.grammar.is_static(self._callee(test))

    def _is_dynamic(self, statement: ast.stmt) -> bool:
        """Whether an If, For or While becomes a dynamic statement (and so closures)."""
        if isinstance(statement, ast.For):
            return isinstance(statement.iter, ast.Call) and self.grammar.is_range(self._callee(statement.iter))
        assert isinstance(statement, (ast.If, ast.While))
        return not (getattr(statement, "is_static", False) or self._marks_static(statement.test))

    def _warn_of_exit(self, statement: ast.stmt) -> None:
        """Warn that upstream rejects this; where warnings are errors, that is the author's error."""
        if not self.grammar.warns_of_exits or getattr(statement, "is_ours", False):
            return
        if isinstance(statement, (ast.For, ast.While)):
            warn_not_portable(
                "a dynamic loop has an `else`",
                "UNSUP_LOOP_ELSE",
                place=self._span(statement.orelse[0]),
                fix="write it after the loop, under a flag where the loop is broken out of",
            )
            return
        word = type(statement).__name__.lower()
        warn_not_portable(
            f"`{word}` leaves a dynamic statement",
            "UNSUP_EARLY_EXIT",
            place=self._span(statement),
            fix="guard the rest with a flag, or mark what is static with const_expr and range_constexpr",
        )

    # --- functions inside functions ---

    @property
    def _depth(self) -> int:
        """How many dynamic statements are around."""
        return self.around.count(_DYNAMIC)

    def visit_Call(self, node: ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        rewritten = super().visit_Call(node)
        if self.grammar.warns_of_exits and self._depth > self.inner.get(name, self._depth):
            rewritten.func = self._hook("captures", node, rewritten.func, ast.Constant(name))
        return rewritten

    def visit_Assign(self, node: ast.Assign):
        if isinstance(node.value, ast.Lambda) and isinstance(node.targets[0], ast.Name):
            read = {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
            self.lambdas[node.targets[0].id] = self._depth, read & self.locals
        return self.generic_visit(node)

    def _warn_of_lambdas(self, node: ast.stmt, assigned: dict[str, Placed]) -> None:
        """Warn of a lambda from before a dynamic statement that is called in it and reads what it assigns: it goes on
        reading the value from before, as in NVIDIA's compiler."""
        if not self.grammar.warns_of_exits or not self.lambdas:
            return
        calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
        called = {function.id for function in calls if isinstance(function, ast.Name)}
        for name in called & self.lambdas.keys():
            depth, read = self.lambdas[name]
            stale = sorted(read & assigned.keys() - self.shared)
            if stale and depth <= self._depth:
                warn_at(
                    f"SCOPE_CLOSURE_CAPTURE: `{name}` reads `{stale[0]}`, which this statement assigns, as it was "
                    f"before the statement: pass `{stale[0]}` as an argument",
                    DSLWarning,
                    self._span(node),
                )

    # --- variables ---

    def visit_Name(self, node: ast.Name):
        """A read of a variable that some path may lack."""
        if node.id not in self.suspects or not isinstance(node.ctx, ast.Load) or not hasattr(node, "proven"):
            return node
        return self._hook("use", node, node, ast.copy_location(ast.Constant(vars(node)["proven"]), node))

    def visit_AugAssign(self, node: ast.AugAssign):
        target, rewritten = node.target, self.generic_visit(node)
        if not (isinstance(target, ast.Name) and target.id in self.suspects and hasattr(target, "proven")):
            return rewritten
        read = self._hook("use", target, self._load(target.id), ast.Constant(vars(target)["proven"]))
        return [*self._located(node, [self._assign_name(target.id, read)]), rewritten]

    def _carried(self, node: ast.stmt, assigned: dict[str, Placed]) -> list[str]:
        """Of the variables that a dynamic statement assigns, those that come in or go out; others are local to it."""
        flow: Flow | None = getattr(node, "flow", None)
        return sorted(name for name in assigned if flow is None or name.startswith("__dsl_") or flow.carries(name))

    # --- making statements ---

    def _state(self, names: list[str]) -> ast.Tuple:
        return ast.Tuple([self._bound(name) for name in names], ast.Load())

    def _places(self, node: ast.stmt, assigned: dict[str, Placed], names: list[str]) -> ast.Constant:
        """(name, place..., whether it is read after the statement) for unbound.Name."""
        flow = getattr(node, "flow", None) or Flow()
        spans = {name: self._span(assigned[name]) for name in names}
        return constants(
            tuple(
                (name, at.file, at.line, at.column, at.end_line, at.end_column, flow.is_read_after(name))
                for name, at in spans.items()
            )
        )

    def _closure(
        self, name: str, parameters: list[str], body: list[ast.stmt], returned: list[str] | None = None
    ) -> ast.FunctionDef:
        """`def name(parameters): body; return (returned...)`, all parameters unless `returned` is given.

        A parameter that the author's own functions read is their variable.
        """
        names = parameters if returned is None else returned
        result = ast.Return(
            ast.Tuple([self._bound(n) if n in self.deleted else self._load(n) for n in names], ast.Load())
        )
        shared = [parameter for parameter in parameters if parameter in self.shared]
        entry = [self._assign_name(n, self._load(f"__dsl_{n}")) for n in shared]
        entry = [ast.Nonlocal(shared), *entry] if shared else []
        arguments = arguments_named([f"__dsl_{n}" if n in shared else n for n in parameters])
        return ast.FunctionDef(name=name, args=arguments, body=[*entry, *body, result], decorator_list=[])

    def _assign_name(self, name: str, value: ast.expr) -> ast.stmt:
        return ast.Assign([ast.Name(name, ast.Store())], value)

    def _assign(self, names: list[str], call: ast.Call) -> ast.stmt:
        if not names:
            return ast.Expr(call)
        return ast.Assign([ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())], call)

    def _located(self, node: ast.stmt, statements: list[ast.stmt]) -> list[ast.stmt]:
        """`statements` placed where `node` starts; what has a place keeps it."""
        start = ast.Pass(
            lineno=node.lineno, col_offset=node.col_offset, end_lineno=node.lineno, end_col_offset=node.col_offset + 1
        )
        return [put_at(statement, start) for statement in statements]
