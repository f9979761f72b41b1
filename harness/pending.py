"""Results that nobody judged yet: kept when a run meets a new or a differing one, reviewed, then accepted or rejected.

Each is one file, `.repro/pending/<path of its golden below the root>`, written whole. It remembers what the golden and
the repro were when it was made, and is stale when either has changed since. Accepting writes the golden, appends a
record of that, and then removes the file: a crash between leaves a file that is accepted again to the same end.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import compiler_name, schema, store
from harness.claim import case_id, languages
from harness.claim.repro_file import Repro, ReproError, is_repro, read, short
from harness.errors import UsageError
from harness.run import reply

if TYPE_CHECKING:
    from harness.comparison.compare import Difference
    from harness.comparison.golden import Golden
    from harness.run.result import Outcome

SCHEMA = 1
_HARDWARE_WINS = "hardware gave the golden, and the emulator never replaces it"


@dataclass(frozen=True)
class Waiting:
    """One result that waits. `stale` is the reason why it cannot be accepted any more, or ''."""

    path: Path
    golden: Path
    table: dict[str, Any]
    repro: Repro | None
    stale: str

    @property
    def name(self) -> str:
        """`repros/shuffle_width.py::width=8`"""
        return case_id.name(self.table["repro"], self.table["case"])

    @property
    def sidecars(self) -> dict[str, bytes]:
        return _decoded(self.table)


def _decoded(table: dict[str, Any]) -> dict[str, bytes]:
    return {name: base64.b64decode(data) for name, data in table["sidecars"].items()}


def folder(root: Path) -> Path:
    return root / store.LOCAL / "pending"


def _place(root: Path, golden: Path) -> Path | None:
    try:
        return folder(root) / golden.resolve().relative_to(root.resolve())
    except ValueError:
        return None  # a repro outside of the project


def propose(root: Path, data: dict[str, Any], record: str) -> bool:
    """Keep the result of a verdict (session.as_data) under the id of its record; not of a repro outside of the project.

    Whether it was kept. Raises OSError.
    """
    golden, text, sidecars = data["proposal"]
    path = _place(root, Path(golden))
    if path is None:
        return False
    table = {
        "schema": SCHEMA,
        "repro": data["record"]["repro"],
        "case": data["record"]["case"],
        "repro_sha256": data["record"]["key"]["repro_sha256"],
        "basis": data["record"]["golden_sha256"],
        "hardware": data["is_hardware"],
        "record": record,
        "line": data["record"],
        "launches": data["launches"],
        "golden": text,
        "sidecars": sidecars,
    }
    store.make_folder(path.parent)
    store.write_atomically(path, json.dumps(table).encode())
    return True


def withdraw(root: Path, data: dict[str, Any]) -> None:
    """Forget what waits for a case that passed. Raises OSError."""
    from harness.comparison.golden import arch_of, folder, own_path

    general = folder(Path(data["repro"])) / f"{data['record']['case'] or 'default'}.json"
    for golden in (general, own_path(general, arch_of(data["record"]["device"]))):
        path = _place(root, golden)
        if path is not None:
            path.unlink(missing_ok=True)


def waiting(root: Path, names: Sequence[str] = ()) -> list[Waiting]:
    """Waiting results by path; with names, of these repros, cases (`FILE::width=8`) or goldens. Raises UsageError."""
    proposals = [_read(root, path) for path in sorted(folder(root).rglob("*.json"))]
    if not names:
        return proposals
    chosen: list[Waiting] = []
    for name in names:
        fits = [one for one in proposals if _fits(one, name, root)]
        if not fits:
            listed = "".join(f"\n    {one.name}" for one in proposals) or " nothing"
            raise UsageError(f"nothing that waits is called {name!r}; waiting:{listed}")
        chosen += fits
    return [one for one in proposals if any(one is other for other in chosen)]


def _fits(one: Waiting, name: str, root: Path) -> bool:
    wanted = case_id.parse(name)
    line = one.table.get("line", {})
    if wanted.case not in (None, one.table["case"]) or wanted.host not in (None, line.get("host")):
        return False
    path = Path(wanted.file).absolute()
    repro = root / one.table["repro"]
    return wanted.file in (one.table["repro"], repro.stem) or path in (repro, one.golden, one.path, *repro.parents)


def _read(root: Path, path: Path) -> Waiting:
    golden = root / path.relative_to(folder(root))
    try:
        table = json.loads(path.read_bytes())
        if table["schema"] != SCHEMA:
            raise ValueError(f"schema {table['schema']}")
        keys = ("repro", "case", "repro_sha256", "basis", "hardware", "record", "line", "golden", "sidecars")
        missing = [key for key in keys if key not in table]
        if missing:
            raise ValueError(f"it has no {missing[0]}")
        _texts(table, "")
        table["line"] = compiler_name.in_table(table["line"])
    except (ValueError, KeyError, TypeError, OSError, RecursionError, schema.Misfit) as error:
        table = {"repro": golden.parent.name, "case": golden.stem, "sidecars": {}, "golden": ""}
        return Waiting(path, golden, table, None, f"it cannot be read: {error}")
    try:
        repro = read(store.inside(root, table["repro"]) or root)
    except (OSError, ReproError):
        return Waiting(path, golden, table, None, "its repro is gone, or cannot be read")
    return Waiting(path, golden, table, repro, _stale(golden, table, repro))


@dataclass(frozen=True)
class _Texts:
    """The parts of a waiting file that become a path or a file."""

    repro: str = schema.must(schema.string(4096))
    case: str = schema.must(schema.string(1000))
    golden: str = schema.must(schema.string(1 << 30))
    sidecars: dict[str, str] = schema.must(schema.table(schema.string(1 << 30), 10_000))
    line: dict[str, Any] = schema.must(schema.table(lambda value, place: value, 1000))
    hardware: bool = schema.must(schema.boolean)
    record: str = schema.must(schema.string(100))
    launches: list[reply.Launch] = schema.must(schema.many(schema.fields(reply.Launch), reply.MOST_LAUNCHES), list)


_texts = schema.fields(_Texts)


def _stale(path: Path, table: dict[str, Any], repro: Repro) -> str:
    from harness.comparison import golden

    try:
        golden.parse(path, table["golden"].encode(), _decoded(table).__getitem__)
    except (golden.CorruptGolden, ValueError) as error:
        return f"it cannot be read: {str(error).partition(chr(10))[0].rpartition('cannot be read: ')[2]}"
    try:
        data = golden.content(path)
    except golden.CorruptGolden as error:
        return str(error).partition("\n")[0]
    if data == table["golden"].encode():
        return ""  # accepted already, before a crash
    if repro.sha256 != table["repro_sha256"]:
        return "the repro has changed since: run it again"
    if (store.answer_sha256(data) if data else None) != table["basis"]:
        return "the golden has changed since: run it again"
    try:
        known = golden.read(path)
    except golden.CorruptGolden as error:
        return str(error).partition("\n")[0]
    if known is not None and known.validated and not table["hardware"]:
        return _HARDWARE_WINS
    return ""


def refuse_in_ci(command: str) -> None:
    """Raises UsageError where CI is set."""
    from harness.verdict import in_ci

    if in_ci():
        raise UsageError(f"`repro golden {command}` is refused where CI is set: decide by hand, and commit the goldens")


def accept(root: Path, one: Waiting, run: store.Run, for_arch: bool = False) -> Path:
    """Make it the golden, of its arch alone with `for_arch`, and record that; the golden's path.

    Raises UsageError if it is stale, or has no arch that differs from the golden's arch; OSError: then it waits on.
    """
    from harness.comparison import golden

    path, arch = one.golden, golden.arch_of(one.table.get("line", {}).get("device") or {})
    if for_arch and (not one.stale or one.stale == _HARDWARE_WINS):
        current = golden.read(one.golden)
        if current is None or not arch or arch == golden.arch_of(current.provenance):
            raise UsageError(f"{one.name}: --for-arch is for a result that differs from the golden of another arch")
        path = golden.own_path(one.golden, arch)
    elif one.stale:
        raise UsageError(f"{one.name}: {one.stale}")
    text = one.table["golden"]
    golden.write(golden.Pending(str(path), text, one.sidecars))
    line = {**one.table["line"], "verdict": "pass", "reason": "accepted", "accepts": one.table["record"]}
    line |= {"golden_sha256": store.answer_sha256(text.encode()), "differences": []}
    line |= {"date": store.moment(), "digest": ""}
    run.append(store.folder(root / one.table["repro"], one.table["hardware"], root), line)
    discard(root, one)
    return path


def discard(root: Path, one: Waiting) -> None:
    """Remove the file, and the folders that it leaves empty. Raises OSError."""
    one.path.unlink(missing_ok=True)
    for above in one.path.parents:
        if above == folder(root):
            break
        try:
            os.rmdir(above)
        except OSError:
            break


def show(one: Waiting) -> str:
    """The change that it would make, with the first elements that differ."""
    from harness.comparison import golden
    from harness.reporting import text_report

    head = f"{one.name}\n    record {one.table.get('record', '?')}, golden {short(one.golden)}"
    if one.stale:
        return f"{head}\n    stale: {one.stale}"
    assert one.repro is not None  # what has none is stale
    new, old = _proposed(one), golden.read(one.golden)
    lines = [head, f"    claim: {one.repro.claim}", f"    new:    {text_report.made_by(new)}"]
    if old is None:
        lines += [f"    {name}: {text_report.preview(array)}" for name, array in new.outputs.items()]
        lines += [f"    {key}: {value}" for key, value in new.identity.items()]
        return "\n".join([*lines, "    (there was no golden)"])
    lines.append(f"    golden: {text_report.made_by(old)}")
    if (old.outcome, old.identity) != (new.outcome, new.identity):
        was, is_now = ({"outcome": g.outcome, **g.identity} for g in (old, new))
        changed = [key for key in was | is_now if was.get(key) != is_now.get(key)]
        lines += [f"    {key}: {was.get(key)!r} becomes {is_now.get(key)!r}" for key in changed]
    if old.outcome == new.outcome == "outputs":
        differing = _differing(one, old, new)
        lines.append(text_report.differences(differing, _as_outcome(one, new)) or "    no output differs")
    return "\n".join(lines)


def as_table(one: Waiting) -> dict[str, Any]:
    """One that waits as plain data; `differences` as records have them."""
    from harness.comparison import golden
    from harness.records import history
    from harness.reporting import text_report

    table = {
        "name": one.name,
        "record": one.table.get("record"),
        "golden": short(one.golden),
        "stale": one.stale or None,
        "claim": one.repro.claim if one.repro else None,
        "is_new": None,
        "outputs": {},
        "differences": [],
    }
    if one.stale:
        return table
    new, old = _proposed(one), golden.read(one.golden)
    table["is_new"] = old is None
    table["outputs"] = {name: text_report.preview(array) for name, array in new.outputs.items()}
    if old is not None and old.outcome == new.outcome == "outputs":
        outcome = _as_outcome(one, new)
        table["differences"] = history.differences(
            _differing(one, old, new), lambda index, shape: text_report.lane_of(index, shape, outcome)
        )
    return table


def lanes(one: Waiting) -> list[str]:
    """Every element that differs from the golden, a line each, with its lane; without a golden every element."""
    from harness.comparison import golden
    from harness.reporting import text_report

    if one.stale:
        return []
    new, old = _proposed(one), golden.read(one.golden)
    outcome = _as_outcome(one, new)
    if old is None or not old.outcome == new.outcome == "outputs":
        return [row for name, array in new.outputs.items() for row in text_report.elements(name, array, outcome)]
    return [row for differing in _differing(one, old, new) for row in text_report.rows_of(differing, outcome)]


def _proposed(one: Waiting) -> Golden:
    from harness.comparison import golden

    return golden.parse(one.path, one.table["golden"].encode(), one.sidecars.__getitem__)


def _as_outcome(one: Waiting, new: Golden) -> Outcome:
    """The result as the reports know it: its outputs, and the launches that record which lane wrote what."""
    from harness.run.result import Outcome

    outcome = Outcome(new.outcome, outputs=new.outputs)
    outcome.facts = {"kernels": [{"launches": one.table.get("launches", [])}]}
    return outcome


def _differing(one: Waiting, old: Golden, new: Golden) -> list[Difference]:
    from harness.comparison import compare

    assert one.repro is not None
    return compare.differences(old.outputs, new.outputs, dict(one.repro.compare), "the golden")


def unused(root: Path, paths: Iterable[Path]) -> list[Path]:
    """Goldens below these folders (or of these repro files) that belong to no case of a repro. Raises UsageError."""
    from harness.comparison import golden, unused_goldens

    repros, broken, folders = [], [], []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{short(path)} does not exist")
        files = list(languages.files_below(path)) if path.is_dir() else [path]
        folders += [path] if path.is_dir() else []
        for file in files:
            try:
                if is_repro(file.read_bytes()):
                    repros.append(read(file.resolve()))
            except (ReproError, OSError):
                broken.append(file.resolve())
    left = unused_goldens.unused(repros, broken, folders)
    if folders:
        return left
    mine = {golden.folder(repro.path) for repro in repros}
    return [path for path in left if path.parent in mine]
