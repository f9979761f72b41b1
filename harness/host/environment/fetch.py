"""Files fetched from the network to this machine's cache, once: a fetch that broke goes on where it stopped."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import netrc
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from harness.host.environment import supplies
from harness.host.environment.wheels import CannotBring, File, local_path

_ATTEMPTS = 4
_ANSWER_S = 60.0
_PIECE_BYTES = 1 << 20
_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_PYTHON_INSTALL_MIRROR")


def size_of(file: File) -> int:
    """The number of bytes of a file, 0 if it is not known."""
    path = local_path(file.place)
    if path is not None or file.bytes:
        return file.bytes or (path.stat().st_size if path and path.exists() else 0)
    try:
        with urllib.request.urlopen(_request(file.place, 0, "HEAD"), timeout=_ANSWER_S) as answer:
            return int(answer.headers.get("Content-Length") or 0)
    except (OSError, ValueError):
        return 0


def fetch(cache: str, file: File, tell: Callable[[int], None]) -> tuple[File, Path]:
    """The file with its size and hash, and where it is here. `tell` takes bytes as they come. Raises CannotBring."""
    path = local_path(file.place)
    if path is not None:
        if not path.is_file():
            raise CannotBring(f"there is no file {path}")
        digest = supplies.hash_of(str(path))
        if file.sha256 and digest != file.sha256:
            raise CannotBring(f"{path} is not the file that was resolved: its hash differs")
        return File(file.name, file.place, path.stat().st_size, digest), path
    key = file.sha256 or _name_of(file.place)
    folder = Path(cache, "files", key)
    folder.mkdir(parents=True, exist_ok=True)
    whole, part = folder / file.name, folder / "part"
    with open(folder / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            _continue(file, part, tell)
            if file.sha256 and supplies.hash_of(str(part)) != file.sha256:
                part.unlink()
                raise CannotBring(f"{file.place} gave another file than the index lists: its hash differs")
            part.rename(whole)
        os.utime(folder)
    return File(file.name, file.place, whole.stat().st_size, file.sha256 or supplies.hash_of(str(whole))), whole


def _name_of(url: str) -> str:
    """The name under which a file without a known hash is kept."""
    return hashlib.sha256(url.encode()).hexdigest()


def _continue(file: File, part: Path, tell: Callable[[int], None]) -> None:
    """Fetch what the part does not have. Raises CannotBring, and OSError of this machine's disk."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _receive(file, part, tell)
            return
        except urllib.error.HTTPError as error:
            if error.code == 416:  # the part is longer than the file, or all of it
                part.unlink()
            why = f"{error.code} {error.reason}"
            if error.code in (401, 403, 404, 410):
                break
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            why = str(getattr(error, "reason", None) or error)
        if attempt < _ATTEMPTS:
            time.sleep(attempt)
    raise CannotBring(f"{_shown(file.place)} cannot be fetched: {why}")


def _receive(file: File, part: Path, tell: Callable[[int], None]) -> None:
    size = part.stat().st_size if part.exists() else 0
    if file.bytes and size == file.bytes:
        return
    with urllib.request.urlopen(_request(file.place, size), timeout=_ANSWER_S) as answer:
        with open(part, "ab" if answer.status == 206 else "wb") as out:
            tell(out.tell())
            while piece := answer.read(_PIECE_BYTES):
                out.write(piece)
                tell(len(piece))
            got, length = out.tell(), answer.headers.get("Content-Length")
    expected = file.bytes or (int(length) + size * (answer.status == 206) if length else got)
    if got < expected:
        raise ConnectionError(f"it ended after {got} of {expected} bytes")


def _request(url: str, start: int, method: str = "GET") -> urllib.request.Request:
    address = urlsplit(url)
    plain = address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
    request = urllib.request.Request(plain, method=method, headers={"User-Agent": "gpu-repro"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    login = _login(url)
    if login:
        request.add_header("Authorization", "Basic " + base64.b64encode(":".join(login).encode()).decode())
    return request


def _login(url: str) -> tuple[str, str] | None:
    """Name and password for a place: of its URL, of an index on the same machine, or of ~/.netrc."""
    host = urlsplit(url).hostname or ""
    for text in (url, *(os.environ.get(name, "") for name in _INDEXES)):
        for word in text.split():
            one = urlsplit(word.partition("=")[2] if "=" in word.partition("://")[0] else word)
            if one.hostname == host and one.username:
                return unquote(one.username), unquote(one.password or "")
    try:
        found = netrc.netrc().authenticators(host)
    except (OSError, netrc.NetrcParseError):
        found = None
    return (found[0], found[2] or "") if found else None


def _shown(url: str) -> str:
    """A URL without a password."""
    address = urlsplit(url)
    return address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
