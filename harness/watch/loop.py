"""Run, print what changed, wait for a save, run again: in one session, whose processes stay warm."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.claim.repro_file import Case, ReproError
from harness.comparison import golden
from harness.errors import UsageError
from harness.session import Session
from harness.watch import files, looks
from harness.watch.files import Stamp, Watcher
from harness.watch.looks import Look

Say = Callable[[str], None]


class Loop:
    """`cases` reads the file and returns the cases to run. It raises ReproError, UsageError or OSError if it cannot."""

    def __init__(
        self, path: Path, cases: Callable[[], Sequence[Case]], session: Session, timeout_s: float | None, fresh: bool,
        say: Say,
    ) -> None:  # fmt: skip
        self.path, self._cases, self._session, self._say = path, cases, session, say
        self._timeout_s, self._fresh = timeout_s, fresh
        self._last: dict[str, Look] = {}
        self._problem = ""
        self._goldens = golden.folder(path)

    def run(self) -> None:
        """Until Ctrl-C, which is raised as KeyboardInterrupt."""
        watcher = Watcher()
        while True:
            watched = files.of(self.path)
            watcher.begin(watched, self._goldens)
            seen = files.stamp(watched, self._goldens)

            def is_stale(watched: Sequence[Path] = watched, seen: Stamp = seen) -> bool:
                return files.stamp(watched, self._goldens) != seen

            self.once(is_stale)
            watcher.wait(is_stale)

    def once(self, is_stale: Callable[[], bool] = lambda: False) -> None:
        """One run of every case; the rest is left when the file is saved meanwhile."""
        started, own_s = time.monotonic(), 0.0
        try:
            cases = self._cases()
        except FileNotFoundError:
            return self._tell_problem(f"{self.path.name} is not there: waiting for it")
        except (ReproError, UsageError, OSError) as error:
            return self._tell_problem(str(error))
        self._problem = ""
        names = []
        for host in self._session.hosts():
            for case in cases:
                if names and is_stale():
                    return
                ran_on, outcome = self._session.run(case, host, self._timeout_s, self._fresh)
                own_s += outcome.durations.get("load_s", 0.0) + outcome.durations.get("call_s", 0.0)
                look = looks.at(case, ran_on, outcome, self._session.root)
                self._say(looks.changes(self._last.get(look.name), look))
                self._last[look.name] = looks.without_heavy(look)
                names.append(look.name)
        for name in self._last.keys() - set(names):
            del self._last[name]
            self._say(f"{name}: no case any more")
        whole_s = time.monotonic() - started
        count = f"{len(names)} case{'s' * (len(names) != 1)}"
        self._say(
            f"--- {count} in {whole_s:.2f} s, {own_s:.2f} s of them in the program; waiting for a save (Ctrl-C ends)"
        )

    def _tell_problem(self, text: str) -> None:
        """Say it once: the last run that worked is what the next is compared with."""
        if text != self._problem:
            self._problem = text
            self._say(text)
