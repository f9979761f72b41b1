"""The files that a repro's result depends on, and waiting until one of them is saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from harness.claim import cuda_headers, languages, script_file

_MOST_FILES = 500
_QUIET_MS = 20  # an editor's writes and renames that follow each other so soon are one
_AT_MOST_MS = 200
Stamp = dict[Path, tuple[int, int, int] | None]


def of(path: Path) -> list[Path]:
    """The file, and the author's headers or modules that it uses from its folder, also those that may yet appear."""
    if path.suffix == languages.CUDA:
        return [path, *(Path(header) for header, _ in cuda_headers.of(path, _text(path)).values())]
    found = {path: None} | dict.fromkeys(_kernels(path))
    todo = [(path, "")]
    while todo and len(found) < _MOST_FILES:
        file, package = todo.pop()
        for module in script_file.imported(_text(file), package):
            base = path.parent.joinpath(*module.split("."))
            for at, package_of_it in (
                (base.with_suffix(".py"), module.rpartition(".")[0]),
                (base / "__init__.py", module),
            ):
                if at not in found and at.parent.is_dir():
                    found[at] = None
                    todo.append((at, package_of_it))
    return [*found]


def _kernels(path: Path) -> list[Path]:
    """The CUDA C++ that a Python file names as its kernels, with its headers."""
    block = languages.block(_text(path))
    named = re.search(r"(?m)^source\s*=\s*[\"']([\w./-]+)[\"']", "\n".join(block.rows)) if block else None
    return of(path.parent / named[1]) if named and named[1].endswith(languages.CUDA) else []


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""  # it may yet appear


def stamp(files: Iterable[Path], goldens: Path) -> Stamp:
    """Marks of a saved file or golden: its inode, time and size; None for a file that does not exist."""
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
        from watchfiles import watch  # noqa: PLC0415

        self._folders = folders
        self._changes = watch(
            *folders, watch_filter=None, debounce=_AT_MOST_MS, step=_QUIET_MS, recursive=False, rust_timeout=100,
            yield_on_timeout=True,
        )  # fmt: skip
        next(self._changes)

    def wait(self, is_other: Callable[[], bool]) -> None:
        """Return when files have changed. Raises KeyboardInterrupt."""
        while not is_other():
            next(self._changes)
