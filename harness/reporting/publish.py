"""Publish the findings of a run in addition to the terminal: a SARIF file, and GitHub if it runs there."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.reporting import github, sarif


def publish(tables: Sequence[dict[str, Any]], root: Path, sarif_file: Path | None) -> tuple[list[str], list[str]]:
    """Write the SARIF file if one is wanted, and the step's summary on GitHub.

    Returns lines for standard output, which GitHub reads, and what could not be written. `tables`: of case_table.
    """
    errors = []
    if sarif_file:
        try:
            sarif.write(sarif_file, tables, root, version())
        except OSError as error:
            errors.append(f"the SARIF file {sarif_file} could not be written: {error}")
    summary_file = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary_file and tables:
        try:
            github.write_summary(Path(summary_file), tables, root)
        except OSError as error:
            errors.append(f"the summary for GitHub could not be written: {error}")
    return (github.commands(tables, root) if github.is_here() else []), errors


def version() -> str | None:
    """The version of this package; None if it is not installed."""
    try:
        return importlib.metadata.version("gpu-repro")
    except importlib.metadata.PackageNotFoundError:
        return None
