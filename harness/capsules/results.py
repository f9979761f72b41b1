"""Results of a replay as they came back: a folder or one file, a capsule and what a GPU did with its cases.

Nothing of it is trusted. `read` checks every part before any of it is judged, and how large it is before it is read;
`unpack` writes one case's part for the playback device (dsl/launch/devices/playback.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness import compiler_name, schema
from harness.capsules import form_case, replay
from harness.claim.repro_file import short
from harness.errors import UsageError
from harness.run import hardware, reply
from harness.terminal import one_line

KEPT_CAPSULE = replay.KEPT_CAPSULE
_MOST = 100_000
MOST_CAPSULE_BYTES = 1 << 30
MOST_DATA_BYTES = 128 << 20  # of one case in one file of results
MOST_RESULTS_BYTES = 32 << 20  # of the results without their data
MOST_CASE_BYTES = 1 << 30  # that the host wrote before the launches of a case
_ID = schema.integer(0, 1 << 31)
_AT = schema.integer(0, reply.MOST_BYTES)
_REGION = schema.string(10, r"\d+", "the number of a region")
_SHA256 = schema.string(64, reply.SHA256, "a sha256")
_ARCH = schema.string(8, reply.ARCH, "an arch such as sm_90a")
_TEXT = schema.string(1000)
_EXTENTS = schema.many(schema.integer(1, (1 << 31) - 1), exactly=3)
_UNREADABLE = (OSError, ValueError, replay.BadMember)
OUTCOMES = ("ran", "fault", "trap", "deadlock", "skipped", "error", "crash")


class Refused(UsageError):
    """It cannot be done; the text names the reason and the fix."""


# --- the contents of a folder of results -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Gpu:
    """The device of a result: a GPU by its name, as goldens name it."""

    kind: str = schema.must(schema.one_of("cuda"))
    name: str = schema.must(schema.string(100, r"[ -~]*[!-~][ -~]*", "the name of a GPU"))
    driver: str = schema.must(schema.string(40, r"[\w. +-]*\w[\w. +-]*", "a version"))
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
    """The effects of one launch."""

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


# --- the contents of a capsule that came back ------------------------------------------------------------------------


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
    """Bytes that the host or the emulator's kernel wrote: one value, or a blob, of which `mask` selects some."""

    at: int = schema.must(_AT)
    size: int = schema.must(schema.integer(0, reply.MOST_BYTES))
    fill: int | None = schema.must(schema.optional(schema.integer(0, 255)), None)
    bytes: str | None = schema.must(schema.optional(_SHA256), None)
    mask: str | None = schema.must(schema.optional(_SHA256), None)


_ROWS = schema.table(schema.many(schema.fields(_Write), 1 << 20), _MOST, _REGION)


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
    writes: dict[str, list[_Write]] = schema.must(_ROWS)
    predicted: dict[str, list[_Write]] | None = schema.must(schema.optional(_ROWS), None)


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
    seed: int | None = schema.must(schema.optional(schema.integer(1, 1 << 31)), None)
    delays: str = schema.must(schema.string(1 << 20), "")


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Result:
    """The result of one case of a capsule on a GPU. `data` is read when it is asked for: all of it may be large."""

    case: dict[str, Any]
    device: dict[str, Any]
    date: str
    result: dict[str, Any]
    read_data: Callable[[], bytes]

    @property
    def data(self) -> bytes:
        """Raises Refused where it is not what it was when it was checked."""
        try:
            return self.read_data()
        except _UNREADABLE as error:
            raise Refused(f"{self.case['name']}.bin has changed since it was checked: {error}") from None


class _Folder:
    """The files that replay.py left in a folder. `sizes`: the bytes of each file."""

    def __init__(self, path: Path, unpacked: Path):
        self.path, self.capsule = path, path / KEPT_CAPSULE
        files = path.iterdir() if path.is_dir() else ()
        self.sizes = {file.name: file.stat().st_size for file in files if file.is_file()}

    def read(self, name: str) -> bytes:
        """Raises OSError, BadMember."""
        return (self.path / name).read_bytes()

    def open_capsule(self) -> replay.Capsule:
        """Raises BadCapsule."""
        try:
            return replay.Capsule(str(self.capsule))
        except replay.BadCapsule as error:
            raise replay.BadCapsule(str(error).replace(str(self.capsule), short(self.path / KEPT_CAPSULE))) from None


class _File(_Folder):
    """The same in the one file of `repro replay validate`, of which only the capsule is unpacked, into `unpacked`.

    Raises Refused.
    """

    def __init__(self, path: Path, unpacked: Path):
        self.path, self.capsule = path, unpacked / KEPT_CAPSULE
        try:
            self.archive = replay.Archive(str(path))
            for name in self.archive.names:
                if "/" in name or "\\" in name or not name.endswith((".json", ".bin", KEPT_CAPSULE)):
                    raise Refused(f"{short(path)} is not a file of results: it has a {one_line(name[:200])}")
        except (*replay.NO_ARCHIVE, replay.BadMember) as error:
            raise Refused(f"{short(path)} is not a file of results, or only part of one: {error}") from None
        self.sizes = {one.filename: one.file_size for one in self.archive.zip.infolist()}

    def read(self, name: str) -> bytes:
        return self.archive.read(name, MOST_DATA_BYTES)

    def open_capsule(self) -> replay.Capsule:
        about = self.archive.zip.getinfo(KEPT_CAPSULE)
        if about.file_size > 2 * about.compress_size + replay.PIECE_BYTES:  # a capsule is compressed already
            raise replay.BadCapsule(f"{short(self.path)}: {KEPT_CAPSULE} would be far larger unpacked than it is here")
        try:
            with open(self.capsule, "wb") as file:
                for piece in self.archive.pieces(KEPT_CAPSULE, MOST_CAPSULE_BYTES):
                    file.write(piece)
        except (OSError, replay.BadMember) as error:
            raise replay.BadCapsule(f"{short(self.path)} cannot be unpacked: {error}") from None
        return super().open_capsule()


def read(out: Path, unpacked: Path) -> tuple[replay.Capsule, list[Result]]:
    """The capsule and the results in a folder that replay.py wrote, or in the one file of it. Raises Refused.

    `unpacked`: an empty folder for files that must be on the disk while the results are used.
    """
    found = (_File if out.is_file() else _Folder)(out, unpacked)
    if KEPT_CAPSULE not in found.sizes:
        raise Refused(f"{short(out)} is not a folder that replay.py wrote: it has no {KEPT_CAPSULE}")
    names = sorted(name for name in found.sizes if name.endswith(".json"))
    if sum(found.sizes[name] for name in names) > MOST_RESULTS_BYTES:
        raise Refused(f"{short(out)}: its results have more than {MOST_RESULTS_BYTES >> 20} MB besides their data")
    try:
        capsule = found.open_capsule()
    except replay.BadCapsule as error:
        raise Refused(str(error)) from None
    cases = {case["name"]: case for case in capsule.cases}
    try:
        models = form_case.models(capsule)
    except schema.Misfit as error:
        raise Refused(f"{short(out / KEPT_CAPSULE)} is not a capsule: {error}") from None
    replayed = [_result(capsule, found, name, cases, models) for name in names]
    if not replayed:
        raise Refused(f"{short(out)} holds no results")
    for one in replayed:
        if one.device != replayed[0].device:
            first, other = (hardware.describe(each.device) for each in (replayed[0], one))
            raise Refused(f"{short(out)} holds results of two GPUs: {first}, and {other}: replay into two folders")
    return capsule, replayed


def _result(
    capsule: replay.Capsule, found: _Folder, name: str, cases: dict[str, dict[str, Any]], models: dict[str, str]
) -> Result:
    try:
        said = schema.fields(_Said)(replay.parsed(found.read(name)), "")
        read_data = _reader(found, name.removesuffix(".json") + ".bin", said.data_sha256)
        data_bytes = len(read_data())
        if said.name not in cases:
            raise ValueError("the capsule in its folder has no such case")
        if name != f"{said.name}.json":
            raise ValueError(f"it is the result of {said.name}, whose file has another name")
        case = cases[said.name]
        recorded = schema.fields(_Case)(case, "capsule")
        if recorded.repro_sha256 != said.repro_sha256:
            raise ValueError("it belongs to another capsule than the one in its folder")
        for launch in recorded.launches:
            _check_recorded(launch)
        _check_blobs(capsule, recorded)
        _check_launches(said.result, recorded.launches, data_bytes)
        if "form" in case:  # of one that is as predicted the changes are left out
            form_case.check(capsule, case, models)
        else:
            _check_predicted(said.result, recorded.launches)
        case = case | {"versions": recorded.versions, "compiler": compiler_name.facts(recorded.compiler)}
        return Result(case, _given(said.device), said.date, _given(said.result), read_data)
    except (*_UNREADABLE, RecursionError, schema.Misfit, replay.BadCapsule) as error:
        raise Refused(f"{short(found.path / name)} is not a result of a replay, or is damaged: {error}") from None


def _reader(found: _Folder, name: str, sha256: str) -> Callable[[], bytes]:
    """Read a data file from the archive at each call. Raises OSError, ValueError, BadMember."""

    def read_data() -> bytes:
        data = found.read(name) if name in found.sizes else b""
        if hashlib.sha256(data).hexdigest() != sha256:
            raise ValueError("its data file does not have the sha256 it names")
        return data

    return read_data


def _check_blobs(capsule: replay.Capsule, recorded: _Case) -> None:
    """Whether what the host wrote is as large as its places, and PTX as PTX is. Raises ValueError, BadCapsule."""
    sizes: dict[str, int] = {}
    for launch in recorded.launches:
        ptx_bytes = capsule.blob_bytes(launch.ptx)
        if ptx_bytes > reply.MOST_CODE:
            raise ValueError(f"its PTX has {ptx_bytes} bytes, but may have at most {reply.MOST_CODE}")
        for row in (row for rows in launch.writes.values() for row in rows):
            for name, size in ((row.bytes, row.size), (row.mask, -(-row.size // 8))):
                if name is not None:
                    sizes[name] = capsule.blob_bytes(name)
                    if sizes[name] != size:
                        raise ValueError(f"the capsule's {name[:12]} has {sizes[name]} bytes, and its place {size}")
    if sum(sizes.values()) > MOST_CASE_BYTES:
        raise ValueError(f"the host wrote {sum(sizes.values())} bytes, but may write at most {MOST_CASE_BYTES}")


def _given(said: Any) -> dict[str, Any]:
    """A checked part as a table, without the fields that it leaves out."""

    def of(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: of(one) for key, one in value.items() if one is not None}
        return [of(one) for one in value] if isinstance(value, list) else value

    return of(dataclasses.asdict(said))


def _check_recorded(launch: _Launch) -> None:
    """Check that all recorded bytes of a launch are in its regions. Raises ValueError."""
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
                raise ValueError("the capsule has a pointer after the end of its parameter")


def _check_launches(ended: _Ended, recorded: list[_Launch], data_bytes: int) -> None:
    """Check that these are launches of the case, all of them if it ran, within its regions. Raises ValueError."""
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


def _check_predicted(ended: _Ended, recorded: list[_Launch]) -> None:
    """Check that a launch marked as predicted changed what was predicted. Raises ValueError."""
    for number, (launch, line) in enumerate(zip(ended.launches, recorded, strict=False), 1):
        predicted = {region for region, rows in (line.predicted or {}).items() if rows}
        left = sorted(predicted - {region for region, rows in launch.changes.items() if rows})
        if launch.as_predicted and left:
            raise ValueError(f"launch {number} is marked as predicted, but changed nothing of region {left[0]}")


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
        with open(folder / name, "wb") as file:
            for piece in capsule.blob_pieces(name):
                file.write(piece)
    (folder / "launches.jsonl").write_text("".join(json.dumps(line) + "\n" for line in one.case["launches"]))
    launches, data = [], one.data
    for launch in one.result["launches"]:
        changes = {region: [_row(row, data, folder) for row in rows] for region, rows in launch["changes"].items()}
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
