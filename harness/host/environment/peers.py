"""Languages that bring their own compiler, each in an environment that uv makes of the repro's block.

Their packages contradict one another, so no environment has them all. A repro runs here if its language is installed
here.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Any

from harness.compiler_name import OURS
from harness.host.environment import own_wheel, releases
from harness.run.transport import Job, Local

PACKAGES = ("numba-cuda", "tilelang", "triton")


def missing(needs: Sequence[str]) -> list[str]:
    """The languages that requirements name, and that are not installed here."""
    names = {own_wheel.name_of(need).lower().replace("_", "-") for need in needs}
    return [name for name in PACKAGES if name in names and not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


class Here:
    """A transport to this machine: this environment, or one for a repro whose language is not installed in it."""

    def __init__(self, note: Callable[[str], None] | None = None) -> None:
        self._note, self._local = note, Local(note)
        self._others: dict[str, releases.Released] = {}  # by language

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        lacking = missing(job.needs)
        if not lacking:
            return self._local.run(job)
        if lacking[0] not in self._others:
            self._others[lacking[0]] = releases.Released(OURS, self._note, name=lacking[0])
        return self._others[lacking[0]].run(job)

    def close(self) -> None:
        self._local.close()
        while self._others:
            self._others.popitem()[1].close()
