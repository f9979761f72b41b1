"""The findings in the kernels of a program's processes, as tables of reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from harness import store
from harness.reporting import case_findings
from harness.reporting.finding_rules import ERROR
from harness.run import reply


def tables(report: Path, command: Sequence[str], status: int, root: Path) -> list[dict[str, Any]]:
    """A table of each process in which something was found, or one of the program: as of case_table.of_script.

    `report`: the lines of dsl/driver/report.py; a process that was killed may have left the last one torn.
    """
    rows = [row for line in report.read_bytes().splitlines() if (row := _row(line)) is not None]
    first = {"command": list(command), "process": None}
    processes = {row["process"]: row for row in reversed(rows)} or {None: first}
    return [
        {
            "script": " ".join(about["command"]),
            "process": number,
            "host": "embedded",
            "compiler": "its own",
            "outcome": "exited",
            "exit": status,
            "text": "",
            "findings": [_finding(row, root).as_table() for row in rows if row["process"] == number],
        }
        for number, about in processes.items()
    ]


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _finding(row: dict[str, Any], root: Path) -> case_findings.Finding:
    if row.get("finding"):
        told = asdict(reply.read(reply.Finding, row["finding"]))
        return case_findings.told(told, Path(row["command"][0]), root)
    text = row["text"].strip().splitlines()
    return case_findings.Finding((row["kind"] or row["level"]).upper(), row["level"], text[0] if text else "")


def errors(found: Sequence[dict[str, Any]]) -> int:
    """How many errors the tables have."""
    return sum(one["level"] == ERROR for table in found for one in table["findings"])


def write_junit(path: Path, found: Sequence[dict[str, Any]], seconds: float) -> None:
    """Write a JUnit XML file: a case for each process, which fails with the errors in it. Raises OSError."""
    failed = [table for table in found if errors([table])]
    counts = {"tests": str(len(found)), "failures": str(len(failed)), "errors": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", {"name": "repro exec", "time": f"{seconds:.3f}", **counts})
    for table in found:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "repro.exec", "name": table["script"]})
        for one in table["findings"]:
            if one["level"] == ERROR:
                failure = ElementTree.SubElement(case, "failure", {"type": one["id"], "message": one["message"]})
                failure.text = _place(one)
    whole = ElementTree.Element("testsuites")
    whole.append(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    store.write_atomically(path, ElementTree.tostring(whole, encoding="utf-8", xml_declaration=True))


def _place(one: dict[str, Any]) -> str:
    place = one["place"]
    where = f"{place['file']}:{place['line']}: " if place else ""
    return f"{where}{one['id']}: {one['message']}" + (f"\nfix: {one['fix']}" if one["fix"] else "")
