"""A captured file without the code that did not run, and, if it is still long, in fewer lines.

A kernel keeps all that it does: a statement of which nobody reads the result may still order memory.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence

from harness.reduction.passes_process import PassesProcess
from harness.reduction.search import Edit

LONG = 150  # lines, above which the author's comments and line breaks go, and then one of FEWER after another
MOST_ROUNDS = 3
_UNRUN, _CLEARED = "unrun", ("unreached", "imports")
_TEXT = ("comments", "docstrings", "parentheses", "one-line", "blank-lines")
FEWER = (  # what the compiler alone sees
    ("checks",),
    ("bound-parameters", "constants", "unpacked", "aliases"),
    ("unread", "direct-returns", "next-uses", "empty"),
    ("expression-helpers",),
)

Checked = tuple[list[str], Collection[int]]  # what differs from the program, and the lines (1-based) that ran


def shortened(text: str, ran: Collection[int], check: Callable[[str], Checked], passes: PassesProcess) -> str:
    """The shortest of these texts that does what the program did by `check`. `ran`: the lines of `text` that ran."""
    passes.passes()
    best = text
    for _ in range(MOST_ROUNDS):
        found = _without(passes, best, ran, check)
        if found is None:
            break
        best, ran = found
    shortest = _fewer_lines(passes, best, lambda text: True)
    if shortest == best or not check(shortest)[0]:
        return shortest
    return _fewer_lines(passes, best, lambda text: not check(text)[0])


def _fewer_lines(passes: PassesProcess, text: str, is_right: Callable[[str], bool]) -> str:
    """The text after as many steps as it needs to be of LONG lines, without those that make it wrong."""
    for names in ((), *FEWER):
        if len(text.splitlines()) <= LONG:
            break
        brief = _brief(passes, _applied(passes, text, (*names, *_CLEARED) if names else ()))
        if len(brief.splitlines()) < len(text.splitlines()) and is_right(brief):
            text = brief
    return text


def _without(
    passes: PassesProcess, text: str, ran: Collection[int], check: Callable[[str], Checked]
) -> tuple[str, Collection[int]] | None:
    """The text without what did not run, or without as much of it as can go; None where none can."""
    passes.look = lambda needs, source: ran
    kept = _kept_lines(text)
    edits = [edit for edit in passes.edits(_UNRUN, text) if edit.line not in kept]
    half = len(edits) // 2
    for part in (edits, edits[:half], edits[half:]):
        new = passes.apply(_UNRUN, text, [edit.id for edit in part]) if part else None
        if new is None or new == text:
            continue
        new = _applied(passes, new, _CLEARED)
        differences, lines = check(new)
        if not differences:
            return new, lines
    return None


def _applied(passes: PassesProcess, text: str, names: Sequence[str]) -> str:
    """The text after all edits of these passes, until they find nothing."""
    before = ""
    while before != text:
        before = text
        for name in names:
            kept = _kept_lines(text)
            edits: list[Edit] = [edit for edit in passes.edits(name, text) if edit.line not in kept]
            text = (passes.apply(name, text, [edit.id for edit in edits]) if edits else None) or text
    return text


def _kept_lines(text: str) -> set[int]:
    """The lines of what belongs to the file and not to the author: the main block."""
    guards = [each for each in ast.parse(text).body if isinstance(each, ast.If) and "__name__" in ast.dump(each.test)]
    return {line for each in guards for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}


def _brief(passes: PassesProcess, text: str) -> str:
    """The text in few lines: its head with the licence as it is, an empty line before each definition."""
    head, _ = _parted(text)
    _, code = _parted(_applied(passes, text, _TEXT))
    lines = code.split("\n")
    for node in reversed(ast.parse(code).body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.If)):
            lines.insert(_first_line(node) - 1, "")
    return head + "\n".join(lines).strip("\n") + "\n"


def _first_line(node: ast.stmt) -> int:
    """The line that a statement begins on, with its decorators."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _parted(text: str) -> tuple[str, str]:
    """The head (the block of TOML, the claim, the licence), and the code."""
    body = ast.parse(text).body
    lines = text.splitlines(keepends=True)
    first = _first_line(body[1])
    at = body[0].end_lineno or 0
    while at < first - 1 and (not lines[at].strip() or lines[at].startswith("#")):
        at += 1
    return "".join(lines[:at]), "".join(lines[at:])
