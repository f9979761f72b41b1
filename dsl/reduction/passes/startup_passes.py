"""Passes over how a program starts: options of a command line become constants, the guard of the main program goes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dsl.reduction.edit import Edit
from dsl.reduction.names import is_within
from dsl.reduction.passes.statement_passes import body_instead
from dsl.reduction.program import Program


def main_guard(program: Program) -> Iterator[Edit]:
    """Statements under `if __name__ == "__main__":` move to the module's top level."""
    for node in program.tree.body:
        match node:
            case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
                if edit := body_instead(program, node, node.body):
                    edit.about = "run the main program without its guard"
                    yield edit


def command_line(program: Program) -> Iterator[Edit]:
    """Options that argparse reads become their defaults: all at once with the parser, then each alone."""
    for parser, statements in _parsers(program).items():
        options = _defaults(program, parser, statements)
        for target, parsed in _parsed(program, parser):
            read = [
                node
                for name in options
                for node in program.attributes.get(name, [])
                if isinstance(node.value, ast.Name) and node.value.id == target and isinstance(node.ctx, ast.Load)
            ]
            changes = {node: program.replacement(node, options[node.attr]) for node in read}
            others = [each for each in program.names.get(target, []) if isinstance(each.ctx, ast.Load)]
            if changes and len(others) == len(read):
                gone = [program.deletion(each) for each in [*statements, parsed] if each in program.block_of]
                yield Edit("options of the command line as constants", parsed.lineno, [*changes.values(), *gone])
            for name in options:
                same = [change for node, change in changes.items() if node.attr == name]
                if same:
                    yield Edit(f"`{name}` of the command line as a constant", parsed.lineno, same)


def _parsers(program: Program) -> dict[str, list[ast.stmt]]:
    """The names of parsers, with the statements that make each and add to it."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in program.statements:
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Call(func=func)):
                if ast.unparse(func).endswith("ArgumentParser"):
                    found[name] = [statement]
    for name, statements in found.items():
        scope = program.scope(statements[0])
        for node in program.names.get(name, []):
            statement = program.statement_of(node)
            if is_within(program, node, scope) and statement not in statements:
                match statement:
                    case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name()))):
                        statements.append(statement)
    return found


def _parsed(program: Program, parser: str) -> Iterator[tuple[str, ast.stmt]]:
    for statement in program.statements:
        match statement:
            case ast.Assign(
                targets=[ast.Name(target)], value=ast.Call(func=ast.Attribute(value=ast.Name(name), attr="parse_args"))
            ) if name == parser:
                yield target, statement


def _defaults(program: Program, parser: str, statements: list[ast.stmt]) -> dict[str, str]:
    """The text of the value that each option has where nobody gives it, or where `sys.argv` of the program does."""
    given = _given(program)
    found: dict[str, str] = {}
    for statement in statements:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add_argument"), args=args, keywords=keywords)):
                flags = [each.value for each in args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
                if not flags:
                    continue
                said = {each.arg: each.value for each in keywords}
                long = next((flag for flag in flags if flag.startswith("--")), flags[0])
                name = long.lstrip("-").replace("-", "_")
                dest = said.get("dest")
                if isinstance(dest, ast.Constant):
                    name = str(dest.value)
                found[name] = _value(program, said, given.get(long))
    return found


def _value(program: Program, said: dict, given: str | None) -> str:
    kind = program.of(said["type"]) if "type" in said else ""
    match said.get("action"):
        case ast.Constant("store_true"):
            return str(given is not None)
        case ast.Constant("store_false"):
            return str(given is None)
    if given is not None:
        if kind in ("int", "float") and _is_number(given):
            return given
        if kind not in ("", "str", "int", "float") and re.fullmatch(r"\d+(?:,\d+)+", given):
            return f"({given.replace(',', ', ')})"  # whatever splits it, it is a tuple of numbers
        return f"{kind}({given!r})" if kind else repr(given)
    default = said.get("default")
    if default is None:
        return "None"
    text = program.of(default)
    if isinstance(default, ast.Constant) and isinstance(default.value, str) and kind not in ("", "str"):
        return f"{kind}({text})"
    return f"({text})" if "\n" in text and text[0] not in "([{" else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _given(program: Program) -> dict[str, str]:
    """The values that a statement `sys.argv[1:] = [...]` of the program gives."""
    for statement in program.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr="argv"))], value=ast.List(elts=words)):
                texts = [str(each.value) for each in words if isinstance(each, ast.Constant)]
                found = {}
                for index, text in enumerate(texts):
                    if text.startswith("--"):
                        flag, _, value = text.partition("=")
                        following = texts[index + 1] if index + 1 < len(texts) else ""
                        found[flag] = value or ("" if following.startswith("--") else following)
                return found
    return {}
