"""The state of this machine: what works, what is missing and how large it is, and the command that brings it."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from dsl import native_library
from dsl.lower import sass
from harness.host import hosts
from harness.host.environment import own_wheel, releases, remote_env
from harness.run.environment import install_command

_TOOLS = {
    "ptxas": ("nvidia-cuda-nvcc", "SASS of our kernels (--sass), CHECK-SASS lines and the PTX version that it takes"),
    "nvdisasm": ("nvidia-cuda-nvdisasm", "SASS as text (--sass, CHECK-SASS lines)"),
}
_PACKAGES = {"torch": ("torch", "repros that import torch"), "nvidia": (releases.PACKAGE, "--compiler nvidia")}


class Part(NamedTuple):
    """One line: what it is, what is there (or '' if it is missing), what it is for, the command that brings it."""

    name: str
    found: str
    serves: str = ""
    fix: str = ""

    def line(self) -> str:
        """As the doctor prints it."""
        if self.found:
            return f"  {self.name:<20} {self.found}"
        fix = f"\n{'':23}to get it: {self.fix}" if self.fix else ""
        return f"  {self.name:<20} missing, for {self.serves}{fix}"


def parts() -> list[Part]:
    """Everything that takes part here, in the order of how soon a user needs it."""
    found = [
        Part(
            "gpu-repro",
            f"{importlib.metadata.version(own_wheel.DISTRIBUTION)}, Python {sys.version.split()[0]}, in {sys.prefix}",
        ),
        Part("installed", _installed()),
        Part("emulator", f"built for {native_library.level()}, the best this CPU has"),
    ]
    found += [_package(name, *about) for name, about in _PACKAGES.items()]
    found += [_tool(name, *about) for name, about in _TOOLS.items()]
    uv = remote_env.find_uv(str(releases.cache_folder()))
    found.append(Part("uv", uv or "", "releases of a compiler and hosts over SSH", "https://docs.astral.sh/uv"))
    return [*found, _gpu()]


def as_data(found: list[Part]) -> list[dict[str, Any]]:
    """The same for --json."""
    return [one._asdict() | {"found": one.found or None} for one in found]


def _package(name: str, distribution: str, serves: str) -> Part:
    fix = install_command([distribution], "repro doctor", is_for_good=True)
    try:
        return Part(name, f"{distribution} {importlib.metadata.version(distribution)}")
    except importlib.metadata.PackageNotFoundError:
        return Part(name, "", serves, fix)


def _tool(name: str, package: str, serves: str) -> Part:
    try:
        return Part(name, f"{sass.version(name)}, {sass.find(name)}")
    except sass.ToolMissing:
        return Part(name, "", serves, install_command([package], "repro doctor", is_for_good=True))


def _gpu() -> Part:
    try:
        host = hosts.resolve("local")
    except hosts.NoDevice as error:
        why = str(error).splitlines()[0].partition("used: ")[2] or str(error).splitlines()[0]
        return Part("GPU", f"none: {why}")
    facts = host.device_facts
    return Part("GPU", f"{facts['name']}, {facts['arch']}, driver {facts['driver']}: `--host local` uses it")


def _installed() -> str:
    """How much disk the packages of this environment take, by what their installers recorded."""
    sizes = {one.name: _bytes(one) for one in importlib.metadata.distributions()}
    of_torch = _of_torch()
    torch = sum(size for name, size in sizes.items() if name in of_torch)
    text = f"{len(sizes)} packages, {sized(sum(sizes.values()))}"
    return f"{text}, of which torch and what it requires take {sized(torch)}" if torch else text


def _bytes(distribution: importlib.metadata.Distribution) -> int:
    return sum(file.size or 0 for file in distribution.files or ())


def _of_torch() -> frozenset[str]:
    """The names of torch and of what only torch requires here."""
    required = {one.name: _requires(one) for one in importlib.metadata.distributions()}
    found, left = set(), ["torch"]
    while left:
        if (name := left.pop()) in required and name not in found:
            found.add(name)
            left += required[name]
    others = [need for name, needs in required.items() if name not in found for need in needs]
    while others:
        if (name := others.pop()) in found and name != "torch":
            found.discard(name)
            others += required[name]
    return frozenset(found)


def _requires(distribution: importlib.metadata.Distribution) -> list[str]:
    needs = [Requirement(text) for text in distribution.requires or ()]
    return [one.name for one in needs if one.marker is None or one.marker.evaluate({"extra": ""})]


def sized(size: int) -> str:
    """`4.1 GB`, `599 MB`, `12 kB`."""
    for unit, name, places in ((1e9, "GB", 1), (1e6, "MB", 0), (1e3, "kB", 0)):
        if size >= unit:
            return f"{size / unit:.{places}f} {name}"
    return f"{size} bytes"


def folder_bytes(folder: Path) -> int:
    """The bytes of a file or of all files below a folder; 0 if there is neither."""
    paths = (folder, *folder.rglob("*"))
    return sum(path.lstat().st_size for path in paths if path.is_file() and not path.is_symlink())
