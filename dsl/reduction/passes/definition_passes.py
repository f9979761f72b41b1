"""Passes over definitions: functions, classes and imports that nothing needs; parameters with their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsl.reduction.edit import Change, Edit
from dsl.reduction.names import definers, is_within, parameters
from dsl.reduction.program import Function, Program
from dsl.reduction.sequences import item_change, last_items

ENTRY_POINTS = {"run"}  # what a harness calls


def unreached(program: Program) -> Iterator[Edit]:
    """Functions, classes and methods whose names nothing reads that is reached from the module's statements."""
    definitions = [*program.functions, *program.classes]
    inside = {definition: _words(program, definition) for definition in definitions}
    reached = _outside_words(program) | ENTRY_POINTS
    waiting = [each for each in definitions if each.name in reached]
    found = set(waiting)
    while waiting:
        reached |= inside[waiting.pop()]
        more = [each for each in definitions if each not in found and (each.name in reached or _is_protocol(each.name))]
        waiting += more
        found |= {*more}
    for definition in reversed(definitions):
        if definition not in found and not _is_protocol(definition.name):
            yield program.delete(f"drop `{definition.name}`, which nothing reaches", definition)


def empty(program: Program) -> Iterator[Edit]:
    """Functions that do nothing, if each of their calls is a statement, with these."""
    for function in program.functions:
        calls = calls_of(program, function)
        if not calls or function in program.claim or function.decorator_list:
            continue
        statements = [program.parent[call] for call in calls]
        if all(isinstance(each, ast.Pass) for each in function.body) and all(
            isinstance(each, ast.Expr) and each in program.block_of for each in statements
        ):
            about = f"drop `{function.name}`, which does nothing"
            yield program.delete(about, function, *(each for each in statements if isinstance(each, ast.stmt)))


def _is_protocol(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _words(program: Program, node: ast.AST) -> set[str]:
    """The names that are read in a definition, those within it aside."""
    found, waiting = set(), list(ast.iter_child_nodes(node))
    while waiting:
        each = waiting.pop()
        if isinstance(each, Function | ast.ClassDef):
            waiting += each.decorator_list
            continue
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Attribute):
            found.add(each.attr)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            found.add(each.value)
        waiting += ast.iter_child_nodes(each)
    return found


def _outside_words(program: Program) -> set[str]:
    return _words(program, program.tree)


def imports(program: Program) -> Iterator[Edit]:
    """Names that are imported and not read, of each import those together."""
    for statement in program.statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            yield program.delete(f"drop `{program.of(statement)}`", statement)
            continue
        kept = [alias for alias in statement.names if _is_read(program, alias)]
        if len(kept) == len(statement.names):
            continue
        if not kept:
            yield program.delete(f"drop `{program.of(statement).partition(chr(10))[0]}`", statement)
        else:
            text = program.of(statement)
            head = text[: text.index("import")] + "import "
            names = ", ".join(ast.unparse(alias) for alias in kept)
            yield Edit("import less", statement.lineno, [program.replacement(statement, head + names)])


def _is_read(program: Program, alias: ast.alias) -> bool:
    name = (alias.asname or alias.name).partition(".")[0]
    if name == "*":
        return True
    return any(isinstance(node.ctx, ast.Load) for node in program.names.get(name, [])) or name in program.words


# ** parameters


def unused_parameters(program: Program) -> Iterator[Edit]:
    """Parameters that a function's body does not read, with their arguments in all calls."""
    for function in program.functions:
        for parameter in parameters(function):
            if not _is_read_in(program, function, parameter.arg):
                changes = parameter_changes(program, function, parameter)
                if changes:
                    yield Edit(f"drop the parameter `{parameter.arg}` of `{function.name}`", parameter.lineno, changes)


def _is_read_in(program: Program, function: Function, name: str) -> bool:
    return any(is_within(program, node, function) for node in program.names.get(name, []))


def is_method(program: Program, function: Function) -> bool:
    if not isinstance(program.parent[function], ast.ClassDef):
        return False
    return not any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)


def calls_of(program: Program, function: Function) -> list[ast.Call] | None:
    """The calls of a function; None where it is also used otherwise, or more than one has its name."""
    special = function.name in ("__init__", "__call__")
    if not special and sum(each.name == function.name for each in [*program.functions, *program.classes]) > 1:
        return None
    owner = program.parent[function]
    if function.name in ("__init__", "__call__") and isinstance(owner, ast.ClassDef):
        return _calls_of_objects(program, owner, function.name == "__call__")
    if isinstance(owner, ast.ClassDef):
        nodes: list = [each for each in program.attributes.get(function.name, []) if not _is_of_module(program, each)]
        if function.name in program.names:
            return None
    else:
        nodes = program.names.get(function.name, [])
    calls = []
    for node in nodes:
        call = program.parent[node]
        if not isinstance(call, ast.Call) or call.func is not node:
            return None
        calls.append(call)
    return calls


def _is_of_module(program: Program, node: ast.Attribute) -> bool:
    """Whether it is a name of an imported module, as in the decorator `@cute.kernel` of a method `kernel`."""
    if not isinstance(node.value, ast.Name):
        return False
    name = node.value.id
    if any(not isinstance(each.ctx, ast.Load) for each in program.names.get(name, ())):
        return False
    if any(each.arg == name for function in program.functions for each in parameters(function)):
        return False
    givers = definers(program).get(name, [])
    return bool(givers) and all(isinstance(each, ast.Import | ast.ImportFrom) for each in givers)


def _calls_of_objects(program: Program, owner: ast.ClassDef, of_objects: bool) -> list[ast.Call] | None:
    """The calls `C(...)` of a class, or the calls of its objects; None if either is used otherwise."""
    made, called = [], []
    for node in program.names.get(owner.name, []):
        call = program.parent[node]
        if not isinstance(call, ast.Call) or call.func is not node:
            return None
        made.append(call)
    for call in made if of_objects else ():
        parent = program.parent[call]
        if isinstance(parent, ast.Call) and parent.func is call:
            called.append(parent)
            continue
        match parent:
            case ast.Assign(targets=[ast.Name(name)]):
                nodes = program.names[name]
            case _:
                return None
        if sum(not isinstance(node.ctx, ast.Load) for node in nodes) > 1:
            return None
        for node in nodes:
            use = program.parent[node]
            if isinstance(node.ctx, ast.Load):
                if isinstance(use, ast.Call) and use.func is node:
                    called.append(use)
                elif not isinstance(use, ast.Attribute):
                    return None
    return called if of_objects else made


def argument_of(program: Program, function: Function, call: ast.Call, name: str) -> ast.expr | ast.keyword | None:
    """The argument of a call for a parameter, None where its default is taken. Raises LookupError where unknown."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        raise LookupError(name)
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword
    positional = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if is_method(program, function):
        positional = positional[1:]
    if name in positional and positional.index(name) < len(call.args):
        return call.args[positional.index(name)]
    return None


def parameter_changes(program: Program, function: Function, parameter: ast.arg) -> list[Change] | None:
    """The changes that take a parameter and its arguments away; None if a call is not known."""
    calls = calls_of(program, function)
    own = function.args
    if calls is None or (is_method(program, function) and own.args and parameter is own.args[0]):
        return None
    if parameter in (own.vararg, own.kwarg) and any(_is_given(program, function, call, parameter) for call in calls):
        return None
    spans = {each: _with_stars(program, function, each) for each in parameters(function)}
    positional = [*own.posonlyargs, *own.args]
    for each, default in zip(positional[len(positional) - len(own.defaults) :], own.defaults):
        spans[each] = spans[each][0], program.span(default)[1]
    for each, keyword_default in zip(own.kwonlyargs, own.kw_defaults):
        if keyword_default is not None:
            spans[each] = spans[each][0], program.span(keyword_default)[1]
    places = sorted(spans.values())
    change = item_change(program, places, places.index(spans[parameter]))
    if change is None:
        return None
    changes = [change]
    for call in calls:
        try:
            argument = argument_of(program, function, call, parameter.arg)
        except LookupError:
            return None
        if argument is not None:
            items = last_items(call)
            change = item_change(program, [program.span(each) for each in items], items.index(argument))
            if change is None:
                return None
            changes.append(change)
    return changes


def _with_stars(program: Program, function: Function, parameter: ast.arg) -> tuple[int, int]:
    """The bytes of a parameter, with the stars before it."""
    start, end = program.span(parameter)
    if parameter in (function.args.vararg, function.args.kwarg):
        start = len(program.text[:start].rstrip()) - (1 if parameter is function.args.vararg else 2)
    return start, end


def _is_given(program: Program, function: Function, call: ast.Call, parameter: ast.arg) -> bool:
    """Whether a call may pass something to a parameter with stars."""
    own = function.args
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return True
    if parameter is own.vararg:
        return len(call.args) > len([*own.posonlyargs, *own.args]) - is_method(program, function)
    return bool({each.arg for each in call.keywords} - {each.arg for each in (*own.args, *own.kwonlyargs)})


def arguments(program: Program) -> Iterator[Edit]:
    """Keyword arguments of calls, and elements of lists, tuples and dictionaries."""
    for node in program.nodes:
        if isinstance(node, ast.Call):
            items = last_items(node)
            spans = [program.span(each) for each in items]
            for index, item in enumerate(items):
                if isinstance(item, ast.keyword) and (change := item_change(program, spans, index)):
                    yield Edit(f"drop the argument `{item.arg}`", item.lineno, [change])
        elif isinstance(node, ast.Dict) and None not in node.keys:
            pairs = [
                (program.span(key)[0], program.span(value)[1]) for key, value in zip(node.keys, node.values) if key
            ]
            for index in reversed(range(len(pairs))):
                if change := item_change(program, pairs, index):
                    yield Edit("drop an entry", node.values[index].lineno, [change])
        elif isinstance(node, ast.List | ast.Set) or (isinstance(node, ast.Tuple) and program.has_parentheses(node)):
            least = 1 if isinstance(node, ast.List) else 3 if isinstance(node, ast.Tuple) else 2
            spans = [program.span(each) for each in node.elts]
            for index in reversed(range(len(spans))):
                if len(spans) >= least and (change := item_change(program, spans, index)):
                    yield Edit("drop an element", node.elts[index].lineno, [change])
