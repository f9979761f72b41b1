"""Room for deeply nested programs: compiling one takes some ten Python frames a level, and Python allows 1 000 in all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# 1 000 arms of an `if ... elif` fit. An author's own endless recursion ends here too, on half of a thread's usual stack.
FRAMES = 10_000


@contextmanager
def deep() -> Iterator[None]:
    """Allow `FRAMES` Python frames; also a decorator."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
