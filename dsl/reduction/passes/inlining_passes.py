"""Passes that put what is called or passed where it is used: compiled functions, helpers, parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsl.reduction.edit import Change, Edit, spliced
from dsl.reduction.names import defined, is_within, parameters
from dsl.reduction.passes.definition_passes import argument_of, calls_of, is_method, parameter_changes
from dsl.reduction.passes.value_passes import depends_on_nothing, in_f_string
from dsl.reduction.program import ATOMS, SCOPES, Function, Program


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
        if not calls or is_method(program, function) or len(function.body) != 1 or function in program.claim:
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
            values = {_passed(program, function, call, parameter) for call in calls}
            if len(values) != 1 or None in values:
                continue
            (text,) = values
            reads = [node for node in program.names.get(parameter.arg, []) if is_within(program, node, function)]
            if any(not isinstance(node.ctx, ast.Load) or in_f_string(program, node) for node in reads):
                continue
            more = [program.replacement(node, text or "") for node in reads]
            yield Edit(f"`{parameter.arg}` of `{function.name}` as {text}", parameter.lineno, [*changes, *more])


def _passed(program: Program, function: Function, call: ast.Call, parameter: ast.arg) -> str | None:
    """The text of what a call passes, if it means the same in the function without the parameter."""
    argument = argument_of(program, function, call, parameter.arg)
    value = argument.value if isinstance(argument, ast.keyword) else argument
    if value is None:
        value = _default(function, parameter.arg)
    if value is None:
        return None
    text = program.of(value)
    if "\n" in text:
        return None
    names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)]
    if depends_on_nothing(value) and all(_is_global(program, name, parameter) for name in names):
        return f"({text})" if isinstance(value, ast.BinOp | ast.UnaryOp) else text
    if isinstance(value, ast.Name) and _is_global(program, value.id, parameter):
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


def _is_global(program: Program, name: str, parameter: ast.arg) -> bool:
    """Whether a name is a variable of the module alone, once this parameter is gone."""
    scopes = {program.scope(node) for node in program.names.get(name, []) if not isinstance(node.ctx, ast.Load)}
    others = [each for function in program.functions for each in parameters(function) if each is not parameter]
    return (
        not any(each.arg == name for each in others)
        and scopes <= {program.tree}
        and any(name in defined(each) for each in program.tree.body)
    )


def helpers(program: Program) -> Iterator[Edit]:
    """The body of a function that is called once, as a statement, in the place of the call."""
    for function in program.functions:
        calls = calls_of(program, function)
        if calls is None or len(calls) != 1 or function in program.claim:
            continue
        if edit := _inlined(program, function, calls[0]):
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
    if bindings is None or not isinstance(scope := program.scope(statement), Function | ast.Module):
        return None
    renamed = _renamed(program, function, _clashes(program, function, scope, bindings))
    if renamed is None:
        return None
    source, inlined, names = renamed
    body = inlined.body[-len(body) :]
    indentation = (program.indentation(statement) or b"").decode()
    given = {names.get(name, name): text for name, text in bindings.items()}
    lines = [f"{indentation}{name} = {text}\n" for name, text in given.items() if name != text]
    inner = source.indentation(body[0]) or b""
    kept = body[:-1] if last is not None else body
    if kept:
        first, end = source.line_start(source.span(kept[0])[0]), source.line_end(source.span(kept[-1])[1])
        lines.append(_moved(source, first, end, inner, indentation.encode()))
    if last is not None and isinstance(body[-1], ast.Return) and body[-1].value is not None:
        value = source.of(body[-1].value)
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


def _clashes(program: Program, function: Function, scope: ast.AST, bindings: dict[str, str]) -> set[str]:
    """The names of a function that mean something else where it is called."""
    stored = {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    mine = stored | {each.arg for each in parameters(function)}
    theirs = {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and not is_within(program, node, function)
        and not (isinstance(scope, ast.Module) and _is_local(program, node))
    }
    if isinstance(scope, Function):
        theirs |= {each.arg for each in parameters(scope)}
    return (mine & theirs) - {name for name, text in bindings.items() if name == text and name not in stored}


def _renamed(program: Program, function: Function, names: set[str]) -> tuple[Program, Function, dict[str, str]] | None:
    """A program and its function with other names in the place of these; None if a function in it may mean them too."""
    if not names:
        return program, function, {}
    nodes = [each for name in names for each in program.names.get(name, []) if is_within(program, each, function)]
    inner = [each for each in ast.walk(function) if isinstance(each, (*SCOPES, ast.Lambda)) and each is not function]
    if inner or names & {*program.declared} or any(in_f_string(program, each) for each in nodes):
        return None
    taken = {*program.names, *(each.arg for one in program.functions for each in parameters(one))}
    new = {name: f"{name}_of_{function.name.strip('_')}" for name in names}
    if taken & {*new.values()}:
        return None
    text = spliced(program.text, sorted(program.replacement(each, new[each.id]) for each in nodes))
    renamed = Program(text.decode())
    return renamed, renamed.functions[program.functions.index(function)], new


def _is_local(program: Program, node: ast.Name) -> bool:
    """Whether a name is one of a function's own, and no variable of the module."""
    for function in (each for each in program.around(node) if isinstance(each, Function)):
        own = program.kept.setdefault("own names", {})
        if function not in own:
            stored = (each for each in ast.walk(function) if isinstance(each, ast.Name))
            own[function] = {each.id for each in stored if not isinstance(each.ctx, ast.Load)}
            own[function] |= {each.arg for each in parameters(function)}
        if node.id in own[function] and node.id not in program.declared:
            return True
    return False
