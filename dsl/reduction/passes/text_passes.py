"""Passes over what Python does not run: comments, docstrings, blank lines, parentheses."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator

from dsl.reduction.edit import Change, Edit
from dsl.reduction.passes.value_passes import MOST_COLUMNS
from dsl.reduction.program import ATOMS, Program

_HEADER = re.compile(r"# /// \w+\n(?:#.*\n)*?# ///[ \t]*$", re.MULTILINE)  # PEP 723
_CODING = re.compile(r"#.*coding[:=]|#!")


def comments(program: Program) -> Iterator[Edit]:
    """Each comment, except the header that names packages."""
    kept = {line for match in _HEADER.finditer(program.source) for line in _lines(program, match)}
    for token in program.tokens:
        if token.type != tokenize.COMMENT or token.start[0] in kept or _CODING.match(token.string):
            continue
        start = program.token_start(token.start)
        end = start + len(token.string.encode())
        before = program.line_start(start)
        alone = not program.text[before:start].strip()
        if alone:
            yield Edit("drop a comment", token.start[0], [Change(before, program.line_end(end))])
        else:
            while program.text[start - 1 : start] in (b" ", b"\t"):
                start -= 1
            yield Edit("drop a comment", token.start[0], [Change(start, end)])


def _lines(program: Program, match: re.Match) -> range:
    first = program.source.count("\n", 0, match.start()) + 1
    return range(first, first + match[0].count("\n") + 1)


def docstrings(program: Program) -> Iterator[Edit]:
    """Each statement that is only a string or a constant."""
    for statement in program.statements:
        match statement:
            case ast.Expr(ast.Constant()) if statement not in program.claim:
                if len(program.block_of[statement]) > 1 or program.block_of[statement] is program.tree.body:
                    yield program.delete("drop a docstring", statement)


def one_line(program: Program) -> Iterator[Edit]:
    """A simple statement, or the head of a definition, of several lines is written in fewer, if it can be in one."""
    tokens = program.tokens
    heads: list[int] = []  # of the tokens since the last end of a statement
    for place, token in enumerate(tokens):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            if heads and (edit := _joined(program, [tokens[each] for each in heads])):
                yield edit
            heads = []
        elif heads or token.type not in (tokenize.NL, tokenize.COMMENT):
            heads.append(place)


def _joined(program: Program, tokens: list[tokenize.TokenInfo]) -> Edit | None:
    """The edit that joins a statement's lines up to MOST_COLUMNS; None if none fit, it has comments or long strings."""
    if tokens[0].start[0] == tokens[-1].end[0]:
        return None
    if any(
        each.type == tokenize.COMMENT or each.start[0] != each.end[0] for each in tokens if each.type != tokenize.NL
    ):
        return None
    words = [each for each in tokens if each.type != tokenize.NL]
    parts: list[list[tokenize.TokenInfo]] = [[words[0]]]  # by the lines in which they are
    for before, after in zip(words, words[1:]):
        if before.end[0] != after.start[0]:
            parts.append([])
        parts[-1].append(after)
    changes, length = [], parts[0][-1].end[1]
    for one, other in zip(parts, parts[1:]):
        before, after = one[-1], other[0]
        between = "" if before.string in "([{" or after.string in ")]}" else " "
        width = other[-1].end[1] - after.start[1]
        if length + len(between) + width > MOST_COLUMNS:
            length = other[-1].end[1]
            continue
        length += len(between) + width
        changes.append(Change(program.token_start(before.end), program.token_start(after.start), between.encode()))
    return Edit("fewer lines", tokens[0].start[0], changes) if changes else None


def blank_lines(program: Program) -> Iterator[Edit]:
    """Each run of empty lines, except runs in strings."""
    in_strings = {
        line
        for token in program.tokens
        if token.end[0] > token.start[0]
        for line in range(token.start[0], token.end[0] + 1)
    }
    lines = program.text.split(b"\n")
    first = None
    for number, line in enumerate(lines, 1):
        blank = not line.strip() and number not in in_strings and number < len(lines)
        if blank and first is None:
            first = number
        if not blank and first is not None:
            yield Edit("drop blank lines", first, [Change(program.starts[first - 1], program.starts[number - 1])])
            first = None


_OPERATORS = b"([{,=:+-*/%<>&|^~"
_KEYWORDS = (b"return", b"in", b"and", b"or", b"not", b"if", b"else", b"is")
_PLAIN_PARENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Call, ast.keyword, ast.Expr)
_NEED_PARENTHESES = (ast.GeneratorExp, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred)


def parentheses(program: Program) -> Iterator[Edit]:
    """Parentheses around an expression that needs none."""
    for node in program.nodes:
        if not isinstance(node, ast.expr) or isinstance(node, _NEED_PARENTHESES) or not hasattr(node, "lineno"):
            continue
        is_whole = isinstance(node, ATOMS) or (isinstance(node, ast.Tuple) and program.has_parentheses(node))
        parent = program.parent.get(node)
        if (isinstance(node, ast.Tuple) and not is_whole) or isinstance(parent, ast.FormattedValue | ast.JoinedStr):
            continue
        if not (is_whole or isinstance(node, ast.Constant) or isinstance(parent, _PLAIN_PARENTS)):
            continue
        if isinstance(node, ast.Constant) and isinstance(parent, ast.Attribute):
            continue
        start, end = program.span(node)
        first, last = start, end
        while (around := _opened(program.text, first, last)) is not None:
            first, last = around
        inside = program.text[start:end]
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
            inside = re.sub(rb"\n\s*\.", b".", inside)
        if first < start and (b"\n" not in inside or inside[-1:] in (b")", b"]", b"}")):
            yield Edit("drop parentheses", node.lineno, [Change(first, last, inside)])


def _opened(text: bytes, start: int, end: int) -> tuple[int, int] | None:
    """The span of the parentheses around a span, which do not belong to a call or a definition."""
    before, after = text[:start].rstrip(), end
    while text[after : after + 1].isspace():
        after += 1
    if not before.endswith(b"(") or text[after : after + 1] != b")":
        return None
    outside = before[:-1].rstrip(b" \t")
    word = re.search(rb"\w*$", outside)
    if not (outside[-1:] in (b"", b"\n") or outside[-1] in _OPERATORS or (word and word[0] in _KEYWORDS)):
        return None
    return len(before) - 1, after + 1


def commas(program: Program) -> Iterator[Edit]:
    """The comma after the last item of a list, with the space after it; of a tuple of one item the space alone."""
    single = {program.span(node)[1] for node in program.nodes if isinstance(node, ast.Tuple) and len(node.elts) == 1}
    tokens = [token for token in program.tokens if token.type != tokenize.NL]
    for token, after in zip(tokens, tokens[1:]):
        if token.string != "," or after.string not in (")", "]", "}"):
            continue
        end = program.token_start(after.start)
        start = program.token_start(token.end if end + 1 in single else token.start)
        if start < end:
            yield Edit("drop a comma", token.start[0], [Change(start, end)])
