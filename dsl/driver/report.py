"""Prints the findings about a program's kernels, and adds them as JSON lines to a file if one is asked for."""

from __future__ import annotations

import json
import sys
from typing import Any

from dsl import environment_variables as variables
from dsl.exceptions import outcome_of


class Report:
    """The findings of one process. GPU_REPRO_REPORT names the file, which any number of processes may add to."""

    def __init__(self, process: int) -> None:
        self._file = variables.value(variables.REPORT)
        self._program = {"process": process, "command": _command(process)}

    def failed(self, error: BaseException, result: int) -> None:
        """A launch was refused or its kernel failed; the program got `result`."""
        outcome = outcome_of(error) or {}
        self._add("error", str(error), result, outcome.get("finding"), outcome.get("kind") or outcome.get("outcome"))

    def warned(self, message: Warning | str) -> None:
        self._add("warning", str(message), 0, getattr(message, "finding", None), None)

    def _add(self, level: str, text: str, result: int, finding: Any, kind: str | None) -> None:
        print(text, file=sys.stderr)
        if not self._file:
            return
        row = (
            self._program
            | {"level": level, "result": result, "kind": kind, "text": text}
            | ({"finding": finding} if finding else {})
        )
        with open(self._file, "ab") as file:  # one write: processes may share it
            file.write(json.dumps(row).encode() + b"\n")


def _command(process: int) -> list[str]:
    """The command line of a process; proc(5)."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return ["?"]
