"""The axes of a bisection: releases of NVIDIA's compiler or of a package, ptxas, commits, hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness import store
from harness.bisection import commits, versions
from harness.bisection.commits import Commit
from harness.compiler_name import NVIDIA, OURS
from harness.errors import UsageError
from harness.host.environment import releases
from harness.run.transport import LinkDown

if TYPE_CHECKING:
    from harness.claim.repro_file import Repro

PTXAS = ("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12")  # CUDA 13 and later, CUDA 12
HERE = ("embedded", "local")


@dataclass(frozen=True)
class Version:
    """One point of an axis, and how to run there. `pins`: requirements that its environment must have."""

    label: str
    host: str = "embedded"
    compiler: str = OURS
    pins: tuple[str, ...] = ()
    commit: Commit | None = None
    tree: commits.Tree | None = None

    @property
    def asked(self) -> str:
        """The compiler of its records, with the version: a column of the record for each."""
        if self.commit:
            return f"{self.compiler}, commit {self.commit.sha[: commits.SHOWN]}"
        return ", ".join([self.compiler, *self.pins])


@dataclass(frozen=True)
class Axis:
    """The option that names it, its versions from good to bad, and whether machine code is part of the answer."""

    option: str
    text: str
    versions: tuple[Version, ...]
    sass: bool = False


def read(
    given: Mapping[str, str | None], repro: Repro, compiler: str, host: str, repo: Path | None, trees: Path
) -> Axis:
    """The axis that the options ask for: compiler, commit, package, ptxas, host. Raises UsageError."""
    ranges = [name for name, text in given.items() if text and _is_range(name, text)]
    if len(ranges) != 1:
        named = " and ".join(f"--{name}" for name in ranges) or "none"
        raise UsageError(
            f"repro bisect needs a range in one of --compiler, --commit, --package, --ptxas, --host: got {named}\n"
            "fix: as in --compiler nvidia==4.3.0..4.8.1"
        )
    name = ranges[0]
    text = str(given[name])
    if name == "host":
        hosts = [one.strip() for one in text.split(",") if one.strip()]
        return Axis("--host", text, tuple(Version(one, one, compiler) for one in hosts))
    if name == "compiler":
        found = versions.between(text.partition("==")[2], [releases.PACKAGE], "--compiler")
        points = [Version(f"{NVIDIA}=={number}", host, f"{NVIDIA}=={number}") for _, number in found]
        return Axis("--compiler", text, tuple(points))
    if name == "commit":
        return _commits(text, repro, compiler, host, repo, trees)
    package, number = ("ptxas", text) if name == "ptxas" else (part.strip() for part in text.split("==", 1))
    found = versions.between(number, PTXAS if name == "ptxas" else [package], f"--{name}")
    if name == "ptxas" and ".." not in number:
        found = [(PTXAS[int(one.split(".")[0]) < 13], one) for _, one in found]
    if name == "ptxas" and host not in HERE:
        raise UsageError(f"--ptxas runs on this machine: got --host {host}")
    pinned = [Version(f"{package}=={one}", host, compiler, (f"{of}=={one}",)) for of, one in found]
    return Axis(f"--{name}", text, tuple(pinned), sass=name == "ptxas")


def _is_range(name: str, text: str) -> bool:
    """Whether the option names several versions; --compiler and --host may also name the one to run with."""
    several = ".." in text or "," in text
    if name == "compiler" and several and not text.startswith(f"{NVIDIA}=="):
        raise UsageError(f"--compiler {text}: write releases of nvidia, as in nvidia==4.3.0..4.8.1")
    if name == "package" and "==" not in text:
        raise UsageError(f"--package {text}: write NAME==GOOD..BAD, as in torch==2.8..2.11")
    return several or name not in ("compiler", "host")


def _commits(text: str, repro: Repro, compiler: str, host: str, repo: Path | None, trees: Path) -> Axis:
    if host not in HERE:
        raise UsageError(f"--commit runs on this machine: got --host {host}")
    if releases.split(compiler)[1]:
        raise UsageError(f"--commit with --compiler {compiler}: use ours, or nvidia without a release")
    top = commits.repository((repo or repro.path).resolve())
    project = store.root_of(repro.path)
    below = project.relative_to(top).as_posix() if project.is_relative_to(top) else "."
    if commits.is_compiler(top) and compiler != OURS:
        raise UsageError(f"--commit of this compiler runs with it: got --compiler {compiler}")
    try:
        found = commits.between(top, text)
    except LinkDown as error:
        raise UsageError(f"--commit {text}: {error}") from None
    points = [
        Version(one.label, host, compiler, (), one, commits.Tree(str(top), one.sha, str(trees), below)) for one in found
    ]
    if len(points) < 2:
        raise UsageError(f"--commit {text}: no commit between the ends changes the compiler")
    return Axis("--commit", text, tuple(points))
