"""Which lines of a program ran (standard library only: it runs with the repro)."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any


def record(path: str) -> set[int]:
    """Note the lines (1-based) that run in the file from now on, in every thread; the set that grows.

    A kernel's lines run where a compiler of Python traces them.
    """
    lines: set[int] = set()

    def of_line(frame: FrameType, event: str, argument: Any) -> Any:
        lines.add(frame.f_lineno)
        return of_line

    def of_call(frame: FrameType, event: str, argument: Any) -> Any:
        return of_line if frame.f_code.co_filename == path else None

    threading.settrace(of_call)
    sys.settrace(of_call)
    return lines
