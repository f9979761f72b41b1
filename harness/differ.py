"""What changed between two records, field by field, and which runs would tell what the cause is: `repro diff A B`.

Fields that can be a cause fall into groups, from the cheapest to change to the dearest. A group is no cause where what
it can act through is the same in both records: with equal PTX the compiler is not the cause.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from harness.index import Index, Record, as_table

GROUPS = {  # group: the fields in it; cheapest to change first
    "seed": ("seed",),
    "golden": ("golden_sha256",),
    "packages": ("lock_sha256", "python", "numpy", "torch"),
    "repro": ("repro_sha256",),
    "compiler": ("compiler", "compiler_version", "bundle_sha256", "compiler."),
    "machine": ("host", "gpu", "gpu_uuid", "device", "arch"),
    "driver": ("driver",),
}
THROUGH_PTX = ("compiler", "packages")
SHOWN_LINES = 200


def compare(index: Index, a: Record, b: Record, others: Iterable[Record] | None = None) -> dict[str, Any]:
    """Everything that differs between two records, as plain data. `others` of the case may tell: all, if not given."""
    fields = differing_fields(a, b)
    groups = differing_groups(a, b)
    suspects, cause = _suspects(a, b, groups)
    if others is None:
        others = index.records(a.claim, a.case) if len(suspects) > 1 else ()
    return {
        "a": as_table(a),
        "b": as_table(b),
        "fields": fields,
        "outputs": _outputs(a, b),
        "differences": [d | {"letter": letter} for letter, one in (("A", a), ("B", b)) for d in one.differences],
        "texts": [*_texts("ptx", a.ptx(), b.ptx(), a.line.get("kernels"), b.line.get("kernels")),
                  *_texts("sass", a.sass(), b.sass(), a.line.get("sass"), b.line.get("sass"))],
        "suspects": suspects,
        "cause": cause,
        "known": _known(others, a, b, suspects) if len(suspects) > 1 else [],
        "runs": _runs(a, b, suspects),
    }  # fmt: skip


def differing_fields(a: Record, b: Record) -> list[dict[str, Any]]:
    names = dict.fromkeys([*a.provenance, *b.provenance])
    rows = [{"field": n, "a": a.provenance.get(n), "b": b.provenance.get(n)} for n in names]
    rows = [{"field": "case", "a": a.case or None, "b": b.case or None}, *rows]
    return [row for row in rows if row["a"] != row["b"]]


def differing_groups(a: Record, b: Record) -> list[str]:
    """The groups of fields in which two records differ."""
    return [group for group in GROUPS if _values(a, group) != _values(b, group)]


def _values(record: Record, group: str) -> dict[str, Any]:
    return {name: value for name, value in record.provenance.items() if _belongs(name, group)}


@cache
def _belongs(name: str, group: str) -> bool:
    return any(name == one or (one.endswith(".") and name.startswith(one)) for one in GROUPS[group])


def _suspects(a: Record, b: Record, groups: list[str]) -> tuple[list[str], str]:
    """The groups that may be the cause, and a sentence."""
    if (a.verdict == "pass") == (b.verdict == "pass"):
        return [], "none to look for: both verdicts are alike" if a.verdict == b.verdict else "see the verdicts"
    left, notes = list(groups), []
    kernels = a.line.get("kernels"), b.line.get("kernels")
    if kernels[0] and kernels[0] == kernels[1] and "repro" not in groups:
        cleared = [group for group in left if group in THROUGH_PTX]
        left = [group for group in left if group not in THROUGH_PTX]
        if cleared:
            notes.append(f"the PTX is the same, so it is not {' or '.join(cleared)}")
    if "golden" in left and a.line.get("outputs") == b.line.get("outputs"):
        return ["golden"], "; ".join([*notes, "the outputs are the same: the golden changed, not the program"])
    if "golden" in left and len(left) > 1 and "repro" not in left:
        left.remove("golden")  # the outputs differ: what gave them is the question
    if not left:
        return [], "; ".join([*notes, "nothing that was recorded differs: run it again, it may be flaky"])
    if len(left) == 1:
        return left, "; ".join([*notes, f"only the {left[0]} differs"])
    return left, "; ".join([*notes, f"one of {', '.join(left)}, or several together"])


def _known(others: Iterable[Record], a: Record, b: Record, suspects: list[str]) -> list[str]:
    """Records that have some of B's groups and otherwise A's: they tell without a run."""
    found: dict[tuple[str, ...], str] = {}
    for one in others:
        if one.id in (a.id, b.id) or one.verdict not in ("pass", "fail", "contradicted"):
            continue
        sides = {g: _side(one, a, b, g) for g in suspects}
        with_b = tuple(g for g in suspects if sides[g] == "b")
        if None in sides.values() or len(with_b) in (0, len(suspects)) or with_b in found:
            continue
        passed = one.verdict == a.verdict
        said = "so it is not that alone" if passed else "so that is enough"
        found[with_b] = f"{one.id} with B's {' and '.join(with_b)} ends as {'A' if passed else 'B'}: {said}"
    return list(found.values())


def _side(one: Record, a: Record, b: Record, group: str) -> str | None:
    values = _values(one, group)
    return "a" if values == _values(a, group) else "b" if values == _values(b, group) else None


def _runs(a: Record, b: Record, suspects: list[str]) -> list[dict[str, str]]:
    """One run a group, the cheapest first; the last group is known when the others are."""
    if not suspects:
        return []
    if len(suspects) == 1 and suspects[0] != "seed":
        return [{"command": b.rerun, "tells": "whether B fails again: it may be flaky"}]
    runs = [{"command": b.rerun, "tells": "whether B fails again, before anything else"}]
    return runs + [_run(group, a, b) for group in suspects[: max(len(suspects) - 1, 1)]]


def _run(group: str, a: Record, b: Record) -> dict[str, str]:
    old, new = _values(a, group), _values(b, group)
    tells = f"B with A's {group}: if it passes, the {group} is the cause"
    if group == "packages":
        pinned = [f"{n}=={old[n]}" for n in ("numpy", "torch") if old.get(n) != new.get(n) and n in old]
        options = "".join(f" --with {shlex.quote(one.split('+')[0])}" for one in pinned)
        python = f" --python {old['python']}" if old.get("python") != new.get("python") and "python" in old else ""
        command = b.rerun.replace("uv run", f"uv run{python}{options}", 1)
        if not options and not python:
            command = f"git log --oneline -- uv.lock    # check the lock of {a.date[:10]} out, then: {b.rerun}"
        return {"command": command, "tells": tells}
    if group == "repro":
        name = Path(a.claim).name
        show = f'git show "$(git log -1 --format=%h --before={a.date[:19]}Z -- {shlex.quote(a.claim)})":./{a.claim}'
        run = b.rerun.replace(shlex.quote(b.claim), f"/tmp/{shlex.quote(name)}", 1)
        return {"command": f"{show} > /tmp/{shlex.quote(name)} && {run}", "tells": tells}
    if group == "compiler":
        if old.get("compiler") == "nvidia" and b.compiler.startswith("nvidia"):
            version = old.get("compiler_version")
            command = b.rerun.replace(f"--compiler {b.compiler}", f"--compiler nvidia=={version}", 1)
            return {"command": command, "tells": tells}
        before = f'"$(git log -1 --format=%h --before={a.date[:19]}Z)"'
        return {"command": f"git worktree add /tmp/before {before} && cd /tmp/before && {b.rerun}", "tells": tells}
    if group in ("machine", "driver") and a.host != b.host:
        return {"command": a.rerun, "tells": f"now on A's {group}: if it passes, the {group} is the cause"}
    if group == "seed":
        return {"command": b.rerun, "tells": "whether another seed gives another verdict"}
    where = f"driver {old.get('driver')}" if group == "driver" else str(old.get("gpu") or group)
    return {"command": f"{b.rerun}    # on {b.host} with {where}", "tells": tells}


def _outputs(a: Record, b: Record) -> list[dict[str, Any]]:
    names = dict.fromkeys([*a.outputs, *b.outputs])
    pairs = ((n, *(one.outputs.get(n, {}).get("sha256") for one in (a, b))) for n in names)
    rows = [{"output": n, "a": x, "b": y} for n, x, y in pairs]
    return [row for row in rows if row["a"] != row["b"]]


def _texts(kind: str, a: dict, b: dict, a_hashes: dict | None, b_hashes: dict | None) -> list[dict[str, str]]:
    """A unified diff of each kernel whose text is not the same."""
    found = []
    a_hashes, b_hashes = a_hashes or {}, b_hashes or {}
    for kernel in dict.fromkeys([*a_hashes, *b_hashes]):
        if a_hashes.get(kernel) == b_hashes.get(kernel):
            continue
        if kernel not in a or kernel not in b:
            absent = [letter for letter, texts in (("A", a), ("B", b)) if kernel not in texts]
            note = f"    the text of {' and '.join(absent)} was not kept"
            found.append({"kind": kind, "kernel": kernel, "diff": "", "note": note})
            continue
        pair = a[kernel].splitlines(), b[kernel].splitlines()
        lines = list(difflib.unified_diff(*pair, "A", "B", n=2, lineterm=""))
        more = [f"... and {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
        found.append({"kind": kind, "kernel": kernel, "diff": "\n".join(lines[:SHOWN_LINES] + more), "note": ""})
    return found
