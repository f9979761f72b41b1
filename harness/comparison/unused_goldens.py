"""Goldens that belong to no case: after a change of `params`, or of a repro that is gone or moved."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path

from harness import store
from harness.claim.repro_file import Repro
from harness.comparison import golden


def _general(path: Path) -> Path:
    """The shared golden for the golden of a single arch; any other path unchanged."""
    return path.with_name(path.stem.partition("@")[0] + ".json") if path.suffix == ".json" else path


def is_referenced(path: Path) -> bool:
    """Whether a golden in the folder of this sidecar names it."""
    return path.suffix == ".npy" and path in golden.sidecars_of(path.parent)


def unused(repros: Iterable[Repro], broken: Iterable[Path] = (), folders: Iterable[Path] = ()) -> list[Path]:
    """Golden files next to these repros, and below these folders, that belong to no case.

    Goldens of `broken` repro files are left alone.
    """
    used: set[Path] = set()
    parents: set[Path] = set()
    for repro in repros:
        parents.add(repro.path.parent)
        used |= {golden.path_of(case) for case in repro.cases()} | golden.sidecars_of(golden.folder(repro.path))
    spared = {golden.folder(path) for path in broken}
    paths = []
    for parent in parents:
        for directory in sorted((parent / "goldens").glob("*")):
            if directory in spared:
                continue
            files = sorted(directory.iterdir()) if directory.is_dir() else [directory]
            paths += [path for path in files if _general(path) not in used and path.suffix in (".json", ".npy")]
    empty = {above for top in folders for above in store.walk(top.resolve())} - parents
    return paths + [path for above in sorted(empty) for path in _left_behind(above)]


def _left_behind(above: Path, name: str = "*") -> list[Path]:
    """Goldens below a folder that does not hold their repro."""
    paths = []
    for directory in sorted((above / "goldens").glob(f"{name}/")):
        if not any((above / file).is_file() for file in (directory.name, f"{directory.name}.py")):
            files = sorted(path for path in directory.iterdir() if path.suffix in (".json", ".npy"))
            paths += files if any(_is_golden(path) for path in files) else []  # else they belong to somebody else
    return paths


def before_a_move(repro: Path) -> Path | None:
    """The folder of goldens elsewhere in the project that a moved repro of this name left, if there is one."""
    name = golden.folder(repro).name
    old_folders = [path.parent for above in _folders(store.root_of(repro)) for path in _left_behind(above, name)[:1]]
    return old_folders[0] if len(old_folders) == 1 else None


@functools.cache
def _folders(root: Path) -> tuple[Path, ...]:
    return tuple(store.walk(root))


def _is_golden(path: Path) -> bool:
    try:
        return (
            path.suffix == ".json"
            and {"outcome", "provenance", "validated"} <= json.loads(golden.file_bytes(path)).keys()
        )
    except (OSError, ValueError, AttributeError, RecursionError, golden.CorruptGolden):
        return False
