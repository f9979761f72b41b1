"""The commands `repro cache size` and `repro cache clean`."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from harness import store
from harness.cli import document
from harness.terminal import say
from harness.verbosity import note

_SIZE = """\
Show what this project keeps on this machine, where, and how large it is. A host over SSH has its own cache:
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
_OURS = {  # folders in the cache of this project
    "envs": "environments",
    "packages": "packages of this project",
    "files": "wheels and archives",
    "pythons": "interpreters",
    "bin": "uv",
    "bytecode": "bytecode of environments",
    "runs": "runs of now",
}
_IN_USE = ("envs", "pythons", "runs")  # only those that nobody uses are removed
_PROGRAMS = "compiled programs"


def add(commands: Any) -> None:
    """Add the commands."""
    document.command(commands, "size", "what is kept on this machine", _SIZE, _size)
    document.command(commands, "clean", "remove what can be made again", _CLEAN, _clean)


def kept() -> list[dict[str, Any]]:
    """The things that are kept: a name, a folder, its bytes, and whether it can be made again."""
    from harness.host import this_machine
    from harness.records import observations

    lasting = [
        ("runs of the emulator, results that wait", store.working_root() / store.LOCAL, False),
        ("runs of scripts outside of projects", observations.outside(), False),
    ]
    sizes = {one: this_machine.folder_bytes(one[1]) for one in lasting}
    for name, folder, path in _made():
        one = name, folder, True
        sizes[one] = sizes.get(one, 0) + this_machine.folder_bytes(path)
    names = "name", "path", "can_be_made_again"
    return [dict(zip(names, one, strict=True)) | {"bytes": size} for one, size in sizes.items() if size]


def _made() -> list[tuple[str, Path, Path]]:
    """Things that can be made again: name, folder to show, path; in a folder that the user chose, only our files."""
    from dsl.launch import disk_cache  # noqa: PLC0415
    from harness.host.environment import releases

    own, chosen = releases.cache_folder(), Path(disk_cache.folder())
    inside = sorted(own.iterdir()) if own.is_dir() else []
    found = [(_OURS[path.name], path, path) if path.name in _OURS else (_PROGRAMS, own, path) for path in inside]
    if chosen != own:
        found += [(_PROGRAMS, chosen, Path(entry.path)) for entry in disk_cache.entries(chosen)]
    return found


def _size(arguments: argparse.Namespace) -> int:
    from harness.host import this_machine

    rows = kept()
    lines = [f"{this_machine.sized(one['bytes']):>8}  {one['name']:<40} {one['path']}" for one in rows]
    lines.append("`repro cache clean` removes what can be made again" if lines else "nothing is kept on this machine")
    document.give(arguments, {"kept": rows}, "\n".join(lines))
    return 0


def _clean(arguments: argparse.Namespace) -> int:
    from harness.host import this_machine
    from harness.host.environment import releases, remote_env

    before = sum(one["bytes"] for one in kept() if one["can_be_made_again"])
    remote_env.prune(str(releases.cache_folder()), 0)
    for _, _, path in _made():
        if path.is_dir() and path.name not in _IN_USE:
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_file():
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
    note(
        "to remove the rest: `uv tool uninstall gpu-repro`, or delete its environment; then `uv cache clean`",
        sys.stdout,
    )
    return 3 if left else 0
