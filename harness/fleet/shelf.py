"""Values that are made ahead of their reader: large ones are kept in files, so that few are in memory at once.

They are pickled: only this process's own values are put here.
"""

from __future__ import annotations

import itertools
import pickle
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

SMALL_BYTES = 1 << 16  # what stays in memory


class Shelf:
    """A folder of values, until `close`."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._numbers, self._lock = itertools.count(), threading.Lock()

    def put(self, value: Any) -> Kept:
        """Keep a value. On a full disk it stays in memory."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if len(data) <= SMALL_BYTES:
            return Kept(data)
        try:
            with self._lock:
                self._folder = self._folder or Path(tempfile.mkdtemp(prefix="gpu-repro-shelf-"))
                path = self._folder / str(next(self._numbers))
            path.write_bytes(data)
        except OSError:
            return Kept(data)
        return Kept(path)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


class Kept:
    """A value that was put on a shelf."""

    def __init__(self, place: bytes | Path) -> None:
        self._place = place

    def take(self) -> Any:
        """The value, once; its file is gone then. Raises OSError where the shelf was closed."""
        if isinstance(self._place, bytes):
            return pickle.loads(self._place)
        data = self._place.read_bytes()
        self._place.unlink(missing_ok=True)
        return pickle.loads(data)
