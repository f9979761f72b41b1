"""The files now of the claims that records name: their texts, goldens and cases, read if a file changed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness import store
from harness.claim import languages
from harness.claim.repro_file import ReproError, is_repro, read
from harness.records.index.states import NO_ARCH, Event, Summary

TABLE = "create table source (path text primary key, size int, mtime_ns int, said text);"
REPRO_GONE, UNDECLARED = "the repro is gone", "not declared in params"
_OF_TWO = " "  # before an answer that another file changes too: it is not kept
NO_TABLE = "the file has no [tool.repro] block any more"


@dataclass(frozen=True)
class Source:
    """The hashes of a repro's text and of its golden's answer, None if there is none; why a case is gone, or ''."""

    repro: str | None
    golden: str | None
    gone: str


class Sources:
    """Answers from the index's table `source` where a file has the size and time that it had."""

    def __init__(self, db: sqlite3.Connection, root: Path, kept: Iterable[tuple]) -> None:
        self._db, self._root = db, root
        self._kept = {row[0]: row[1:] for row in kept}
        self._new: dict[str, tuple[int, int, str | None]] = {}
        self._seen: dict[str, str | None] = {}

    def of(self, places: Iterable[tuple[str, str, str]], own_names: Mapping[tuple, str]) -> dict[tuple, Source]:
        """(claim, case, arch) -> its source. `own_names`: the golden's file for an arch that has its own golden."""
        sources = {}
        for claim, case, arch in dict.fromkeys(places):
            folder = golden_folder(claim)
            own_name = own_names.get((claim, case, arch)) or f"{case or 'default'}@{arch}.json"
            own = self._said(f"{folder}/{own_name}", _answer)
            golden = own or self._said(f"{folder}/{case or 'default'}.json", _answer)
            text = self._said(claim, _repro)
            sha256, cases = json.loads(text) if text else (None, None)
            is_undeclared = cases is not None and case not in cases
            gone = REPRO_GONE if text is None else NO_TABLE if cases == [] else UNDECLARED if is_undeclared else ""
            sources[claim, case, arch] = Source(sha256, golden, gone)
        self._keep()
        return sources

    def _said(self, path: str, of: Callable[[Path], str | None]) -> str | None:
        if path not in self._seen:
            try:
                about = os.stat(f"{self._root}/{path}")
                if not stat.S_ISREG(about.st_mode):
                    raise OSError(errno.EINVAL, "it is not a regular file")
                stamp = (about.st_size, about.st_mtime_ns)
                if path in self._kept and self._kept[path][:2] == stamp:
                    self._seen[path] = self._kept[path][2]
                else:
                    self._seen[path] = said = of(self._root / path)
                    if said is None or not said.startswith(_OF_TWO):
                        self._new[path] = (*stamp, said)
            except OSError:
                self._seen[path] = None
        return self._seen[path]

    def _keep(self) -> None:
        if self._new:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("begin immediate")
                values = [(path, *about) for path, about in self._new.items()]
                self._db.executemany("insert or replace into source values (?, ?, ?, ?)", values)
                self._db.execute("commit")


def replaced(cells: Iterable[tuple[tuple, Summary]]) -> dict[tuple, str]:
    """Cells that stand for a guess about a repro's kernels, and why. A cell is (claim, case, arch, compiler, host).

    The arch of a program without kernels is `any`. A run that could not begin names no arch either, and a repro may
    get its kernels later, or lose them.
    """
    groups: dict[tuple, list[tuple[tuple, Summary]]] = {}
    for place, summary in cells:
        groups.setdefault((*place[:2], *place[3:]), []).append((place, summary))
    why = {}
    for group in groups.values():
        if len({place[2] == NO_ARCH for place, _ in group}) == 1:
            continue
        newest = max(((s.last.date, p[2], s.last) for p, s in group if s.last), key=lambda one: one[:2], default=None)
        for place, summary in group:
            is_other = newest is None or (place[2] == NO_ARCH) != (newest[1] == NO_ARCH)
            if summary.last is None and place[2] == NO_ARCH:
                why[place] = "could not be run, so its arch was not known"
            elif is_other and newest and summary.last and _text(summary.last) != _text(newest[2]):
                why[place] = f"an earlier text of the repro; now it runs on {newest[1]}"
    return why


def _text(event: Event) -> object:
    return event.facts.get("repro_sha256")


def golden_folder(claim: str) -> str:
    """The folder of the goldens of a claim, below the root."""
    head, _, name = claim.rpartition("/")
    return f"{head}/goldens/{languages.without_suffix(name)}".lstrip("/")


def _answer(path: Path) -> str | None:
    return store.answer_sha256(path.read_bytes())


def _repro(path: Path) -> str:
    """The hash of the text and the names of its cases: null if it cannot be read, none if it is not a repro."""
    data = path.read_bytes()
    sha256 = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()
    try:
        if not is_repro(data):
            return json.dumps([sha256, []])
        repro = read(path)
    except ReproError:
        return json.dumps([sha256, None])
    return (_OF_TWO if repro.kernels else "") + json.dumps([repro.sha256, [case.name for case in repro.cases()]])
