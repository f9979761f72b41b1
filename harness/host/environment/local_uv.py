"""The program uv of this machine: itself, never a script or a link that finds it (pyenv, asdf, mise, snap)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_ELF = b"\x7fELF"
_LEAST_BYTES = 1 << 20  # a launcher that is a separate program is smaller
_ANSWER_S = 30.0


class NoUv(Exception):
    """There is no uv here that can be copied; the text lists what there is."""


def program() -> Path:
    """The file of uv that runs here. Raises NoUv."""
    refused = []
    for path in dict.fromkeys(_candidates()):
        why = _unfit(path)
        if not why:
            return path
        refused.append(f"{path} {why}")
    raise NoUv(
        "; ".join(refused) or "it is not on PATH\nfix: install uv as its page describes (https://docs.astral.sh/uv)"
    )


def _candidates() -> Iterator[Path]:
    """Places where uv may be: from UV, on PATH, where its own installers put it, in its Python package."""
    for named in (os.environ.get("UV"), shutil.which("uv")):
        if named:
            yield Path(named).resolve()
    home = Path.home()
    for folder in (home / ".local/bin", home / ".cargo/bin", Path("/usr/local/bin"), Path("/usr/bin")):
        if (folder / "uv").exists():
            yield (folder / "uv").resolve()
    yield from filter(Path.exists, (Path(sysconfig.get_path("scripts"), "uv").resolve(), *_of_users()))
    path = _behind_shim()
    if path:
        yield path


def _of_users() -> Iterator[Path]:
    """Where `pip install --user uv` puts it."""
    scheme = sysconfig.get_preferred_scheme("user")
    yield Path(sysconfig.get_path("scripts", scheme), "uv").resolve()


def _behind_shim() -> Path | None:
    """The uv that the shim on PATH starts: uv gives its own path to a program that it runs, in UV."""
    shim = shutil.which("uv")
    if not shim:
        return None
    argv = [shim, "run", "--no-project", "--no-config", "--offline", "sh", "-c", 'printf %s "$UV"']
    try:
        done = subprocess.run(argv, capture_output=True, timeout=_ANSWER_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.decode("utf-8", "replace").strip()
    return Path(said).resolve() if done.returncode == 0 and said else None


def _unfit(path: Path) -> str:
    """Why this file is not uv itself, or ''."""
    try:
        with open(path, "rb") as file:
            if file.read(4) != _ELF:
                return "is a script that starts uv, not uv itself"
        if path.stat().st_size < _LEAST_BYTES:
            return "is a program that starts uv, not uv itself"
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            timeout=_ANSWER_S,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {error}"
    said = done.stdout.decode("utf-8", "replace")
    return "" if done.returncode == 0 and said.startswith("uv ") else "does not answer to --version as uv does"
