"""A CUDA C++ file run as a program: compiled by nvcc, and run as a child, on the emulator's libraries or on a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsl import environment_variables as variables
from dsl.driver import library_folder, nvcc
from dsl.driver.clients import environment

_OWN = ("trap", "deadlock", "rejected")  # outcomes of kernels that are not faults


def run(
    source: nvcc.Source, args: list[str], checks: str, seed: int, timeout_s: float | None = None
) -> tuple[nvcc.Built, int | None, dict[str, Any]]:
    """Compile and run it, with this process's streams. Returns its exit status, negative if a signal ended it, None if
    the time did, and the outcome of the first kernel that failed, {} if none did.
    Raises nvcc.CompileError, nvcc.CompilerMissing."""
    built = nvcc.build(source)
    with tempfile.TemporaryDirectory() as folder:
        program, report = Path(folder, Path(source.path).stem), Path(folder, "found.jsonl")
        program.write_bytes(built.program)
        program.chmod(0o700)
        report.touch()
        sys.stdout.flush()
        command = [str(program), *args]
        try:
            status = subprocess.call(command, env=dict(_environment(source, report, checks, seed)), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            status = None
        return built, status, first_failure(report)


def _environment(source: nvcc.Source, report: Path, checks: str, seed: int) -> Mapping[str, str]:
    """On a GPU the program finds the machine's own libraries."""
    if source.for_gpu:
        return os.environ
    asked = {variables.CHECK: checks, variables.SEED: str(seed), variables.REPORT: str(report)}
    return environment({**os.environ, **asked}, library_folder())


def first_failure(report: Path) -> dict[str, Any]:
    """The outcome of the first kernel that failed, as exception_protocol has it; {} if none did."""
    for line in report.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # the last line, if its process was killed
            continue
        if row["level"] == "error" and row["kind"]:
            return _outcome(row)
    return {}


def _outcome(row: dict[str, Any]) -> dict[str, Any]:
    kind, finding = row["kind"], row.get("finding") or {}
    named = {"outcome": kind} if kind in _OWN else {"outcome": "fault", "kind": kind}
    place = {key: finding[key] for key in ("file", "line") if finding.get(key)}
    return named | {"text": row["text"], "finding": row.get("finding")} | place
