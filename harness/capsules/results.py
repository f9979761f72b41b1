"""Results of a replay as they came back: a folder or one file, a capsule and what a GPU did with its cases.

Nothing of it is trusted. `read` checks every part before any of it is judged; `unpack` writes one case's part for the
playback device (dsl/launch/devices/playback.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import schema
from harness.capsules import replay
from harness.claim.repro_file import short
from harness.errors import UsageError
from harness.run import reply

KEPT_CAPSULE = replay.KEPT_CAPSULE
_MOST = 100_000
_ID = schema.integer(0, 1 << 31)
_AT = schema.integer(0, reply.MOST_BYTES)
_REGION = schema.string(10, r"\d+", "the number of a region")
_SHA256 = schema.string(64, reply.SHA256, "a sha256")
_ARCH = schema.string(8, reply.ARCH, "an arch such as sm_90a")
_TEXT = schema.string(1000)
_EXTENTS = schema.many(schema.integer(1, (1 << 31) - 1), exactly=3)
OUTCOMES = ("ran", "fault", "trap", "deadlock", "skipped", "error", "crash")


class Refused(UsageError):
    """It cannot be done; the text says why and what to do."""


# --- what a folder of results says -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Gpu:
    """The device of a result: a GPU by its name, as goldens name it."""

    kind: str = schema.must(schema.one_of("cuda"))
    name: str = schema.must(schema.string(200, r"[^\0]*\S[^\0]*", "the name of a GPU"))
    driver: str = schema.must(schema.string(100, r"[\w. +-]*\w[\w. +-]*", "a version"))
    arch: str = schema.must(_ARCH)
    uuid: str | None = schema.must(schema.optional(schema.string(64, r"[0-9A-Za-z-]+", "letters, digits and -")), None)
    cuda: str | None = schema.must(schema.optional(schema.string(20, r"[\w.]+", "a version")), None)


@dataclasses.dataclass(frozen=True)
class _Change:
    """Bytes that a launch changed: where in a region, and where in the data file."""

    at: int = schema.must(_AT)
    size: int = schema.must(schema.integer(1, reply.MOST_BYTES))
    bytes: int = schema.must(_AT)
    mask: int | None = schema.must(schema.optional(_AT), None)


@dataclasses.dataclass(frozen=True)
class _Replayed:
    """What one launch did."""

    changes: dict[str, list[_Change]] = schema.must(
        schema.table(schema.many(schema.fields(_Change), _MOST), _MOST, _REGION)
    )
    as_predicted: bool = schema.must(schema.boolean)
    wrote_outside: list[str] = schema.must(schema.many(_TEXT, _MOST), list)


@dataclasses.dataclass(frozen=True)
class _Ended:
    """How a case ended: `ran`, or how it failed and where."""

    outcome: str = schema.must(schema.one_of(*OUTCOMES))
    launches: list[_Replayed] = schema.must(schema.many(schema.fields(_Replayed), _MOST))
    kind: str | None = schema.must(schema.optional(schema.string(100)), None)
    name: str | None = schema.must(schema.optional(schema.string(100)), None)
    text: str | None = schema.must(schema.optional(schema.string(1 << 20)), None)


@dataclasses.dataclass(frozen=True)
class _Said:
    """The file of one result."""

    name: str = schema.must(_TEXT)
    repro_sha256: str = schema.must(_SHA256)
    device: _Gpu = schema.must(schema.fields(_Gpu))
    date: str = schema.must(schema.moment)
    data_sha256: str = schema.must(_SHA256)
    result: _Ended = schema.must(schema.fields(_Ended))


# --- what a capsule that came back says ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Kernel:
    name: str = schema.must(schema.string(reply.MOST_NAME))
    arch: str = schema.must(_ARCH)
    ptx_sha256: str = schema.must(_SHA256)


@dataclasses.dataclass(frozen=True)
class _Region:
    size_bytes: int = schema.must(schema.integer(0, reply.MOST_BYTES))
    label: str = schema.must(schema.string(reply.MOST_NAME))


@dataclasses.dataclass(frozen=True)
class _Write:
    """Bytes that the host wrote: one value, or those of a blob, of which `mask` names some."""

    at: int = schema.must(_AT)
    size: int = schema.must(schema.integer(0, reply.MOST_BYTES))
    fill: int | None = schema.must(schema.optional(schema.integer(0, 255)), None)
    bytes: str | None = schema.must(schema.optional(_SHA256), None)
    mask: str | None = schema.must(schema.optional(_SHA256), None)


@dataclasses.dataclass(frozen=True)
class _Param:
    bytes: str = schema.must(schema.string(1 << 20, r"([0-9a-f]{2})*", "bytes in hex"))
    pointers: list[list[int]] = schema.must(schema.many(schema.many(_AT, exactly=3), _MOST))


@dataclasses.dataclass(frozen=True)
class _Launch:
    ptx: str = schema.must(_SHA256)
    entry: str = schema.must(schema.string(reply.MOST_NAME))
    grid: list[int] = schema.must(_EXTENTS)
    block: list[int] = schema.must(_EXTENTS)
    cluster: list[int] = schema.must(_EXTENTS)
    smem_bytes: int = schema.must(schema.integer(0, (1 << 31) - 1))
    params: list[_Param] = schema.must(schema.many(schema.fields(_Param), _MOST))
    regions: dict[str, _Region] = schema.must(schema.table(schema.fields(_Region), _MOST, _REGION))
    pointers: list[list[int]] = schema.must(schema.many(schema.many(_AT, exactly=4), 1 << 24))
    writes: dict[str, list[_Write]] = schema.must(
        schema.table(schema.many(schema.fields(_Write), 1 << 20), _MOST, _REGION)
    )


_SCALAR = schema.either(
    schema.optional(_TEXT), schema.boolean, schema.integer(-(1 << 62), 1 << 62), called="a short text or a number"
)


@dataclasses.dataclass(frozen=True)
class _Case:
    """A case of a capsule."""

    name: str = schema.must(_TEXT)
    repro: str = schema.must(_TEXT)
    case: str = schema.must(_TEXT)
    repro_sha256: str = schema.must(_SHA256)
    arch: str = schema.must(_ARCH)
    compiler: dict[str, Any] | None = schema.must(schema.optional(schema.table(_SCALAR, 100)))
    kernels: list[_Kernel] = schema.must(schema.many(schema.fields(_Kernel), 10_000))
    versions: dict[str, str] = schema.must(schema.table(schema.string(100), 100))
    launches: list[_Launch] = schema.must(schema.many(schema.fields(_Launch), _MOST))
    form: str | None = schema.must(schema.optional(_TEXT), None)


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Result:
    """What a GPU did with one case of a capsule."""

    case: dict[str, Any]
    device: dict[str, Any]
    date: str
    result: dict[str, Any]
    data: bytes


def folder_of(path: Path, folder: Path) -> Path:
    """A folder of results as it is; the one file of `repro validate` unpacked into `folder`. Raises Refused."""
    if not path.is_file():
        return path
    try:
        with zipfile.ZipFile(path) as file:
            for name in file.namelist():
                if "/" in name or "\\" in name or not name.endswith((".json", ".bin", KEPT_CAPSULE)):
                    raise Refused(f"{short(path)} is not a file of results: it has a {name}")
                (folder / name).write_bytes(file.read(name))
    except (OSError, zipfile.BadZipFile, EOFError, ValueError, zlib.error, NotImplementedError) as error:
        raise Refused(f"{short(path)} is not a file of results, or only part of one: {error}") from None
    return folder


def read(out: Path) -> tuple[replay.Capsule, list[Result]]:
    """The capsule and the results in a folder that replay.py wrote. Raises Refused."""
    kept = out / KEPT_CAPSULE
    if not kept.exists():
        raise Refused(f"{short(out)} is not a folder that replay.py wrote: it has no {KEPT_CAPSULE}")
    try:
        capsule = replay.Capsule(str(kept))
    except replay.BadCapsule as error:
        raise Refused(str(error)) from None
    cases = {case["name"]: case for case in capsule.cases}
    replayed = [_result(path, cases) for path in sorted(out.glob("*.json"))]
    if not replayed:
        raise Refused(f"{short(out)} holds no results")
    return capsule, replayed


def _result(path: Path, cases: dict[str, dict[str, Any]]) -> Result:
    try:
        table = json.loads(path.read_bytes())
        said = schema.fields(_Said)(table, "")
        data = path.with_suffix(".bin").read_bytes() if path.with_suffix(".bin").exists() else b""
        if hashlib.sha256(data).hexdigest() != said.data_sha256:
            raise ValueError("its data file does not have the sha256 it names")
        if said.name not in cases:
            raise ValueError("the capsule in its folder has no such case")
        case = cases[said.name]
        recorded = schema.fields(_Case)(case, "capsule")
        if recorded.repro_sha256 != said.repro_sha256:
            raise ValueError("it belongs to another capsule than the one in its folder")
        for launch in recorded.launches:
            _check_recorded(launch)
        _check_launches(said.result, recorded.launches, len(data))
        if "form" not in case:  # of an instruction form that is as predicted the changes are left out
            _check_predicted(said.result, case["launches"])
        device = {key: value for key, value in dataclasses.asdict(said.device).items() if value is not None}
        ended = {key: value for key, value in table["result"].items() if key in _ENDED and value is not None}
        case = case | {"versions": recorded.versions, "compiler": recorded.compiler}
        return Result(case, device, said.date, ended, data)
    except (OSError, ValueError, RecursionError, schema.Misfit) as error:
        raise Refused(f"{short(path)} is not a result of a replay, or is damaged: {error}") from None


_ENDED = {one.name for one in dataclasses.fields(_Ended)}


def _check_recorded(launch: _Launch) -> None:
    """Whether what is recorded of a launch lies in its regions. Raises ValueError."""
    for region, rows in launch.writes.items():
        for row in rows:
            _check_place("the capsule", row.at, row.size, region, launch)
            if row.fill is None and row.bytes is None:
                raise ValueError(f"the capsule writes region {region} with no bytes")
    for region, at, to, _ in launch.pointers:
        _check_place("the capsule", at, 8, str(region), launch)
        _check_place("the capsule", 0, 0, str(to), launch)
    for param in launch.params:
        for at, region, _ in param.pointers:
            _check_place("the capsule", 0, 0, str(region), launch)
            if at + 8 > len(param.bytes) // 2:
                raise ValueError("the capsule has a pointer behind the end of its parameter")


def _check_launches(ended: _Ended, recorded: list[_Launch], data_bytes: int) -> None:
    """Whether these are launches of the case, all where it ran, that lie in its regions. Raises ValueError."""
    count = len(ended.launches)
    if count > len(recorded) or (ended.outcome == "ran") != (count == len(recorded)):
        raise ValueError(f"it has {count} launches of {len(recorded)}, and its outcome is {ended.outcome}")
    for launch, line in zip(ended.launches, recorded, strict=False):
        for region, rows in launch.changes.items():
            _check_place("it", 0, 0, region, line)
            for row in rows:
                _check_place("it", row.at, row.size, region, line)
                ends = [row.bytes + row.size] + ([] if row.mask is None else [row.mask - (-row.size // 8)])
                if max(ends) > data_bytes:
                    raise ValueError(f"it names byte {max(ends)} of a data file of {data_bytes}")


def _check_predicted(ended: _Ended, recorded: list[dict[str, Any]]) -> None:
    """Whether a launch that says it is as predicted changed what was predicted. Raises ValueError."""
    for number, (launch, line) in enumerate(zip(ended.launches, recorded, strict=False), 1):
        predicted = {str(region) for region, rows in (line.get("predicted") or {}).items() if rows}
        left = sorted(predicted - {region for region, rows in launch.changes.items() if rows})
        if launch.as_predicted and left:
            raise ValueError(f"launch {number} is said to be as predicted, but changed nothing of region {left[0]}")


def _check_place(whose: str, at: int, size: int, region: str, launch: _Launch) -> None:
    if region not in launch.regions:
        raise ValueError(f"{whose} names region {region}, which its launch does not reach")
    if at + size > launch.regions[region].size_bytes:
        has = launch.regions[region].size_bytes
        raise ValueError(f"{whose} names bytes {at} to {at + size} of region {region}, which has {has}")


# --- for the playback device -----------------------------------------------------------------------------------------


def outside(one: Result) -> str:
    """The memory around which the GPU wrote, by its labels; or ''."""
    labels = [label for launch in one.result["launches"] for label in launch.get("wrote_outside", ())]
    return ", ".join(dict.fromkeys(labels))


def unpack(capsule: replay.Capsule, one: Result, folder: Path) -> None:
    """The folder that dsl's playback device reads: the recording, and the replay's rows with their bytes in files.

    Raises replay.BadCapsule where the capsule lacks bytes that it names.
    """
    for name in _blobs(one.case["launches"]):
        (folder / name).write_bytes(capsule.blob(name))
    (folder / "launches.jsonl").write_text("".join(json.dumps(line) + "\n" for line in one.case["launches"]))
    launches = []
    for launch in one.result["launches"]:
        changes = {region: [_row(row, one.data, folder) for row in rows] for region, rows in launch["changes"].items()}
        launches.append({"changes": changes, "as_predicted": launch["as_predicted"]})
    table = one.result | {"launches": launches, "device": one.device, "arch": one.case["arch"]}
    (folder / "result.json").write_text(json.dumps(table))


def _blobs(launches: list[dict[str, Any]]) -> Iterator[str]:
    for line in launches:
        for rows in line["writes"].values():
            for row in rows:
                yield from (row[key] for key in ("bytes", "mask") if row.get(key) is not None)


def _row(row: dict[str, Any], data: bytes, folder: Path) -> dict[str, Any]:
    hashes = {"at": row["at"], "size": row["size"]}
    for key, size in (("bytes", row["size"]), ("mask", -(-row["size"] // 8))):
        if row.get(key) is not None:
            piece = data[row[key] : row[key] + size]
            hashes[key] = hashlib.sha256(piece).hexdigest()
            (folder / hashes[key]).write_bytes(piece)
    return hashes
