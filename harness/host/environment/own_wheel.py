"""Our own code as a wheel, made from the files that are running: what a host needs to run as this machine does."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import io
import zipfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from dsl import native_library

DISTRIBUTION = "gpu-repro"
PACKAGES = ("dsl", "harness")
HERE_ONLY = (
    "fabric",
    "paramiko",
    "pytest",
    "pytest-xdist",
    "filecheck",
    "packaging",
    "libcst",
    "watchfiles",
    "shtab",
    "lz4",
    "zstandard",
)  # what only the machine that judges needs
NOT_SENT = (".pyc", ".cc", ".o", "")  # by suffix: bytecode, and what the libraries of the emulator are built from
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Package:
    """The files of the wheel, by name in it."""

    files: dict[str, bytes]

    @cached_property
    def wheel(self) -> bytes:
        """A valid wheel; the same bytes for the same files."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, data in sorted(self.files.items()):
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.wheel).hexdigest()


@cache
def ours() -> Package:
    """The package this process runs. Raises importlib.metadata.PackageNotFoundError."""
    native_library.library(*native_library.LEVELS)  # the host's CPU may have another level
    native_library.driver()  # which languages with their compiler load
    files = {}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None and spec.submodule_search_locations
        top = Path(next(iter(spec.submodule_search_locations)))
        for path in top.rglob("*"):
            if path.is_file() and path.suffix not in NOT_SENT:
                files[f"{package}/{path.relative_to(top).as_posix()}"] = path.read_bytes()
    distribution = importlib.metadata.distribution(DISTRIBUTION)
    info = f"{DISTRIBUTION.replace('-', '_')}-{distribution.version}.dist-info"
    files[f"{info}/METADATA"] = (distribution.read_text("METADATA") or "").encode()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: gpu-repro\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n"
    )
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in sorted(files.items())]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    return Package(files)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def needs() -> list[str]:
    """The packages that the compiler and the runner import, as requirements."""
    requirements = importlib.metadata.requires(DISTRIBUTION) or []
    return [need for need in requirements if name_of(need) not in HERE_ONLY and "extra ==" not in need]


def torch() -> str:
    """The requirement of the extra `torch`."""
    (need,) = (one for one in importlib.metadata.requires(DISTRIBUTION) or [] if name_of(one) == "torch")
    return need.partition(";")[0]


def name_of(requirement: str) -> str:
    """The distribution that a requirement names."""
    for position, character in enumerate(requirement):
        if not (character.isalnum() or character in "-_."):
            return requirement[:position].lower()
    return requirement.lower()
