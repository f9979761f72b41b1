"""The author's own headers of a .cu file: those that it includes in quotes, from its folder."""

from __future__ import annotations

import re
from pathlib import Path

MOST_HEADERS = 500
MOST_BYTES = 16 << 20
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)


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
