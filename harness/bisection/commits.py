"""Commits between two ends, each as a git worktree with a Python that imports what the commit has."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import store
from harness.errors import UsageError
from harness.host.environment import local_uv, own_wheel, releases, remote_env
from harness.run.transport import Job, LinkDown, Local, Start

GIT_S, SYNC_S = 120.0, 1800.0
SHOWN = 10  # characters of a hash
_OURS = ("dsl", "harness")
_SAID = 2000


@dataclass(frozen=True)
class Commit:
    """`is_merge`: it has a second parent."""

    sha: str
    subject: str
    is_merge: bool = False

    @property
    def label(self) -> str:
        return f"{self.sha[:SHOWN]} {self.subject}".strip()


def repository(path: Path) -> Path:
    """The top folder of the repository that a path is in. Raises UsageError."""
    folder = path if path.is_dir() else path.parent
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel")).resolve()
    except (LinkDown, OSError):
        raise UsageError(f"--commit: {folder} is not in a git repository\nfix: name one by --repo DIR") from None


def is_compiler(repo: Path) -> bool:
    """Whether the repository is this compiler's own."""
    return all((repo / name / "__init__.py").exists() for name in _OURS)


def between(repo: Path, text: str) -> list[Commit]:
    """The commits from GOOD to BAD along first parents, both ends included. Raises UsageError."""
    good, dots, bad = text.partition("..")
    if not dots or not good or not bad or bad.startswith("."):
        raise UsageError(f"--commit {text}: write two commits, as in v1.2..HEAD")
    ends = [_resolved(repo, name, text) for name in (good, bad)]
    if ends[0] == ends[1]:
        raise UsageError(f"--commit {text}: both ends are the same commit")
    base = git(repo, "merge-base", *ends, failing=True)
    if base != ends[0]:
        raise UsageError(f"--commit {text}: {good} is not an ancestor of {bad}\nfix: begin at {base[:SHOWN] or 'one'}")
    # Only these paths of the compiler's repository can change an answer: the harness of today runs every commit.
    only = ["--", "dsl", "uv.lock", "pyproject.toml"] if is_compiler(repo) else []
    form = "--format=%H%x09%P%x09%s"
    log = git(repo, "log", "--reverse", "--first-parent", form, f"{ends[0]}..{ends[1]}", *only)
    first = git(repo, "log", "-1", form, ends[0])
    return [_commit(line) for line in [first, *filter(None, log.splitlines())]]


def _commit(line: str) -> Commit:
    sha, parents, subject = line.split("\t", 2)
    return Commit(sha, subject, " " in parents)


def _resolved(repo: Path, name: str, text: str) -> str:
    found = "" if name.startswith("-") else git(repo, "rev-parse", "--verify", "-q", name + "^{commit}", failing=True)
    if not found:
        raise UsageError(f"--commit {text}: git knows no commit {name!r} in {repo}")
    return found


def git(repo: Path, *arguments: str, failing: bool = False) -> str:
    """Return git's output; '' after a failure if `failing`. Raises LinkDown."""
    try:
        done = subprocess.run(
            ["git", "-C", str(repo), *arguments], capture_output=True, text=True, timeout=GIT_S,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LinkDown(f"git {arguments[0]}: {error}") from None
    if done.returncode and not failing:
        raise LinkDown(f"git {arguments[0]}: {done.stderr.strip()[-_SAID:]}")
    return done.stdout.strip() if done.returncode == 0 else ""


@dataclass(frozen=True)
class Tree:
    """The worktree of a commit. `project`: the folder in it whose uv.lock counts."""

    repo: str
    sha: str
    folder: str
    project: str = "."

    @property
    def place(self) -> Path:
        return Path(self.folder, self.sha[:SHOWN])

    def make(self) -> None:
        """Check the commit out, whole or not at all. Raises LinkDown, OSError."""
        ready = Path(f"{self.place}.ready")
        if ready.exists() and self.place.is_dir():
            return
        self.remove()
        store.make_folder(Path(self.folder))
        git(Path(self.repo), "worktree", "add", "--quiet", "--detach", "--force", str(self.place), self.sha)
        ready.touch()

    def remove(self) -> None:
        """Remove the worktree and what was installed in it."""
        Path(f"{self.place}.ready").unlink(missing_ok=True)
        if self.place.exists():
            git(Path(self.repo), "worktree", "remove", "--force", str(self.place), failing=True)
            shutil.rmtree(self.place, ignore_errors=True)

    def start(self, note: Callable[[str], None] = lambda text: None) -> Start:
        """The Python of the commit: this one, or a separate one if the commit has another uv.lock. Raises LinkDown."""
        self.make()
        cache, ours = str(releases.cache_folder()), own_wheel.ours()
        if ours.sha256 not in remote_env.packages(cache):
            remote_env.keep_package(cache, ours.sha256, ours.wheel)
        python = self._python(note)
        known = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        paths = [*self._paths(), str(Path(cache, "packages", ours.sha256)), os.environ.get("PYTHONPATH", "")]
        for name in ("PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"):
            known.pop(name, None)
        return Start([python], known | {"PYTHONPATH": os.pathsep.join(filter(None, paths))})

    def _paths(self) -> list[str]:
        """The folders of its packages; of the compiler's repository only `dsl`, since the harness of today runs it."""
        if is_compiler(self.place):
            alone = self.place / ".compiler-alone"
            alone.mkdir(exist_ok=True)
            if not (alone / "dsl").exists():
                (alone / "dsl").symlink_to("../dsl", target_is_directory=True)
            return [str(alone)]
        top = self.place / self.project
        return [str(path) for path in dict.fromkeys([top / "src", top, self.place]) if path.is_dir()]

    def _python(self, note: Callable[[str], None]) -> str:
        here, there = Path(self.repo, self.project, "uv.lock"), self.place / self.project / "uv.lock"
        if not there.exists() or (here.exists() and here.read_bytes() == there.read_bytes()):
            return sys.executable
        python = there.with_name(".venv") / "bin" / "python"
        marker = there.with_name(".venv") / "gpu-repro.ready"
        if not marker.exists():
            note("its uv.lock differs: making its environment")
            _sync(there.parent)
            marker.touch()
        return str(python)


def _sync(project: Path) -> None:
    """Make the environment of a project from its lock file; uv links files from its cache. Raises LinkDown."""
    try:
        uv = str(local_uv.program())
    except local_uv.NoUv as error:
        raise LinkDown(f"the environment of a commit is made by uv: {error}") from None
    argv = [uv, "sync", "--frozen", "--quiet", "--project", str(project), "--python", sys.executable]
    variables = {**os.environ, "NO_COLOR": "1", "UV_PROJECT_ENVIRONMENT": str(project / ".venv")}
    variables.pop("VIRTUAL_ENV", None)
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=SYNC_S, env=variables, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise LinkDown(f"uv sync took more than {SYNC_S:g} s") from None
    if done.returncode:
        raise LinkDown(f"uv sync: {done.stderr.strip()[-_SAID:]}")


class AtCommit:
    """A transport to this machine at a commit. `moved`: paths of this checkout and the tree's paths for them."""

    def __init__(self, tree: Tree, note: Callable[[str], None] | None = None, moved: Sequence[tuple[str, str]] = ()):
        self._tree, self._moved = tree, dict(moved)
        self._local = Local(note, lambda: tree.start(note or (lambda text: None)))

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        return self._local.run(dataclasses.replace(job, path=self._moved.get(job.path, job.path)))

    def close(self) -> None:
        self._local.close()
