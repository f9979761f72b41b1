"""The programs inside the tests under another compiler: each test runs in a fork, and what it leaves is written down.

A pytest plugin for `second_opinion.py --all`, which imports it in a process of each compiler. Under NVIDIA's compiler,
a test module that imports `dsl.cutlass` gets NVIDIA's `cutlass`, and a session that it starts is from
launch.nvidia_hook; the test itself is the same. Written down are its outcome, what refused it, how many programs ran,
what it printed, and what is in each array that it gave to `from_dlpack`.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import functools
import hashlib
import importlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import traceback
import types
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

TESTS = Path(__file__).parent
LIMIT_S = 120
ELSEWHERE = frozenset({"both", "needs", "on_gpu", "stand_in", "installed"})  # of tests that start processes
SHOWN = 6  # values of an array that are written down with its hash


class Observer:
    """Writes a line of JSON into `out` for each test; `only`: the ids to run, None for all."""

    def __init__(self, compiler: str, out, only: frozenset[str] | None = None):
        self.compiler, self.out, self.only = compiler, out, only
        self.arrays: list[object] = []
        self.programs, self.error = 0, None
        self.from_dlpack = None  # the package's own

    # ** pytest's hooks

    def pytest_collection_modifyitems(self, items):
        items[:] = [
            item
            for item in items
            if not ELSEWHERE.intersection(item.fixturenames) and (self.only is None or item.nodeid in self.only)
        ]

    def pytest_collectreport(self, report):
        if report.failed:
            self._write({"id": report.nodeid, "outcome": "not collected", "error": _line(str(report.longrepr), -1)})

    def pytest_runtest_protocol(self, item, nextitem):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            self._run_here(item, read, write)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            said = answer.read()
        _, ended = os.waitpid(child, 0)
        status = os.waitstatus_to_exitcode(ended)
        self._write(json.loads(said) if said else {"id": item.nodeid, "outcome": f"died: {_signal(status)}"})
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        if call.excinfo is not None and self.error is None:
            self.error = call.excinfo.value
        yield

    # ** a test, in its fork

    def _run_here(self, item, read: int, write: int) -> None:
        status = 70
        try:
            os.close(read)
            signal.alarm(LIMIT_S)
            if self.compiler == "nvidia":
                from dsl.launch.nvidia import tensors

                running = _start_nvidia()
                self.from_dlpack = tensors.taking_arrays(self.from_dlpack, running.device)
            reports = runtestprotocol(item, log=False, nextitem=item)
            failed = next((report for report in reports if not report.passed), None)
            drawn = hasattr(item.obj, "hypothesis")  # arrays of other examples
            line = {
                "id": item.nodeid,
                "outcome": failed.outcome if failed else "passed",
                "programs": self.programs,
                "arrays": [] if drawn else list(map(_state, self.arrays)),
                "printed": "".join(report.capstdout for report in reports[:1]),
                **(_refusal(self.error) if failed else {}),
            }
            with os.fdopen(write, "wb") as answer:
                answer.write(json.dumps(line).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def _write(self, line: dict) -> None:
        print(json.dumps(line), file=self.out, flush=True)

    # ** what is observed

    def observe(self, runtime: types.ModuleType) -> None:
        """Note the arrays that `runtime.from_dlpack` gets, and under our compiler each call of a host function."""
        self.from_dlpack = runtime.from_dlpack

        @functools.wraps(self.from_dlpack)
        def from_dlpack(tensor_dlpack, *args, **kwargs):
            if all(tensor_dlpack is not known for known in self.arrays):
                self.arrays.append(tensor_dlpack)
            return self.from_dlpack(tensor_dlpack, *args, **kwargs)

        runtime.from_dlpack = from_dlpack
        if self.compiler == "ours":
            compiled = importlib.import_module("dsl.launch.call.compiling.compiler").Compiled
            run = compiled.call

            def counted(*arguments, **keywords):
                returned = run(*arguments, **keywords)
                self.programs += 1
                return returned

            compiled.call = counted


def _state(array) -> dict:
    """The type, the shape and the first values of an array as text, with the hash of all values."""
    import numpy as np

    try:
        if hasattr(array, "detach"):
            import torch

            array = array.detach().cpu().contiguous()
            array = (
                array.view(torch.uint8).numpy()
                if array.dtype.itemsize == 1 or array.dtype == torch.bfloat16
                else array.numpy()
            )
        array = np.ascontiguousarray(array)
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)  # all NaNs are one
    except Exception as error:
        return {"sha256": "", "shown": f"{type(error).__name__}: {error}"}
    return {
        "sha256": hashlib.sha256(array.tobytes()).hexdigest()[:16],
        "shown": f"{array.dtype}{list(array.shape)} {array.ravel()[:SHOWN].tolist()}",
    }


def _refusal(error: BaseException | None) -> dict:
    """The error by which NVIDIA's compiler refused a program, a diagnostic or its own exception; or what was raised."""
    from dsl.launch import session
    from dsl.launch.nvidia import errors

    seen = error
    while seen is not None:  # `pytest.warns` fails before what it was left by
        cause = session.current().cause(seen)
        if isinstance(cause, errors.Rejection):
            outcome = cause.repro_outcome
            return {"refused": outcome["id"] or outcome["class"], "error": _line(outcome["text"], 0)}
        frames = [frame.filename for frame in traceback.extract_tb(cause.__traceback__)]
        if frames and "nvidia_cutlass_dsl" in frames[-1]:
            return {"refused": type(cause).__name__, "error": _line(str(cause), 0)}
        seen = seen.__cause__ or seen.__context__
    return {"raised": type(error).__name__, "error": _line(str(error), 0)}


def _line(text: str, at: int) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    return lines[at][:200]


def _signal(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


# ** NVIDIA's names for ours


class _Finder:
    """`dsl.cutlass.x` is `cutlass.x`."""

    def find_spec(self, fullname: str, path=None, target=None) -> ModuleSpec | None:
        if fullname != "dsl.cutlass" and not fullname.startswith("dsl.cutlass."):
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        if spec.name == "dsl.cutlass.grammar":
            return _stand_in(spec.name, "cutlass", {"GRAMMAR": None, "UNDECORATED": None})
        return importlib.import_module(spec.name.removeprefix("dsl."))

    def exec_module(self, module: types.ModuleType) -> None:
        """It is there."""


def _stand_in(name: str, theirs: str, more: dict) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(more | vars(importlib.import_module(theirs)))
    return made


def take_nvidias_names() -> None:
    """Let what tests import from here be NVIDIA's package; types of numbers too, where a test takes them from core."""
    sys.meta_path.insert(0, _Finder())
    dtypes = _stand_in("dsl.core.number.dtypes", "cutlass", vars(importlib.import_module("dsl.core.number.dtypes")))
    original = builtins.__import__

    def importing(name, globals=None, locals=None, fromlist=(), level=0):
        if (
            name == "dsl.core.number.dtypes"
            and fromlist
            and str((globals or {}).get("__file__", "")).startswith(str(TESTS))
        ):
            return dtypes
        return original(name, globals, locals, fromlist, level)

    builtins.__import__ = importing


def _start_nvidia():
    """Begin the one session of this process, which is returned: what a test starts and stops is it."""
    from dsl import alias
    from dsl.launch import session
    from dsl.launch.nvidia import hook

    running = hook.start("emulator")
    session.start = alias.install = lambda *_, **__: running
    session.stop = alias.uninstall = lambda: None
    return running


def run(compiler: str, paths: list[str], out, only: frozenset[str] | None = None) -> None:
    """Run the tests of `paths` here, in a process that has imported neither compiler. pytest prints nothing."""
    import torch

    torch.set_num_threads(1)  # an OpenMP pool does not survive a fork
    from dsl import alias

    observer = Observer(compiler, out, only)
    if compiler == "nvidia":
        alias.warm("nvidia")
        take_nvidias_names()
        runtime = importlib.import_module("cutlass.cute.runtime")
    else:
        alias.warm()
        runtime = importlib.import_module("dsl.cutlass.cute.runtime")
    observer.observe(runtime)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        pytest.main(
            [*paths, "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--continue-on-collection-errors"],
            plugins=[observer],
        )


# ** both together


@dataclass(frozen=True)
class Verdict:
    """The outcome of the programs of one test under NVIDIA's compiler: `kind` is of KINDS."""

    id: str
    kind: str
    detail: str = ""


KINDS = {
    "equal": "the test passes under both compilers, with equal arrays and output",
    "equal so far": "arrays are equal, and the test asserts more that only our compiler gives",
    "refused": "NVIDIA's compiler refuses a program",
    "lacks": "the test asks NVIDIA's package for what it lacks",
    "explained": "values differ or the process dies, as docs/second-opinion.md explains",
    "differs": "values differ",
    "died": "the process died",
}


def verdict(ours: dict, theirs: dict) -> Verdict:
    """Compare what one test left under our compiler, where it passed, and under NVIDIA's compiler."""
    name, outcome = ours["id"], theirs["outcome"]
    if outcome.startswith(("died", "not collected")):
        return Verdict(name, "died" if outcome[0] == "d" else "lacks", theirs.get("error", outcome))
    wrong = differences(ours, theirs)
    if outcome == "passed":
        return Verdict(name, "differs" if wrong else "equal", wrong)
    if "refused" in theirs:
        return Verdict(name, "refused", theirs["refused"])
    if theirs["raised"] in ("AttributeError", "ImportError", "ModuleNotFoundError", "NameError"):
        return Verdict(name, "lacks", theirs["error"])
    why = f"{theirs['raised']}: {theirs['error']}"
    ours_alone = bool(ours["arrays"]) or theirs["raised"] == "Failed"  # DID NOT WARN, DID NOT RAISE
    kind = "equal so far" if ours_alone and not wrong else "differs"
    return Verdict(name, kind, f"{why}; {wrong}" if wrong else why)


def differences(ours: dict, theirs: dict) -> str:
    """How arrays and output differ, or ''."""
    if len(ours["arrays"]) != len(theirs["arrays"]):
        return f"{len(ours['arrays'])} arrays, and {len(theirs['arrays'])}"
    found = [f"{a['shown']}, and {b['shown']}" for a, b in zip(ours["arrays"], theirs["arrays"]) if a != b]
    if ours["printed"] != theirs["printed"]:
        found.append(f"printed {ours['printed'][:80]!r}, and {theirs['printed'][:80]!r}")
    return found[0] if found else ""


def explained() -> dict[str, str]:
    """The explanations of docs/second-opinion.md, by how the ids of the tests begin: the first column of its table."""
    page = (TESTS.parent / "docs" / "second-opinion.md").read_text()
    rows = re.findall(r"^\| `(tests/[^`]+)` \| (.+) \|$", page, re.MULTILINE)
    return dict(rows)


def compare(paths: list[str], keep: Path) -> list[Verdict]:
    """Run the tests of `paths` under both compilers, a process each; their lines stay in the folder `keep`.

    Tests are compared whose programs our compiler accepts: those that ran one and passed.
    """
    ours = _lines("ours", keep, paths)
    accepted = {name: line for name, line in ours.items() if line["outcome"] == "passed" and line["programs"]}
    (keep / "only.txt").write_text("\n".join(accepted))
    theirs = _lines("nvidia", keep, paths)
    reasons, found = explained(), []
    for name, line in accepted.items():
        module = name.partition("::")[0]
        made = verdict(line, theirs.get(name) or theirs.get(module) or {"outcome": "died: not run"})
        if made.kind in ("differs", "died") and name.startswith(tuple(reasons)):
            made = Verdict(name, "explained", made.detail)
        found.append(made)
    return found


def _lines(compiler: str, keep: Path, paths: list[str]) -> dict[str, dict]:
    out = keep / f"{compiler}.jsonl"
    subprocess.run([sys.executable, __file__, compiler, keep, *paths], check=True, cwd=TESTS.parent)
    return {line["id"]: line for line in map(json.loads, out.read_text().splitlines())}


def report(found: list[Verdict]) -> str:
    """How many of each kind, refusals by diagnostic, and everything else but the equal ones by the test's name."""
    lines = [f"{len(found)} tests with programs that our compiler accepts"]
    for kind, meaning in KINDS.items():
        of = [made for made in found if made.kind == kind]
        if of:
            lines.append(f"{len(of):5}  {kind}: {meaning}")
        if kind == "refused":
            count = collections.Counter(made.detail for made in of)
            lines += [f"       {number:5}  {id}" for id, number in count.most_common()]
        elif kind != "equal":
            names = collections.Counter(made.id.partition("[")[0] for made in of)
            first = {made.id.partition("[")[0]: made.detail for made in reversed(of)}
            lines += [f"       {number:5}  {name}: {first[name][:200]}" for name, number in names.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """`own_programs.py COMPILER FOLDER PATH...`: what `compare` starts."""
    compiler, keep, *paths = arguments
    only = frozenset((Path(keep) / "only.txt").read_text().split("\n")) if compiler == "nvidia" else None
    with open(Path(keep) / f"{compiler}.jsonl", "w") as out:
        run(compiler, paths, out, only)


if __name__ == "__main__":
    sys.path[0] = str(TESTS.parent)
    main(sys.argv[1:])
