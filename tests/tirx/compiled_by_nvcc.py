"""Runs the launches of T's tests once more with nvcc's PTX of the printed CUDA, and compares the arrays they leave.

    python tests/tirx/compiled_by_nvcc.py                           every launch of tests/tirx/test_*.py
    python tests/tirx/compiled_by_nvcc.py FILE... -k EXPRESSION     launches of some tests, as pytest chooses them

Prints `differs`, `not printed: ...` or `refused by nvcc: ...` for each launch that is not the same, and the numbers at
the end, as JSON too. Floats may differ in the last place, where nvcc fuses another product of a sum.
"""

from __future__ import annotations

import collections
import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent / "readable_cuda"))
import nvcc_runs  # noqa: E402
from nvcc_runs import Refused, Unsupported  # noqa: E402

from dsl.tirx.build import Entry, Executable  # noqa: E402
from dsl.tirx.runtime import Tensor  # noqa: E402


@dataclass
class Ran:
    """One launch: the test it is of, the functions, what they were called with, and what they left."""

    test: str
    entries: dict
    given: list
    left: list


class Recorder:
    """A plugin of pytest that keeps every launch that succeeds."""

    def __init__(self) -> None:
        self.launches: list[Ran] = []
        self.test, self.call = "", Executable.__call__
        recorder = self

        def called(executable: Executable, *arguments: object) -> None:
            given = [_copy(argument) for argument in arguments]
            recorder.call(executable, *arguments)
            recorder.launches.append(Ran(recorder.test, executable.entries, given, [_copy(a) for a in arguments]))

        Executable.__call__ = called

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.test = item.nodeid.rpartition("/")[2]

    def stop(self) -> None:
        Executable.__call__ = self.call


def _copy(argument: object) -> object:
    if isinstance(argument, Tensor):
        argument = argument.numpy()
    if hasattr(argument, "clone"):  # of torch
        argument = argument.numpy()
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def record(choice: list[str]) -> list[Ran]:
    """The launches of the tests that pytest chooses, with what they left."""
    recorder = Recorder()
    try:
        with nvcc_runs.compiling_by(nvcc_runs._recording):
            status = pytest.main(["-q", "-p", "no:cacheprovider", *choice], plugins=[recorder])
    finally:
        recorder.stop()
    if status:
        raise SystemExit(f"the tests themselves do not pass: {status!r}")
    return recorder.launches


def again(ran: Ran) -> str:
    """The outcome of a launch with nvcc's PTX."""
    try:
        executable = Executable({name: Entry(entry.function, None) for name, entry in ran.entries.items()})
        given = [_copy(argument) for argument in ran.given]
        executable(*given)
    except Unsupported as error:
        return f"not printed: {error}"
    except Refused as error:
        return f"refused by nvcc: {error}"
    except Exception as error:
        return f"differs: {type(error).__name__}: {error}"
    for place, (mine, theirs) in enumerate(zip(ran.left, given)):
        if isinstance(mine, np.ndarray) and not _same(mine, theirs):
            at = np.flatnonzero(mine.ravel() != theirs.ravel())[:4]
            return f"differs: argument {place} at {at}: {mine.ravel()[at]}, and {theirs.ravel()[at]}"
    return "same"


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind == "f":
        return np.allclose(a, b, rtol=4 * np.finfo(a.dtype).eps, atol=0, equal_nan=True)
    return a.tobytes() == b.tobytes()


def main() -> int:
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:]
    if not any(argument.partition("::")[0].endswith(".py") for argument in chosen):
        chosen = [*map(str, sorted(FOLDER.glob("test_*.py"))), *chosen]
    launches = record(chosen)
    nvcc_runs.compile_printed()
    numbers: collections.Counter[str] = collections.Counter()
    with nvcc_runs.compiling_by(nvcc_runs._theirs):
        for ran in launches:
            said = again(ran)
            numbers[said.partition(":")[0]] += 1
            if said != "same":
                print(f"{ran.test}: {said}", flush=True)
    print(json.dumps({"numbers": numbers}))
    return int(any(word != "same" for word in numbers))


if __name__ == "__main__":
    sys.exit(main())
