"""The files that a repro's result depends on, and waiting until one of them is saved."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_MOST_FILES = 500
_QUIET_MS = 20  # an editor's writes and renames that follow each other so soon are one
_AT_MOST_MS = 200
Stamp = dict[Path, tuple[int, int, int] | None]


def of(path: Path) -> list[Path]:
    """The file, and the author's modules that it imports from its folder; also where such a module may yet appear."""
    found = {path: None}
    todo = [path]
    while todo and len(found) < _MOST_FILES:
        for module in _imported(todo.pop()):
            base = path.parent.joinpath(*module.split("."))
            for file in (base.with_suffix(".py"), base / "__init__.py"):
                if file not in found and file.parent.is_dir():
                    found[file] = None
                    todo.append(file)
    return [*found]


def _imported(path: Path) -> Iterator[str]:
    """Every name of a module that a file may import, with the packages above it."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        for name in filter(None, names):
            parts = name.split(".")
            yield from (".".join(parts[: count + 1]) for count in range(len(parts)))


def stamp(files: Iterable[Path], goldens: Path) -> Stamp:
    """What says that a file or a golden was saved: its inode, time and size; None of one that is not there."""
    found: Stamp = {}
    kept = goldens.iterdir() if goldens.is_dir() else ()
    for file in (*files, *kept):
        try:
            about = file.stat()
            found[file] = about.st_ino, about.st_mtime_ns, about.st_size
        except OSError:
            found[file] = None
    return found


class Watcher:
    """Waits for saves. The folders of the files are watched, for many editors write another file and rename it."""

    def __init__(self) -> None:
        self._folders: set[Path] = set()
        self._changes: Iterator[object] = iter(())

    def begin(self, files: Iterable[Path], goldens: Path) -> None:
        """Watch the folders of these files from now on; before they are read, so that no save is missed."""
        folders = {file.parent for file in files} | {goldens, goldens.parent}
        folders = {folder for folder in folders if folder.is_dir()}
        if folders == self._folders:
            return
        from watchfiles import watch

        self._folders = folders
        self._changes = watch(
            *folders, watch_filter=None, debounce=_AT_MOST_MS, step=_QUIET_MS, recursive=False, rust_timeout=100,
            yield_on_timeout=True,
        )  # fmt: skip
        next(self._changes)

    def wait(self, is_other: Callable[[], bool]) -> None:
        """Return when files are other than they were. Raises KeyboardInterrupt."""
        while not is_other():
            next(self._changes)
