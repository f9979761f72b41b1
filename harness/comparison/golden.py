"""Goldens: what a case gave when somebody accepted it, who made it, and how it gets onto the disk.

`goldens/<stem>/<case>.json` next to the repro, `default` if it has no parameters:

    outcome      outputs | rejected | trap | deadlock | out_of_bounds ... (findings.py), and what identifies it
                 (class, id, line_text; kind)
    outputs      name -> dtype, shape, compare, arithmetic (exact, bounded or open) and through (the instructions that
                 leave it open), both only if they were followed, and
                   values (to be read), hex (floats: what counts), or
                   file, sha256 (of a .npy of raw unsigned integers, above 4 KB), or
                   lines (of what a program printed), or nothing (compare = undef, set, pred)
    provenance   device, gpu, uuid, gpu_model (whose arithmetic the emulator followed), driver, compiler, versions,
                 ptx_sha256, repro_sha256, date, host; of hardware also answer_sha256, the hash of what it answered
    evidence     emulator | published:KEY | hardware:GPU
    validated    true where the provenance names hardware and holds the hash of the answer; derived, never believed

Files are written whole or not at all: a temporary file, fsync, rename.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness import compiler_name, schema, store
from harness.claim import findings, languages
from harness.claim.repro_file import DEFAULT_GPU_MODEL, Case, Repro, short
from harness.claim.rule import Rule
from harness.comparison import arithmetic, conflict, printed
from harness.run import hardware
from harness.run.result import DTYPES, RAW, Array, Outcome
from harness.store import write_atomically
from harness.terminal import printable

INLINE_LIMIT_BYTES = 4096
LIMIT_BYTES = 512 << 20  # of a golden, or of one of its .npy files
_NPY_HEADER_BYTES = 1 << 14
_SIDECAR = r"[0-9a-f]{1,64}\.npy"
_IDENTITY_CHARACTERS, _SHORT_CHARACTERS = 4096, 300
IDENTITY = {"rejected": ("class", "id", "line_text"), "trap": ("kind",), "deadlock": ("kind",), "fault": ("kind",)}
IDENTITY |= dict.fromkeys(findings.MEANINGS, ())

EMULATOR = "emulator"  # evidence of an answer that nothing else than it gave
HARDWARE = "hardware:"


class CorruptGolden(Exception):
    """A golden that cannot be read, or contradicts itself; the text names the file and the way out."""


class Unmerged(CorruptGolden):
    """A golden in which git left a merge conflict: nothing was judged."""


@dataclass(frozen=True)
class Golden:
    """An accepted result. `outputs` lacks those that were undef; `identity` is what other outcomes are held to."""

    outcome: str
    identity: dict[str, str | None] = field(default_factory=dict)
    outputs: dict[str, Array] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    validated: bool = False
    evidence: str = EMULATOR
    allowed: dict[str, list[Any]] = field(default_factory=dict)  # of outputs whose values the memory model gives


_SHORT = schema.optional(schema.string(_SHORT_CHARACTERS))


@dataclass(frozen=True)
class Provenance:
    """The facts on the maker of a golden that are read again."""

    host: str | None = schema.must(_SHORT, None)
    device: str | None = schema.must(_SHORT, None)
    gpu: str | None = schema.must(_SHORT, None)
    driver: str | None = schema.must(_SHORT, None)
    arch: str | None = schema.must(_SHORT, None)
    date: str | None = schema.must(_SHORT, None)
    compiler: dict[str, Any] | None = schema.must(schema.optional(schema.table(lambda value, place: value, 100)), None)


@dataclass(frozen=True)
class Pending:
    """A golden to be written: plain data, so that an xdist worker can hand it to the controller."""

    path: str
    text: str
    sidecars: dict[str, bytes] = field(default_factory=dict)


def folder(repro: Path) -> Path:
    """The folder of the goldens of a repro file."""
    return repro.parent / "goldens" / languages.without_suffix(repro.name)


def path_of(case: Case, arch: str | None = None, gpu: str | None = None) -> Path:
    """The path of a case's golden: for this arch (`sm_80`) or this GPU's model (`NVIDIA A100`), else the shared one."""
    shared_path = folder(case.repro.path) / f"{case.name or 'default'}.json"
    names = [arch, *re.findall(r"[a-z0-9]+", (gpu or "").lower())]
    paths = [own_path(shared_path, name) for name in names if name]
    return next((path for path in paths if os.path.lexists(path)), shared_path)


def own_path(general: Path, arch: str) -> Path:
    """The path of one arch's golden, next to the shared golden."""
    return general.with_name(f"{general.stem.partition('@')[0]}@{arch}.json")


def arch_of(provenance: dict[str, Any]) -> str:
    """The arch in a provenance or in a device's facts, without its suffix; '' of programs without kernels.

    An emulator that computes as a GPU model other than its default has the name of this model.
    """
    model = provenance.get("gpu_model")
    if model not in (None, DEFAULT_GPU_MODEL) and provenance.get("arch"):
        return str(model)
    match = re.fullmatch(r"(sm_\d{2,3})[af]?", str(provenance.get("arch") or ""), re.ASCII)
    return match[1] if match else ""


def identity_of(case: Case, outcome: Outcome) -> dict[str, str | None]:
    """The parts of an outcome that a golden fixes; empty for arrays. Long texts are cut, as in the golden."""
    identity = {key: outcome.detail.get(key) for key in IDENTITY.get(outcome.kind, ())}
    if "line_text" in identity:
        identity["line_text"] = line_text(case.repro, outcome.detail)
    return {key: text and text[:_IDENTITY_CHARACTERS] for key, text in identity.items()}


def line_text(repro: Repro, detail: dict[str, Any]) -> str | None:
    """The author's line that an outcome points at, without its indentation; None outside of the repro's own text."""
    lines, number = repro.text.split("\n"), detail.get("line") or 0
    is_own = Path(detail.get("file") or "").name == repro.path.name  # a host may have it elsewhere
    return printable(lines[number - 1].strip()) if is_own and 1 <= number <= len(lines) else None


def read(path: Path) -> Golden | None:
    """The golden at `path`, or None where there is none. Raises CorruptGolden.

    If another process replaces it meanwhile, and removes its .npy files, it is read again.
    """
    before = b""
    while True:
        data = content(path)
        if data is None:
            return None
        try:
            return parse(path, data, lambda name: file_bytes(path.parent / name))
        except CorruptGolden:
            if data == before:
                raise
            before = data


def content(path: Path) -> bytes | None:
    """The bytes of a golden, None where there is none. Raises CorruptGolden."""
    try:
        return file_bytes(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CorruptGolden(_way_out(path, getattr(error, "strerror", None) or str(error))) from None


def file_bytes(path: Path) -> bytes:
    """The bytes of an ordinary file of a size that a golden has. Raises OSError, ValueError, CorruptGolden."""
    try:
        about = path.stat()
    except FileNotFoundError:
        _refuse_broken_link(path)
        raise
    if not stat.S_ISREG(about.st_mode):
        raise ValueError("it is not a regular file")
    if about.st_size > LIMIT_BYTES:
        raise ValueError(f"it has {about.st_size} bytes, but a golden may have at most {LIMIT_BYTES}")
    return path.read_bytes()


def _refuse_broken_link(path: Path) -> None:
    """Raises CorruptGolden where the file, or a folder above it, is a link to what was not fetched."""
    link = next((one for one in (path, *path.parents) if one.is_symlink() and not one.exists()), None)
    if link is not None:
        raise CorruptGolden(
            f"the golden {short(path)} cannot be read: {short(link)} is a link to nowhere\n"
            "fix: fetch it, as with `git annex get` or `dvc pull`"
        )


def parse(path: Path, data: bytes, sidecar: Callable[[str], bytes]) -> Golden:
    """Read a golden from these bytes; `sidecar(name)` gives the bytes of a .npy file. Raises CorruptGolden."""
    table = _table(path, data)
    try:
        outcome = findings.name(table["outcome"], table.get("kind"))
        if outcome != "outputs" and outcome not in IDENTITY:
            raise ValueError(f"unknown outcome {outcome!r}")
        described = {name: one for name, one in table.get("outputs", {}).items() if not _is_free(one["compare"])}
        outputs = {name: _read_output(one, sidecar) for name, one in described.items()}
        identity = {
            key: schema.optional(schema.string(_IDENTITY_CHARACTERS))(table.get(key), key)
            for key in IDENTITY.get(outcome, ())
        }
        provenance = compiler_name.in_table(dict(table["provenance"]))
        schema.fields(Provenance)(provenance, "provenance")
        validated = schema.boolean(table["validated"], "validated")
        evidence = _SHORT(table.get("evidence"), "evidence") or evidence_of("", provenance, validated)
        _refuse_contradictions(validated, evidence, provenance, store.answer_sha256(data))
        allowed = {n: list(one["allowed"]) for n, one in table.get("outputs", {}).items() if "allowed" in one}
        return Golden(outcome, identity, outputs, provenance, validated, evidence, allowed)
    except schema.Misfit as error:
        raise CorruptGolden(_way_out(path, str(error))) from None
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OSError,
        EOFError,
        RecursionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise CorruptGolden(_way_out(path, f"{type(error).__name__}: {error}"[:1000])) from None


def _table(path: Path, data: bytes) -> Any:
    """The JSON of a golden. Raises CorruptGolden."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        both = conflict.sides(data.decode("utf-8", "replace"))
        if both is None:
            raise CorruptGolden(_way_out(path, f"{type(error).__name__}: {error}")) from None
    name = short(path)
    rows = "".join(f"\n    {printable(side.name)}: {_side(side.text)}" for side in both)
    raise Unmerged(
        f"the golden {name} cannot be read: it holds a merge conflict{rows}\n"
        f"fix: resolve the conflict in {name}: `git checkout --ours -- {name}` or `--theirs` chooses a side"
    )


def _side(text: str) -> str:
    """One side of a conflict, in a line."""
    try:
        table = json.loads(text)
        origin = table["provenance"]
        state = "validated" if table["validated"] is True else "predicted"
        shown = f"{table['outcome']}, {state} by {origin.get('gpu') or origin.get('device')} on {origin.get('date')}"
        return printable(f"{shown}, answer {str(store.answer_sha256(text.encode()))[:12]}")[:300]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "not a golden by itself"


def _refuse_contradictions(validated: bool, evidence: str, provenance: dict[str, Any], sha256: str | None) -> None:
    """Hold `validated` against what it is derived from. Raises schema.Misfit."""
    why = hardware.missing(hardware.of_provenance(provenance))
    digest = provenance.get("answer_sha256")
    if validated and why:
        raise schema.Misfit(f"it is marked as validated, but its provenance {why}")
    if validated and not digest:
        raise schema.Misfit("it is marked as validated, but its provenance holds no hash of the answer")
    if digest and digest != sha256:
        raise schema.Misfit("its answer is not the one that hardware gave: it does not have the hash in its provenance")
    if not validated and not why:
        raise schema.Misfit(f"its provenance names {provenance.get('gpu')}, but it is not marked as validated")
    if validated != evidence.startswith(HARDWARE):
        raise schema.Misfit(f"its evidence is {evidence}, but validated is {str(validated).lower()}")


def answer(case: Case, pending: Pending | None = None, arch: str | None = None, gpu: str | None = None) -> str | None:
    """The hash of the answer in a case's golden, or in `pending` before it is written; None without one."""
    try:
        data = pending.text.encode() if pending else file_bytes(path_of(case, arch, gpu))
    except (OSError, ValueError, CorruptGolden):
        return None
    return store.answer_sha256(data)


def _way_out(path: Path, why: str) -> str:
    name = short(path)
    return (
        f"the golden {name} cannot be read: {why}\n"
        f"fix: take it back with `git checkout -- {name}`, or delete it and accept a new one with --update-goldens"
    )


def _is_free(rule: str) -> bool:
    """Whether a golden holds no values under this rule."""
    return rule in ("undef", "set") or rule.startswith("pred:")


def _read_output(table: dict[str, Any], sidecar: Callable[[str], bytes]) -> Array:
    if table["dtype"] == printed.TEXT.name:
        return printed.of("\n".join(schema.many(schema.string(LIMIT_BYTES), LIMIT_BYTES)(table["lines"], "lines")))
    dtype, shape = DTYPES[table["dtype"]], tuple(schema.many(schema.integer(0, 1 << 40), 32)(table["shape"], "shape"))
    if "file" in table:
        name = schema.string(80, _SIDECAR, "the name of a .npy file next to it")(table["file"], "file")
        return Array(dtype, _read_sidecar(name, sidecar(name), table["sha256"], dtype.bits, shape))
    if dtype.kind in ("float", "other"):
        flat = [int(text, 16) for text in _flat(table["hex"])]
    else:
        flat = [int(value) % (1 << dtype.bits) for value in _flat(table["values"])]
    array = Array(dtype, np.array(flat, dtype=np.uint64).astype(RAW[dtype.bits]).reshape(shape))
    if math.prod(shape) != len(flat) or _readable(array) != table["values"]:
        raise ValueError("its values and its hex disagree")
    return array


def _read_sidecar(name: str, data: bytes, sha256: str, bits: int, shape: tuple[int, ...]) -> np.ndarray:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError(f"{name} does not have the sha256 that the golden names")
    if len(data) > math.prod(shape) * bits // 8 + _NPY_HEADER_BYTES:
        raise ValueError(f"{name} holds more than its shape needs")
    raw = _load(data, RAW[bits], shape)
    return raw


def _load(data: bytes, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The array of a .npy file: its header is read first, because it gives the size of the rest."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"a .npy file of version {version}")
    try:
        said, in_columns, kind = readers[version](file)
    except Exception as error:  # it is read as Python, whose parser and tokenizer have their own errors
        raise ValueError(f"the header of a .npy file: {type(error).__name__}: {error}") from None
    if said != shape or kind != dtype:
        raise ValueError(f"it holds {kind} {said}")
    flat = np.frombuffer(data, dtype, offset=file.tell(), count=math.prod(shape))
    return flat.reshape(shape, order="F" if in_columns else "C")


def make(case: Case, outcome: Outcome, provenance: dict[str, Any], path: Path | None = None) -> Pending:
    """The files of a golden for `outcome`, at `path` or where the golden is that it is held to.

    It is validated where the provenance names hardware. Long texts are cut: what is made can be read again.
    """
    provenance = {k: v[:_SHORT_CHARACTERS] if isinstance(v, str) else v for k, v in provenance.items()}
    table: dict[str, Any] = {"outcome": outcome.kind, **identity_of(case, outcome)}
    sidecars: dict[str, bytes] = {}
    if outcome.kind == "outputs":
        rules = case.repro.compare
        leeway = arithmetic.table(outcome)
        table["outputs"] = {
            n: _describe(a, rules.get(n, Rule()), sidecars, leeway.get(n)) for n, a in sorted(outcome.outputs.items())
        }
        for name, values in case.repro.allowed.items() if case.repro.is_modelled else ():
            table["outputs"][name]["allowed"] = values
    validated = not hardware.missing(hardware.of_provenance(provenance))
    if validated:
        provenance = provenance | {"answer_sha256": store.answer_sha256(json.dumps(table).encode())}
    table["evidence"] = evidence_of(case.repro.evidence, provenance, validated)
    table |= {"provenance": provenance, "validated": validated}
    path = path or path_of(case, arch_of(provenance), provenance.get("gpu"))
    text = _dump(table) + "\n"
    parse(path, text.encode(), sidecars.__getitem__)
    return Pending(str(path), text, sidecars)


def evidence_of(published: str, provenance: dict[str, Any], validated: bool) -> str:
    """Why to believe an answer: hardware:GPU that gave it, published:KEY, or the emulator alone."""
    evidence = f"{HARDWARE}{provenance.get('gpu') or provenance.get('uuid')}" if validated else published or EMULATOR
    return evidence[:_SHORT_CHARACTERS]


def _describe(
    array: Array, rule: Rule, sidecars: dict[str, bytes], leeway: dict[str, Any] | None = None
) -> dict[str, Any]:
    table: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape), "compare": str(rule)}
    table |= leeway or {}
    if rule.is_free:
        return table
    if array.dtype == printed.TEXT:
        return table | {"lines": printed.lines(array)}
    if array.raw.nbytes > INLINE_LIMIT_BYTES:
        file = io.BytesIO()
        np.save(file, array.raw, allow_pickle=False)
        sha256 = hashlib.sha256(file.getvalue()).hexdigest()
        sidecars[f"{sha256[:16]}.npy"] = file.getvalue()
        return table | {"file": f"{sha256[:16]}.npy", "sha256": sha256}
    table["values"] = _readable(array)
    if array.dtype.kind in ("float", "other"):
        table["hex"] = _nested(
            np.array([f"{v:0{array.dtype.bits // 4}x}" for v in array.raw.flat], object), array.shape
        )
    return table


def _readable(array: Array) -> Any:
    """The values as nested lists for JSON; NaN and infinities are strings."""
    values = array.values()
    if array.dtype.kind != "float":
        return values.tolist()
    text = [float(str(v)) if np.isfinite(v) else str(v) for v in values.flat]
    return _nested(np.array(text, object), array.shape)


def _nested(flat: np.ndarray, shape: tuple[int, ...]) -> Any:
    return flat.reshape(shape).tolist() if shape else flat[0]


def _flat(nested: Any) -> list[Any]:
    return [item for part in nested for item in _flat(part)] if isinstance(nested, list) else [nested]


def _dump(value: Any, indent: str = "", is_text: bool = False) -> str:
    """JSON with one key a line and rows of scalars filled to 110 columns, lines of a text each on its own."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{inner}{json.dumps(key)}: {_dump(item, inner, key == 'lines')}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + indent + "}"
    if isinstance(value, list) and (is_text or any(isinstance(item, list | dict) for item in value)):
        return "[\n" + ",\n".join(inner + _dump(item, inner) for item in value) + "\n" + indent + "]"
    if isinstance(value, list):
        lines, line = [], ""
        for text in map(json.dumps, value):
            if line and len(inner) + len(line) + len(text) > 108:
                lines.append(line)
                line = ""
            line += (", " if line else "") + text
        lines.append(line)
        return (
            f"[{lines[0]}]" if len(lines) == 1 else "[\n" + ",\n".join(inner + n for n in lines) + "\n" + indent + "]"
        )
    return json.dumps(value)


def write(pending: Pending) -> None:
    """Write the sidecars, then the golden, each whole or not at all; then drop sidecars nothing refers to.

    Raises OSError.
    """
    for error in write_all([pending]).values():
        raise error


def write_all(pending: Iterable[Pending]) -> dict[str, OSError]:
    """Write goldens, as they come; path -> why it could not be written.

    One process of a project at a time: what it drops, another would refer to.
    """
    failures: dict[str, OSError] = {}
    locks: dict[Path, OSError | None] = {}  # by project: why its lock is not to be had
    with contextlib.ExitStack() as held:
        for one in pending:
            root = store.root_of(Path(one.path))
            try:
                if root not in locks:
                    locks[root] = _lock(root, held)
                if (is_others := locks[root]) is not None:
                    raise is_others
                _write(one, root / store.LOCAL / "tmp")
            except OSError as error:
                failures[one.path] = error
    return failures


def _lock(root: Path, held: contextlib.ExitStack) -> OSError | None:
    """Hold the lock of a project's goldens from now on; why it cannot be held."""
    try:
        held.enter_context(store.alone(root, "goldens"))
    except OSError as error:
        return error
    return None


def _write(pending: Pending, temporary: Path) -> None:
    path = Path(pending.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in (path.parent, temporary):
        store.sweep(folder)
    for name, data in pending.sidecars.items():
        if not re.fullmatch(_SIDECAR, name):
            raise OSError(errno.EINVAL, "not the name of a file next to a golden", name)
        write_atomically(path.parent / name, data, by_way_of=temporary)
    write_atomically(path, pending.text.encode(), by_way_of=temporary)
    for orphan in sorted(set(path.parent.glob("*.npy")) - sidecars_of(path.parent)):
        orphan.unlink(missing_ok=True)


def sidecars_of(directory: Path) -> set[Path]:
    """The sidecars that the goldens of a folder name; all of them where one cannot be read."""
    names = set()
    for path in directory.glob("*.json"):
        try:
            outputs = json.loads(file_bytes(path)).get("outputs", {})
            names |= {
                directory / one["file"] for one in outputs.values() if re.fullmatch(_SIDECAR, one.get("file") or "")
            }
        except (ValueError, AttributeError, TypeError, OSError, RecursionError, CorruptGolden):
            return set(directory.glob("*.npy"))
    return names
