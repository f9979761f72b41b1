"""Passes that replace a name by its value: constants, other names, values that are read once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dsl.reduction.edit import Change, Edit
from dsl.reduction.names import defined, definers, is_within, parameters
from dsl.reduction.program import ATOMS, Function, Program

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)
COMPUTED = (ast.BinOp, ast.Compare, ast.UnaryOp, ast.BoolOp)
MOST_LETTERS, MOST_READS = 40, 4  # of what is computed again in each place
MOST_COLUMNS = 120  # of a line
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


def text_at(program: Program, value: ast.expr, node: ast.AST) -> str:
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


def in_f_string(program: Program, node: ast.AST) -> bool:
    return any(isinstance(each, ast.JoinedStr) for each in program.around(node))


def depends_on_nothing(value: ast.AST) -> bool:
    """Whether a value is the same wherever it is computed: constants, and names of modules' parts."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call | ast.Await | ast.Yield | ast.NamedExpr | ast.Lambda | ast.ListComp):
            return False
        if isinstance(node, ast.List | ast.Dict | ast.Set):
            return False  # a new one each time, which may change
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
        if pair is None or not depends_on_nothing(pair[1]) or isinstance(program.scope(statement), ast.ClassDef):
            continue
        target, value = pair
        reads, written = _uses(program, target, statement)
        if not all(_stays(program, statement, node.id) for node in ast.walk(value) if isinstance(node, ast.Name)):
            continue
        if written == 1 and not any(in_f_string(program, node) for node in reads) and statement in program.block_of:
            changes = [program.replacement(node, text_at(program, value, node)) for node in reads]
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
            if not isinstance(target, ast.Name | ast.Attribute) or not depends_on_nothing(value):
                break
            if isinstance(target, ast.Attribute) and program.of(target.value) != "self":
                break
            reads, written = _uses(program, target, statement)
            if written != 1 or any(in_f_string(program, node) for node in reads):
                break
            changes += [program.replacement(node, text_at(program, value, node)) for node in reads]
        else:
            yield Edit("names of a tuple as their constants", statement.lineno, changes)


def global_constants(program: Program) -> Iterator[Edit]:
    """A variable of the module that one function sets, once, to a constant becomes it."""
    for statement in program.statements:
        pair = _assigned(program, statement)
        if pair is None or not isinstance(pair[0], ast.Name) or not depends_on_nothing(pair[1]):
            continue
        name, declared = pair[0].id, program.declared.get(pair[0].id, [])
        nodes = program.names[name]
        if not declared or sum(not isinstance(node.ctx, ast.Load) for node in nodes) != 1:
            continue
        if any(len(each.names) > 1 or isinstance(each, ast.Nonlocal) for each in declared):
            continue
        if any(in_f_string(program, node) for node in nodes) or statement not in program.block_of:
            continue
        reads = [node for node in nodes if isinstance(node.ctx, ast.Load)]
        changes = [program.replacement(node, text_at(program, pair[1], node)) for node in reads]
        gone = [program.deletion(each) for each in (statement, *declared)]
        yield Edit(f"`{name}` as its constant", statement.lineno, [*gone, *changes])


def single_uses(program: Program) -> Iterator[Edit]:
    """A value that is read once goes to where it is read; of a tuple the one element that is read."""
    for statement in program.statements:
        if statement not in program.block_of:
            continue
        if (pair := _assigned(program, statement)) is not None:
            node = _only_read(program, pair[0], statement)
            if node is not None:
                changes = [program.deletion(statement), program.replacement(node, text_at(program, pair[1], node))]
                about = f"`{program.of(pair[0])}` in the place where it is read"
                yield Edit(about, statement.lineno, changes)
        elif (element := _one_read(program, statement)) is not None:
            index, node, value = element
            of = program.of(value) if isinstance(value, ATOMS) else f"({program.of(value)})"
            changes = [program.deletion(statement), program.replacement(node, f"{of}[{index}]")]
            yield Edit("the one element that is read where it is read", statement.lineno, changes)


def next_uses(program: Program) -> Iterator[Edit]:
    """A value that only the next statement reads, once, goes there, if that makes no line longer than MOST_COLUMNS."""
    for block in program.blocks:
        changed = None  # the statement that the edit before changes
        for statement, after in zip(block, block[1:]):
            pair = _assigned(program, statement)
            if pair is None or statement is changed:
                continue
            node = _only_read(program, pair[0], statement)
            if node is None or program.statement_of(node) is not after:
                continue
            text = text_at(program, pair[1], node)
            start, end = program.span(node)
            line = program.text[program.line_start(start) : program.line_end(end)].rstrip(b"\n")
            if "\n" not in text and len(line) - (end - start) + len(text) <= MOST_COLUMNS:
                changes = [program.deletion(statement), program.replacement(node, text)]
                yield Edit(f"`{program.of(pair[0])}` in the place where it is read", statement.lineno, changes)
                changed = after


def _one_read(program: Program, statement: ast.stmt) -> tuple[int, ast.AST, ast.expr] | None:
    """The place of the only name that is read in `a, b, c = value`, where it is read once, and the value."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value) if not isinstance(value, ast.Tuple):
            pass
        case _:
            return None
    names = [each for each in targets if isinstance(each, ast.Name)]
    if len(names) < len(targets):
        return None
    read = [(index, each) for index, each in enumerate(names) if _uses(program, each, statement)[0]]
    if len(read) != 1:
        return None
    ((index, target),) = read
    node = _only_read(program, target, statement)
    return None if node is None else (index, node, value)


def _only_read(program: Program, target: ast.Name | ast.Attribute, statement: ast.stmt) -> ast.AST | None:
    """The one place where the target is read, if what the statement gives it may be computed there."""
    reads, written = _uses(program, target, statement)
    if len(reads) != 1 or written != 1:
        return None
    node = reads[0]
    reader = program.statement_of(node)
    if in_f_string(program, node) or is_within(program, reader, statement):
        return None
    if program.scope(node) is not program.scope(statement) or reader.lineno < statement.lineno:
        return None
    block = program.block_of[statement]
    between = [
        each for each in program.around(node) if isinstance(each, LOOPS) and not is_within(program, statement, each)
    ]
    return None if between or not any(is_within(program, reader, each) for each in block) else node


# ** other names


def aliases(program: Program) -> Iterator[Edit]:
    """A name that is given another name, or an attribute of `self`, becomes that; the first of a chain first."""
    found: set[str] = set()
    for statement in program.statements:
        pair = _assigned(program, statement)
        if pair is None or statement not in program.block_of or not _is_same(program, statement, *pair):
            continue
        target, value = (program.of(each) for each in pair)
        found.add(target)
        if value not in found:
            reads, _ = _uses(program, pair[0], statement)
            changes = [program.deletion(statement), *(program.replacement(node, value) for node in reads)]
            yield Edit(f"`{value}` in place of `{target}`", statement.lineno, changes)


def elements(program: Program) -> Iterator[Edit]:
    """`a, b = x, y` loses an element: a name that becomes its value where it is read, or that nothing reads."""
    for statement in program.statements:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets) as left], value=ast.Tuple(elts=values) as right):
                pass
            case _:
                continue
        if len(targets) != len(values) or any(isinstance(each, ast.Starred) for each in (*targets, *values)):
            continue
        if not all(isinstance(each, ast.Name | ast.Attribute) for each in targets) or statement not in program.block_of:
            continue
        if len(targets) == 1:
            whole = f"{program.of(targets[0])} = {listed(program, values)}"
            yield Edit("one value without tuples", statement.lineno, [program.replacement(statement, whole)])
            continue
        for index, (target, value) in enumerate(zip(targets, values)):
            instead = _instead(program, statement, target, value)
            if instead is None:
                continue
            sides = []
            for side, parts in ((left, targets), (right, values)):
                sides.append(program.replacement(side, listed(program, [*parts[:index], *parts[index + 1 :]])))
            yield Edit(f"`{program.of(target)}` out of a tuple", statement.lineno, [*sides, *instead])


def listed(program: Program, parts: Sequence[ast.expr]) -> str:
    """The text of expressions with commas between, for the right side of `=` or `return`."""
    text = ", ".join(program.of(each) for each in parts)
    return f"({text})" if "\n" in text else text


def _instead(program: Program, statement: ast.stmt, target: ast.expr, value: ast.expr) -> list[Change] | None:
    """The changes where a target is read, if it need not be one."""
    if not (isinstance(target, ast.Name) or (isinstance(target, ast.Attribute) and _is_self(target))):
        return None
    reads, written = _uses(program, target, statement)
    if not reads:
        return []
    if written != 1 or any(in_f_string(program, node) for node in reads):
        return None
    if not depends_on_nothing(value) and not _is_same(program, statement, target, value):
        node = _only_read(program, target, statement)
        if node is None:
            return None
        reads = [node]
    return [program.replacement(node, text_at(program, value, node)) for node in reads]


def instead_of(program: Program, statement: ast.stmt, parts: Sequence[tuple[ast.expr, str]]) -> list[Change] | None:
    """Each target that is read becomes its text there; None if one is not a plain name that is set here alone."""
    changes: list[Change] = []
    for target, text in parts:
        if not isinstance(target, ast.Name) or statement not in program.block_of:
            return None
        reads, written = _uses(program, target, statement)
        if reads and (written != 1 or any(in_f_string(program, node) for node in reads)):
            return None
        changes += [program.replacement(node, text) for node in reads]
    return changes


def _is_same(program: Program, statement: ast.stmt, target: ast.Name | ast.Attribute, value: ast.expr) -> bool:
    """Whether the target is what the value is, a name or attribute of `self`, wherever the target is read."""
    if not isinstance(value, ast.Name | ast.Attribute) or not _is_set_once(program, statement, target):
        return False
    if isinstance(value, ast.Name):
        return _stays(program, statement, value.id)
    return _is_self(value) and _attribute_stays(program, program.scope(statement), statement, value.attr)


def _is_set_once(program: Program, statement: ast.stmt, target: ast.Name | ast.Attribute) -> bool:
    """Whether all reads of the target come after the statement, in its function, and nothing else sets it."""
    scope = program.scope(statement)
    reads, written = _uses(program, target, statement)
    if isinstance(scope, ast.ClassDef) or written != 1 or not reads:
        return False
    if any(in_f_string(program, node) or not is_within(program, node, scope) for node in reads):
        return False
    return all(program.statement_of(node).lineno > statement.lineno for node in reads)  # else of the trip before


def short_values(program: Program) -> Iterator[Edit]:
    """A short sum or comparison in a kernel is computed where it is read, if that is in few places."""
    for statement in program.statements:
        pair = _assigned(program, statement)
        if pair is None or statement not in program.block_of or not isinstance(pair[1], COMPUTED):
            continue
        target, value = pair
        text = text_at(program, value, value)
        if len(text) > MOST_LETTERS or not _is_traced(program, program.scope(statement)):
            continue
        parts = [each for each in ast.walk(value) if isinstance(each, ast.expr)]
        names = [each.id for each in parts if isinstance(each, ast.Name)]
        if not all(isinstance(each, (*COMPUTED, ast.Name, ast.Constant)) for each in parts):
            continue
        if _is_set_once(program, statement, target) and all(_stays(program, statement, name) for name in names):
            reads, _ = _uses(program, target, statement)
            if len(reads) <= MOST_READS:
                changes = [program.replacement(node, text_at(program, value, node)) for node in reads]
                about = f"`{text}` in place of `{program.of(target)}`"
                yield Edit(about, statement.lineno, [program.deletion(statement), *changes])


def _is_traced(program: Program, scope: ast.AST) -> bool:
    """Whether a function, or one around it, is a kernel or another one that is traced: its numbers do not change."""
    for each in (scope, *program.around(scope)):
        decorators = getattr(each, "decorator_list", [])
        if isinstance(each, Function) and any(program.of(one).endswith((".kernel", ".jit")) for one in decorators):
            return True
    return False


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _stays(program: Program, statement: ast.stmt, name: str) -> bool:
    """Whether a name has one meaning where the statement is and where what it defines is read."""
    if name in program.declared:
        return False
    for scope in (each for each in program.around(statement) if isinstance(each, (*FUNCTIONS, ast.Module))):
        inside = [each for each in program.names.get(name, []) if is_within(program, each, scope)]
        stores = [each for each in inside if not isinstance(each.ctx, ast.Load)]
        functions = [each for each in program.functions if is_within(program, each, scope)]
        lambdas = [each for each in program.nodes if isinstance(each, ast.Lambda) and is_within(program, each, scope)]
        taken = sum(each.arg == name for one in functions for each in parameters(one))
        taken += sum(each.arg == name for one in lambdas for each in ast.walk(one.args) if isinstance(each, ast.arg))
        other = [
            each
            for each in definers(program).get(name, [])
            if isinstance(each, DEFINITIONS) and is_within(program, each, scope) and each is not scope
        ]
        count = len(stores) + taken + len(other)
        if count > 1:
            return False
        if count == 1:
            return not stores or _follows(program, statement, program.statement_of(stores[0]))
    return True  # a builtin name


def _follows(program: Program, statement: ast.stmt, writer: ast.stmt) -> bool:
    """Whether a statement runs each time after a writer runs: the writer is not in a loop, or in the same block."""
    in_loop = any(isinstance(each, LOOPS) for each in program.around(writer)) or isinstance(writer, LOOPS)
    return not in_loop or program.block_of.get(writer) is program.block_of[statement]


def _attribute_stays(program: Program, scope: ast.AST, statement: ast.stmt, name: str) -> bool:
    """Whether an attribute of `self` is written once, and not while the function of the statement runs."""
    nodes = program.attributes[name]
    stores = [each for each in nodes if not isinstance(each.ctx, ast.Load)]
    if len(stores) != 1 or not _is_self(stores[0]) or not isinstance(scope, Function) or name in program.words:
        return False
    owner, writer = program.parent[scope], program.scope(stores[0])
    if not isinstance(owner, ast.ClassDef) or owner.bases or owner.keywords or not isinstance(writer, Function):
        return False
    if program.parent[writer] is not owner or any(name in defined(each) for each in owner.body):
        return False
    inner = [one for one in program.functions if one is not scope and is_within(program, one, scope)]
    if any(each.arg == "self" for one in inner for each in parameters(one)):
        return False
    if writer is scope:
        store = program.statement_of(stores[0])
        return store.lineno < statement.lineno and _follows(program, statement, store)
    return writer.name == "__init__" or not _may_call(program, scope, writer)


def _may_call(program: Program, function: Function, other: Function) -> bool:
    """Whether a function may call another one, by the names that it and what it calls read."""
    known = {each.name: each for each in program.functions}
    waiting, seen = [function], {function}
    while waiting:
        for node in ast.walk(waiting.pop()):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if name == other.name or (name == "self" and isinstance(program.parent[node], ast.Call)):
                return True  # an object that is called, or passed on
            if name in known and known[name] not in seen:
                seen.add(known[name])
                waiting.append(known[name])
    return False
