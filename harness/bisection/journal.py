"""The state of a bisection, kept below `.repro/bisections` after every run: the same command goes on from there.

answers.json   label of a version -> its answers, or why it was skipped; removed at the end
result.json    what was found: claim, cases, axis, kind (found, ambiguous, aborted), last_good, first_bad, candidates,
               summary, record ids of both, date
trees          worktrees of commits; removed at the end
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from harness import store
from harness.bisection import answer
from harness.bisection.answer import Answer

_ANSWERS, _RESULT, _TREES = "answers.json", "result.json", "trees"


class Journal:
    """`about`: all that the answers depend on, besides the version."""

    def __init__(self, root: Path, about: dict[str, Any]) -> None:
        self._about = json.dumps(about, sort_keys=True)
        key = hashlib.sha256(self._about.encode()).hexdigest()[:16]
        self.folder = root / store.LOCAL / store.BISECTIONS / key
        self.trees = self.folder / _TREES
        self.known: dict[str, list[Answer] | str] = {}  # by label; a text is why it was skipped

    def open(self) -> None:
        """Read what an earlier run of the same command left. Raises OSError."""
        store.make_folder(self.folder)
        try:
            table = json.loads((self.folder / _ANSWERS).read_text())
            self.known = {
                label: one if isinstance(one, str) else [answer.from_data(data) for data in one]
                for label, one in table["answers"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.known = {}

    def take(self, label: str, answers: list[Answer] | str) -> None:
        """Keep what a version did. Raises OSError."""
        self.known[label] = answers
        rows = {
            label: one if isinstance(one, str) else [each.as_data() for each in one]
            for label, one in self.known.items()
        }
        data = json.dumps({"about": json.loads(self._about), "answers": rows})
        store.write_atomically(self.folder / _ANSWERS, data.encode())

    def forget(self) -> None:
        """Remove what an earlier run left."""
        (self.folder / _ANSWERS).unlink(missing_ok=True)

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result; the answers are not needed after it. Raises OSError."""
        store.write_atomically(self.folder / _RESULT, json.dumps(result, indent=1).encode())
        (self.folder / _ANSWERS).unlink(missing_ok=True)
        shutil.rmtree(self.trees, ignore_errors=True)
