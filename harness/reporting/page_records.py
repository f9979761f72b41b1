"""The report of a project's records: each cell of the index as the page shows it."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.claim.output_lines import line_of
from harness.claim.repro_file import ReproError, read
from harness.compiler_name import OURS
from harness.records import differ, query
from harness.records.index import states
from harness.records.index.cells import arithmetic
from harness.records.index.index import Cell as Indexed, Index, Record
from harness.reporting.both_codes import both_codes
from harness.reporting.page_model import ATTENTION, Cell, Claim, Code, Column, Output, Past, Report, Run

SHOWN_PAST = 200  # runs of a cell's history, the newest
SHOWN_ROWS = 16  # of the elements of an output that differ


def collect(index: Index, names: Sequence[str] = (), machine_code: bool = True) -> Report:
    """The report of these claims (all: none named), as `repro record status` takes their names. Raises UsageError.

    `machine_code`: whether kernels that both compilers made are given to ptxas, and their SASS is shown.
    """
    cells = query.chosen(index, index.cells(), names)
    rows = sorted({(cell.claim, cell.case) for cell in cells}, key=_natural)
    columns = sorted({_column(cell) for cell in cells}, key=_place)
    titles = {cell.claim: cell.title for cell in cells if cell.title}
    hardware = {_column(cell) for cell in cells if cell.hardware}
    row_of, column_of = ({place: number for number, place in enumerate(places)} for places in (rows, columns))
    rivals, past = _rivals(cells), _past(index)
    wanted = [name for cell in cells for name in (cell.last, cell.last_good, cell.first_bad)]
    records = index.named(name for name in wanted if name)
    of_case = defaultdict(list)
    for name in sorted(records, key=lambda name: (records[name].date, name), reverse=True):
        of_case[records[name].claim, records[name].case].append(records[name])
    return Report(
        title_of(index.root),
        tuple(Claim(claim, case, titles.get(claim) or _sentence(index.root / claim)) for claim, case in rows),
        tuple(_described(place, place in hardware, cells, records, past) for place in columns),
        tuple(
            replace(
                _cell(index, cell, rivals.get(cell), records, of_case[cell.claim, cell.case]),
                claim=row_of[cell.claim, cell.case],
                column=column_of[_column(cell)],
                history=tuple(past[_place_of(cell)][-SHOWN_PAST:]),
                runs=len(past[_place_of(cell)]),
                **_days(past[_place_of(cell)]),
            )
            for cell in cells
        ),
        tuple(
            (row_of[cell.claim, cell.case], column_of[_column(cell)], code)
            for cell, code in (both_codes(cells, records) if machine_code else ())
        ),
    )


def _place_of(cell: Indexed) -> tuple[str, ...]:
    return cell.claim, cell.case, cell.arch, cell.compiler, cell.host


def _described(
    place: tuple[str, str, str], is_hardware: bool, cells: Sequence[Indexed], records: dict[str, Record],
    past: dict[tuple[str, ...], list[Past]],
) -> Column:  # fmt: skip
    """A column with the GPU, the driver and the release of its newest run, and the days from its first to that."""
    mine = [cell for cell in cells if _column(cell) == place]
    known = [records[cell.last] for cell in mine if cell.last in records]
    facts = max(known, key=lambda one: (one.date, one.id)).provenance if known else {}
    dates = [run.date for cell in mine for run in past[_place_of(cell)]]
    release = "" if "==" in place[2] else str(facts.get("compiler_version") or "")
    gpu, driver = (str(facts.get(name) or "") for name in ("gpu", "driver"))
    return Column(*place, is_hardware, gpu, driver, release, min(dates, default="")[:10], max(dates, default="")[:10])


def _days(past: Sequence[Past]) -> dict[str, str]:
    """When a cell was first and last seen, and since when it ends as it does now."""
    if not past:
        return {}
    said = [run for run in past if run.verdict in ("pass", "fail", "contradicted")] or list(past)
    since = said[-1]
    for run in reversed(said):
        if run.verdict != since.verdict:
            break
        since = run
    return {"first": past[0].date[:10], "last": past[-1].date[:10], "changed": since.date[:10]}


def title_of(root: Path) -> str:
    """The project's name: of its pyproject.toml, else of its folder."""
    try:
        return str(tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return root.name


def _sentence(path: Path) -> str:
    """The claim of a repro whose records are too old to hold it; the file's name where it cannot be read."""
    try:
        return read(path).claim
    except (ReproError, OSError):
        return path.stem


def _column(cell: Indexed) -> tuple[str, str, str]:
    return cell.arch, cell.host, cell.compiler


def _cell(
    index: Index, cell: Indexed, rival: Indexed | None, records: dict[str, Record], others: Sequence[Record]
) -> Cell:
    """A cell without its place and its history. `others`: what was loaded of the same claim's case."""
    newest, good, bad = (records.get(name or "") for name in (cell.last, cell.last_good, cell.first_bad))
    base, base_name = (good, "last good")
    if rival and rival.last in records:
        base, base_name = records[rival.last], f"{rival.host}'s newest"
    shown = Cell(
        0, 0, cell.state, cell.reason,
        newest=newest and _run(newest),
        base=base and _run(base),
        base_name=base_name,
        bad=bad and _run(bad),
        validated=(cell.last_validated or "") if cell.hardware else "",
        rerun=newest.rerun if newest else "",
        seen=tuple(newest.seen) if newest else (),
        arithmetic=cell.arithmetic or "",
        evidence=cell.evidence or "",
    )  # fmt: skip
    if newest is None or cell.state not in ATTENTION:
        return shown
    source = _source(index.root, newest)
    shown = replace(shown, outputs=_outputs(newest, source), finding=newest.line.get("text") or "", source=source)
    if base is None or base.id == newest.id:
        return shown
    base_first = base.verdict == "pass"
    told = differ.compare(index, *((base, newest) if base_first else (newest, base)), others)
    letters = f"A is the {base_name} run, B the newest" if base_first else f"A is the newest run, B {base_name}"
    return replace(
        shown,
        code=_code(base, newest),
        cause=f"{letters}. {told['cause'][:1].upper()}{told['cause'][1:]}.",
        known=tuple(told["known"]),
        tell=tuple((run["command"], run["tells"]) for run in told["runs"]),
    )


def _natural(parts: Iterable[str]) -> list[Any]:
    """A key that puts width=8 before width=16."""
    pieces = [re.split(r"(\d+)", part) for part in parts]
    return [[(int(p), "") if n % 2 else (-1, p) for n, p in enumerate(one)] for one in pieces]


def _place(column: tuple[str, str, str]) -> tuple[bool, list[Any], bool, list[Any]]:
    """Architectures from the oldest on, our compiler first; programs without kernels, which belong to none, at the
    end."""
    return column[0] == "any", _natural(column[:2]), column[2] != OURS, _natural(column[2:])


def _rivals(cells: Sequence[Indexed]) -> dict[Indexed, Indexed]:
    """For each contradicted cell, the one on the other side: hardware for an emulator, an emulator for hardware."""
    groups = defaultdict(list)
    for cell in cells:
        groups[cell.claim, cell.case, cell.arch, cell.compiler].append(cell)
    rivals = {}
    for group in groups.values():
        for cell in group:
            others = [one for one in group if one.hardware != cell.hardware and one.last]
            if cell.state == states.CONTRADICTED and others:
                rivals[cell] = min(others, key=lambda one: (one.ticks[-1:] == cell.ticks[-1:], one.host))
    return rivals


def _past(index: Index) -> dict[tuple[str, ...], list[Past]]:
    past = defaultdict(list)
    for claim, case, arch, compiler, host, *run in index.past():
        past[claim, case, arch, compiler, host].append(Past(*run))
    return past


def _run(record: Record) -> Run:
    """Its provenance, after its verdict and how it ended."""
    said = f"{record.verdict}: {record.verdict_reason}" if record.verdict_reason else record.verdict
    ended = [record.outcome, *(f"{name} {value}" for name, value in sorted(record.detail.items()) if value is not None)]
    facts = {"verdict": said, "outcome": ", ".join(ended)}
    if sure := arithmetic(record.line):
        facts["arithmetic"] = "; ".join(filter(None, sure))
    if why := record.line.get("evidence"):
        facts["evidence"] = why
    facts |= record.provenance
    return Run(record.id, record.date, tuple((name, str(value)) for name, value in facts.items()))


def _source(root: Path, record: Record) -> str:
    """The repro's file, if it is still the one that this run read."""
    try:
        repro = read(root / record.claim)
    except (ReproError, OSError):
        return ""
    return repro.text if repro.sha256 == record.provenance.get("repro_sha256") else ""


def _outputs(record: Record, source: str) -> tuple[Output, ...]:
    return tuple(
        Output(
            str(one.get("output", "")),
            str(one.get("message", "")),
            tuple(int(count) for count in one.get("lanes") or ()),
            tuple(tuple(str(part) for part in row) for row in (one.get("first") or ())[:SHOWN_ROWS]),
            line_of(source, str(one.get("output", ""))),
        )
        for one in record.differences
    )


def _code(base: Record, newest: Record) -> tuple[Code, ...]:
    """Each kernel whose PTX or SASS has another hash."""
    rows = []
    for kind, key, texts in (("PTX", "kernels", Record.ptx), ("SASS", "sass", Record.sass)):
        hashes = [one.line.get(key) or {} for one in (base, newest)]
        both = [(one, other) for one, other in differ.kernel_pairs(*hashes) if one and other]
        changed = [(one, other) for one, other in both if hashes[0][one] != hashes[1][other]]
        if changed:
            before, after = texts(base), texts(newest)
            rows += [Code(kind, other, before.get(one), after.get(other)) for one, other in changed]
    return tuple(rows)
