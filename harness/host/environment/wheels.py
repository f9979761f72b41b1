"""The wheels and the interpreter of an environment on another machine, chosen here by uv: name, hash, size, place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from harness.host.environment import local_uv, own_wheel, supplies

_GLIBC = (17, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40)  # 2.x for which uv knows a platform
_RESOLVE_S = 300.0
_SAID = 3000


class CannotBring(Exception):
    """A file that a host needs cannot be had here; the text names it and what to do."""


@dataclass(frozen=True)
class File:
    """A file to bring: where it is (a URL or a path), and its size and hash where they are known."""

    name: str
    place: str
    bytes: int = 0
    sha256: str = ""


def uv_program() -> Path:
    try:
        return local_uv.program()
    except local_uv.NoUv as error:
        raise CannotBring(f"this machine must have uv too: {error}") from None


def platform_of(machine: str, libc: str) -> str:
    """uv's name of a host's platform: `x86_64-manylinux_2_35`. Raises CannotBring."""
    found = re.fullmatch(r"glibc 2\.(\d+)", libc)
    fits = [minor for minor in _GLIBC if found and minor <= int(found[1])]
    if machine not in ("x86_64", "aarch64") or not fits:
        raise CannotBring(f"its system is {machine} with {libc or 'a C library other than glibc'}: there are no wheels")
    return f"{machine}-manylinux_2_{fits[-1]}"


def resolve(requires: Sequence[str], platform: str, python: str, index: str | None) -> list[File]:
    """The wheels of these requirements for a platform and a Python, `3.12.4`. Raises CannotBring."""
    if index == "auto":
        raise CannotBring(
            'torch_index = "auto" looks at the GPU of the machine that fetches, which is this one\n'
            'fix: name the backend, as in torch_index = "cu126"'
        )
    argv = [str(uv_program()), "pip", "compile", "-", "--no-header", "--quiet"]
    argv += ["--python-platform", platform, "--python-version", python, "--only-binary", ":all:"]
    argv += [] if not index else ["--index", index] if "://" in index else ["--torch-backend", index]
    argv += ["--format", "pylock.toml"]
    said = _ask(argv, "\n".join(requires) + "\n", "uv found no wheels for it")
    chosen = [_smallest(one) for one in tomllib.loads(said).get("packages", ())]
    there = {file.name.partition("-")[0].lower() for file in chosen}
    for need in requires:
        if ";" not in need and re.sub(r"[-_.]+", "_", own_wheel.name_of(need)) not in there:
            raise CannotBring(f"uv found no wheels for it: {need} has none for Python {python} on {platform}")
    return sorted(chosen, key=lambda file: file.name)


def _ask(argv: list[str], text: str, failure: str) -> str:
    """Run uv and return what it prints. Raises CannotBring."""
    environment = {**os.environ, "NO_COLOR": "1"}
    environment.pop("VIRTUAL_ENV", None)
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=_RESOLVE_S, env=environment)
    except subprocess.TimeoutExpired:
        raise CannotBring(f"{failure}: it took more than {_RESOLVE_S:g} s") from None
    if done.returncode != 0:
        raise CannotBring(f"{failure}:\n{done.stderr.strip()[-_SAID:]}")
    return done.stdout


def _smallest(package: dict[str, Any]) -> File:
    """One of the wheels that uv lists: all of them fit the platform. Raises CannotBring."""
    wheels = package.get("wheels", ())
    if not wheels:
        what = "a source archive" if "sdist" in package else "a folder or a repository"
        raise CannotBring(f"{package['name']} is {what} and no wheel: a host without internet builds none")
    wheel = min(wheels, key=lambda one: one.get("size", 0))
    place = wheel.get("url") or str(Path(wheel["path"]).absolute())
    path = local_path(place)
    size = wheel.get("size") or (path.stat().st_size if path else 0)
    name = wheel.get("name") or unquote(urlsplit(place).path.rpartition("/")[2])
    return File(name, place, size, wheel["hashes"].get("sha256", ""))


def local_path(place: str) -> Path | None:
    """The path of a place on this machine."""
    if place.startswith("file://"):
        return Path(unquote(urlsplit(place).path))
    return None if "://" in place else Path(place)


def interpreter(archive: str | None, wanted: str, machine: str) -> tuple[File, str]:
    """An archive with a Python for a host that has none that is `wanted`, and its version. Raises CannotBring.

    `archive` is a path or a URL; without one it is what uv would install, from UV_PYTHON_INSTALL_MIRROR where set.
    """
    if archive:
        path = local_path(os.path.expanduser(archive))
        return File(unquote(archive.rpartition("/")[2]), os.path.expanduser(archive)), _version_in(path, archive)
    argv = [str(uv_program()), "python", "list", "--only-downloads", "--all-arches", "--output-format", "json", wanted]
    rows = json.loads(_ask(argv, "", f"uv knows no Python {wanted}"))
    fits = [
        row for row in rows
        if (row["implementation"], row["variant"], row["os"]) == ("cpython", "default", "linux")
        and row["arch"] == machine and row["libc"] == "gnu" and re.fullmatch(r"[\d.]+", row["version"])
    ]  # fmt: skip
    if not fits:
        raise CannotBring(f"uv knows no Python {wanted} for {machine}\nfix: name one by `python_archive`")
    here = sys.version_info[:2]
    row = max(fits, key=lambda one: (_numbers(one["version"])[:2] == here, _numbers(one["version"])))
    url, mirror = row["url"], os.environ.get("UV_PYTHON_INSTALL_MIRROR")
    if mirror:
        url = "/".join([mirror.rstrip("/"), *url.split("/")[-2:]])
    return File(unquote(url.rpartition("/")[2]), url), row["version"]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _version_in(path: Path | None, archive: str) -> str:
    """The version of the Python in an archive: of its name, or of the folder lib/python3.12 in it."""
    found = re.search(r"[pP]ython-(\d+\.\d+\.\d+)", archive)
    if found:
        return found[1]
    if path is not None:
        try:
            with tarfile.open(path) as file:
                for member in file:
                    if found := re.search(r"(?:^|/)lib/python(\d+\.\d+)/", member.name):
                        return found[1]
        except (OSError, tarfile.TarError) as error:
            raise CannotBring(f"python_archive = {archive}: {error}") from None
    raise CannotBring(
        f"python_archive = {archive}: it has no lib/python3.12, and its name no version as in cpython-3.12.4.tar.gz"
    )


def own_file(path: Path, name: str) -> File:
    """A file of this machine that is brought as it is."""
    return File(name, str(path), path.stat().st_size, supplies.hash_of(str(path)))
