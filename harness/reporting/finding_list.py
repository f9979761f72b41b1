"""The findings of a whole run: each once, with the cases that have it, and with files relative to the repository."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.reporting.finding_rules import ERROR, NOTE, WARNING

LEVELS = (ERROR, WARNING, NOTE)  # the gravest first


@dataclass
class Listed:
    """One finding. `finding`: as case_findings has it; `cases`: tables of case_table."""

    finding: dict[str, Any]
    cases: list[dict[str, Any]] = field(default_factory=list)

    @property
    def about(self) -> str:
        """Which claim, on which host, by which compiler; of several cases the first, and how many there are."""
        first = self.cases[0]
        more = f" and {len(self.cases) - 1} more" if len(self.cases) > 1 else ""
        return f"{name_of(first)} (host {first['host']}, compiler {first['compiler']}){more}"


def name_of(table: dict[str, Any]) -> str:
    """The name of a case or a script for people."""
    return table["name"] if "name" in table else table["script"]


def repository(root: Path) -> Path:
    """The folder that git manages around a project, or the project."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def path_in(repository: Path, root: Path, file: str) -> str | None:
    """A finding's file relative to the repository, with `/`; None if it is outside."""
    try:
        return (root / file).resolve().relative_to(repository.resolve()).as_posix()
    except (ValueError, OSError):
        return None


def listed(tables: Iterable[dict[str, Any]]) -> list[Listed]:
    """The findings that no claim predicts, the gravest first: those at one place with one id are one."""
    found: dict[tuple[Any, ...], Listed] = {}
    for table in tables:
        for one in table["findings"]:
            if one["expected"]:
                continue
            place = one["place"] or {}
            where = (place.get("file"), place.get("line"), place.get("column")) if place else (name_of(table),)
            key = (one["id"], *where)
            found.setdefault(key, Listed(one)).cases.append(table)
    return sorted(found.values(), key=lambda one: LEVELS.index(one.finding["level"]))
