"""Questions to the record, and their answers as plain data: `repro record status | history | regressions | matrix`.

Each function takes an open index and returns what `--json` prints; tables.py makes text of it.
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.claim import bibliography, case_id
from harness.compiler_name import OURS
from harness.errors import UsageError
from harness.records.index import answers, states
from harness.records.index.cells import forgetting
from harness.records.index.index import Cell, Index, Record, as_table, combine

BAD = (states.CONTRADICTED, states.REGRESSED, states.FLAKY, states.FAILING)
_AGO = re.compile(r"(\d+)([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def chosen(index: Index, cells: Sequence[Cell], names: Sequence[str]) -> list[Cell]:
    """The cells of these claims: a path, a folder, a file's name without .py, FILE::CASE. Raises UsageError.

    The path may be an old one, of before the repro moved.
    """
    if not names:
        return list(cells)
    by_id: dict[int, Cell] = {}
    before: dict[str, list[str]] = {}
    for old, now in index.moved().items():
        before.setdefault(now, []).append(old)
    for name in names:
        fits = [cell for cell in cells if _fits(cell, name, index.root, before.get(cell.claim, ()))]
        if not fits:
            raise UsageError(_unknown(name, cells))
        by_id |= {id(cell): cell for cell in fits}
    return [cell for cell in cells if id(cell) in by_id]


def _fits(cell: Cell, name: str, root: Path, before: Iterable[str]) -> bool:
    wanted = case_id.parse(name)
    asked = (wanted.case, cell.case), (wanted.host, cell.host), (wanted.compiler, cell.compiler)
    if any(part not in (None, mine) for part, mine in asked):
        return False
    claim = wanted.file
    if claim in (cell.claim, Path(cell.claim).stem, *before):
        return True
    path, mine = Path(claim).absolute(), root / cell.claim
    return path == mine or path in mine.parents or path in [root / old for old in before]


def _unknown(name: str, cells: Iterable[Cell]) -> str:
    stems = sorted({Path(cell.claim).stem for cell in cells})
    near = difflib.get_close_matches(Path(case_id.parse(name).file).stem, stems, 5)
    hint = f"did you mean {', '.join(near)}?" if near else "`repro record status` counts those that have one"
    return f"no record is of a claim {name!r}: {hint}"


def status(index: Index, names: Sequence[str] = ()) -> dict[str, Any]:
    """How many cells are in each state, each cell that is not as it should be, and damaged lines.

    `gone`: cells that no repro declares any more, which do not judge a claim.
    """
    every = chosen(index, index.cells(gone=True), names)
    cells = [cell for cell in every if cell.state != states.GONE]
    gone = [cell for cell in every if cell.state == states.GONE and not cell.forgotten]
    renamed = index.renamed({cell.claim for cell in gone})
    counted = Counter(cell.state for cell in cells)
    evidence = Counter((cell.evidence or "").partition(":")[0] for cell in cells)
    kinds = Counter(cell.arithmetic for cell in cells)
    quiet = (states.PREDICTED, states.VALIDATED)
    shown = sorted((c for c in cells if c.state not in quiet), key=lambda c: states.STATES.index(c.state))
    return {
        "records": index.count(),
        "claims": len({cell.claim for cell in cells}),
        "cells": len(cells),
        "states": {state: counted[state] for state in states.STATES if counted[state]},
        "arithmetic": {kind: kinds[kind] for kind in ("exact", "bounded", "open") if kinds[kind]},
        "evidence": {kind: evidence[kind] for kind in ("emulator", "published", "hardware") if evidence[kind]},
        "published": _published(index.root, cells),
        "leeway": [as_table(cell) for cell in cells if cell.through],
        "attention": [as_table(cell) for cell in shown],
        "gone": [as_table(cell) | {"renamed": renamed.get(cell.claim)} for cell in gone],
        "last_validated": max((c.last_validated for c in cells if c.last_validated), default=None),
        "damaged": index.damaged(),
    }


def forget(
    index: Index, names: Sequence[str], gone: bool, host: str | None, compiler: str | None, arch: str | None
) -> list[tuple[Cell, dict[str, Any]]]:
    """Cells to be put aside, each with the line that does it; with `gone` only those that no repro declares any more.

    Raises UsageError.
    """
    cells = chosen(index, index.cells(gone=True), names)
    wanted = [
        cell
        for cell in cells
        if not cell.forgotten
        and (cell.state == states.GONE or not gone)
        and host in (None, cell.host) and compiler in (None, cell.compiler) and arch in (None, cell.arch)
    ]  # fmt: skip
    return [(cell, forgetting(cell)) for cell in wanted]


def _published(root: Path, cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """The works that claims cite: key, what it is, how many cells."""
    cited = Counter(
        (bibliography.find((root / cell.claim).parent, root), evidence.removeprefix(bibliography.PUBLISHED))
        for cell in cells
        if (evidence := cell.evidence or "").startswith(bibliography.PUBLISHED)
    )
    rows = []
    for (path, key), count in sorted(cited.items(), key=lambda row: row[0][1]):
        try:
            work = str(bibliography.read(path).get(key, "not in the bibliography"))
        except bibliography.BadBibliography as error:
            work = str(error)
        rows.append({"key": key, "work": work, "cells": count})
    return rows


def history(
    index: Index, name: str, host: str | None, compiler: str | None, arch: str | None, limit: int
) -> dict[str, Any]:
    """The records of a claim, newest first, each with the fields that changed since the one before in its cell."""
    cells = chosen(index, index.cells(gone=True), [name])
    places = [(c.claim, c.case, c.arch, c.compiler, c.host) for c in cells]
    records: list[Record] = []
    for place in places:
        if host in (None, place[4]) and compiler in (None, place[3]) and arch in (None, place[2]):
            records += index.records(*place, limit=limit + 1)
    records.sort(key=lambda record: (record.date, record.id), reverse=True)
    rows = []
    for number, record in enumerate(records[:limit]):
        said = (one for one in records[number + 1 :] if one.verdict != states.FORGOTTEN)
        before = next((one for one in said if _cell(one) == _cell(record)), None)
        changed = [] if record.verdict == states.FORGOTTEN else changes(before, record) if before else None
        rows.append(as_table(record) | {"changed": changed, "seen": record.seen})
    shown = [as_table(c) for c in cells]
    return {"claims": sorted({c.claim for c in cells}), "cells": shown, "records": rows, "total": len(records)}


def _cell(record: Record) -> tuple[str, ...]:
    return record.claim, record.case, record.arch, record.compiler, record.host


def changes(a: Record, b: Record) -> list[str]:
    """The names of what is not the same in two records."""
    return states.differing(a.provenance, b.provenance)


def regressions(index: Index, since: str | None, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Cells that passed and do not now, or are contradicted, newest first; `since` is of their first failure."""
    after = moment(since) if since else ""
    rows = []
    for cell in chosen(index, index.cells(), names):
        if cell.state not in (states.REGRESSED, states.CONTRADICTED, states.FLAKY):
            continue
        first = index.record(cell.first_bad) if cell.first_bad else None
        date = first.date if first else ""
        if date >= after or not date:
            good = index.record(cell.last_good) if cell.last_good else None
            changed = changes(good, first) if good and first else []
            both = (answers.of_record(good), answers.of_record(first)) if good and first else None
            kinds = answers.how(*both) if both else []
            said = {"kinds": kinds, "says": answers.says(*both, kinds) if both else ""}
            rows.append(as_table(cell) | {"first_bad_date": date or None, "changed": changed, **said})
    return sorted(rows, key=lambda one: one["first_bad_date"] or "", reverse=True)


def good_and_bad(
    index: Index, name: str, host: str | None, compiler: str | None, arch: str | None
) -> tuple[Record, Record]:
    """The last good and the first bad record of the cell of a claim that has both. Raises UsageError."""
    cells = chosen(index, index.cells(), [name])
    wanted = [c for c in cells if host in (None, c.host) and compiler in (None, c.compiler) and arch in (None, c.arch)]
    fits = [cell for cell in wanted if cell.last_good and cell.first_bad]
    if not fits:
        raise UsageError(f"{name} did not pass and then fail; give two records: `repro record history {name}`")
    if len(fits) > 1:
        rows = "".join(
            f"\n    repro record diff {c.last_good} {c.first_bad}    {c.case} {c.compiler} {c.host}" for c in fits
        )
        raise UsageError(f"{name} did so more than once:{rows}")
    return index.record(fits[0].last_good or ""), index.record(fits[0].first_bad or "")


def moment(text: str) -> str:
    """`2026-11-20`, a whole time, or `7d`, `12h`, `2w` ago, as a record spells it. Raises UsageError."""
    ago = _AGO.fullmatch(text)
    if ago:
        then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
        return then.strftime("%Y-%m-%dT%H:%M:%S")
    try:
        then = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--since {text}: write a date (2026-11-20) or how long ago (12h, 7d, 2w)") from None
    if then.tzinfo is not None:
        then = then.astimezone(datetime.UTC)
    return then.strftime("%Y-%m-%dT%H:%M:%S")


def matrix(index: Index, names: Sequence[str] = ()) -> dict[str, Any]:
    """claim x (arch, compiler, host): the state of each, the worst of its cases."""
    cells = chosen(index, index.cells(), names)
    places = {(cell.arch, cell.compiler, cell.host) for cell in cells}
    columns = sorted(places, key=lambda place: (place[0], place[1] != OURS, place))  # our compiler comes first
    rows: dict[str, dict[tuple[str, str, str], list[Cell]]] = {}
    for cell in cells:
        rows.setdefault(cell.claim, {}).setdefault((cell.arch, cell.compiler, cell.host), []).append(cell)
    return {
        "columns": [{"arch": a, "compiler": c, "host": h} for a, c, h in columns],
        "rows": [
            {
                "claim": claim,
                "title": next((c.title for group in row.values() for c in group if c.title), ""),
                "state": combine(c for group in row.values() for c in group),
                "cells": [states.worst(c.state for c in row[column]) if column in row else None for column in columns],
            }
            for claim, row in sorted(rows.items())
        ],
    }
