"""Room for deeply nested programs: compiling one takes some ten Python frames a level,
and Python allows 1 000 in all."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from dsl import span
from dsl.core.errors import DSLUserCodeRecursionError
from dsl.core.phrase import Phrase, dynamic

# 1 000 arms of an `if ... elif` fit. An author's own endless recursion ends here too,
# on half of a thread's usual stack.
FRAMES = 10_000


_lock = threading.Lock()
_open, _usual = 0, 0  # the limit is one for all threads: the first to need more raises it, the last puts it back


@contextmanager
def deep() -> Iterator[None]:
    """Allow `FRAMES` Python frames; also a decorator."""
    global _open, _usual
    with _lock:
        if not _open:
            _usual = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_usual, FRAMES))
        _open += 1
    try:
        yield
    finally:
        with _lock:
            _open -= 1
            if not _open:
                sys.setrecursionlimit(_usual)


def endless(error: RecursionError) -> DSLUserCodeRecursionError:
    """The author's error of a recursion that never ends while compiling:
    the call that comes again, or where it stopped."""
    calls, traceback = [], error.__traceback__
    while traceback is not None:
        calls.append((traceback.tb_frame.f_code, traceback.tb_lasti))
        traceback = traceback.tb_next
    calls = [(code, at) for code, at in calls if not span.is_between(code)]
    times = Counter(code for code, _ in calls if not span.is_part(code))
    code, count = max(times.items(), key=lambda item: item[1], default=(None, 0))
    if code is None or count < 20:
        return DSLUserCodeRecursionError(
            "is nested too deeply, or contains itself",
            fix="use its parts",
            place=span.of_traceback(error.__traceback__),
        )
    again = [position for position, (called, _) in enumerate(calls) if called is code][1]
    name = "this function" if code.co_name.startswith("<") else f"`{code.co_name}`"
    return DSLUserCodeRecursionError(
        Phrase(
            "{name} calls itself without end while compiling, where {value} cannot stop it",
            name=name,
            value=dynamic("value"),
        ),
        fix=Phrase(
            "write a loop, or stop by a value known while compiling: `if cutlass.const_expr(n == 0)`", "END_RECURSION"
        ),
        place=span.of_code(*calls[again - 1]),
    )
