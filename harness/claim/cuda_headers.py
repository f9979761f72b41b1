"""The author's own CUDA C++ for a file: headers that a .cu file includes in quotes, and the kernels of a Python file
whose block has `source = "kernels.cu"` and whose `run(ptx)` gets their PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from harness.claim import languages, printed_claim

SOURCE, OPTIONS = "source", "nvcc"
GIVEN = "ptx"  # the first parameter of run()
MOST_HEADERS = 500
MOST_BYTES = 16 << 20
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)


@dataclass(frozen=True)
class Kernels:
    """A .cu file of kernels, and options for its compiler."""

    path: Path
    text: str
    options: tuple[str, ...] = ()

    def job(self) -> dict[str, Any]:
        """All that is needed to compile them, as JSON."""
        headers = of(self.path, self.text)
        return {"path": str(self.path), "text": self.text, "headers": headers, "options": self.options}


def kernels(source: Any, table: dict[str, Any]) -> Kernels | None:
    """The kernels that a Python file names, None if it names none. Raises ReproError."""
    name = table.get(SOURCE)
    if name is None:
        return None
    if GIVEN in table.get("params", {}):
        source.key_error(GIVEN, "BAD_PARAMS", "is what run() gets of `source`", "give the parameter another name")
    fix = 'write the name of a CUDA C++ file in the folder of this file: source = "kernels.cu"'
    if not isinstance(name, str) or PurePath(name).suffix != languages.CUDA:
        source.key_error(SOURCE, "BAD_SOURCE", f"is {name!r}", fix)
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        source.key_error(SOURCE, "BAD_SOURCE", f"is {name!r}, which is not below the folder of this file", fix)
    path = source.path.parent / name
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        source.key_error(SOURCE, "BAD_SOURCE", f"is {name!r}, which cannot be read: {why}", fix)
    if block := languages.block(text):
        message = f"is {name!r}, which has a block at line {block.line} too"
        source.key_error(SOURCE, "BAD_SOURCE", message, "keep the block of one of the two files")
    return Kernels(path, text, printed_claim.strings(source, table, OPTIONS, '["-std=c++20"]'))


def of(file: Path, text: str) -> dict[str, tuple[str, str]]:
    """Name below the file's folder -> path, text. A header in a folder above is left to nvcc, which then misses it."""
    top = file.parent
    found: dict[str, tuple[str, str]] = {}
    todo, size = [(top, text)], 0
    while todo and len(found) < MOST_HEADERS and size < MOST_BYTES:
        folder, text = todo.pop()
        for name in _INCLUDE.findall(text):
            path = _path(folder / name, top / name, top)
            if path is None or path.relative_to(top).as_posix() in found:
                continue
            try:
                header = path.read_text()
            except (OSError, UnicodeDecodeError):
                continue
            found[path.relative_to(top).as_posix()] = (str(path), header)
            size += len(header)
            todo.append((path.parent, header))
    return found


def _path(near: Path, from_top: Path, top: Path) -> Path | None:
    """The header as it is included from a header's folder, or from the folder of the program."""
    for path in (near, from_top):
        if path.is_file() and ".." not in path.parts and path.is_relative_to(top):
            return path
    return None
