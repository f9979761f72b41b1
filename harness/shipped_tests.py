"""Ordinary tests on another machine: `pytest tests --gpu-host p1 --gpu-all`.

The tests of one file become one program for the machinery of repros: it holds the file and each conftest.py above it,
and its case N runs the N-th test there, in its own process. The reports of pytest there are reported here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness import schema, store
from harness.claim.repro_file import Case, read

if TYPE_CHECKING:
    from harness.run.result import Outcome

TIMEOUT_S = 600
_SCRIPT = re.compile(r"(?m)^# /// script$\s(?P<content>(?:^#(?:| .*)$\s)+)^# ///$")  # PEP 723
_PROGRAM = '''\
# /// script
# requires-python = ">=3.11"
# dependencies = {needs}
# [tool.repro]
# params = {{ item = {numbers} }}
# timeout = {timeout_s}
# ///
"""Tests of {name}."""
import json
import os
import tempfile

import numpy as np

FILES = {files}
ITEMS = {items}


class Reports:
    def __init__(self):
        self.rows = []

    def take(self, report, when):
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        sections = [[title[:200], text[:{most}]] for title, text in report.sections][:20]
        duration = getattr(report, "duration", 0.0)
        crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", "").partition(chr(10))[0]
        row = {{"when": when, "outcome": report.outcome, "text": text[:{most}], "crash": crash[:1000]}}
        row |= {{"sections": sections, "duration": duration}}
        self.rows.append(row | ({{"wasxfail": str(report.wasxfail)}} if hasattr(report, "wasxfail") else {{}}))

    def pytest_runtest_logreport(self, report):
        self.take(report, report.when)

    def pytest_collectreport(self, report):
        if report.failed:
            self.take(report, "setup")


def run(item):
    import pytest

    reports = Reports()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chdir(folder)
        options = ["--rootdir", folder, "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
        pytest.main([ITEMS[item], *options], plugins=[reports])
        os.chdir("/")
    return {{"reports": np.frombuffer(json.dumps(reports.rows).encode(), np.uint8)}}
'''
_MOST_TEXT = 100_000


@dataclasses.dataclass(frozen=True)
class _Report:
    """The report of pytest there on one phase of a test."""

    when: Any = schema.must(schema.one_of("setup", "call", "teardown"))
    outcome: Any = schema.must(schema.one_of("passed", "failed", "skipped"))
    text: str = schema.must(schema.string(_MOST_TEXT))
    sections: list[list[str]] = schema.must(schema.many(schema.many(schema.string(_MOST_TEXT), exactly=2), 20))
    duration: float = schema.must(schema.real(0, 1e9))
    crash: str = schema.must(schema.string(1000), "")  # the exception, in a line
    wasxfail: str | None = schema.must(schema.optional(schema.string(_MOST_TEXT)), None)


def cases(items: Sequence[pytest.Item], root: Path) -> dict[str, Case]:
    """By the id of a test, the case that runs it. Raises ReproError, OSError."""
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    found: dict[str, Case] = {}
    for path, tests in by_file.items():
        program = _write(path, [test.nodeid for test in tests], tests[0].config.rootpath, root)
        found |= dict(zip((test.nodeid for test in tests), read(program).cases(), strict=True))
    return found


def _write(path: Path, ids: list[str], top: Path, root: Path) -> Path:
    """The program of a test file, below the project's `.repro`."""
    above = [folder for folder in reversed(path.parents) if folder.is_relative_to(top)] or [path.parent]
    shipped = [one for folder in above if (one := folder / "conftest.py").is_file()] + [path]
    files = {store.relative(one, top): one.read_text(encoding="utf-8") for one in shipped}
    needs = ["numpy", "pytest", *_needs(files[store.relative(path, top)])]
    text = _PROGRAM.format(
        needs=json.dumps(list(dict.fromkeys(needs))), numbers=list(range(len(ids))), timeout_s=TIMEOUT_S,
        name=json.dumps(path.name)[1:-1], files=repr(files), items=repr(ids), most=_MOST_TEXT,
    )  # fmt: skip
    folder = root / store.LOCAL / "tests" / hashlib.sha256(text.encode()).hexdigest()[:16]
    store.make_folder(folder)
    program = folder / path.name
    store.write_atomically(program, text.encode(), sync=False)
    return program


def _needs(text: str) -> list[str]:
    """The dependencies that a test file names, as PEP 723 has them."""
    match = _SCRIPT.search(text)
    if match is None:
        return []
    lines = (line[2:] if line.startswith("# ") else line[1:] for line in match["content"].splitlines())
    try:
        needs = tomllib.loads("\n".join(lines)).get("dependencies", [])
    except tomllib.TOMLDecodeError:
        return []
    return [need for need in needs if isinstance(need, str)] if isinstance(needs, list) else []


def reports(item: pytest.Item, outcome: Outcome, where: str) -> Iterator[pytest.TestReport]:
    """The reports of a test that ran `where`: as there, or why it could not be run."""
    rows: list[_Report] = []
    problem = "" if outcome.kind == "outputs" else outcome.text or outcome.kind
    if not problem:
        try:
            data = outcome.outputs["reports"].raw.tobytes()
            rows = schema.many(schema.fields(_Report), 1000)(json.loads(data), "reports")
            problem = "" if rows else f"pytest ran nothing there\n{outcome.stdout}"
        except (KeyError, ValueError, RecursionError, schema.Misfit) as error:
            problem = f"what came back is not a report of pytest: {error}"
    if problem:
        when = "setup" if outcome.kind in ("infra", "skipped", "outputs") else "call"
        rows = [_Report(when, "failed", problem, [], 0.0, problem.partition("\n")[0])]
    for row in rows:
        yield _as_pytests(item, row, where)


def _as_pytests(item: pytest.Item, row: _Report, where: str) -> pytest.TestReport:
    longrepr: Any = None
    if row.outcome == "skipped":
        longrepr = (str(item.path), (item.location[1] or 0) + 1, row.text)
    elif row.outcome == "failed":
        longrepr = f"{row.crash + ', ' if row.crash else ''}on {where}\n{row.text}"
    keywords: Any = dict.fromkeys(item.keywords, 1)
    sections = [(title, text) for title, text in row.sections]
    about = item.nodeid, item.location, keywords, row.outcome, longrepr, row.when, sections
    report = pytest.TestReport(*about, row.duration)
    if row.wasxfail is not None:
        report.wasxfail = row.wasxfail
    return report
