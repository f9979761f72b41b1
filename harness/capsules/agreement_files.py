"""The files of `validation/`: a row a form for each GPU and driver, one table of all, a file a form that disagrees.

They are written whole or not at all, by one process of a project at a time, and read again as files from elsewhere: git
merges them. Only hardware has a column.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from harness import schema, store
from harness.capsules import form_case
from harness.claim.repro_file import short
from harness.comparison import conflict
from harness.errors import UsageError
from harness.run import hardware
from harness.terminal import markdown

FOLDER, TABLE, FAILING = "validation", "agreement.md", "failing"
JUDGED = ("agrees", "bounded", "open", "disagrees", "unmodelled")
MOST_TEXT = 4000
_COUNT = schema.integer(0, 1 << 40)


@dataclasses.dataclass
class Row:
    """One form on one GPU: `equal` of its `elements` have the predicted bits, `within` are in the bound of its rule."""

    form: str = schema.must(form_case.NAME)
    status: str = schema.must(schema.string(20, r"[a-z ]+", "a word"))  # one of JUDGED, skipped, or how it failed
    elements: int = schema.must(_COUNT, 0)
    equal: int = schema.must(_COUNT, 0)
    within: int = schema.must(_COUNT, 0)
    model: str = schema.must(schema.string(20, r"[a-z0-9]*", "a GPU model"), "")
    text: str = schema.must(schema.string(MOST_TEXT), "")
    smallest: dict[str, Any] | None = schema.must(schema.optional(schema.table(lambda value, place: value, 100)), None)


@dataclasses.dataclass(frozen=True)
class _Saved:
    """The results of one GPU below one driver."""

    device: dict[str, Any] = schema.must(schema.table(schema.optional(schema.string(200)), 20))
    date: str = schema.must(schema.moment)
    rows: list[Row] = schema.must(schema.many(schema.fields(Row), 100_000))


def write(root: Path, rows: list[Row], device: dict[str, Any], date: str) -> Path:
    """Write what a GPU gave, and the table of all GPUs; the table's path. Raises UsageError, OSError."""
    folder = root / FOLDER
    with store.alone(root, FOLDER):
        _read_all(folder)  # nothing is written if a file cannot be read
        _write_failing(root, rows, device)
        _write_rows(root, rows, device, date)
        _write(root, folder / TABLE, table(folder))
    return folder / TABLE


def _write(root: Path, path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    store.write_atomically(path, text.encode(), by_way_of=root / store.LOCAL / "tmp")


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.").lower() or "gpu"


def _write_failing(root: Path, rows: list[Row], device: dict[str, Any]) -> None:
    """Write a file for each form that disagrees; remove the files of forms that now agree."""
    gpu = _slug(device["name"])
    for row in rows:
        path = root / FOLDER / FAILING / f"{re.sub(r'[^A-Za-z0-9._-]', '-', row.form)}@{gpu}.json"
        if row.smallest:
            content = row.smallest | {"device": device, "model": row.model}
            _write(root, path, json.dumps(content, indent=1) + "\n")
        elif row.status in JUDGED:
            path.unlink(missing_ok=True)


def _write_rows(root: Path, rows: list[Row], device: dict[str, Any], date: str) -> None:
    """The rows of this GPU and driver; forms that these results have not keep their rows."""
    path = root / FOLDER / f"{_slug(device['name'])}-{_slug(device['driver'])}.json"
    merged = {row.form: row for row in (_read(path).rows if path.exists() else [])} | {row.form: row for row in rows}
    fields = [
        {key: value for key, value in dataclasses.asdict(row).items() if key != "smallest" and value != ""}
        for row in merged.values()
    ]
    _write(root, path, json.dumps({"device": device, "date": date, "rows": fields}, indent=1) + "\n")


def _read(path: Path) -> _Saved:
    """Raises UsageError."""
    name = short(path)
    try:
        data = path.read_bytes()
        saved = schema.fields(_Saved)(json.loads(data), "")
    except (OSError, ValueError, RecursionError, schema.Misfit) as error:
        fix = f"fix: take it back with `git checkout -- {name}`, or remove it and accept the results again"
        raise UsageError(conflict.unmerged(path) or f"{name} cannot be read: {error}\n{fix}") from None
    lacks = hardware.missing(saved.device)
    if lacks:
        raise UsageError(f"{name} is not of hardware: its device {lacks}\nfix: remove it")
    return saved


def _read_all(folder: Path) -> list[_Saved]:
    return [_read(path) for path in sorted(folder.glob("*.json"))]


def table(folder: Path) -> str:
    """The files of all GPUs as one Markdown table, a row a form. Raises UsageError."""
    files = _read_all(folder)
    heads = [markdown(f"{each.device['name']}, driver {each.device['driver']}") for each in files]
    cells = [{row.form: _cell(row) for row in each.rows} for each in files]
    forms = list(dict.fromkeys(form for each in cells for form in each))
    lines = [
        "# Agreement by instruction form",
        "",
        "How many results of a GPU have the bits that the emulator predicts. `repro replay accept` writes it.",
        "",
        f"| form | {' | '.join(heads)} |",
        "|---" * (1 + len(heads)) + "|",
        *(f"| `{form}` | {' | '.join(each.get(form, 'not run') for each in cells)} |" for form in forms),
    ]
    return "\n".join(lines) + "\n"


def _cell(row: Row) -> str:
    if row.status not in JUDGED:
        return markdown(f"{row.status}: {row.text.partition(': ')[2].partition(chr(10))[0][:300]}")
    if row.status == "agrees":
        return f"{row.elements} equal"
    what = {
        "bounded": "the rest within the bound",
        "open": "no bound is stated",
        "unmodelled": f"nobody modelled this GPU; {row.model} is nearest",
        "disagrees": f"**{row.elements - row.within} disagree**",
    }
    return f"{row.equal} of {row.elements} equal, {what[row.status]}"
