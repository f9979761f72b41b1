"""Run a captured file alone in a fresh process, and compare what it gives with what the program had."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from harness.capture import shortening
from harness.claim import findings
from harness.claim.repro_file import ReproError, read
from harness.compiler_name import OURS
from harness.errors import UsageError
from harness.reduction.passes_process import PassesProcess
from harness.run.result import Outcome
from harness.session import Session

SLOWER = 10  # a run whose lines are noted


class Alone:
    """A captured file and the place where it is run; `close` ends that. `folder` has the program's outputs."""

    def __init__(self, file: Path, folder: Path, report: dict[str, Any], note: Callable[[str], None]) -> None:
        """`report`: the program's report on the call, with its compiler, its device and its checks."""
        self._file, self._folder, self._report, self._note = file, folder, report, note
        host = "local" if report.get("device") == "cuda" else "embedded"
        compiler, checks = report.get("compiler", OURS), report.get("checks")
        self._session = Session(folder, [host], note=note, compiler=compiler, checks=checks)

    def close(self) -> None:
        self._session.close()

    def check(self, text: str) -> list[str]:
        """The differences from the program if the file has this text, a sentence each; [] if all is equal."""
        return self._judged(self._run(text, False))

    def _check_with_lines(self, text: str) -> tuple[list[str], Collection[int]]:
        """The differences as in `check`, and the lines that ran."""
        outcome = self._run(text, True)
        return self._judged(outcome), outcome.lines if isinstance(outcome, Outcome) else ()

    def _run(self, text: str, lines: bool) -> Outcome | ReproError:
        self._file.write_text(text)
        try:
            repro = read(self._file)
        except ReproError as error:
            return error
        (place,) = self._session.hosts()
        (case,) = repro.cases()
        self._session.begin([(case, place)], None, True)
        limit_s = SLOWER * repro.timeout_s if lines else None
        return self._session.run(case, place, limit_s, True, lines)[1]

    def _judged(self, outcome: Outcome | ReproError) -> list[str]:
        if not isinstance(outcome, Outcome):
            return [f"the file is not a repro: {str(outcome).splitlines()[0]}"]
        if self._report["outcome"]:
            return _otherwise(self._report["outcome"], outcome)
        if outcome.kind != "outputs":
            return [f"run alone it ends in {outcome.kind}: {_first_line(outcome.text)}"]
        return _differences(self._folder, self._report["outputs"], outcome)

    def shortened(self, text: str) -> tuple[str, list[str]]:
        """The text without what did not run, and what differs from the program. A call that is rejected keeps it:
        what follows the rejection would run once it is mended."""
        told = self._report["outcome"]
        if told and told.get("outcome") in ("rejected", "timeout"):
            return text, self.check(text)
        differences, ran = self._check_with_lines(text)
        if differences or not ran:
            return text, differences
        self._note("it does what the program did; leaving out what did not run")
        passes = PassesProcess("python")
        try:
            return shortening.shortened(text, ran, self._check_with_lines, passes), []
        except UsageError:  # the passes ended
            return text, []
        finally:
            passes.close()


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
        if text and not _is_same_line(line, text):
            return [f"the program ended at `{line}`, and the file at `{text}`"]
    return []


def _is_same_line(line: str, text: str) -> bool:
    """Whether a line is in the program, which may have a comment there, or a break where the file has joined lines."""
    return text == line or text.startswith(line.partition("  #")[0].rstrip())


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
