"""The commit of a project that is checked out in its folder, from git. Nothing here writes."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

DIRTY = "-dirty"
_PATIENCE_S = 10.0


@functools.cache
def commit(root: Path) -> str | None:
    """The commit, with `-dirty` after it if files that git knows have changed; None outside of git."""
    return _git(root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def resolve(root: Path, name: str) -> str | None:
    """The whole id of what git calls so: `HEAD~3`, a branch, a tag, the beginning of an id. None where nothing is."""
    if name.startswith("-"):
        return None
    return _git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")


def _git(root: Path, *arguments: str) -> str | None:
    variables = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=_PATIENCE_S, env=variables
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
