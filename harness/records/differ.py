"""The fields that differ between two records, and the runs that would tell the cause: `repro record diff A B`.

Fields that can be a cause fall into groups, from the cheapest to change to the dearest. A group is not a cause if
what it acts through is the same in both records: with equal PTX the compiler is not the cause.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from harness.records.index import answers
from harness.records.index.index import Index, Record, as_table

GROUPS = {  # group: the fields in it; cheapest to change first
    "seed": ("seed",),
    "golden": ("golden_sha256", "golden"),
    "packages": ("lock_sha256", "python", "numpy", "torch"),
    "repro": ("repro_sha256",),
    "compiler": ("compiler", "compiler_version", "bundle_sha256", "compiler."),
    "ptxas": ("ptxas",),
    "machine": ("host", "gpu", "gpu_uuid", "device", "arch"),
    "driver": ("driver",),
}
THROUGH_PTX = ("compiler", "packages")
SHOWN_LINES = 200


def compare(index: Index, a: Record, b: Record, others: Iterable[Record] | None = None) -> dict[str, Any]:
    """Everything that differs between two records, as plain data. `others` of the case may tell: all, if not given."""
    fields = differing_fields(a, b)
    groups = differing_groups(a, b)
    unrelated = _unrelated(a, b)
    suspects, cause = _suspects(a, b, groups) if not unrelated else ([], f"none to look for: {unrelated}")
    answered = answers.of_record(a), answers.of_record(b)
    kinds = answers.how(*answered)
    if others is None:
        others = index.records(a.claim, a.case) if len(suspects) > 1 else ()
    return {
        "a": as_table(a),
        "b": as_table(b),
        "unrelated": unrelated,
        "kinds": kinds,
        "says": answers.says(*answered, kinds),
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


def _unrelated(a: Record, b: Record) -> str:
    """Why two records answer different questions, or ''."""
    if a.claim != b.claim:
        return f"A is a record of {a.claim}, B one of {b.claim}, another claim"
    if a.case != b.case:
        return f"A is a record of {a.case or 'no parameters'}, B one of {b.case or 'no parameters'}, another case"
    return ""


def differing_fields(a: Record, b: Record) -> list[dict[str, Any]]:
    names = dict.fromkeys([*a.provenance, *b.provenance])
    rows = [{"field": n, "a": a.provenance.get(n), "b": b.provenance.get(n)} for n in names]
    rows = [{"field": "case", "a": a.case or None, "b": b.case or None}, *rows]
    return [row for row in rows if row["a"] != row["b"]]


def differing_groups(a: Record, b: Record) -> list[str]:
    """The groups of fields in which two records differ."""
    groups = [group for group in GROUPS if _values(a, group) != _values(b, group)]
    if "ptxas" in groups and not (_values(a, "ptxas") and _values(b, "ptxas")):
        groups.remove("ptxas")  # one run did not ask for machine code
    return groups


def _values(record: Record, group: str) -> dict[str, Any]:
    return {name: value for name, value in record.provenance.items() if _belongs(name, group)}


@cache
def _belongs(name: str, group: str) -> bool:
    return any(name == one or (one.endswith(".") and name.startswith(one)) for one in GROUPS[group])


def _suspects(a: Record, b: Record, groups: list[str]) -> tuple[list[str], str]:
    """The groups that may be the cause, and a sentence."""
    if (a.verdict == "pass") == (b.verdict == "pass"):
        return [], f"none to look for: {'both passed' if a.verdict == 'pass' else 'neither passed'}"
    left, notes = list(groups), []
    kernels = a.line.get("kernels"), b.line.get("kernels")
    if kernels[0] and kernels[0] == kernels[1] and "repro" not in groups:
        cleared = [group for group in left if group in THROUGH_PTX]
        left = [group for group in left if group not in THROUGH_PTX]
        if cleared:
            notes.append(f"the PTX is the same, so it is not the {' or the '.join(cleared)}")
    machine_code = a.line.get("sass"), b.line.get("sass")
    if "ptxas" in left and machine_code[0] and machine_code[0] == machine_code[1]:
        left.remove("ptxas")
        notes.append("the SASS is the same, so it is not ptxas")
    if "golden" in left and a.line.get("outputs") == b.line.get("outputs"):
        return ["golden"], "; ".join([*notes, "the outputs are the same: the golden changed, not the program"])
    if "golden" in left and len(left) > 1 and "repro" not in left:
        left.remove("golden")  # the outputs differ: what gave them is the question
    if not left:
        return [], "; ".join([*notes, "nothing that was recorded differs: run it again, it may be flaky"])
    if len(left) == 1:
        return left, "; ".join([*notes, f"only {_the(left[0])} differ{'' if left[0] == 'packages' else 's'}"])
    return left, "; ".join([*notes, f"one of {', '.join(left)}, or several together"])


def _known(others: Iterable[Record], a: Record, b: Record, suspects: list[str]) -> list[str]:
    """Records that have some groups of B and the others of A: they give an answer without a run."""
    causes: dict[tuple[str, ...], str] = {}
    for one in others:
        if one.id in (a.id, b.id) or one.verdict not in ("pass", "fail", "contradicted"):
            continue
        sides = {g: _side(one, a, b, g) for g in suspects}
        with_b = tuple(g for g in suspects if sides[g] == "b")
        if None in sides.values() or len(with_b) in (0, len(suspects)) or with_b in causes:
            continue
        passed = one.verdict == a.verdict
        said = "so it is not that alone" if passed else "so that is enough"
        causes[with_b] = f"{one.id} with B's {' and '.join(with_b)} ends as {'A' if passed else 'B'}: {said}"
    return list(causes.values())


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
    verb = "are" if group == "packages" else "is"
    tells = f"B with A's {group}: if it passes, {_the(group)} {verb} the cause"
    if group == "packages":
        pinned = [f"{n}=={old[n]}" for n in ("numpy", "torch") if old.get(n) != new.get(n) and n in old]
        options = "".join(f" --with {shlex.quote(one.split('+')[0])}" for one in pinned)
        python = (
            f" --python {shlex.quote(str(old['python']))}"
            if old.get("python") != new.get("python") and "python" in old
            else ""
        )
        command = b.rerun.replace("uv run", f"uv run{python}{options}", 1)
        if not options and not python:
            command = f"git log --oneline -- uv.lock    # check the lock of {a.date[:10]} out, then: {b.rerun}"
        return {"command": command, "tells": tells}
    if group == "repro":
        name = Path(a.claim).name
        commit = f"$(git log -1 --format=%h --before={a.date[:19]}Z -- {shlex.quote(a.repro_then)})"
        show = f'git show "{commit}":{shlex.quote("./" + a.repro_then)}'
        run = b.rerun.replace(shlex.quote(b.claim), f"/tmp/{shlex.quote(name)}", 1)
        return {"command": f"{show} > /tmp/{shlex.quote(name)} && {run}", "tells": tells}
    if group == "compiler":
        if old.get("compiler") == "nvidia" and b.compiler.startswith("nvidia"):
            version = old.get("compiler_version")
            command = b.rerun.replace(f"--compiler {b.compiler}", f"--compiler {shlex.quote(f'nvidia=={version}')}", 1)
            return {"command": command, "tells": tells}
        before = f'"$(git log -1 --format=%h --before={a.date[:19]}Z)"'
        again = replace(b, claim=a.repro_then).rerun
        return {"command": f"git worktree add /tmp/before {before} && cd /tmp/before && {again}", "tells": tells}
    if group in ("machine", "driver") and a.host != b.host:
        return {"command": a.rerun, "tells": f"now on A's {group}: if it passes, the {group} is the cause"}
    if group == "seed":
        again = b.rerun.partition(" --seed ")[0]
        return {"command": f"{again} --seed {old.get('seed', 0)}", "tells": tells}
    if group == "ptxas":
        need = shlex.quote(f"nvidia-cuda-nvcc=={'.'.join(str(old.get('ptxas')).split('.')[:2])}.*")
        return {"command": b.rerun.replace("uv run", f"uv run --with {need}", 1), "tells": tells}
    where = f"driver {old.get('driver')}" if group == "driver" else str(old.get("gpu") or group)
    return {"command": f"{b.rerun}    # on {b.host} with {where}", "tells": tells}


def _the(group: str) -> str:
    return group if group == "ptxas" else f"the {group}"


def _outputs(a: Record, b: Record) -> list[dict[str, Any]]:
    names = dict.fromkeys([*a.outputs, *b.outputs])
    pairs = ((n, *(one.outputs.get(n, {}).get("sha256") for one in (a, b))) for n in names)
    rows = [{"output": n, "a": x, "b": y} for n, x, y in pairs]
    return [row for row in rows if row["a"] != row["b"]]


def _texts(kind: str, a: dict, b: dict, a_hashes: dict | None, b_hashes: dict | None) -> list[dict[str, str]]:
    """A unified diff of each kernel whose text is not the same."""
    rows = []
    a_hashes, b_hashes = a_hashes or {}, b_hashes or {}
    if kind == "sass" and not (a_hashes and b_hashes):
        return []  # one run did not ask for it
    for one, other in kernel_pairs(a_hashes, b_hashes):
        if one and other and a_hashes[one] == b_hashes[other]:
            continue
        kernel = one if one == other else f"{one} (A) and {other} (B)" if one and other else one or other
        if not (one and other):
            note = f"    only {'A' if one else 'B'} has this kernel"
        else:
            absent = [letter for letter, there in (("A", one in a), ("B", other in b)) if not there]
            note = f"    the text of {' and '.join(absent)} was not kept" if absent else ""
        if note:
            rows.append({"kind": kind, "kernel": kernel, "diff": "", "note": note})
            continue
        pair = a[one].splitlines(), b[other].splitlines()
        lines = list(difflib.unified_diff(*pair, "A", "B", n=2, lineterm=""))
        more = [f"... and {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
        rows.append({"kind": kind, "kernel": kernel, "diff": "\n".join(lines[:SHOWN_LINES] + more), "note": ""})
    return rows


def kernel_pairs(a: Iterable[str], b: Iterable[str]) -> list[tuple[str | None, str | None]]:
    """Kernels of two records side by side: by name, and where each has one that the other has not, those two.

    Compilers name a kernel after its arguments, each in its own way.
    """
    a, b = list(a), list(b)
    only = [name for name in a if name not in b], [name for name in b if name not in a]
    pairs = [(name, name) for name in a if name in b]
    if len(only[0]) == len(only[1]) == 1:
        return [*pairs, (only[0][0], only[1][0])]
    return [*pairs, *((name, None) for name in only[0]), *((None, name) for name in only[1])]
