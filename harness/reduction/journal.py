"""The state of a reduction, kept below `.repro` while it runs: the best program, and the rejected candidates."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from harness import store

_BEST, _REJECTED, _ABOUT = "best", "rejected", "about.json"
KEY_CHARACTERS = 64


class Journal:
    """One start with one property. `open` it before use."""

    def __init__(self, root: Path, start: str, about: dict[str, object]) -> None:
        """`about`: all that the property depends on, besides the text."""
        self._about = json.dumps({**about, "start": hashlib.sha256(start.encode()).hexdigest()}, sort_keys=True)
        self.folder = root / store.LOCAL / "reductions" / hashlib.sha256(self._about.encode()).hexdigest()[:16]
        self.known: set[str] = set()
        self.best: str | None = None
        self._file = None

    def open(self, anew: bool = False) -> None:
        """Read the results of an earlier run; with `anew`, forget them. Raises OSError."""
        if anew and self.folder.exists():
            shutil.rmtree(self.folder)
        store.make_folder(self.folder)
        store.write_atomically(self.folder / _ABOUT, self._about.encode(), sync=False)
        if (self.folder / _BEST).exists():
            self.best = (self.folder / _BEST).read_text()
        if (self.folder / _REJECTED).exists():
            lines = (self.folder / _REJECTED).read_text().split("\n")
            self.known = {line for line in lines if len(line) == KEY_CHARACTERS}  # a line that was cut off is left out
        self._file = open(self.folder / _REJECTED, "a", buffering=1)

    def reject(self, name: str) -> None:
        """Note a candidate that failed."""
        if self._file is not None and not self._file.closed:
            self._file.write(name + "\n")

    def keep(self, text: str) -> None:
        """Note the best program."""
        store.write_atomically(self.folder / _BEST, text.encode(), sync=False)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def forget(self) -> None:
        """Remove it: the reduction is at its end."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
