"""One file for the first GPU: every repro, every instruction form and the probes of tensor cores, with their runner.

It is a capsule. Instruction forms come from `python -m dsl.forms`, which runs as a separate program.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.capsules import capsule_file
from harness.claim import selection
from harness.claim.repro_file import Case

LIMIT_BYTES = 50_000_000
TIMEOUT_S = 10.0  # for a case: a kernel that hangs must not cost a minute
FORMS = (sys.executable, "-m", "dsl.forms")


def write(cases: list[Case], out: Path, keyword: str, say: Callable[[str], None]) -> tuple[int, int]:
    """Record cases, and the forms whose names fit a `-k` expression; (cases, forms). Raises Refused, OSError."""
    count = 0
    with tempfile.TemporaryDirectory(prefix="forms-") as name:
        folder = Path(name)
        index = _forms(folder, keyword, say)

        def add(writer: capsule_file.Writer) -> dict[str, Any]:
            nonlocal count
            writer.cases += [_case(form) for form in index["cases"]]
            writer.add_bytes(folder)
            count = len(index["cases"])
            about = {"model_of": index["model_of"], "default": index["default"]}
            return {"forms": about, "one_file": True, "timeout_s": TIMEOUT_S}

        recorded = capsule_file.record(cases, out, None, say, add)
    size = out.stat().st_size if recorded else 0
    if size > LIMIT_BYTES:
        out.unlink()
        raise capsule_file.Refused(
            f"{out.name} would have {size} bytes, and may have {LIMIT_BYTES}: choose cases with -k"
        )
    return recorded - count, count


def _forms(folder: Path, keyword: str, say: Callable[[str], None]) -> dict[str, Any]:
    names: list[str] = []
    _run(["--list"], names.append)
    fits = selection.matcher(keyword)
    chosen = [name for name in names if fits(name)]
    if not chosen:
        return {"cases": [], "model_of": {}, "default": ""}
    only = folder / "only.txt"
    only.write_text("\n".join(chosen))
    _run([str(folder), "--only", str(only)], say)
    return json.loads((folder / "forms.json").read_text())


def _run(arguments: list[str], say: Callable[[str], None]) -> None:
    with subprocess.Popen([*FORMS, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            say(line.rstrip())
    if process.returncode:
        raise capsule_file.Refused(f"{' '.join(FORMS[1:])} ended with {process.returncode}")


def _case(form: dict[str, Any]) -> dict[str, Any]:
    """A form as a case of a capsule, which has no repro; its PTX stands for the repro's text."""
    return form | {
        "name": f"form--{form['form'].replace(':', '_')}",
        "repro": "",
        "case": "",
        "claim": "",
        "repro_sha256": form["launches"][0]["ptx"],
        "predicted": "outputs",
        "outputs": [],
        "compiler": None,
        "kernels": [],
        "versions": {},
    }
