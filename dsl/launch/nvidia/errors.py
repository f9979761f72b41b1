"""Errors of NVIDIA's compiler: what they mean for a program, and the report of the device for a CUDA error.

A program that catches such an error reads the report in it, as it does under our own compiler.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Iterator
from typing import Any

from dsl.exceptions import OutcomeError

CUDA_ERRORS = ("DSLCudaRuntimeError", "DSLRuntimeError")  # until 4.7 an error of CUDA is any error of the DSL
RAISED_FOR_FFI = "CUDA error"


class Rejection(OutcomeError):
    """NVIDIA's compiler rejects the program, in its words. The exception it raised is the cause."""

    def __init__(self, error: BaseException, outcome: dict):
        super().__init__(str(error))
        self.repro_outcome, self.__cause__ = outcome, error
        self.with_traceback(error.__traceback__)


def rejection(error: BaseException) -> Rejection | None:
    """An error of NVIDIA's compiler about the program, or None for any other."""
    base = getattr(_common(), "DSLBaseError", None)
    if base is None or not isinstance(error, base) or type(error).__name__ == "DSLCudaRuntimeError":
        return None
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error)).strip()
    place = re.search(r"-->\s*(.+):(\d+)", text)
    file, line = (place[1], int(place[2])) if place else (None, None)
    outcome = {
        "outcome": "rejected",
        "class": type(error).__name__,
        "id": getattr(error, "code", None),
        "file": file,
        "line": line,
        "text": text,
    }
    return Rejection(error, outcome)


def _common() -> Any:
    return sys.modules.get("cutlass.base_dsl.common")


def is_cuda(error: BaseException) -> bool:
    """Whether a program sees an error of CUDA in it."""
    return type(error).__name__ in CUDA_ERRORS or str(error).startswith(RAISED_FOR_FFI)


def report_of(error: BaseException) -> BaseException | None:
    """The report of the device for an error that `with_reports` saw made."""
    return getattr(error, "device_report", None)


@contextlib.contextmanager
def with_reports(run: Any) -> Iterator[None]:
    """Append the report of `run.failure` to the error of CUDA that it caused; the failure counts as reported then."""
    kind = next((error_class for name in CUDA_ERRORS if (error_class := getattr(_common(), name, None))), None)
    if kind is None:
        yield
        return
    make, words = kind.__init__, kind.__str__
    own = {name: kind.__dict__[name] for name in ("__init__", "__str__") if name in kind.__dict__}

    @functools.wraps(make)
    def initialise(self, *args, **kwargs):
        make(self, *args, **kwargs)
        self.device_report, run.failure = run.failure, None

    @functools.wraps(words)
    def described(self):
        report = report_of(self)
        return words(self) if report is None else f"{words(self).rstrip()}\n{report}"

    kind.__init__, kind.__str__ = initialise, described
    try:
        yield
    finally:
        for name in ("__init__", "__str__"):
            if name in own:
                setattr(kind, name, own[name])
            else:
                delattr(kind, name)
