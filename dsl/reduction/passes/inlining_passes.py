"""Passes that replace a name by its value: variables, helpers, attributes of `self`, parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsl.reduction.edit import Change, Edit
from dsl.reduction.names import defined, is_within, parameters
from dsl.reduction.passes.definition_passes import argument_of, calls_of, is_method, parameter_changes
from dsl.reduction.program import ATOMS, SCOPES, Function, Program

LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def _assigned(program: Program, statement: ast.stmt) -> tuple[ast.Name | ast.Attribute, ast.expr] | None:
    """The one target and the value of a simple assignment."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute(value=ast.Name("self")) as target], value=value):
            return target, value
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            return target, value
    return None


def _uses(program: Program, target: ast.Name | ast.Attribute, statement: ast.stmt) -> tuple[list[ast.AST], int]:
    """The reads of the target, and the number of its writes, in its function or, for an attribute, its class."""
    if isinstance(target, ast.Attribute):
        nodes: list = [
            node
            for node in program.attributes[target.attr]
            if isinstance(node.value, ast.Name) and node.value.id == "self"
        ]
        others = len(program.attributes[target.attr]) - len(nodes)
        return [node for node in nodes if isinstance(node.ctx, ast.Load)], others + sum(
            not isinstance(node.ctx, ast.Load) for node in nodes
        )
    scope = program.scope(statement)
    nodes = [node for node in program.names[target.id] if is_within(program, node, scope)]
    written = sum(not isinstance(node.ctx, ast.Load) for node in nodes)
    if isinstance(scope, ast.Module):
        written += sum(each.arg == target.id for function in program.functions for each in parameters(function))
    elif isinstance(scope, Function):
        written += sum(each.arg == target.id for each in parameters(scope))
    return [node for node in nodes if isinstance(node.ctx, ast.Load)], written + len(
        program.declared.get(target.id, [])
    )


def _text(program: Program, value: ast.expr, node: ast.AST) -> str:
    """A value as it is written in the place of a name."""
    text = program.of(value)
    parent = program.parent.get(node)
    if isinstance(value, ast.Constant) and not isinstance(parent, ast.Attribute) and "\n" not in text:
        return text
    if isinstance(value, ATOMS) and "\n" not in text:
        return text
    if isinstance(value, ast.List | ast.Dict) or (isinstance(value, ast.Tuple) and program.has_parentheses(value)):
        return text
    whole = isinstance(parent, ast.Assign | ast.Return | ast.Call | ast.keyword | ast.Expr) and "\n" not in text
    return (
        text
        if whole and not isinstance(value, ast.Tuple | ast.GeneratorExp | ast.Starred | ast.NamedExpr | ast.Yield)
        else f"({text})"
    )


def _in_f_string(program: Program, node: ast.AST) -> bool:
    return any(isinstance(each, ast.JoinedStr) for each in program.around(node))


def _depends_on_nothing(value: ast.AST) -> bool:
    """Whether a value is the same wherever it is computed: constants, and names of modules' parts."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call | ast.Await | ast.Yield | ast.NamedExpr | ast.Lambda | ast.ListComp):
            return False
        if isinstance(node, ast.Attribute):
            root = node
            while isinstance(root, ast.Attribute):
                root = root.value
            if not isinstance(root, ast.Name) or root.id == "self":
                return False
    plain = {id(node.value) for node in ast.walk(value) if isinstance(node, ast.Attribute)}
    return not any(isinstance(node, ast.Name) and id(node) not in plain for node in ast.walk(value))


def constants(program: Program) -> Iterator[Edit]:
    """A name that is given one constant, or another name's attribute, is replaced by it everywhere."""
    for statement in program.statements:
        pair = _assigned(program, statement)
        if pair is None or not _depends_on_nothing(pair[1]) or isinstance(program.scope(statement), ast.ClassDef):
            continue
        target, value = pair
        reads, written = _uses(program, target, statement)
        if written == 1 and not any(_in_f_string(program, node) for node in reads) and statement in program.block_of:
            changes = [program.replacement(node, _text(program, value, node)) for node in reads]
            yield Edit(
                f"`{program.of(target)}` as its constant", statement.lineno, [program.deletion(statement), *changes]
            )


def unpacked(program: Program) -> Iterator[Edit]:
    """Names that are given one constant each, by a tuple of them, are replaced by it everywhere."""
    for statement in program.statements:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                pass
            case _:
                continue
        changes = [program.deletion(statement)]
        for target, value in zip(targets, values):
            if not isinstance(target, ast.Name | ast.Attribute) or not _depends_on_nothing(value):
                break
            if isinstance(target, ast.Attribute) and program.of(target.value) != "self":
                break
            reads, written = _uses(program, target, statement)
            if written != 1 or any(_in_f_string(program, node) for node in reads):
                break
            changes += [program.replacement(node, _text(program, value, node)) for node in reads]
        else:
            yield Edit("names of a tuple as their constants", statement.lineno, changes)


def global_constants(program: Program) -> Iterator[Edit]:
    """A variable of the module that one function sets, once, to a constant becomes it."""
    for statement in program.statements:
        pair = _assigned(program, statement)
        if pair is None or not isinstance(pair[0], ast.Name) or not _depends_on_nothing(pair[1]):
            continue
        name, declared = pair[0].id, program.declared.get(pair[0].id, [])
        nodes = program.names[name]
        if not declared or sum(not isinstance(node.ctx, ast.Load) for node in nodes) != 1:
            continue
        if any(len(each.names) > 1 or isinstance(each, ast.Nonlocal) for each in declared):
            continue
        if any(_in_f_string(program, node) for node in nodes) or statement not in program.block_of:
            continue
        reads = [node for node in nodes if isinstance(node.ctx, ast.Load)]
        changes = [program.replacement(node, _text(program, pair[1], node)) for node in reads]
        gone = [program.deletion(each) for each in (statement, *declared)]
        yield Edit(f"`{name}` as its constant", statement.lineno, [*gone, *changes])


def _compiled(node: ast.AST) -> ast.Call | None:
    """The call `cute.compile(f, ...)` or `cute.compile[...](f, ...)`, where it is one."""
    if not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Starred):
        return None
    func = node.func.value if isinstance(node.func, ast.Subscript) else node.func
    return node if isinstance(func, ast.Attribute) and func.attr == "compile" else None


def direct_calls(program: Program) -> Iterator[Edit]:
    """A function is called in the place of the compiled one: with the arguments of the call, or of the compilation."""
    for node in program.nodes:
        if (compiling := _compiled(node)) is None:
            continue
        function = program.of(compiling.args[0])
        if not isinstance(compiling.args[0], ATOMS):
            function = f"({function})"
        keywords = [each for each in compiling.keywords if each.arg not in ("options", "no_cache")]
        given = [program.of(each) for each in (*compiling.args[1:], *keywords)]
        parent = program.parent[compiling]
        calls, gone = [], []
        match parent:
            case ast.Call(func=func) if func is compiling:
                calls = [parent]
            case ast.Assign(targets=[ast.Name(name)]) if parent in program.block_of:
                uses = [each for each in program.names[name] if isinstance(each.ctx, ast.Load)]
                calls = [
                    call for each in uses if isinstance(call := program.parent[each], ast.Call) and call.func is each
                ]
                if len(calls) != len(uses) or any(program.scope(call) is not program.scope(parent) for call in calls):
                    readers = {program.statement_of(each): None for each in uses}
                    if all(each in program.block_of and not hasattr(each, "body") for each in readers):
                        called = program.replacement(parent, f"{function}({', '.join(given)})")
                        gone = [program.deletion(reader) for reader in readers]
                        yield Edit("a call in place of what else is done", compiling.lineno, [called, *gone])
                    continue
                gone = [program.deletion(parent)]
        if not calls:
            change = program.replacement(compiling, f"{function}({', '.join(given)})")
            yield Edit("a call in place of a compilation", compiling.lineno, [change])
            continue
        for is_longer in (True, False):
            changes = [*gone]
            for call in calls:
                passed = [program.of(each) for each in (*call.args, *call.keywords)]
                rest = given[len(passed) :] if is_longer else []
                words = [*passed, *rest] if is_longer else given
                changes.append(program.replacement(call, f"{function}({', '.join(words)})"))
            yield Edit("a call without compiling before", compiling.lineno, changes)


def expression_helpers(program: Program) -> Iterator[Edit]:
    """A function that only returns an expression becomes it, wherever it is called."""
    for function in program.functions:
        calls = calls_of(program, function)
        if not calls or is_method(program, function) or len(function.body) != 1:
            continue
        match function.body[0]:
            case ast.Return(value=ast.expr() as value):
                pass
            case _:
                continue
        if any(isinstance(node, ast.Lambda | ast.JoinedStr | ast.Yield | ast.NamedExpr) for node in ast.walk(value)):
            continue
        if function.args.vararg or function.args.kwarg or any(is_within(program, call, function) for call in calls):
            continue
        if any(other is not call and is_within(program, other, call) for call in calls for other in calls):
            continue
        texts = [_with_arguments(program, function, call, value) for call in calls]
        if None not in texts:
            changes = [program.replacement(call, text or "") for call, text in zip(calls, texts)]
            yield Edit(f"`{function.name}` as what it returns", function.lineno, [program.deletion(function), *changes])


def _with_arguments(program: Program, function: Function, call: ast.Call, value: ast.expr) -> str | None:
    """The text of an expression with a call's arguments in the place of the parameters."""
    bindings = _bindings(program, function, call)
    if bindings is None:
        return None
    start, end = program.span(value)
    places = [
        (program.span(node), bindings[node.id])
        for node in ast.walk(value)
        if isinstance(node, ast.Name) and node.id in bindings
    ]
    parts, at = [], start
    for (first, last), text in sorted(places):
        parts += [program.text[at:first].decode(), text if text.isidentifier() or text.isdigit() else f"({text})"]
        at = last
    return f"({''.join(parts)}{program.text[at:end].decode()})"


def single_uses(program: Program) -> Iterator[Edit]:
    """A value that is read once goes to where it is read."""
    for statement in program.statements:
        pair = _assigned(program, statement)
        if pair is None or statement not in program.block_of:
            continue
        target, value = pair
        reads, written = _uses(program, target, statement)
        if len(reads) != 1 or written != 1:
            continue
        node = reads[0]
        reader = program.statement_of(node)
        if _in_f_string(program, node) or is_within(program, reader, statement):
            continue
        if program.scope(node) is not program.scope(statement) or reader.lineno < statement.lineno:
            continue
        block = program.block_of[statement]
        between = [
            each for each in program.around(node) if isinstance(each, LOOPS) and not is_within(program, statement, each)
        ]
        if between or not any(is_within(program, reader, each) for each in block):
            continue
        changes = [program.deletion(statement), program.replacement(node, _text(program, value, node))]
        yield Edit(f"`{program.of(target)}` in the place where it is read", statement.lineno, changes)


def bound_parameters(program: Program) -> Iterator[Edit]:
    """A parameter to which every call passes the same constant, or for which it takes the default, becomes that."""
    for function in program.functions:
        calls = calls_of(program, function)
        if not calls:
            continue
        for parameter in parameters(function):
            changes = parameter_changes(program, function, parameter)
            if changes is None:
                continue
            values = {_passed(program, function, call, parameter.arg) for call in calls}
            if len(values) != 1 or None in values:
                continue
            (text,) = values
            reads = [node for node in program.names.get(parameter.arg, []) if is_within(program, node, function)]
            if any(not isinstance(node.ctx, ast.Load) or _in_f_string(program, node) for node in reads):
                continue
            more = [program.replacement(node, text or "") for node in reads]
            yield Edit(f"`{parameter.arg}` of `{function.name}` as {text}", parameter.lineno, [*changes, *more])


def _passed(program: Program, function: Function, call: ast.Call, name: str) -> str | None:
    """The text of what a call passes, if it means the same in the function."""
    argument = argument_of(program, function, call, name)
    value = argument.value if isinstance(argument, ast.keyword) else argument
    if value is None:
        value = _default(function, name)
    if value is None:
        return None
    text = program.of(value)
    if "\n" in text:
        return None
    if _depends_on_nothing(value):
        return f"({text})" if isinstance(value, ast.BinOp | ast.UnaryOp) else text
    if isinstance(value, ast.Name) and _is_global(program, value.id):
        return text
    return None


def _default(function: Function, name: str) -> ast.expr | None:
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    for each, default in zip(positional[len(positional) - len(own.defaults) :], own.defaults):
        if each.arg == name:
            return default
    for each, keyword_default in zip(own.kwonlyargs, own.kw_defaults):
        if each.arg == name:
            return keyword_default
    return None


def _is_global(program: Program, name: str) -> bool:
    """Whether a name is one of the module's alone."""
    scopes = {program.scope(node) for node in program.names.get(name, []) if not isinstance(node.ctx, ast.Load)}
    taken = any(each.arg == name for function in program.functions for each in parameters(function))
    return not taken and scopes <= {program.tree} and any(name in defined(each) for each in program.tree.body)


def helpers(program: Program) -> Iterator[Edit]:
    """The body of a function that is called once, as a statement, in the place of the call."""
    for function in program.functions:
        calls = calls_of(program, function)
        if calls is not None and len(calls) == 1 and (edit := _inlined(program, function, calls[0])):
            yield edit


def _inlined(program: Program, function: Function, call: ast.Call) -> Edit | None:
    statement = program.parent[call]
    target, returns = "", False
    match statement:
        case ast.Expr():
            pass
        case ast.Return():
            returns = True
        case ast.Assign(targets=[one]) if statement.value is call:
            target = program.of(one)
        case _:
            return None
    if is_within(program, statement, function) or statement not in program.block_of:
        return None
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
        body = body[1:]
    leaving = [node for node in ast.walk(function) if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)]
    last = body[-1] if isinstance(body[-1], ast.Return) else None
    if (
        any(node is not last for node in leaving)
        or (target and last is None)
        or not _has_lines(program, statement, body)
    ):
        return None
    if isinstance(function, ast.AsyncFunctionDef) or function.args.vararg or function.args.kwarg:
        return None
    bindings = _bindings(program, function, call)
    if bindings is None or _clashes(program, function, program.scope(statement), bindings):
        return None
    indentation = (program.indentation(statement) or b"").decode()
    lines = [f"{indentation}{name} = {text}\n" for name, text in bindings.items() if name != text]
    inner = program.indentation(body[0]) or b""
    kept = body[:-1] if last is not None else body
    if kept:
        first, end = program.line_start(program.span(kept[0])[0]), program.line_end(program.span(kept[-1])[1])
        lines.append(_moved(program, first, end, inner, indentation.encode()))
    if last is not None and last.value is not None:
        value = program.of(last.value)
        if "\n" in value and value[0] not in "([{":
            value = f"({value})"
        before = f"{target} = " if target else "return " if returns else ""
        lines.append(f"{indentation}{before}{value}\n")
    text = "".join(lines) or f"{indentation}pass\n"
    start, end = program.span(statement)
    place = Change(program.line_start(start), program.line_end(end), text.encode())
    return Edit(f"`{function.name}` in the place of its call", call.lineno, [place, program.deletion(function)])


def _has_lines(program: Program, statement: ast.stmt, body: list[ast.stmt]) -> bool:
    indentations = {program.indentation(each) for each in body}
    return (
        program.has_own_lines(statement)
        and len(indentations) == 1
        and all(program.has_own_lines(each) for each in body)
    )


def _moved(program: Program, first: int, end: int, inner: bytes, outer: bytes) -> str:
    """Lines with another indentation; lines inside strings stay."""
    found, at = [], first
    while at < end:
        following = program.line_end(at)
        line = program.text[at:following]
        if at not in program.starts_in_strings and line.startswith(inner) and line.strip():
            line = outer + line[len(inner) :]
        found.append(line)
        at = following
    if found and not found[-1].endswith(b"\n"):
        found.append(b"\n")
    return b"".join(found).decode()


def _bindings(program: Program, function: Function, call: ast.Call) -> dict[str, str] | None:
    """The text of each parameter's value."""
    found: dict[str, str] = {}
    own = parameters(function)
    if is_method(program, function):
        if not own or not isinstance(call.func, ast.Attribute):
            return None
        found[own[0].arg] = program.of(call.func.value)
        own = own[1:]
    for parameter in own:
        try:
            argument = argument_of(program, function, call, parameter.arg)
        except LookupError:
            return None
        value = argument.value if isinstance(argument, ast.keyword) else argument
        value = value if value is not None else _default(function, parameter.arg)
        if value is None:
            return None
        text = program.of(value)
        found[parameter.arg] = f"({text})" if "\n" in text else text
    return found


def _clashes(program: Program, function: Function, scope: ast.AST, bindings: dict[str, str]) -> bool:
    """Whether a name of the function means something else where it is called."""
    if not isinstance(scope, SCOPES) or isinstance(scope, ast.ClassDef):
        return True
    stored = {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    mine = stored | {each.arg for each in parameters(function)}
    theirs = {
        node.id for node in ast.walk(scope) if isinstance(node, ast.Name) and not is_within(program, node, function)
    }
    if isinstance(scope, Function):
        theirs |= {each.arg for each in parameters(scope)}
    same = {name for name, text in bindings.items() if name == text and name not in stored}
    return bool((mine & theirs) - same)
