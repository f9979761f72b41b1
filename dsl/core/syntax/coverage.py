"""Coverage: which statements of an author's program ran, and which way its branches went.

A note, `__dsl__.covered(number)`, comes before each run of simple statements, into each arm of a branch (also into an
`else` that the author did not write) and after each loop. A note that compiled code reaches sets a byte. The notes of
code that Python runs are calls of a builtin. Nothing is added while no coverage is recorded.
"""

from __future__ import annotations

import ast
import builtins
import copy
import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field

from dsl.core.errors import DSLUserCodeRuntimeError
from dsl.core.syntax.early_exits import breaks, put_at

MOST_NOTES = 1 << 20
RAN, TRUE, FALSE = "ran", "true", "false"  # a statement; a test that held, or a loop that had a trip; one that did not
_STRAIGHT = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Pass)  # the next statement runs after these
Fact = tuple[str, int, str]  # file, line, what
_IN_PYTHON = "__covered__"  # a name of `builtins`


@dataclass
class Record:
    """The notes of a process by number: the facts that each is evidence of, and a byte that compiled code sets."""

    facts: list[Sequence[Fact]] = field(default_factory=list)
    size_bytes: int = MOST_NOTES
    _memory: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, MOST_NOTES))

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def add(self, facts: Sequence[Fact]) -> int:
        """The number of a new note."""
        if len(self.facts) == MOST_NOTES:
            raise DSLUserCodeRuntimeError(
                f"the program has more than {MOST_NOTES} statements to follow", fix="run it without --coverage"
            )
        self.facts.append(facts)
        return len(self.facts) - 1

    def reach(self, number: int) -> None:
        """Set the byte of a note."""
        self._memory[number] = 1

    def reached(self) -> dict[str, dict[str, list[int]]]:
        """The lines of each file by what was seen: {"a.py": {"ran": [3, 4], "true": [3], "false": []}}."""
        seen: dict[str, dict[str, set[int]]] = {}
        for number, facts in enumerate(self.facts):
            for file, line, what in facts:
                lines = seen.setdefault(file, {RAN: set(), TRUE: set(), FALSE: set()})
                if self._memory[number]:
                    lines[what].add(line)
        return {file: {what: sorted(lines) for what, lines in table.items()} for file, table in seen.items()}


_record: Record | None = None


def begin() -> Record:
    """Record the coverage of functions that are rewritten from now on, for as long as the process lives."""
    global _record
    _record = Record()
    return _record


def current() -> Record | None:
    """The record of this process, None without one."""
    return _record


def with_notes(definition: ast.FunctionDef | ast.Lambda, file: str) -> ast.FunctionDef | ast.Lambda:
    """`definition`, a copy that nothing else uses, with notes if coverage is recorded."""
    if _record is not None and isinstance(definition, ast.FunctionDef):
        covered = ast.Attribute(ast.Name("__dsl__", ast.Load()), "covered", ast.Load())
        definition.body = _Notes(_record, file, covered).block(definition.body, definition)
    return definition


def program_with_notes(source: str, file: str) -> ast.Module | str:
    """A program with notes, for Python to compile; the text itself if it is not Python."""
    assert _record is not None
    try:
        tree = ast.parse(source, file)
    except (SyntaxError, ValueError):
        return source
    setattr(builtins, _IN_PYTHON, _record.reach)
    tree.body = _Notes(_record, file, ast.Name(_IN_PYTHON, ast.Load())).block(tree.body, tree)
    return ast.fix_missing_locations(tree)


class _Notes:
    def __init__(self, record: Record, file: str, covered: ast.expr):
        self.record, self.file, self.covered = record, file, covered

    def _note(self, place: ast.stmt, facts: Sequence[tuple[int, str]]) -> ast.stmt:
        number = self.record.add([(self.file, line, what) for line, what in facts])
        start = ast.Pass(
            lineno=place.lineno,
            col_offset=place.col_offset,
            end_lineno=place.lineno,
            end_col_offset=place.col_offset + 1,
        )
        return put_at(ast.Expr(ast.Call(copy.copy(self.covered), [ast.Constant(number)], [])), start)

    def block(self, statements: list[ast.stmt], owner: ast.AST, *entered: tuple[int, str]) -> list[ast.stmt]:
        """Statements with notes; the first note is evidence of `entered`, too."""
        result: list[ast.stmt] = []
        rest = list(statements)
        has_text = isinstance(owner, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        while rest and ((has_text and not result and _is_text(rest[0])) or _is_first(rest[0])):
            result.append(rest.pop(0))
        while rest:
            count = next((at for at, one in enumerate(rest, 1) if not isinstance(one, _STRAIGHT)), len(rest))
            run, rest = rest[:count], rest[count:]
            if not (isinstance(run[0], (ast.Global, ast.Nonlocal)) and not entered):
                result.append(self._note(run[0], [*entered, *((one.lineno, RAN) for one in run)]))
                entered = ()
            result += run[:-1]
            result += self._inside(run[-1])
        return result

    def _inside(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statement with notes in its blocks, and a note after it."""
        line = statement.lineno
        match statement:
            case ast.If():
                statement.body = self.block(statement.body, statement, (line, TRUE))
                statement.orelse = self._other(statement)
            case ast.For() | ast.AsyncFor() | ast.While():
                statement.body = self.block(statement.body, statement, (line, TRUE))
                if not statement.orelse and not breaks(statement.body):
                    return [statement, self._note(statement, [(line, FALSE)])]
                if not statement.orelse:
                    vars(statement)["is_ours"] = True  # the `else`
                statement.orelse = self._other(statement)
            case ast.With() | ast.AsyncWith() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                statement.body = self.block(statement.body, statement)
            case ast.Try() | ast.TryStar():
                for name in ("body", "orelse", "finalbody"):
                    setattr(statement, name, self.block(getattr(statement, name), statement))
                for handler in statement.handlers:
                    handler.body = self.block(handler.body, statement)
            case ast.Match():
                self._cases(statement)
        return [statement]

    def _other(self, statement: ast.If | ast.For | ast.AsyncFor | ast.While) -> list[ast.stmt]:
        false = statement.lineno, FALSE
        if statement.orelse:
            return self.block(statement.orelse, statement, false)
        return [self._note(statement, [false])]

    def _cases(self, statement: ast.Match) -> None:
        """Each `case` that is not taken is false."""
        before: list[tuple[int, str]] = []
        for case in statement.cases:
            line = case.pattern.lineno
            case.body = self.block(case.body, statement, *before, (line, RAN), (line, TRUE))
            before += [(line, RAN), (line, FALSE)]
        last = statement.cases[-1]
        if not (isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None):
            statement.cases.append(ast.match_case(ast.MatchAs(), None, [self._note(statement, before)]))


def _is_first(statement: ast.stmt) -> bool:
    """Whether nothing may come before a statement."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
