"""Find a repro that has moved since its record, its capsule or a link to it was made.

A repro whose file is gone is followed to a file of the same name that is the same claim: one known by the same
sentence, or by the same text (sha256). If there is no such file, or there are several, it is gone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness import store
from harness.claim.languages import SUFFIXES
from harness.claim.repro_file import ReproError, is_repro, read


def by_name(root: Path) -> dict[str, list[str]]:
    """The files of a project that may be repros, in folders that may hold repros: file name -> paths below the root."""
    folders: dict[str, list[str]] = {}
    for folder in store.walk(root):
        try:
            names = [name for name in os.listdir(folder) if name.endswith(SUFFIXES)]
        except OSError:
            continue
        for name in names:
            folders.setdefault(name, []).append(store.relative(folder / name, root))
    return folders


def follow(marks: Mapping[str, Iterable[str]], root: Path) -> dict[str, str]:
    """Old path -> new path, below the root, of the repros that moved.

    `marks`: for each path that records name, the claim's sentences and the sha256 sums of its text that they know.
    """
    gone = [path for path in marks if not os.path.isfile(f"{root}/{path}")]
    names = by_name(root) if gone else {}
    moves = {}
    for path in gone:
        mine = {mark for mark in marks[path] if mark}
        candidates = names.get(path.rpartition("/")[2], ())
        fits = [other for other in candidates if mine & set(marks.get(other, ())) or mine & _marks(root / other)]
        if len(fits) > 1:
            fits = [other for other in fits if _text_sha256(root / other) in mine]
        if len(fits) == 1:
            moves[path] = fits[0]
    return moves


def same_text(marks: Mapping[str, Iterable[str]], root: Path) -> dict[str, str]:
    """Path -> another path with the text that a record of it had, for those whose file is gone."""
    gone = {path: set(mine) for path, mine in marks.items() if not os.path.isfile(root / path)}
    files = [file for files in by_name(root).values() for file in files] if gone else []
    texts = {_text_sha256(root / file): file for file in files}
    return {path: texts[mark] for path, mine in gone.items() for mark in mine & texts.keys()}


def _text_sha256(path: Path) -> str:
    """The sha256 of a repro's text, as records have it; '' where the file cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    except OSError:
        return ""


def _marks(path: Path) -> set[str]:
    """The marks by which a file may be known: its text and, if it is a repro, its claim."""
    try:
        claim = read(path).claim if is_repro(path.read_bytes()) else ""
    except (OSError, ReproError):
        claim = ""
    return {_text_sha256(path), claim} - {""}
