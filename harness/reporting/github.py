"""A run on GitHub Actions: annotations at the author's lines, and the step's summary.

Source: GitHub Docs, "Workflow commands for GitHub Actions" (annotations, job summaries, and how they escape text).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.compiler_name import OURS
from harness.reporting import finding_list
from harness.reporting.finding_list import Listed
from harness.reporting.finding_rules import ERROR, NOTE, WARNING
from harness.terminal import markdown, one_line, printable

COMMANDS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}
MOST_ANNOTATIONS = 10  # of a level in a step: GitHub shows no more
MOST_ROWS = 200
MOST_BYTES = 1 << 20  # of a step's summary: GitHub refuses more
MOST_REASON = 200
_MARKS = {"pass": "✅", "skip": "⏭️", "infra": "⚠️"}
_FAILED = "❌"


def is_here(environment: Mapping[str, str] | None = None) -> bool:
    """Whether this runs on GitHub Actions."""
    return (os.environ if environment is None else environment).get("GITHUB_ACTIONS") == "true"


def commands(tables: Sequence[dict[str, Any]], root: Path) -> list[str]:
    """A workflow command for each finding, at most ten of a level, the gravest first. `tables`: of case_table."""
    workspace = _workspace(root)
    lines, counts = [], Counter[str]()
    for one in finding_list.listed(tables):
        counts[one.finding["level"]] += 1
        if counts[one.finding["level"]] <= MOST_ANNOTATIONS:
            lines.append(_annotation(one, workspace, root))
    for table in tables:
        if _state(table) == "infra":
            counts["infra"] += 1
            if counts[ERROR] + counts["infra"] <= MOST_ANNOTATIONS:
                title = f"could not be run: {finding_list.name_of(table)}"
                lines.append(command("error", f"on {table['host']}: {table['text']}", title=title))
    return lines


def _annotation(one: Listed, workspace: Path, root: Path) -> str:
    finding, place = one.finding, one.finding["place"]
    message = [finding["message"], one.about]
    for other in finding["related"]:
        message.append(f"{other['file']}:{other['line']}: {other['message']}")
    message += [f"fix: {finding['fix']}"] if finding["fix"] else []
    about: dict[str, Any] = {}
    path = finding_list.path_in(workspace, root, place["file"]) if place else None
    if place and path:
        about = {"file": path, "line": place["line"], **({"col": place["column"]} if place["column"] else {})}
    return command(COMMANDS[finding["level"]], "\n".join(message), **about, title=finding["id"])


def command(name: str, message: str, **properties: Any) -> str:
    """`::error file=a.py,line=3,title=RACE::text`, escaped as GitHub reads it."""
    about = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name}{' ' * bool(about)}{about}::{_data(printable(message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def _workspace(root: Path) -> Path:
    """The folder to which files of annotations are relative: the checkout."""
    named = os.environ.get("GITHUB_WORKSPACE")
    if named and root.resolve().is_relative_to(Path(named).resolve()):
        return Path(named)
    return finding_list.repository(root)


# --- the summary -----------------------------------------------------------------------------------------------------


def write_summary(path: Path, tables: Sequence[dict[str, Any]], root: Path) -> None:
    """Append the summary to the step's file. Raises OSError."""
    text = summary(tables, root)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def summary(tables: Sequence[dict[str, Any]], root: Path) -> str:
    """Markdown: how many claims are in each state, and a table of those that did not pass."""
    counts = Counter(_state(table) for table in tables)
    words = {"pass": "passed", "skip": "skipped", "infra": "could not be run", "contradicted": "contradicted"}
    states = [f"{counts[state]} {words.get(state, 'failed')}" for state in sorted(counts, key=_order)]
    cases = "1 case" if len(tables) == 1 else f"{len(tables)} cases"
    text = f"### gpu-repro: {cases}, {', '.join(states)}\n\n"
    shown = sorted((one for one in tables if _state(one) != "pass"), key=lambda one: _order(_state(one)))
    if not shown:
        return text
    text += "| | claim | host | outcome | reason |\n|---|---|---|---|---|\n"
    workspace = _workspace(root)
    for number, table in enumerate(shown):
        row = _row(table, workspace, root)
        if number == MOST_ROWS or len((text + row).encode()) > MOST_BYTES - 1000:
            text += f"\n{len(shown) - number} more cases are not listed.\n"
            break
        text += row
    return text + "\n"


def _order(state: str) -> int:
    known = ("fail", "contradicted", "infra", "skip", "pass")
    return known.index(state) if state in known else 0


def _state(table: dict[str, Any]) -> str:
    """The verdict; of a script what came of it."""
    if "verdict" in table:
        return table["verdict"]
    if table["outcome"] == "infra":
        return "infra"
    return "pass" if table["outcome"] == "exited" and not table["exit"] else "fail"


def _row(table: dict[str, Any], workspace: Path, root: Path) -> str:
    findings = [one for one in table["findings"] if one["level"] == ERROR and not one["expected"]]
    place = findings[0]["place"] if findings else None
    name = markdown(finding_list.name_of(table))
    claim = markdown(table.get("claim") or " ".join(["script", *table.get("args", ())]))
    where = table["host"] + (f" {table['compiler']}" if table["compiler"] != OURS else "")
    outcome = table["outcome"] if table.get("exit") is None else f"exit status {table['exit']}"
    cells = [
        _MARKS.get(_state(table), _FAILED),
        f"{_linked(name, place, workspace, root)}<br>{claim}",
        markdown(where),
        markdown(outcome),
        _reason(table, findings),
    ]
    return f"| {' | '.join(cells)} |\n"


def _reason(table: dict[str, Any], findings: Sequence[dict[str, Any]]) -> str:
    """`repros/one.py:18: RACE: writes ...`, or the verdict's reason."""
    if not findings:
        return markdown(_short(table.get("reason") or table["text"].partition("\n")[0]))
    one = findings[0]
    where = f"{one['place']['file']}:{one['place']['line']}: " if one["place"] else ""
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return markdown(f"{where}{one['id']}: {_short(one['message'])}{more}")


def _short(text: str) -> str:
    return text if len(text) <= MOST_REASON else f"{text[: MOST_REASON - 4]} ..."


def _linked(name: str, place: dict[str, Any] | None, workspace: Path, root: Path) -> str:
    """The name as a link to the line on GitHub, if the run names its commit."""
    server, repository, commit = (os.environ.get(f"GITHUB_{part}") for part in ("SERVER_URL", "REPOSITORY", "SHA"))
    path = finding_list.path_in(workspace, root, place["file"]) if place else None
    if not (server and repository and commit and place and path):
        return name
    return f"[{name}]({server}/{quote(repository)}/blob/{quote(commit)}/{quote(path)}#L{place['line']})"
