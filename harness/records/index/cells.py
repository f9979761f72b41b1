"""The data of a line of the record and of a cell of the index, without files. index.py describes both."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from harness import store
from harness.claim.repro_file import DEFAULT_GPU_MODEL
from harness.compiler_name import OURS
from harness.records.index import answers, lines
from harness.records.index.states import FORGOTTEN, NO_ARCH, combined
from harness.run import hardware
from harness.schema import Misfit

UNTOLD = ("crash", "timeout", "error")  # what was compiled until then is not known
CELL = ("claim", "case_name", "arch", "compiler", "host")


class NoRecord(Exception):
    """No record, or more than one, has this name; the text names the candidates."""


@dataclass(frozen=True)
class Cell:
    """One claim's case on one arch, by one compiler, on one host."""

    claim: str
    case: str
    title: str
    arch: str
    compiler: str
    host: str
    hardware: bool
    state: str
    reason: str
    last_validated: str | None
    last: str | None
    last_good: str | None
    first_bad: str | None
    passes: int
    fails: int
    ticks: str
    other_code: str | None = None
    arithmetic: str | None = None  # exact | bounded | open, None where nobody followed it
    evidence: str | None = None  # emulator | published:KEY | hardware:GPU, None where there is no golden
    through: str = ""  # the outputs that are not exact, each with the instructions
    forgotten: bool = False  # a person put it aside, and nothing came later


@dataclass(frozen=True)
class Record:
    """One line of the record."""

    id: str
    date: str
    claim: str
    case: str
    title: str
    arch: str
    compiler: str
    host: str
    hardware: bool
    verdict: str
    verdict_reason: str
    outcome: str
    digest: str
    provenance: dict[str, Any]
    outputs: dict[str, dict[str, Any]]
    differences: list[dict[str, Any]]
    histogram: list[dict[str, Any]] | None
    durations: dict[str, float]
    detail: dict[str, Any]
    line: dict[str, Any] = field(repr=False, default_factory=dict)
    folders: tuple[Path, ...] = field(repr=False, default=())

    def ptx(self) -> dict[str, str]:
        return self._texts("ptx", self.line.get("kernels"))

    def sass(self) -> dict[str, str]:
        return self._texts("sass", self.line.get("sass"))

    def _texts(self, kind: str, hashes: dict[str, str] | None) -> dict[str, str]:
        texts = {k: store.kept_text(list(self.folders), f"{h}.{kind}") for k, h in (hashes or {}).items()}
        return {kernel: text for kernel, text in texts.items() if text is not None}

    @property
    def seen(self) -> list[tuple[int, str]]:
        """How often each outcome was seen of a case that was run often; what is allowed and was not seen comes last."""
        histogram = self.histogram or []
        rows = [(int(one["count"]), _outcome(one["outputs"])) for one in histogram]
        for name, values in (self.line.get("allowed") or {}).items() if rows else ():
            had = [(one["outputs"] or {}).get(name) for one in histogram]
            rows += [(0, f"{_outcome({name: value})}  (allowed)") for value in values if value not in had]
        return rows

    @property
    def repro_then(self) -> str:
        """The path of its repro at that time, as the line names it."""
        return str(self.line.get("repro") or self.claim)

    @property
    def rerun(self) -> str:
        argv = ["uv", "run", "repro", "run", self.claim]
        argv += [part for one in self.case.split(",") if one for part in ("-p", one)]
        argv += ["--host", self.host] if self.host not in ("embedded", "replay") else []
        compiler = self.compiler.partition(",")[0]  # of a bisection, without the version of something else
        argv += ["--compiler", compiler] if compiler != OURS else []
        model = self.provenance.get("gpu_model") or DEFAULT_GPU_MODEL
        argv += ["--gpu-model", str(model)] if model != DEFAULT_GPU_MODEL else []
        seed = self.provenance.get("seed")
        argv += ["--seed", str(seed)] if seed else []
        return shlex.join(argv)


def _outcome(outputs: dict[str, Any] | None) -> str:
    return ", ".join(f"{name} = {value}" for name, value in outputs.items()) if outputs else "yet other outcomes"


def combine(cells: Iterable[Cell]) -> str:
    """The state of a group of cells: the worst; a prediction adds nothing where hardware answered the same case."""
    cases: dict[tuple[str, str, str, str], list[tuple[str, bool]]] = {}
    for cell in cells:
        cases.setdefault((cell.claim, cell.case, cell.arch, cell.compiler), []).append((cell.state, cell.hardware))
    return combined((combined(group), False) for group in cases.values())


def as_table(one: Cell | Record) -> dict[str, Any]:
    """A cell or a record as plain data, for JSON."""
    left_out = ("line", "folders")
    return {f.name: getattr(one, f.name) for f in fields(one) if f.name not in left_out}


def column(line: dict[str, Any]) -> dict[str, Any]:
    """The cell that a line belongs to."""
    device = line.get("device") or {}
    arch = str(device.get("arch") or NO_ARCH)
    if (model := device.get("gpu_model") or DEFAULT_GPU_MODEL) != DEFAULT_GPU_MODEL and device.get("arch"):
        arch = str(model)  # an emulator that computes as another GPU
    return {
        "claim": str(line["repro"]),
        "case_name": str(line.get("case") or ""),
        "arch": arch.rstrip("af") if arch.startswith("sm_") else arch,
        "compiler": str(line.get("asked") or (line.get("compiler") or {}).get("name") or OURS),
        "host": str(line.get("host") or "embedded"),
    }


def forgetting(cell: Cell) -> dict[str, Any]:
    """A line that puts the cell's records aside, those before it."""
    is_arch = cell.arch.startswith("sm_")
    device = {} if cell.arch == NO_ARCH else {"arch": cell.arch} if is_arch else {"arch": "sm", "gpu_model": cell.arch}
    device |= {"kind": "cuda"} if cell.hardware else {}
    return {
        "repro": cell.claim,
        "case": cell.case,
        "title": cell.title,
        "host": cell.host,
        "hardware": cell.hardware,
        "device": device,
        "asked": cell.compiler,
        "verdict": FORGOTTEN,
        "reason": cell.reason,
        "date": store.moment(),
    }


def provenance(line: dict[str, Any]) -> dict[str, Any]:
    """Everything that could explain a verdict, flat."""
    device, compiler = line.get("device") or {}, line.get("compiler") or {}
    fields = {
        "repro_sha256": (line.get("key") or {}).get("repro_sha256"),
        "golden_sha256": line.get("golden_sha256"),
        "golden": line.get("golden"),
        "bundle_sha256": line.get("bundle_sha256"),
        "lock_sha256": line.get("lock_sha256"),
        "commit": line.get("commit"),
        "compiler": compiler.get("name"),
        "compiler_version": compiler.get("version"),
        **{f"compiler.{k}": v for k, v in sorted(compiler.items()) if k not in ("name", "version")},
        **{str(k): v for k, v in sorted((line.get("versions") or {}).items())},
        "device": device.get("kind"),
        "gpu": device.get("name") if line_is_hardware(line) else None,
        "gpu_model": device.get("gpu_model"),
        "gpu_uuid": device.get("uuid"),
        "arch": device.get("arch"),
        "driver": device.get("driver"),
        "host": line.get("host"),
        "seed": line.get("seed"),
        "ptxas": line.get("ptxas"),
        "no_sass": line.get("no_sass"),
        **{f"ptx.{k}": v for k, v in sorted((line.get("kernels") or {}).items())},
        **{f"sass.{k}": v for k, v in sorted((line.get("sass") or {}).items())},
    }
    return {key: value for key, value in fields.items() if value is not None}


def line_is_hardware(line: dict[str, Any]) -> bool:
    """Whether hardware ran it: the line states it, and its device is a GPU with its UUID below a real driver."""
    says_so = line.get("hardware", True) is True
    return says_so and (line.get("verdict") == FORGOTTEN or not hardware.missing(line.get("device") or {}))


def row(path: str, at: int, length: int, line: dict[str, Any] | None) -> tuple[Any, ...]:
    """A line as the table has it. Raises KeyError, TypeError, ValueError, AttributeError if it is not a record."""
    if line is None:
        raise ValueError("no object")
    try:
        if not lines.plain(line, length):
            lines.check(line, "")
    except Misfit as error:
        raise ValueError(str(error)) from None
    place = column(line)
    cell = map(place.__getitem__, CELL)
    about = (line["verdict"], line.get("reason") or "", line["date"], line.get("digest") or "", line.get("title") or "")
    hardware = line_is_hardware(line)
    return (store.line_id(line), path, at, length, *cell, hardware, *about, *answers.of(line, hardware))


def marks(line: dict[str, Any]) -> list[str]:
    """By what a line knows its repro, wherever that is: the sentence of the claim, the sha256 of the text."""
    return [mark for mark in (line.get("title"), (line.get("key") or {}).get("repro_sha256")) if mark]


def facts(line: dict[str, Any]) -> dict[str, Any]:
    untold = line.get("outcome") in UNTOLD
    kernels = line.get("kernels") or (None if untold else {})
    return provenance(line) | {
        "kernels": kernels,
        "case": line.get("case") or "",
        "arithmetic": arithmetic(line),
        "evidence": line.get("evidence"),
    }


def arithmetic(line: dict[str, Any]) -> list[str] | None:
    """How sure a line's outputs are, the least sure first, and why: ["bounded", "`out`: ex2.approx.f32 (line 31)"]."""
    table = line.get("arithmetic")
    if not table:
        return None
    kinds = [str(one.get("arithmetic")) for one in table.values()]
    worst = next((kind for kind in ("open", "bounded") if kind in kinds), "exact")
    outputs: dict[str, list[str]] = {}
    for name, one in table.items():
        if one.get("through"):
            outputs.setdefault(_through(one["through"]), []).append(f"`{name}`")
    return [worst, "; ".join(f"{', '.join(names)}: {text}" for text, names in outputs.items())]


def _through(rows: list[dict[str, Any]]) -> str:
    return ", ".join(f"{one.get('instruction')} (line {one.get('line')}, {one.get('bound')})" for one in rows)
