"""The commands `repro cache size` and `repro cache clean`."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from harness import store
from harness.cli import document
from harness.terminal import say

_SIZE = """\
What this project keeps on this machine, where, and how large it is. A host over SSH has a cache of its own:
`repro doctor HOST` shows it.

  repro cache size

Exit status: 0.
"""

_CLEAN = """\
Remove what can be made again: compiled programs, environments of compiler releases, packages that were sent or fetched.
An environment in use stays. Goldens, records and results that wait stay; the last lines name where they are, and how
the rest of an installation is removed.

  repro cache clean

Exit status: 0 removed, 3 something could not be removed.
"""
_NAMES = {  # of the folders in a cache; all others are of compiled programs
    "envs": "environments",
    "packages": "packages of this project",
    "files": "wheels and archives",
    "pythons": "interpreters",
    "bin": "uv",
    "bytecode": "bytecode of environments",
    "runs": "runs of now",
}
_IN_USE = ("envs", "pythons", "runs")  # only those that nobody uses are removed


def add(commands: Any) -> None:
    """Add the commands."""
    document.command(commands, "size", "what is kept on this machine", _SIZE, _size)
    document.command(commands, "clean", "remove what can be made again", _CLEAN, _clean)


def kept() -> list[dict[str, Any]]:
    """What is kept: a name, a folder, its bytes, and whether it can be made again."""
    from harness.host import this_machine
    from harness.records import observations

    sizes: dict[tuple[str, Path, bool], int] = {}
    for top in _caches():
        for path in top.iterdir() if top.is_dir() else ():
            name = _NAMES.get(path.name, "compiled programs")
            place = name, top / path.name if path.name in _NAMES else top, True
            sizes[place] = sizes.get(place, 0) + this_machine.folder_bytes(path)
    sizes["runs of the emulator, results that wait", observations.root() / store.LOCAL, False] = 0
    sizes["runs of scripts outside of projects", observations.outside(), False] = 0
    for place in sizes:
        if not place[2]:
            sizes[place] = this_machine.folder_bytes(place[1])
    rows = [
        {"name": name, "path": path, "bytes": size, "can_be_made_again": again}
        for (name, path, again), size in sizes.items()
    ]
    return [one for one in rows if one["bytes"]]


def _caches() -> list[Path]:
    from dsl.launch import disk_cache  # noqa: PLC0415
    from harness.host.environment import releases

    return list(dict.fromkeys((releases.cache_folder(), Path(disk_cache.folder()))))


def _size(arguments: argparse.Namespace) -> int:
    from harness.host import this_machine

    rows = kept()
    lines = [f"{this_machine.sized(one['bytes']):>8}  {one['name']:<40} {one['path']}" for one in rows]
    lines.append("`repro cache clean` removes what can be made again" if lines else "nothing is kept on this machine")
    document.give(arguments, {"kept": rows}, "\n".join(lines))
    return 0


def _clean(arguments: argparse.Namespace) -> int:
    from harness.host import this_machine
    from harness.host.environment import remote_env

    before = sum(one["bytes"] for one in kept() if one["can_be_made_again"])
    for top in _caches():
        remote_env.prune(str(top), 0)
        for path in top.iterdir() if top.is_dir() else ():
            if path.name in _IN_USE:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    rows = kept()
    left = [one for one in rows if one["can_be_made_again"]]
    always = [one for one in rows if not one["can_be_made_again"]]
    freed = before - sum(one["bytes"] for one in left)
    paths = {"left": [one["path"] for one in left], "kept": [one["path"] for one in always]}
    document.give(arguments, {"freed_bytes": freed, **paths})
    say(f"removed {this_machine.sized(freed)}")
    for why, some in (("left, as something uses it", left), ("kept, as it cannot be made again", always)):
        for one in some:
            say(f"{why}: {one['name']}, {one['path']}")
    say("to remove the rest: `uv tool uninstall gpu-repro`, or delete its environment; then `uv cache clean`")
    return 3 if left else 0
