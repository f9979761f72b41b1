"""Files that survive: whole writes, the append-only files of the record, texts kept by their hash. No numpy here.

`records/` holds one file for each run, `<utc-date>-<8 hex digits>.jsonl`, one JSON object a line. Nobody but that run
writes it, so checkouts merge as sets of files. `records/blobs/` holds PTX and SASS, named by the sha256 of the text.
Runs on the emulator write to `.repro/records/` below the project's root, runs on hardware to `records/` next to the
repro.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from harness import compiler_name

LOCAL = ".repro"  # below the project's root: what is this checkout's own, and ignored by git
BISECTIONS = "bisections"  # below LOCAL: the state and the result of each bisection
STALE_TEMPORARY_S = 86400.0
PATIENCE_S = 60.0  # for other processes that write
_DECODER = json.JSONDecoder()
_FILE_FOLDER = re.compile(r'^(\s*\.file\s+\d+\s+").*/', re.MULTILINE)
_SASS_NOISE = re.compile(r"/\*[0-9a-fx \t]*\*/|//.*$|^\s*\.(?:file|loc|section \.debug).*$", re.MULTILINE)


def now() -> str:
    """The time in UTC to the second, `2026-11-20T17:01:00Z`."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment() -> str:
    """The time in UTC to the microsecond, `2026-11-20T17:01:00.123456Z`: what records are ordered by."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def working_root() -> Path:
    """The root of the project of the working folder."""
    return root_of(Path.cwd() / "repros")


def root_of(path: Path) -> Path:
    """The project of a file: the nearest folder above it with pyproject.toml or .git, else the working folder."""
    for folder in path.resolve().parents:
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            return folder
    return Path.cwd()


def relative(path: Path, root: Path) -> str:
    """The path below the project's root, or its name where it lies elsewhere (never a private folder)."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.name


def inside(root: Path, name: str) -> Path | None:
    """The path of what a record calls so below the root; None where it leads out of it."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts or "\0" in name:
        return None
    path = root.joinpath(*parts)
    try:
        return path if path.resolve().is_relative_to(root.resolve()) else None
    except (OSError, RuntimeError):
        return None


def folder(case_path: Path, is_hardware: bool, root: Path) -> Path:
    """The folder that a record of this repro goes to."""
    return case_path.parent / "records" if is_hardware else root / LOCAL / "records"


def make_folder(path: Path) -> None:
    """Make a folder and the folders above it; what is below `.repro` is hidden from git."""
    path.mkdir(parents=True, exist_ok=True)
    for above in (path, *path.parents):
        if above.name == LOCAL and not (above / ".gitignore").exists():
            (above / ".gitignore").write_text("*\n")


def write_atomically(path: Path, data: bytes, sync: bool = True, by_way_of: Path | None = None) -> None:
    """Replace the file at `path` by one with `data`; a reader sees the old file or the new one. Raises OSError.

    It is written in the folder `by_way_of` first, where a process that is killed may leave it; None: next to `path`.
    """
    if by_way_of is not None:
        try:
            make_folder(by_way_of)
            return _write_and_move(by_way_of, path, data, sync)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
                raise
    _write_and_move(path.parent, path, data, sync)


def _write_and_move(folder: Path, path: Path, data: bytes, sync: bool) -> None:
    temporary = folder / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        try:
            _write_all(fd, data)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    if sync:
        sync_folder(path.parent)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        count = os.write(fd, view)
        if not count:
            raise OSError(errno.ENOSPC, "the disk took nothing")
        view = view[count:]


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def alone(root: Path, what: str) -> Iterator[None]:
    """Hold a lock of the project meanwhile, as one of its processes at a time. Raises OSError after a while.

    If no lock can be held, as on some network file systems, it goes on without.
    """
    try:
        make_folder(root / LOCAL)
        fd = os.open(root / LOCAL / f"{what}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        yield
        return
    try:
        _wait_for(fd, what)
        yield
    finally:
        os.close(fd)


def _wait_for(fd: int, what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                text = f"another process has been writing {what} for {PATIENCE_S:g} s"
                raise OSError(errno.ETIMEDOUT, text) from None
            time.sleep(0.005)
        except OSError:
            return


def sweep(directory: Path) -> None:
    """Remove what writers that died left in a folder a day ago or earlier."""
    end = datetime.datetime.now().timestamp() - STALE_TEMPORARY_S
    for path in directory.glob(".*.tmp"):
        try:
            if path.stat().st_mtime < end:
                path.unlink()
        except OSError:
            continue


# --- the record ------------------------------------------------------------------------------------------------------


class Run:
    """The records of one run: their ids, and the files that only this run writes."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(4)
        self.count = 0
        self._seen: set[Path] = set()

    def append(self, directory: Path, line: dict[str, Any]) -> dict[str, Any]:
        """Append one line by one write, and sync it; returns it with its `id`. On a full disk nothing of it stays.

        Raises OSError.
        """
        make_folder(directory)
        self.count += 1
        line = {**line, "run": self.id, "id": f"{self.id}-{self.count:04d}"}
        path = directory / f"{now()[:10]}-{self.id}.jsonl"
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(fd).st_size
            torn = size and os.pread(fd, 1, size - 1) != b"\n"
            data = (b"\n" if torn else b"") + (json.dumps(line, sort_keys=True) + "\n").encode()
            if os.write(fd, data) != len(data):
                os.ftruncate(fd, size)  # no other process writes this file
                raise OSError(errno.ENOSPC, "the disk took only part of a record", str(path))
            os.fsync(fd)
        finally:
            os.close(fd)
        if path not in self._seen:
            sync_folder(directory)
            self._seen.add(path)
        return line


def read_lines(path: Path, offset: int = 0) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    """(offset, length, object) of each line from `offset`; None for a line that is not an object.

    A last line without its newline may still be being written: if it is not an object it is not yielded.
    """
    with open(path, "rb") as file:
        file.seek(offset)
        for data in file:
            try:
                line = parsed(data)
            except (ValueError, RecursionError):
                line = None
            if line is None and not data.endswith(b"\n"):
                return
            if data.strip(b"\r\n"):
                yield offset, len(data), line
            offset += len(data)


def parsed(data: bytes) -> dict[str, Any]:
    """`json.loads` of a line that is an object, a tenth faster. Raises ValueError, RecursionError."""
    if data[:1] != b"{":  # also a byte order mark
        line = json.loads(data)
        if not isinstance(line, dict):
            raise ValueError("no object")
        return _of_today(line)
    text = data.decode("utf-8", "surrogatepass")
    line, end = _DECODER.raw_decode(text)
    if text[end:].strip(" \t\r\n"):
        raise ValueError("more than an object")
    return _of_today(line)


def _of_today(line: dict[str, Any]) -> dict[str, Any]:
    """The line with the compiler's name of today. If it has no id, it keeps the one that its own text gives."""
    now = compiler_name.in_table(line)
    return line if now is line else {"id": line_id(line)} | now


def line_id(line: dict[str, Any], data: bytes | None = None) -> str:
    """The id of a record; older ones have none, and are named by a hash of their text."""
    if isinstance(line.get("id"), str):
        return line["id"]
    return "x" + hashlib.sha256(data or json.dumps(line, sort_keys=True).encode()).hexdigest()[:11]


# --- texts by their hash ---------------------------------------------------------------------------------------------


def without_folders(ptx: str) -> str:
    """PTX whose `.file` lines name the author's file, wherever it lies: this is what `ptx_sha256` is the hash of."""
    return _FILE_FOLDER.sub(r"\1", ptx)


def normalised_sass(sass: str) -> str:
    """SASS without addresses, encodings, comments and lines of source, which change while the code does not."""
    lines = (" ".join(line.split()) for line in _SASS_NOISE.sub("", sass).splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def keep_text(directory: Path, name: str, text: str) -> None:
    """Keep a text as `blobs/NAME`, where NAME begins with its sha256. Raises OSError."""
    path, data = directory / "blobs" / name, text.encode()
    try:
        if path.stat().st_size == len(data):
            return
    except FileNotFoundError:
        make_folder(path.parent)
    write_atomically(path, data, sync=False)  # a torn one does not have the hash it is named by, and counts as absent


def kept_text(directories: list[Path], name: str) -> str | None:
    """A kept text, or None where none of these folders of records has it whole."""
    for directory in directories:
        try:
            data = (directory / "blobs" / name).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == name.partition(".")[0]:
            return data.decode("utf-8", "replace")
    return None


def record_folders(root: Path) -> list[Path]:
    """Every folder of records in a project: its own, and the folders next to repros."""
    folders = [root / LOCAL / "records"] if (root / LOCAL / "records").is_dir() else []
    return folders + [path for above in walk(root) if (path := above / "records").is_dir()]


def walk(root: Path) -> Iterator[Path]:
    """A folder and those below it where repros may lie: no hidden ones, goldens, records or installed packages."""
    todo = [root]
    while todo:
        above = todo.pop()
        yield above
        try:
            entries = [entry for entry in os.scandir(above) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        for entry in entries:
            if entry.name[0] not in "._" and entry.name not in ("goldens", "node_modules", "records"):
                if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    todo.append(Path(entry.path))


def answer_sha256(data: bytes) -> str | None:
    """The hash of a golden's answer, not of who made it and how sure it is; None if it cannot be read."""
    try:
        table = json.loads(data)
        said = {key: table[key] for key in table if key not in ("provenance", "validated", "evidence")}
        for name, one in said.get("outputs", {}).items():
            said["outputs"][name] = {key: one[key] for key in one if key not in ("arithmetic", "through")}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
