"""The file of `repro run --coverage`: lines and branches of device code, as the package `coverage` keeps them.

A runner tells which statements ran and which way each branch went. The possible steps between lines come from the
installed package, so that its reports agree with what is written here.
"""

from __future__ import annotations

import ast
import importlib.util
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.errors import UsageError

Lines = Mapping[str, Sequence[int]]  # "ran": lines; "true" and "false": lines of branches that went that way
HELP = "write which lines and branches of device code ran, as a file for `coverage combine` and `coverage html`"


class CoverageFile:
    """The lines that the cases of a run reached, and their file. Raises UsageError without the package."""

    def __init__(self, path: Path) -> None:
        if importlib.util.find_spec("coverage") is None:
            raise UsageError(
                "--coverage needs the package coverage, which is not installed\n"
                "fix: pip install coverage    (or uv add --dev coverage)"
            )
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UsageError(f"--coverage {path} must be a file in a folder that exists")
        self.path, self._reached = path, {}

    def add(self, reached: Mapping[str, Lines]) -> None:
        """Add what one case reached, by file. Texts that were executed or piped in are left out."""
        for file, lines in reached.items():
            if not Path(file).is_file():
                continue
            for what, numbers in lines.items():
                self._reached.setdefault(file, {}).setdefault(what, set()).update(numbers)

    def write(self) -> str:
        """Write the file; returns why not, or an empty text."""
        from coverage import CoverageData
        from coverage.exceptions import CoverageException

        if not self._reached:
            return f"no function of CuTe DSL, Quadrants or TIRx was compiled, so {self.path} is not written"
        try:
            data = CoverageData(basename=str(self.path))
            data.erase()
            steps = {}
            for file, lines in self._reached.items():
                with tokenize.open(file) as opened:
                    steps[file] = executed_steps(opened.read(), file, lines)
            data.add_arcs(steps)
            data.write()
        except (OSError, SyntaxError, CoverageException) as error:
            return f"{self.path} could not be written: {error}"
        return ""


def executed_steps(text: str, file: str, lines: Lines) -> set[tuple[int, int]]:
    """The steps from line to line that ran, of those that the package `coverage` finds in a text; the end of a
    function is its first line, negative."""
    from coverage.parser import PythonParser

    parser = PythonParser(text=text, filename=file)
    parser.parse_source()
    ran, held, failed = (parser.first_lines(lines.get(what, ())) for what in ("ran", "true", "false"))
    inside = {parser.first_line(line): parser.first_line(first) for line, first in _branches(ast.parse(text, file))}
    ways: dict[int, set[int]] = defaultdict(set)
    for start, end in parser.arcs():
        ways[start].add(end)
    steps = set()
    for start, ends in ways.items():
        if start in ran and len(ends) == 1:
            steps |= {(start, end) for end in ends}
        elif start in ran and start in inside:
            steps |= {(start, end) for end in ends if start in (held if end == inside[start] else failed)}
        elif start in ran:  # a `with`
            steps |= {(start, end) for end in ends if end < 0 or end in ran}
    return steps


def _branches(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """The line of each branch and the line to which it goes if its test holds."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.For)):
            yield node.lineno, node.body[0].lineno
        elif isinstance(node, ast.match_case):
            yield node.pattern.lineno, node.body[0].lineno
