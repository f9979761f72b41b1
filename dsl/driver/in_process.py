"""libcuda.so.1 of this package in a Python process, for packages that look for the driver themselves, as Numba does.

Kernels run in the helper process. Its findings come back in a file, and the first one is the outcome of the session.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from dsl import environment_variables as variables
from dsl.driver import library_folder, program
from dsl.driver.clients import environment
from dsl.exceptions import KernelFault

SONAME = "libcuda.so.1"
NUMBA_DRIVER = "NUMBA_CUDA_DRIVER"  # which Numba asks before it looks for the library


class ReportedFault(KernelFault):
    """A kernel that failed in the helper."""

    def __init__(self, outcome: dict) -> None:
        super().__init__(outcome["text"])
        self.kind = outcome.get("kind") or outcome["outcome"]
        self.repro_outcome, self.finding = outcome, outcome["finding"]


class Helper:
    """The helper of this process."""

    def __init__(self, checks: str, seed: int) -> None:
        file = os.memfd_create("found")  # which needs no cleaning up
        self._report = Path(f"/proc/{os.getpid()}/fd/{file}")
        self._failure: ReportedFault | None = None
        folder = library_folder()
        asked = {variables.CHECK: checks, variables.SEED: str(seed), variables.REPORT: str(self._report)}
        os.environ.update(environment({**os.environ, **asked, NUMBA_DRIVER: str(folder / SONAME)}, folder))
        ctypes.CDLL(str(folder / SONAME), ctypes.RTLD_GLOBAL)

    def failure(self) -> ReportedFault | None:
        """The first failure of a kernel so far."""
        if self._failure is None and (found := program.first_failure(self._report)):
            self._failure = ReportedFault(found)
        return self._failure


def use(checks: str, seed: int) -> Helper:
    """Load the library, before anything else loads one of this name. The process starts one helper."""
    return Helper(checks, seed)
