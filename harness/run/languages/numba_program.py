"""Numba on the emulator: it looks for libcuda.so.1 itself, and gets the one of `dsl.driver`.

It runs next to the repro (standard library only).
"""

from __future__ import annotations

import importlib
from typing import Any

from harness.run.languages.cuda_program import NotForPrograms

PACKAGE = "numba"
_IN_PROCESS = {
    "schedule": "--schedule", "orders_s": "--check schedules", "notes": "--notes", "bound": "--explore",
    "perturb": "--perturb",
}  # fmt: skip


def uses(job: dict[str, Any]) -> bool:
    """Whether the job needs the library: on a GPU Numba finds NVIDIA's library."""
    return PACKAGE in job["warm"] and job["device"] != "cuda"


def begin(job: dict[str, Any]) -> Any:
    """Load the library, before the device is chosen; what is to be asked for a failure. Raises NotForPrograms."""
    refused = next((option for name, option in _IN_PROCESS.items() if job[name]), "")
    refused = refused or ("poison" if job["fill"] is not None else "")
    if refused:
        raise NotForPrograms(f"{refused} is not for Numba: its kernels run in a separate process")
    if job["device"] != "emulator":
        raise NotForPrograms("capsules are not for Numba: its kernels run in a separate process")
    return importlib.import_module("dsl.driver.in_process").use(job["checks"], job["seed"])
