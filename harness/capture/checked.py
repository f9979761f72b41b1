"""Run a captured file alone in a fresh process, and compare what it gives with what the program had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness.claim import findings
from harness.claim.repro_file import ReproError, read
from harness.run.result import Outcome
from harness.session import Session


def check(
    file: Path, folder: Path, report: dict[str, Any], host: str, compiler: str, note: Callable[[str], None],
    checks: str | None = None,
) -> list[str]:  # fmt: skip
    """What differs from the program, a sentence each; [] where all is equal. `folder` has the program's outputs."""
    try:
        repro = read(file)
    except ReproError as error:
        return [f"the file is no repro: {str(error).splitlines()[0]}"]
    session = Session(folder, [host], note=note, compiler=compiler, checks=checks)
    try:
        (place,) = session.hosts()
        (case,) = repro.cases()
        session.begin([(case, place)], None, True)
        _, outcome = session.run(case, place, None, True)
    finally:
        session.close()
    if report["outcome"]:
        return _otherwise(report["outcome"], outcome)
    if outcome.kind != "outputs":
        return [f"run alone it ends in {outcome.kind}: {_first_line(outcome.text)}"]
    return _differences(folder, report["outputs"], outcome)


def _otherwise(told: dict[str, Any], outcome: Outcome) -> list[str]:
    """The program ended so too; nothing where the file does as well, at the same text of a line."""
    wanted = told["outcome"] if told["outcome"] == "timeout" else findings.name(told["outcome"], told.get("kind"))
    if outcome.kind != wanted:
        return [f"the program ended in {wanted}, and the file in {outcome.kind}: {_first_line(outcome.text)}"]
    line = told.get("line_text")
    here = outcome.detail
    if line and here.get("file") and here.get("line"):
        lines = Path(here["file"]).read_text().splitlines() if Path(here["file"]).exists() else []
        text = lines[here["line"] - 1].strip() if 0 < here["line"] <= len(lines) else ""
        if text and text != line:
            return [f"the program ended at `{line}`, and the file at `{text}`"]
    return []


def _differences(folder: Path, kinds: dict[str, str], outcome: Outcome) -> list[str]:
    said = []
    with np.load(folder / "outputs.npz") as wanted:
        for name, dtype in kinds.items():
            bits = wanted[f"{dtype} {name}"]
            got = outcome.outputs.get(name)
            if got is None:
                said.append(f"run alone it does not give `{name}`")
                continue
            if got.raw.shape != bits.shape or got.dtype.name != dtype:
                said.append(
                    f"`{name}` is {dtype} {bits.shape} in the program, and {got.dtype.name} {got.raw.shape} alone"
                )
                continue
            count = int((got.raw != bits).sum())
            if count:
                said.append(f"`{name}` differs from the program's in {count} of {bits.size} elements")
    return said


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1 if lines[0].startswith("Traceback") else 0] if lines else ""
