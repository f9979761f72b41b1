"""The disk cache: compiled code found again by another process, by all that it was made from.

An entry is a separate file, named by the digest of its key, which holds a checksum: a torn or altered entry counts as
missing. Entries are written next to their place and renamed into it, so any number of processes may use a folder at
once without locks. Beyond its size the entries unused for longest go. A failure (a folder that is read-only, a full
disk) is reported once, and the process goes on without.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from dsl import environment_variables as variables, source_stamp
from dsl.core.errors import DSLWarning
from dsl.core.ir import bindings

MAGIC = b"DSLCACH1"
DIGEST_BYTES = 32
DEFAULT_MB = 512
ABANDONED_S = 3600  # after which a file half written has no writer any more
LOOK_S = 30  # in which processes that begin add to a folder that another has looked at
_TEMPORARY, _LOOKED_AT = ".new", "looked_at"
_PART, _ENTRY = re.compile("[0-9a-f]{2}"), re.compile(r"[0-9a-f]{62}(\..*)?")  # of a key's hash


def wanted() -> bool:
    """Whether the environment leaves the cache on: GPU_REPRO_CACHE=0 and upstream's CUTE_DSL_DISABLE_FILE_CACHING=1 do
    not."""
    if os.environ.get("CUTE_DSL_DISABLE_FILE_CACHING", "0") not in ("", "0"):
        return False
    return variables.value(variables.CACHE, "1") != "0"


def current() -> Cache | None:
    """The cache that the environment names now, or None where it is off."""
    if not wanted():
        return None
    return _at(folder(), _size_bytes())


def folder() -> str:
    """GPU_REPRO_CACHE_DIR, else `gpu-repro` in the user's cache folder (XDG Base Directory Specification)."""
    chosen = variables.value(variables.CACHE_DIR)
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "gpu-repro")


def _size_bytes() -> int:
    try:
        return int(float(variables.value(variables.CACHE_MB) or DEFAULT_MB) * (1 << 20))
    except ValueError:
        return DEFAULT_MB << 20


@functools.cache
def _at(folder: str, size_bytes: int) -> Cache:
    return Cache(folder, size_bytes)


class Cache:
    """Bytes by key in `folder`, of which at most `size_bytes` are kept."""

    def __init__(self, folder: str | os.PathLike, size_bytes: int = DEFAULT_MB << 20):
        self.folder, self.size_bytes = Path(folder), size_bytes
        self._broken = False  # reported, and not tried again
        self._room: int | None = None  # bytes this process may add before it looks what there is

    def path(self, key: bytes) -> Path:
        """The path of the entry of `key`."""
        name = hashlib.sha256(key).hexdigest()
        return self.folder / name[:2] / name[2:]

    def get(self, key: bytes) -> bytes | None:
        """The bytes that were put there, or None."""
        path = self.path(key)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._say(error)
            return None
        head = len(MAGIC) + DIGEST_BYTES
        body = data[head:]
        if data[:head] != MAGIC + _checksum(key, body):
            self._remove(path)
            return None
        try:
            os.utime(path)  # it was used now
        except OSError:
            pass
        return body

    def put(self, key: bytes, data: bytes) -> None:
        """Keep `data`; what was there under the key is replaced."""
        if self._broken:
            return
        path = self.path(key)
        entry = MAGIC + _checksum(key, data) + data
        if len(entry) > self.size_bytes:
            return
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}{_TEMPORARY}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(temporary, "xb") as file:
                    file.write(entry)
                os.replace(temporary, path)
            except BaseException:
                self._remove(temporary)
                raise
            self._make_room(len(entry))
        except OSError as error:
            self._say(error)
            self._broken = True

    def _make_room(self, added: int) -> None:
        """Look, when this process has added a sixteenth of the size since it last did, and drop the oldest.

        A process that has just begun, as each fork for a repro, leaves it where another looked a moment ago: there may
        be many files.
        """
        if self._room is None and self._was_looked_at():
            self._room = self.size_bytes // 16
        if self._room is not None:
            self._room -= added
            if self._room >= 0:
                return
        (self.folder / _LOOKED_AT).touch()
        entries, total = [], 0
        for path, status in self._files():
            if path.endswith(_TEMPORARY):
                if time.time() - status.st_mtime > ABANDONED_S:
                    self._remove(path)
                continue
            entries.append((status.st_mtime_ns, status.st_size, path))
            total += status.st_size
        if total > self.size_bytes:
            for _, size, path in sorted(entries):
                if total <= self.size_bytes * 3 // 4:
                    break
                self._remove(path)
                total -= size
        self._room = min(self.size_bytes - total, self.size_bytes // 16)

    def _was_looked_at(self) -> bool:
        try:
            return 0 <= time.time() - os.stat(self.folder / _LOOKED_AT).st_mtime < LOOK_S
        except OSError:
            return False

    def _files(self):
        """(path, status) of each file; other processes may take it away at any moment."""
        for file in entries(self.folder):
            try:
                yield file.path, file.stat()
            except FileNotFoundError:
                continue

    def _remove(self, path: str | os.PathLike) -> None:
        try:
            os.unlink(path)
        except OSError:
            pass

    def _say(self, error: OSError) -> None:
        if not self._broken:
            text = (
                f"compiled code is not cached: {self.folder}: {error.strerror or error}; GPU_REPRO_CACHE_DIR names "
                "another folder, GPU_REPRO_CACHE=0 turns the cache off"
            )
            warnings.warn_explicit(text, DSLWarning, "dsl", 1, registry=_said)


_said: dict = {}


def _checksum(key: bytes, body: bytes) -> bytes:
    return hashlib.sha256(len(key).to_bytes(8, "little") + key + body).digest()


def entries(folder: str | os.PathLike) -> list[os.DirEntry]:
    """The files of a cache in its folder, which may have files of others too."""
    parts = (each for each in _scan(folder) if _PART.fullmatch(each.name))
    return [file for part in parts for file in _scan(part.path) if _ENTRY.fullmatch(file.name)]


def _scan(folder: str | os.PathLike) -> list:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


# --- keys ----------------------------------------------------------------------------------------------------------


def key(*parts: Any) -> bytes:
    """One key of all that code was made from, this compiler's own version included."""
    texts = [toolchain(), *map(repr, parts)]
    return b"".join(len(data).to_bytes(8, "little") + data for data in (text.encode() for text in texts))


@functools.cache
def toolchain() -> str:
    """A digest of the compiler: the sources of its stages, the two LLVMs, Python and the type of machine."""
    here = Path(__file__).parents[1]
    compiler = here / "launch" / "call" / "compiling" / "compiler.py"
    sources = source_stamp.stamp(here / "lower", here / "core" / "ir" / "mlir.py", compiler, __file__)
    digest = hashlib.sha256(sources.encode())
    for package in (*bindings.PACKAGES, "llvmlite"):
        digest.update(f"{package}\0{_installed(package)}\0".encode())
    digest.update(f"{sys.version}\0{sys.platform}\0{os.uname().machine}".encode())
    return digest.hexdigest()


def _installed(package: str) -> list:
    """The version of an installed package from the names of its folders, and size and time of its libraries."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    folder = Path(list(spec.submodule_search_locations)[0])
    versions = sorted(
        entry.name
        for entry in _scan(folder.parent)
        if entry.name.startswith(f"{package}-") and entry.name.endswith(("-info", ".egg-info"))
    )
    libraries = [
        (file.name, file.stat().st_size, file.stat().st_mtime_ns)
        for inner in (folder, *map(Path, (entry.path for entry in _scan(folder) if entry.is_dir())))
        for file in _scan(inner)
        if ".so" in file.name
    ]
    return [versions, sorted(libraries)]


# --- several blobs in an entry ---------------------------------------------------------------------------------------


def pack(*blobs: bytes) -> bytes:
    """Blobs as one."""
    return b"".join(len(blob).to_bytes(8, "little") + blob for blob in blobs)


def unpack(data: bytes) -> list[bytes]:
    """What `pack` was given."""
    blobs, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        blobs.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return blobs
