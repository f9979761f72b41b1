"""The findings of a run as SARIF 2.1.0, which code scanning of GitHub, editors and other tools read.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) 2.1.0 with errata 01.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness import store
from harness.reporting import finding_list, finding_rules
from harness.reporting.finding_list import Listed

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT_ID = "%SRCROOT%"
MOST_CASES = 20  # of a finding


def write(path: Path, tables: Sequence[dict[str, Any]], root: Path, version: str | None) -> None:
    """Write the file whole. Raises OSError."""
    text = json.dumps(log(tables, root, version), indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    store.write_atomically(path, text.encode())


def log(tables: Sequence[dict[str, Any]], root: Path, version: str | None) -> dict[str, Any]:
    """The document. `tables`: of case_table; `root`: of the project; `version`: of this package.

    Places are relative to the repository. A case that could not be run is a notification, not a result.
    """
    repository = finding_list.repository(root)
    found = finding_list.listed(tables)
    names = sorted({one.finding["id"] for one in found})
    not_run = [table for table in tables if table.get("verdict", table["outcome"]) == "infra"]
    run = {
        "tool": {
            "driver": {
                "name": "gpu-repro",
                **({"version": version} if version else {}),
                "rules": [_rule(name) for name in names],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT_ID: {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": not not_run,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": f"{finding_list.name_of(one)}: {one['text']}"}}
                    for one in not_run
                ],
            }
        ],
        "results": [_result(one, names, repository, root) for one in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str) -> dict[str, Any]:
    rule = finding_rules.rule(name)
    meaning = rule.meaning[0].upper() + rule.meaning[1:] + "."
    text = f"{meaning} The page {rule.page} of gpu-repro describes it."
    return {
        "id": name,
        "shortDescription": {"text": meaning.replace("`", "")},
        "help": {"text": text.replace("`", ""), "markdown": text.replace(rule.page, f"`{rule.page}`")},
        "defaultConfiguration": {"level": rule.level},
        "properties": {"tags": ["gpu", "correctness"]},
    }


def _result(one: Listed, names: list[str], repository: Path, root: Path) -> dict[str, Any]:
    finding = one.finding
    fix = f"\nfix: {finding['fix']}" if finding["fix"] else ""
    place = finding["place"]
    related = [location for p in finding["related"] if (location := _location(p, repository, root))]
    main = _location(place, repository, root) if place else None
    return {
        "ruleId": finding["id"],
        "ruleIndex": names.index(finding["id"]),
        "level": finding["level"],
        "message": {"text": f"{finding['message']}\n{one.about}{fix}"},
        "locations": [main or _claim(one.cases[0], repository, root)],
        "relatedLocations": [{"id": number, **location} for number, location in enumerate(related, 1)],
        "partialFingerprints": {"gpuRepro/v1": _fingerprint(one, root)},
        "properties": {
            "claims": list(dict.fromkeys(case["claim"] for case in one.cases if case.get("claim")))[:MOST_CASES],
            "cases": [finding_list.name_of(case) for case in one.cases[:MOST_CASES]],
            "hosts": sorted({case["host"] for case in one.cases}),
            "compilers": sorted({case["compiler"] for case in one.cases}),
        },
    }


def _location(place: dict[str, Any], repository: Path, root: Path) -> dict[str, Any] | None:
    """A place as SARIF has it; None for a file outside of the repository, whose path stays here."""
    path = finding_list.path_in(repository, root, place["file"])
    if path is None:
        return None
    region = {"startLine": max(place["line"], 1)} | ({"startColumn": place["column"]} if place["column"] else {})
    physical = {"artifactLocation": {"uri": quote(path), "uriBaseId": ROOT_ID}, "region": region}
    return {"physicalLocation": physical} | ({"message": {"text": place["message"]}} if place["message"] else {})


def _claim(table: dict[str, Any], repository: Path, root: Path) -> dict[str, Any]:
    """The first line of the case's file, where a finding has no place in the repository."""
    file = table.get("repro") or table.get("script", "")
    path = finding_list.path_in(repository, root, file) or Path(file).name
    return {"physicalLocation": {"artifactLocation": {"uri": quote(path)}, "region": {"startLine": 1}}}


def _fingerprint(one: Listed, root: Path) -> str:
    """A hash of the id, the file and the line's text. It does not change when lines move."""
    place = one.finding["place"] or {"file": finding_list.name_of(one.cases[0]), "line": 0}
    try:
        text = (root / place["file"]).read_text().splitlines()[place["line"] - 1].strip()
    except (OSError, UnicodeDecodeError, IndexError):
        text = one.finding["message"]
    return hashlib.sha256(json.dumps([one.finding["id"], place["file"], text]).encode()).hexdigest()[:32]
