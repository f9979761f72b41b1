"""A .cu file run as a program, by `dsl.driver` by name: its exit status, and the kernel that failed.

It runs next to the repro (standard library only).
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

from harness.run.exception_protocol import outcome_of

SUFFIX = ".cu"
_IN_PROCESS = {"schedule": "--schedule", "orders_s": "--check schedules", "notes": "--notes", "bound": "--explore"}


class NotForPrograms(Exception):
    """An option that works only in the process of a Python repro."""


def run(job: dict[str, Any], session: Any) -> dict[str, Any]:
    """The outcome `exited`, as for a script. Raises NotForPrograms, and what `dsl` raises where nvcc is not here."""
    refused = next((option for name, option in _IN_PROCESS.items() if job[name]), "")
    if refused:
        raise NotForPrograms(f"{refused} is for Python repros: a .cu file runs in a separate process")
    program, nvcc = importlib.import_module("dsl.driver.program"), importlib.import_module("dsl.driver.nvcc")
    source = nvcc.Source(
        job["path"], job["source"], {name: tuple(about) for name, about in (job["modules"] or {}).items()},
        job["options"], session.device.arch, job["device"] == "cuda",
    )  # fmt: skip
    try:
        built, status, found = program.run(source, job["args"], job["checks"], job["seed"])
    except nvcc.CompileError as error:
        print(error, file=sys.stderr, flush=True)
        return _exited(1, dict(outcome_of(error) or {}))
    session.compiled_elsewhere(built.kernels(), built.ptx)
    if status < 0 and not found:
        _end_by(-status)
    if found and not status:
        print("repro: a kernel failed, and the program went on (exit status 1 for 0)", file=sys.stderr, flush=True)
        status = 1
    return _exited(status if status >= 0 else 128 - status, found)


def _exited(status: int, found: dict[str, Any]) -> dict[str, Any]:
    kind = found.pop("outcome", None)
    return found | {"outcome": "exited", "exit": status, "found": kind}


def _end_by(number: int) -> None:
    """End as the program did: by the same signal."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
