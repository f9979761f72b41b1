"""Files for a host without internet: under their hashes, in pieces, and how much of them it has.

    files/<sha256>/<name>        whole: its hash was checked
    files/<sha256>/part          what came so far; the next connection goes on after it
    pythons/<sha256>/            an archive with an interpreter, unpacked

Runs on the host, next to `agent.py`; on this machine it keeps what was fetched. Standard library only, and Python 3.8.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from typing import Any
from urllib.parse import quote

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+!-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RUN_S = 60.0


class Refused(Exception):
    """The host cannot do it; the text names the reason and what to do."""


class Unreachable(Refused):
    """The host has no way to a package index; another machine can bring what it needs."""


def path_of(cache: str, sha256: str, name: str) -> str:
    """The path of a file once it is whole. Raises Refused for a name that is not valid."""
    if not _NAME.fullmatch(name) or not _SHA256.fullmatch(sha256):
        raise Refused("no file is called %r with the hash %r" % (name, sha256))
    return os.path.join(cache, "files", sha256, name)


def stored(cache: str, files: list) -> list[int]:
    """How many bytes of each (hash, name) are here; all of them, where it is whole."""
    sizes = []
    for sha256, name in files:
        path = path_of(cache, sha256, name)
        part = os.path.join(os.path.dirname(path), "part")
        sizes.append(next((os.stat(one).st_size for one in (path, part) if os.path.exists(one)), 0))
    return sizes


def append(cache: str, sha256: str, name: str, offset: int, total: int, data: Any) -> int:
    """Append a piece to what is here, and return how many bytes are here now.

    A piece for another place is not taken: somebody else brings the same file. Raises Refused, OSError.
    """
    path = path_of(cache, sha256, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = os.path.join(os.path.dirname(path), "part")
    fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.exists(path):
            return total
        size = os.fstat(fd).st_size
        if offset == size:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            size = os.fstat(fd).st_size
        if size >= total:
            _finish(part, path, sha256)
        return size
    finally:
        os.close(fd)


def _finish(part: str, path: str, sha256: str) -> None:
    """Give the whole file its name, or take it away where its hash differs."""
    if hash_of(part) != sha256:
        os.unlink(part)
        raise Refused("the transfer of %s is damaged: its hash differs" % os.path.basename(path))
    os.rename(part, path)


def hash_of(path: str) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def prune(cache: str, unused_s: float) -> None:
    """Remove files that nobody used for `unused_s`, and interpreters that no environment has."""
    envs = os.path.join(cache, "envs")
    names = os.listdir(envs) if os.path.isdir(envs) else []
    in_use = [os.path.realpath(os.path.join(envs, name, "bin", "python")) for name in names]
    for kind in ("files", "pythons"):
        top = os.path.realpath(os.path.join(cache, kind))
        for name in os.listdir(top) if os.path.isdir(top) else ():
            path = os.path.join(top, name)
            is_old = time.time() - os.stat(path).st_mtime >= unused_s
            if is_old and not any(python.startswith(path + os.sep) for python in in_use):
                shutil.rmtree(path, ignore_errors=True)


def use(cache: str, sha256: str, name: str) -> str:
    """The path of a file that is here, which counts as used from now on. Raises Refused."""
    path = path_of(cache, sha256, name)
    if not os.path.exists(path):
        raise Refused("%s was not copied to this host" % name)
    os.utime(os.path.dirname(path))
    return path


def unpack_python(cache: str, sha256: str, name: str) -> str:
    """The interpreter of an archive, which is unpacked once. Raises Refused, OSError."""
    archive = use(cache, sha256, name)
    top = os.path.join(cache, "pythons")
    whole, part = os.path.join(top, sha256), os.path.join(top, "%s.part.%d" % (sha256, os.getpid()))
    os.makedirs(top, exist_ok=True)
    try:
        if not os.path.isdir(whole):
            _extract(archive, part)
            _check_runs(_interpreter(part), name)
            os.rename(part, whole)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    os.utime(whole)
    return _interpreter(whole)


def _extract(archive: str, folder: str) -> None:
    try:
        with tarfile.open(archive) as file:
            if hasattr(tarfile, "data_filter"):
                file.extractall(folder, filter="tar")
            else:
                file.extractall(folder)
    except (tarfile.TarError, EOFError) as error:
        raise Refused("%s is not an archive: %s" % (os.path.basename(archive), error)) from None


def _interpreter(folder: str) -> str:
    """bin/python3 of the archive, or of its one folder."""
    for place in (folder, *(os.path.join(folder, name) for name in sorted(os.listdir(folder)))):
        path = os.path.join(place, "bin", "python3")
        if os.access(path, os.X_OK):
            return path
    raise Refused("the archive has no bin/python3")


def _check_runs(path: str, name: str) -> None:
    try:
        done = subprocess.run(
            [path, "-I", "-c", "import ssl, sys, venv"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=_RUN_S,
        )  # fmt: skip
        said = done.stdout.decode("utf-8", "replace").strip()[-300:] if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if said:
        raise Refused("the Python of %s does not run on this host: %s" % (name, said))


def install_list(cache: str, wheels: list) -> str:
    """Requirements for uv that name the files of these (hash, name), each once."""
    lines = []
    for sha256, name in wheels:
        lines.append("%s @ file://%s" % (name.split("-")[0], quote(use(cache, sha256, name))))
    return "\n".join(lines) + "\n"


def libc() -> str:
    """`glibc 2.35`, or '' for another C library."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def find_python(uv: str | None, wanted: str, variables: dict) -> tuple[str, str]:
    """Path and version of an interpreter here that fits `>=3.11`, or two empty texts. Nothing is downloaded."""
    known = dict(os.environ, **variables)
    if uv is None:
        found = [shutil.which("python3.%d" % minor, path=known.get("PATH")) for minor in range(15, 10, -1)]
        paths = [sys.executable, *filter(None, found)]
    else:
        paths = [_said([uv, "python", "find", "--no-project", "--offline", "--no-python-downloads", wanted], known)]
    for path in filter(None, paths):
        version = _said([path, "-I", "-c", "import platform; print(platform.python_version())"], None)
        if version and (uv or fits(version, wanted)):
            return path, version
    return "", ""


def fits(version: str, wanted: str) -> bool:
    """Whether `3.11.7` is what `>=3.11,<3.13` asks for; what is not understood fits nothing."""
    for clause in wanted.split(","):
        found = re.match(r"\s*(>=|<=|==|!=|~=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?\s*$", clause)
        if not found or not re.match(r"\d+(\.\d+)*$", version):
            return False
        way, text, star = found.groups()
        asked = [int(part) for part in text.split(".")]
        ours = [int(part) for part in version.split(".")]
        start = ours[: len(asked)]
        ours += [0] * (len(asked) - len(ours))
        asked += [0] * (len(ours) - len(asked))
        same = start == asked[: len(start)] if star else ours == asked
        holds = {
            ">=": ours >= asked, "<=": ours <= asked, ">": ours > asked, "<": ours < asked, "==": same, "!=": not same,
            "~=": ours >= asked and ours[: text.count(".")] == asked[: text.count(".")],
        }  # fmt: skip
        if not holds[way]:
            return False
    return True


def _said(argv: list, variables: Any) -> str:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_RUN_S,
            env=variables,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
