"""The versions between two ends: `4.3.0..4.8.1` of a package on the index, or a list, `4.3.5,4.6.3,4.8.1`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from harness.errors import UsageError
from harness.host.environment import local_uv

ASK_S = 180.0
SHOWN = 12
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_AVAILABLE = re.compile(r"(?m)^Available versions: (.+)$")


def between(text: str, packages: Sequence[str], option: str) -> list[tuple[str, str]]:
    """(package, version) from the good end to the bad one. `text` is `GOOD..BAD` or `V1,V2,...`.

    The packages are asked of the index; a list is taken as it is. Builds with a local label, as 2.13.0+cpu, count where
    an end has that label. Raises UsageError.
    """
    good, dots, bad = text.partition("..")
    if not dots:
        names = [one.strip() for one in text.split(",") if one.strip()]
        if len(names) < 2:
            raise UsageError(f"{option} {text}: name two ends, as in 4.3.0..4.8.1, or a list, as in 4.3.5,4.6.3,4.8.1")
        return [(packages[0], str(_version(one, option, text))) for one in names]
    ends = _version(good, option, text), _version(bad, option, text)
    known = {version: package for package in reversed(packages) for version in released(package)}
    for end in ends:
        if end not in known:
            raise UsageError(_unknown(end, sorted(known), packages[0], option, text))
    is_wanted = any(end.is_prerelease for end in ends)
    low, high = sorted(ends)
    labels = {end.local for end in ends}
    inside = [one for one in sorted(known) if low <= one <= high and one.local in labels]
    found = [one for one in inside if is_wanted or not one.is_prerelease]
    if len(found) < 2:
        raise UsageError(f"{option} {text}: both ends are the same version")
    return [(known[one], str(one)) for one in (found if ends[0] < ends[1] else reversed(found))]


def _version(text: str, option: str, whole: str) -> Version:
    try:
        return Version(text.strip())
    except InvalidVersion:
        raise UsageError(f"{option} {whole}: {text!r} is not a version, as in 4.8.1") from None


def _unknown(end: Version, known: Sequence[Version], package: str, option: str, text: str) -> str:
    near = sorted(known, key=lambda one: abs(_place(one) - _place(end)))[:SHOWN]
    has = ", ".join(map(str, sorted(near))) or "none"
    return (
        f"{option} {text}: the index has no {package} {end} for Python {sys.version_info[0]}.{sys.version_info[1]}; "
        f"the nearest are {has}"
    )


def _place(version: Version) -> int:
    parts = (*version.release, 0, 0, 0)
    return (parts[0] * 1000 + parts[1]) * 1000 + parts[2]


def released(package: str) -> list[Version]:
    """The versions that the index, or UV_FIND_LINKS, has for this Python, by pip. Raises UsageError."""
    if not _NAME.fullmatch(package):
        raise UsageError(f"{package!r} is not the name of a package")
    try:
        uv = str(local_uv.program())
    except local_uv.NoUv as error:
        raise UsageError(f"the releases of {package} are asked for by uv: {error}") from None
    argv = [uv, "run", "--quiet", "--no-project", "--isolated", "--python", sys.executable, "--with", "pip"]
    argv += ["python", "-m", "pip", "index", "versions", package, "--pre", *_sources()]
    variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1"}
    variables.pop("VIRTUAL_ENV", None)
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=ASK_S, env=variables, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"the package index did not list the releases of {package} within {ASK_S:g} s\n"
            "fix: name the versions, as in 4.3.5,4.6.3,4.8.1"
        ) from None
    listed = _AVAILABLE.search(done.stdout)
    if not listed:
        said = [line for line in done.stderr.strip().splitlines() if not line.startswith("WARNING")]
        raise UsageError(
            f"the package index lists no releases of {package}: {(said or [done.stdout.strip()])[-1]}\n"
            "fix: correct the name, or name the versions, as in 4.3.5,4.6.3,4.8.1"
        )
    return [version for text in listed[1].split(",") if (version := _read(text))]


def _read(text: str) -> Version | None:
    try:
        return Version(text.strip())
    except InvalidVersion:
        return None


def _sources() -> list[str]:
    """pip's options for the places that uv is configured to search."""
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    links = re.split(r"[,\s]+", os.environ.get("UV_FIND_LINKS", ""))
    options = ["--index-url", index.rpartition("=")[2] if "=" in index.partition("://")[0] else index] if index else []
    options += ["--no-index"] if os.environ.get("UV_NO_INDEX") else []
    return options + [part for link in links if link for part in ("--find-links", link)]
