"""The files that can be repros: their suffixes, and the mark that begins a comment in each.

A `.py` file is Python. A `.cu` file is CUDA C++, a program that prints. A `.ptx` file is PTX, whose block names the
launch.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYTHON, CUDA, PTX = ".py", ".cu", ".ptx"
SUFFIXES = (PYTHON, CUDA, PTX)
_OTHER_MARK = "//"
_COMMENT = re.compile(r"\s*(?://|/\*+|\*)\s*(.*?)\s*(?:\*/)?\s*$")
_CHECK = re.compile(r"CHECK(?![A-Za-z0-9_])")


def comment_mark(path: Path) -> str:
    """The mark that begins a comment of one line."""
    return _OTHER_MARK if path.suffix in (CUDA, PTX) else "#"


def shortfall(path: Path) -> str:
    """Why this machine cannot run a file of this kind, or ''. nvcc comes with packages; its host compiler does not."""
    if path.suffix != CUDA or shutil.which("g++"):
        return ""
    return "needs g++, the host compiler of nvcc, which this machine does not have: apt-get install g++"


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
    line = source.block_line + source.block.count("\n") + 1 if source.block else 0
    for text in source.lines[line:]:
        line += 1
        match = _COMMENT.match(text)
        if match and match[1] and not _CHECK.match(match[1]):
            return re.split(r"\s+Source:", match[1])[0].strip()
        if text.strip() and not match:
            break
    fix = "write the claim as the first comment after the block: `// shfl.sync reads only inside its segment.`"
    return source.error(
        max(line, 1), 1, max(len(source.lines[line - 1].strip()), 1), "NO_CLAIM", "the file has no claim", fix
    )
