"""Records: one JSON line for each judged case, appended and never edited (store.py has the paths; index.py reads them).

schema      2
id, run     of the line, and of the run that wrote it
key         repro_sha256, platform, toolchain: what the verdict is about; a new hash makes it stale, not false
digest      of the question: repro, case, golden, bundle, lock, compiler, versions, platform. Equal questions that
            get different verdicts are flaky
repro, case, title, host, hardware, device, asked (the compiler as it was asked for), compiler, versions
bundle_sha256, lock_sha256, golden_sha256 (of the golden's answer), seed
commit      of the project, `-dirty` if files that git knows had changed; null outside of git
verdict     pass | fail | contradicted | infra | skip          reason    a few words, '' for pass
outcome     see result.Outcome                                 detail    class, id, line; kind
text        how it ended: the report of a checker, a rejection, a traceback; null for outputs
outputs     name -> sha256 of the raw bytes                    shapes    name -> [dtype, shape]
arithmetic  name -> {arithmetic: exact | bounded | open, through: [{instruction, line, bound}]}, of outputs followed
decisions   [{what, instruction, line, through}]: decisions of kernels by values that are not exact, or null
evidence    emulator | published:KEY | hardware:GPU: why to believe the golden; null without one
golden      the file of the golden, if the arch has its own golden
kernels     name -> sha256 of the PTX                          sass      name -> sha256 of the normalised SASS
ptxas       the version that made the SASS                     no_sass   why there is none where it was asked for
differences what was not as it should be, element by element   histogram [{count, outputs}] of a case run often
allowed     output -> the values that the repro allows it, or null
perturbed   {runs, answers: [{count, seed, delays, outcome, outputs}]} of a case that was run under delays, or null
durations   seconds of each phase                              date      UTC, ISO 8601, to the microsecond
replayed    of a replay: when the GPU ran it; `date` is when it was accepted here
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from harness.claim.repro_file import Case, short
from harness.comparison import arithmetic, observed, perturbed
from harness.comparison.compare import Difference
from harness.compiler_name import OURS
from harness.host.environment import own_wheel
from harness.host.hosts import Host
from harness.records import checkout
from harness.run.result import Outcome
from harness.store import (
    Run,
    folder,
    keep_text,
    moment,
    normalised_sass,
    now,
    relative,
    root_of,
    sha256,
    without_folders,
)

__all__ = ["append", "blobs", "differences", "folder", "now", "provenance", "record", "relative", "root_of"]

SCHEMA = 2
KEPT_DIFFERENCES = 64  # elements of an output
KEPT_TEXT = 5000  # characters of how it ended
WARP = 32
_RUN = Run()


def provenance(case: Case, host: Host, outcome: Outcome) -> dict[str, Any]:
    """Who made a result: device, GPU, driver, compiler, versions, hashes, date, host."""
    device = _device(host, outcome)
    return {
        "host": host.name,
        "device": device.get("kind"),
        "gpu": device.get("name") if host.is_hardware else None,
        **({"uuid": device["uuid"]} if host.is_hardware and device.get("uuid") else {}),
        **({"gpu_model": device["gpu_model"]} if device.get("gpu_model") else {}),
        "driver": device.get("driver"),
        "arch": device.get("arch"),
        "compiler": outcome.facts.get("compiler"),
        "versions": outcome.versions,
        "ptx_sha256": {kernel["name"]: kernel["ptx_sha256"] for kernel in outcome.kernels},
        "repro_sha256": case.repro.sha256,
        **({"decisions": decided} if (decided := arithmetic.decisions(outcome)) else {}),
        **({"silenced": [why for _, why in case.repro.silenced]} if case.repro.silenced else {}),
        "date": outcome.facts.get("date") or now(),  # of a replay, when the GPU gave it
    }


def _device(host: Host, outcome: Outcome) -> dict[str, Any]:
    """The device as the run names it; for the host's own GPU, the host's probe gives the facts that it leaves out."""
    probed = {"kind": host.device, **host.device_facts}
    said = {key: value for key, value in outcome.device.items() if value not in (None, "")} or probed
    is_its_gpu = all(said.get(key, probed.get(key)) == probed.get(key) for key in ("kind", "name"))
    return probed | said if is_its_gpu else outcome.device


def record(
    case: Case, host: Host, outcome: Outcome, verdict: str, root: Path, golden_sha256: str | None = None
) -> dict[str, Any]:
    """One line of the record, without its id."""
    origin = provenance(case, host, outcome)
    compiler = origin["compiler"] or {}
    platform = [origin["device"], origin["gpu"], origin["driver"], origin["arch"], host.computes_as]
    key = {
        "repro_sha256": case.repro.sha256,
        "platform": " ".join(str(part) for part in platform if part),
        "toolchain": " ".join(f"{name}={compiler[name]}" for name in sorted(compiler)),
    }
    about = {
        "repro": relative(case.repro.path, root),
        "case": case.name,
        "asked": host.compiler if host.compiler != OURS else outcome.compiler,
        "versions": outcome.versions,
        "bundle_sha256": bundle_sha256() if outcome.compiler == OURS else None,
        "lock_sha256": _lock_sha256(root),
        "golden_sha256": golden_sha256,
    }
    seed = outcome.facts.get("seed")
    question = [key, about, host.name, *([seed] if seed else [])]
    digest = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
    return {
        "schema": SCHEMA,
        "key": key,
        "digest": digest,
        **about,
        "commit": checkout.commit(root),
        "title": case.repro.claim,
        "host": host.name,
        "hardware": host.is_hardware,
        "device": _device(host, outcome),
        "compiler": origin["compiler"],
        "seed": seed,
        "verdict": verdict,
        "outcome": outcome.kind,
        "detail": detail(outcome),
        "text": None if outcome.kind == "outputs" else _text(outcome, case, root)[:KEPT_TEXT],
        "outputs": {name: hashlib.sha256(array.raw.tobytes()).hexdigest() for name, array in outcome.outputs.items()},
        "shapes": {name: [array.dtype.name, list(array.shape)] for name, array in outcome.outputs.items()},
        "arithmetic": arithmetic.table(outcome),
        "decisions": arithmetic.decisions(outcome) or None,
        "kernels": origin["ptx_sha256"],
        "sass": {k["name"]: sha256(normalised_sass(k["sass"])) for k in outcome.kernels if k.get("sass")},
        "ptxas": outcome.facts.get("ptxas"),
        "no_sass": (outcome.detail.get("no_sass") or {}).get("text"),
        "histogram": observed.histogram(outcome),
        "perturbed": perturbed.table(outcome),
        "allowed": dict(case.repro.allowed) or None,
        "durations": outcome.durations,
        "date": outcome.facts.get("date") or moment(),
    }


def _text(outcome: Outcome, case: Case, root: Path) -> str:
    """How it ended, with the repro's path from the project's folder, wherever the run was started."""
    text = outcome.text.replace(f"{root}/", "")
    near, far = short(case.repro.path), relative(case.repro.path, root)
    return text if near == far else re.sub(rf"(?<![\w./-]){re.escape(near)}(?=[:\"`, ])", lambda _: far, text)


def detail(outcome: Outcome) -> dict[str, Any]:
    """The parts of an outcome's detail that a line keeps."""
    return {key: outcome.detail[key] for key in ("class", "id", "line", "kind", "signal") if key in outcome.detail}


def blobs(outcome: Outcome) -> dict[str, str]:
    """The PTX and the normalised SASS of an outcome's kernels, by the names under which they are kept."""
    texts = {}
    for kernel in outcome.kernels:
        if kernel.get("ptx"):
            texts[f"{kernel['ptx_sha256']}.ptx"] = without_folders(kernel["ptx"])
        if kernel.get("sass"):
            text = normalised_sass(kernel["sass"])
            texts[f"{sha256(text)}.sass"] = text
    return texts


def differences(rows: Iterable[Difference], where: Any = None) -> list[dict[str, Any]]:
    """Differences as a record keeps them: the first elements, and how many differ in each of the 32 lanes.

    `where(index, shape)` names the place of an element, `block 0 warp 1 lane 5`, or ''.
    """
    return [_difference(one, where) for one in rows]


def _difference(one: Difference, where: Any) -> dict[str, Any]:
    table: dict[str, Any] = {"output": one.output, "against": one.against, "message": one.message}
    if one.indices is None:
        return table | {"count": None, "size": None, "first": [], "lanes": None}
    first, lanes = [], [0] * WARP
    lanes_known = True
    assert one.got is not None
    for number, flat in enumerate(one.indices):
        index = tuple(int(i) for i in np.unravel_index(flat, one.got.shape))
        place = where(index, one.got.shape) if where and lanes_known else ""
        if place:
            lanes[int(place.rpartition(" ")[2])] += 1
        elif number < KEPT_DIFFERENCES:
            lanes_known = False
        if number < KEPT_DIFFERENCES:
            first.append([list(index), place, _element(one.expected, flat), _element(one.got, flat)])
        elif not lanes_known:
            break
    size = int(one.got.raw.size)
    return table | {
        "count": int(one.indices.size),
        "size": size,
        "first": first,
        "lanes": lanes if lanes_known else None,
    }


def _element(array: Any, flat: int) -> str:
    return f"0x{int(array.raw.flat[flat]):0{array.dtype.bits // 4}x} {array.values().flat[flat]}"


@functools.cache
def bundle_sha256() -> str | None:
    """A hash of the compiler and the harness that run here; None where they are not installed as a package."""
    try:
        return sha256(json.dumps({n: hashlib.sha256(d).hexdigest() for n, d in sorted(own_wheel.ours().files.items())}))
    except importlib.metadata.PackageNotFoundError:
        return None


@functools.cache
def _lock_sha256(root: Path) -> str | None:
    try:
        return hashlib.sha256((root / "uv.lock").read_bytes()).hexdigest()
    except OSError:
        return None


def append(
    directory: Path, line: dict[str, Any], texts: dict[str, str] | None = None, run: Run | None = None
) -> dict[str, Any]:
    """Keep the texts, then append the line; returns it with its id. Raises OSError: then no line is there."""
    for name, text in (texts or {}).items():
        keep_text(directory, name, text)
    return (run or _RUN).append(directory, line)
