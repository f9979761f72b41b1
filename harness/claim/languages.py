"""The files that can be repros: their suffixes, the mark that begins a comment in each, and where their block is.

A `.py` file is Python. A `.cu` file is CUDA C++, a program that prints, or kernels for the `run` of a Python file. A
`.ptx` file is PTX, whose block names the launch. In these two the block may also be in a comment of several lines:

    /*
     * /// script                    or the same without the stars
     * [tool.repro]
     * ///
     */
"""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.claim import CUDA, PTX, PYTHON, SUFFIXES

_OTHER_MARK = "//"
_COMMENT = re.compile(r"\s*(?://|/\*+|\*(?!/))\s*(.*?)\s*(?:\*/)?\s*$")
_INSIDE = re.compile(r"\s*\*?(?!/)\s*(.*?)\s*(?:\*/)?\s*$")  # a line of a comment that began above
_OPENED = re.compile(r"(?m)^(?P<mark>#|//) /// script[ \t]*$")
_OPENED_INSIDE = re.compile(r"(?m)^(?P<mark>[ \t]*(?:/\*+|\*)?[ \t]*)/// script[ \t]*$")
_STAR = re.compile(r"[ \t]*\*(?!/) ?")
_ENDED = re.compile(r"///[ \t]*(?:\*+/[ \t]*)?")
_TRITON = re.compile(r"triton(?![\w.-])", re.IGNORECASE)  # a requirement
_CHECK = re.compile(r"CHECK(?![A-Za-z0-9_])")


@dataclass(frozen=True, slots=True)
class Block:
    """A block: the line on which it opens, its lines without the marks of their comments, and how long each mark is."""

    line: int
    rows: tuple[str, ...]
    columns: tuple[int, ...]
    is_closed: bool = True

    @property
    def end(self) -> int:
        """Its last line, counted from 1."""
        return self.line + len(self.rows) + self.is_closed

    def place(self, row: int, column: int) -> tuple[int, int]:
        """Line and column of a place in the rows, all counted from 1."""
        return self.line + row, column + (self.columns[row - 1] if 0 < row <= len(self.columns) else 0)


def block(text: str) -> Block | None:
    """The first block of a text."""
    found = [opened for opened in (_OPENED.search(text), _opened_inside(text)) if opened]
    if not found:
        return None
    opened = min(found, key=lambda one: one.start())
    rows: list[str] = []
    columns: list[int] = []
    first = text.count("\n", 0, opened.start()) + 1
    mark = opened["mark"] if opened.re is _OPENED else ""
    is_wrong = False
    for line in text.split("\n")[first:]:
        if not line.startswith(mark):
            break
        column = min(len(mark) + 1, len(line)) if mark else _width_inside(line)
        is_wrong |= bool(mark) and line[len(mark) : column] not in ("", " ")
        if not is_wrong and (line[column:].rstrip() == "///" if mark else _ENDED.fullmatch(line[column:])):
            return Block(first, tuple(rows), tuple(columns))
        if not mark and "*/" in line:
            break
        rows.append(line[column:])
        columns.append(column)
    return Block(first, tuple(rows), tuple(columns), is_closed=False)


def _opened_inside(text: str) -> re.Match[str] | None:
    """A block that opens in a comment of several lines."""
    for opened in _OPENED_INSIDE.finditer(text):
        at = opened.start("mark") + len(opened["mark"])
        if text.rfind("/*", 0, at) > text.rfind("*/", 0, at):
            return opened
    return None


def _width_inside(line: str) -> int:
    star = _STAR.match(line)
    return star.end() if star else len(line) - len(line.lstrip())


def comment_mark(path: Path) -> str:
    """The mark that begins a comment of one line."""
    return _OTHER_MARK if path.suffix in (CUDA, PTX) else "#"


def shortfall(path: Path, needs: Iterable[str] = ()) -> str:
    """Why this machine cannot run a file of this kind that needs these packages, or ''. Compilers come with packages;
    the host compiler of nvcc and the headers of Python do not."""
    if path.suffix == CUDA and not shutil.which("g++"):
        return "needs g++, the host compiler of nvcc, which this machine does not have: apt-get install g++"
    if any(_TRITON.match(need) for need in needs) and not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "needs Python.h, for Triton's launcher, which this machine does not have: apt-get install python3-dev"
    return ""


def without_suffix(name: str) -> str:
    """A file's name as its goldens' folder has it: `x` of x.py, but `x.cu` of x.cu, as both may be in one folder."""
    return name.removesuffix(PYTHON)


def files_below(folder: Path) -> Iterator[Path]:
    """The files below a folder that may be repros, in the order of their paths."""
    return (file for file in sorted(folder.rglob("*")) if file.suffix in SUFFIXES and "goldens" not in file.parts)


def claim(source: Any) -> str:
    """The claim of a file that is not Python: the first line of its first comment after the block.

    `source` is repro_file.Source. Raises ReproError if there is no such comment before the first line of code.
    """
    line = source.block.end if source.block else 0
    inside = inside_comments(source.lines[:line])[-1]
    for text in source.lines[line:]:
        line += 1
        match = (_INSIDE if inside else _COMMENT).match(text)
        if match and match[1] and not _CHECK.match(match[1]):
            return re.split(r"\s+Source:", match[1])[0].strip()
        if text.strip() and not match:
            break
        inside = (inside or text.lstrip().startswith("/*")) and "*/" not in text
    fix = "write the claim as the first comment after the block: `// shfl.sync reads only inside its segment.`"
    return source.error(
        max(line, 1), 1, max(len(source.lines[line - 1].strip()), 1), "NO_CLAIM", "the file has no claim", fix
    )


def inside_comments(lines: list[str]) -> list[bool]:
    """Whether each line begins inside a comment of several lines; one more for the end of the text."""
    states = [False]
    for text in lines:
        inside = states[-1]
        for mark in re.findall(r"/\*|\*/" if inside else r"//.*|/\*|\*/|\"(?:\\.|[^\"\\])*\"", text):
            inside = mark == "/*" if mark in ("/*", "*/") else inside
        states.append(inside)
    return states
