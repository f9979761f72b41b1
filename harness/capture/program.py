"""Inside the program that is captured from: puts the hooks in place, and writes what was asked for into a folder.

The folder belongs to the command: `wanted.json` names what to capture; `captured.json`, `captured.py`, `outputs.npz`
and `data/` are written there, or only `captured.json` with the reason if nothing could be captured.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import linecache
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.capture.arguments import constructions, draws, spelling
from harness.capture.importing import when_imported
from harness.capture.recorder import Recorder, Taken, Wanted
from harness.capture.refusal import CannotBeCaptured

VARIABLE = "GPU_REPRO_CAPTURE"


def begin(folder: str) -> None:
    """Capture what `wanted.json` in this folder names, in this process but not in its child processes."""
    os.environ.pop(VARIABLE, None)
    here = str(Path(__file__).parent / "startup")
    rest = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != here]
    os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    if not rest:
        del os.environ["PYTHONPATH"]
    sys.path[:] = [entry for entry in sys.path if entry != here]
    place = Path(folder)
    asked = json.loads((place / "wanted.json").read_text())
    wanted = Wanted(asked["kernel"], asked["number"], asked["property"])
    if asked["reference"]:
        wanted.reference = _Later(asked["reference"])
    recorder = watch(wanted, lambda taken: _finish(place, asked, taken, recorder))
    atexit.register(_ended, place, recorder)
    (place / "began").touch()


def watch(wanted: Wanted, finish: Callable[[Taken], None]) -> Recorder:
    """Report every call of this process from now on."""
    from harness.capture import cute_hooks, quadrants_hooks, tirx_hooks  # noqa: PLC0415
    from harness.capture.launches import core_hooks, driver_hooks  # noqa: PLC0415

    recorder = Recorder(wanted, finish, _prepare)
    constructions.watch(cute_hooks.is_decorated, spelling.frozen)
    when_imported("torch", draws.watch)
    cute_hooks.install(recorder)
    quadrants_hooks.install(recorder)
    tirx_hooks.install(recorder)
    driver_hooks.install(recorder)
    core_hooks.install(recorder)
    return recorder


def _prepare(taken: Taken) -> None:
    from harness.capture import written_file  # noqa: PLC0415

    written_file.prepare(taken)


class _Later:
    """The function `module:function`, imported when it is first called; or an expression of one: `lambda x: x * 2`."""

    def __init__(self, text: str):
        module, colon, name = text.partition(":")
        is_name = colon and module.replace(".", "").isidentifier() and name.isidentifier()
        self.expression = "" if is_name else text
        self._module, self._name = module, name

    @functools.cached_property
    def function(self) -> Callable:
        if not self.expression:
            sys.path.insert(0, os.getcwd())
            return getattr(importlib.import_module(self._module), self._name)
        names = {name: sys.modules[name] for name in ("torch", "numpy") if name in sys.modules}
        return eval(self.expression, {**names, "np": sys.modules.get("numpy")})

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)


def _finish(place: Path, asked: dict[str, Any], taken: Taken, recorder: Recorder) -> None:
    try:
        report = write(place, asked["program"], taken)
    except CannotBeCaptured as error:
        report = {"problem": str(error)}
    except Exception as error:
        import traceback  # noqa: PLC0415

        report = {"problem": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    _report(place, report, recorder)
    if not asked["goes_on"]:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)


def write(place: Path, program: str, taken: Taken) -> dict[str, Any]:
    """Write the captured file, its data and its outputs into a folder; what the command reports."""
    import numpy as np  # noqa: PLC0415

    from harness.capture import cute_hooks, private, written_file  # noqa: PLC0415
    from harness.capture.author import patches  # noqa: PLC0415

    written = written_file.write(taken, program, cute_hooks.package())
    (place / "data").mkdir(exist_ok=True)
    for name, data in written.data.items():
        np.savez_compressed(place / "data" / f"{name}.npz", bytes=data)
    outputs = taken.outputs() if taken.outcome is None else {}
    arrays: Any = {f"{dtype} {name}": bits for name, (dtype, bits) in outputs.items()}
    np.savez(place / "outputs.npz", **arrays)
    (place / "captured.py").write_text(written.text)
    compiler, device, checks = _where()
    return {
        "name": taken.call.name,
        "number": taken.number,
        "missing": written.missing,
        "reasons": [private.sentence(line) for line in patches.changes_of_compilers()],
        "outputs": {name: dtype for name, (dtype, _) in outputs.items()},
        "outcome": taken.outcome and taken.outcome | {"line_text": _line(taken.outcome)},
        "compiler": compiler,
        "device": device,
        "checks": checks,
    }


def write_beside(file: Path, taken: Taken) -> None:
    """Write the captured file and its data where they belong."""
    import shutil  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = write(folder, Path(sys.argv[0]).name or "a program", taken)
        file.parent.mkdir(parents=True, exist_ok=True)
        for data in (folder / "data").iterdir():
            (file.parent / "data").mkdir(exist_ok=True)
            shutil.copy(data, file.parent / "data" / data.name)
        shutil.copy(folder / "captured.py", file)
    for line in report["missing"]:
        print(f"capture: missing: {line}", file=sys.stderr)


def _where() -> tuple[str, str, str | None]:
    """The compiler that the program has, the kind of its device, and what this looks for: `none`, `race,undefined`."""
    cutlass = sys.modules.get("cutlass")
    compiler = "nvidia" if cutlass is not None and cutlass.__name__ == "cutlass" else "ours"
    session = sys.modules.get("dsl.launch.session")
    running = session and session.current()
    if not running:
        return compiler, "cuda", None
    checks = getattr(running.device, "checks", None)
    return compiler, running.device.kind, None if checks is None else ",".join(checks) or "none"


def _line(outcome: dict[str, Any]) -> str:
    """The text of the author's line that an outcome names."""
    if not outcome.get("file") or not outcome.get("line"):
        return ""
    return linecache.getline(outcome["file"], outcome["line"]).strip()


def _report(place: Path, report: dict[str, Any], recorder: Recorder) -> None:
    report |= {"seen": recorder.seen, "fitting": recorder.count, "problems": recorder.problems}
    part = place / "captured.json.part"
    part.write_text(json.dumps(report, default=str))
    part.replace(place / "captured.json")


def _ended(place: Path, recorder: Recorder) -> None:
    """The program ended: if nothing was captured, report how many calls there were."""
    if not (place / "captured.json").exists():
        _report(place, {}, recorder)
