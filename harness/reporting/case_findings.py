"""The findings of one run as data: id, level, message, fix, and places in the author's files.

A compiler and a device give their findings as data. Other findings are read from texts: exceptions and warnings as
Python prints them, the last output of a process that was stopped, messages of NVIDIA's compiler.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.reporting import finding_rules

if TYPE_CHECKING:
    from harness.claim.repro_file import Repro
    from harness.run.result import Outcome

_WARNING = re.compile(
    r"^(?P<file>\S[^\n]*?):(?P<line>\d+): (?P<class>\w*(?:Warning|Note|Race)): "
    r"(?:(?P<id>[A-Z][A-Z0-9_]+): )?(?P<message>.*)$"
)
_STOPPED = re.compile(r"^(?P<file>\S[^\n]*?):(?P<line>\d+):(?P<column>\d+): STOPPED$")
_FRAME = re.compile(r'^  File "(?P<file>[^"]*)", line (?P<line>\d+)')
_FIX = "fix: "
_NOTES = ("REDUNDANT_SYNC", "SYNC_NOT_TRIED")


@dataclass(frozen=True)
class Place:
    """A place in a file, relative to the project where it is inside. Lines and columns count from 1."""

    file: str
    line: int
    column: int | None = None
    message: str = ""


@dataclass(frozen=True)
class Edit:
    """A change of the program. `file`: as of a place, None for the PTX of the kernel; `kind`: `insert_before` the line,
    `insert_after` it, or `replace` it; `text`: whole lines; `old`: the line now."""

    file: str | None
    line: int
    kind: str
    text: str
    old: str


@dataclass(frozen=True)
class Finding:
    """`id`: as in finding_rules, or the compiler's own. `related`: the other accesses, waits and calls; `edit`: the
    change that the fix is, if a single one is known."""

    id: str
    level: str
    message: str
    place: Place | None = None
    related: tuple[Place, ...] = ()
    fix: str = ""
    edit: Edit | None = None
    expected: bool = False

    def as_table(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"related": [asdict(one) for one in self.related]}


def of(outcome: Outcome, repro: Repro, root: Path) -> list[Finding]:
    """The findings: how the run ended, if it did not give outputs, then the warnings that it printed."""
    reader = _Reader(repro.path, root)
    told = outcome.detail.get("finding")
    found = [reader.reported(told)] if told else []
    if not found and outcome.kind in ("error", "exited"):
        found = reader.exception(outcome.text if outcome.kind == "error" else outcome.stderr, outcome)
    if not found and outcome.kind in ("timeout", "crash"):
        found = [reader.stopped(outcome)]
    if not found and outcome.kind not in ("outputs", "exited", "skipped", "infra"):
        found = [reader.unread(outcome)]
    return found + reader.warnings(outcome.stderr)


def notes(outcome: Outcome, repro: Repro, root: Path) -> list[str]:
    """What `--notes` found, a line each."""
    told = [each for each in _Reader(repro.path, root).warnings(outcome.stderr) if each.id in _NOTES]
    return [f"{each.place.file}:{each.place.line}: {each.message}" for each in told if each.place]


def told(finding: dict[str, Any], path: Path, root: Path) -> Finding:
    """A finding that the device told of the program at `path`."""
    return _Reader(path, root).reported(finding)


def claim_fails(status: str, reason: str, text: str, repro: Repro, root: Path) -> Finding:
    """A claim that failed without a finding, such as a value that differs; its place is the claim in the file."""
    name = "CONTRADICTED" if status == "contradicted" else "CLAIM_FAILS"
    first = next((line for line in text.splitlines() if line.strip()), "")
    place = Place(_Reader(repro.path, root).file(str(repro.path)), _line_of_claim(repro))
    return Finding(name, finding_rules.ERROR, f"{reason}: {first}" if first else reason, place)


def _line_of_claim(repro: Repro) -> int:
    """The line of the claim's first word."""
    for number, line in enumerate(repro.text.splitlines(), 1):
        if line.lstrip().startswith(('"""', "'''", 'r"""')) or (repro.claim and line.strip() == repro.claim):
            return number
    return 1


class _Reader:
    """Reads the texts about one file."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root = path, root.resolve()

    def file(self, name: str) -> str:
        """A file as reports name it: relative to the project, with `/`; of a host the file here."""
        if not name:
            return name
        path = Path(name)
        known = path if path.is_absolute() else Path.cwd() / path
        if not known.exists() and path.name == self.path.name:
            known = self.path
        try:
            return known.resolve().relative_to(self.root).as_posix()
        except (ValueError, OSError):
            return name

    def place(self, match: re.Match[str], message: str = "") -> Place:
        groups = match.groupdict()
        return Place(
            self.file(groups["file"]),
            int(groups["line"]),
            int(groups["column"]) if groups.get("column") else None,
            message,
        )

    def reported(self, told: dict[str, Any]) -> Finding:
        """The finding of the compiler or the device."""
        place = self.at(told)
        others = [at for one in told["related"] if (at := self.at(one, one["text"])) is not None]
        level, related = finding_rules.rule(told["id"]).level, dict.fromkeys(others)
        rest = tuple(one for one in related if place is None or not _is_same(one, place))
        edit = told["edit"] and Edit(**told["edit"] | {"file": self.file(told["edit"]["file"]) or None})
        return Finding(told["id"], level, told["message"] or told["id"], place, rest, told["fix"], edit)

    def at(self, told: dict[str, Any], message: str = "") -> Place | None:
        """The place in the data of a finding, if it is in a file."""
        file, line = told["file"], told["line"]
        return Place(self.file(file), line, told["column"], message) if file and line else None

    def exception(self, text: str, outcome: Outcome) -> list[Finding]:
        """An exception of Python that ended the program, at the author's innermost line."""
        lines = text.rstrip().splitlines()
        if not any(line.startswith("Traceback (") for line in lines) and outcome.kind == "exited":
            return []
        frames = [match for line in lines if (match := _FRAME.match(line))]
        mine = [match for match in frames if Path(match["file"]).name == self.path.name] or frames
        said = [line for line in lines if line.strip() and not line.startswith((" ", "(", _FIX, "Traceback ("))]
        message = said[-1] if said else (lines[-1] if lines else outcome.kind)
        place = self.place(mine[-1]) if mine else Place(self.file(str(self.path)), 1)
        return [Finding("EXCEPTION", finding_rules.ERROR, message, place)]

    def stopped(self, outcome: Outcome) -> Finding:
        lines = outcome.text.splitlines()
        frames = [match for line in lines if (match := _FRAME.match(line) or _STOPPED.match(line))]
        place = self.place(frames[0]) if frames else Place(self.file(str(self.path)), 1)
        name = "TIMEOUT" if outcome.kind == "timeout" else "CRASH"
        return Finding(name, finding_rules.ERROR, outcome.text.partition("\n")[0] or outcome.kind, place)

    def unread(self, outcome: Outcome) -> Finding:
        """A finding or a rejection whose text has another form: of NVIDIA's compiler, or of a GPU."""
        detail = outcome.detail
        name = str(detail.get("id") or detail.get("kind") or outcome.kind).upper()
        place = Place(self.file(str(detail.get("file") or self.path)), int(detail.get("line") or 1))
        lines = [line.strip() for line in outcome.text.splitlines() if line.strip()]
        return Finding(name, finding_rules.rule(name).level, lines[0] if lines else outcome.kind, place)

    def warnings(self, text: str) -> list[Finding]:
        """Findings of the levels warning and note, which Python printed as warnings."""
        found = []
        for match in filter(None, map(_WARNING.match, text.splitlines())):
            name = match["id"] if match["id"] in finding_rules.KINDS else match["class"]
            if name in finding_rules.KINDS:
                found.append(Finding(name, finding_rules.KINDS[name].level, match["message"], self.place(match)))
        return list(dict.fromkeys(found))


def _is_same(one: Place, place: Place) -> bool:
    return (one.file, one.line) == (place.file, place.line) and not one.column
