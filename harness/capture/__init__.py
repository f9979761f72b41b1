"""Capture one call out of a program as a file that runs alone: docs/capture.md.

    from harness.capture import capture

    with capture("repros/x.py", kernel="softmax"):
        train_one_step()

It needs the standard library and numpy; torch is used where the program has imported it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["NothingCaptured", "capture"]


class NothingCaptured(Exception):
    """No call of the program was captured; the text is the reason."""


@contextlib.contextmanager
def capture(
    file: str | Path,
    kernel: str | None = None,
    call: int = 1,
    nan: bool = False,
    first_finding: bool = False,
    differs: Callable | None = None,
) -> Iterator[None]:
    """Write the `call`-th call of `kernel` that the block makes to `file`; data go to a folder `data` next to it.

    `nan`, `first_finding` and `differs` choose the first call with that property, as the command's options do. The file
    is not run here: `repro run` does. Import this before the compiler, so that arguments made earlier are understood.
    Raises NothingCaptured if the block makes no such call.
    """
    from harness.capture import program  # noqa: PLC0415
    from harness.capture.recorder import Wanted  # noqa: PLC0415

    chosen = {"nan": nan, "finding": first_finding, "differs": differs is not None}
    kind = next((name for name, value in chosen.items() if value), "call")
    taken: list = []
    recorder = program.watch(Wanted(kernel, call, kind, differs), taken.append)
    try:
        yield
    finally:
        recorder.is_done = True
        if taken:
            program.write_beside(Path(file), taken[0])
    if not taken:
        seen = "; ".join([f"the block made {recorder.seen} calls, {recorder.count} fitting", *recorder.problems])
        raise NothingCaptured(f"no call was captured: {seen}")
