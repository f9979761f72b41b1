"""A host without internet gets what its environment is made of from here: uv, an interpreter, and the wheels.

uv chooses the files here, for the host's system and Python. They are fetched to this machine's cache and copied over
the connection once, under their hashes; what broke off goes on where it stopped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from harness.host.environment import fetch, wheels
from harness.host.environment.wheels import CannotBring, File
from harness.run import reply
from harness.run.transport import Progress

PIECE_BYTES = 8 << 20
_TELL_EVERY_S = 2.0
_MOST_STUCK = 20
Note = Callable[[str], None]


class Link(Protocol):
    """The part of a connection that is needed here."""

    name: str

    def call(self, header: dict[str, Any], buffers: Sequence[bytes] = ()) -> tuple[dict[str, Any], list[bytes]]: ...


@dataclass(frozen=True)
class Plan:
    """The missing parts of an environment: uv, an archive with a Python, or the path of one, and wheels."""

    uv: File | None
    archive: File | None
    python: str
    wheels: list[File]

    @property
    def files(self) -> list[File]:
        return [file for file in (self.uv, self.archive, *self.wheels) if file]


def plan(there: reply.Equipment, environment: dict[str, Any], archive: str | None) -> Plan:
    """Plan what is to be brought for this environment. Raises CannotBring."""
    uv = None
    if not there.uv:
        check_machine(there.machine)
        uv = wheels.own_file(wheels.uv_program(), "uv")
    if environment["kind"] != "managed" or there.is_made:
        return Plan(uv, None, there.python, [])
    platform = wheels.platform_of(there.machine, there.libc)
    file, version = None, there.python_version
    if not there.python:
        file, version = wheels.interpreter(archive, environment["python"], there.machine)
    chosen = wheels.resolve(environment["requires"], platform, version, environment["torch_index"])
    return Plan(uv, file, there.python, chosen)


def check_machine(machine: str) -> None:
    """Raises CannotBring where this machine's uv does not run there."""
    if machine != os.uname().machine:
        raise CannotBring(f"its processor is {machine}: this machine's uv does not run there")


class Meter:
    """Tells how much of a total went over, now and then."""

    def __init__(self, text: str, total_bytes: int, note: Note) -> None:
        self._text, self._total, self._note = text, total_bytes, note
        self._bytes, self._next = 0, time.monotonic() + _TELL_EVERY_S

    def add(self, count: int) -> None:
        self._bytes += count
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _TELL_EVERY_S
            of = f" of {megabytes(self._total)}" if self._total else ""
            self._note(Progress(f"{self._text}: {megabytes(self._bytes)}{of} MB"))


def megabytes(count: int) -> str:
    """In units of 10^6 bytes, `0.4` or `2893`."""
    return f"{count / 1e6:.1f}" if count < 1e7 else f"{count / 1e6:.0f}"


def bring(link: Link, wanted: Plan, cache: str, note: Note) -> dict[str, Any]:
    """Fetch and copy the files, and return what to make the environment from.

    Raises CannotBring, LinkDown, OSError.
    """
    total = sum(map(fetch.size_of, wanted.files))
    meter = Meter(f"{link.name}: fetching to this machine", total, note)
    local = [fetch.fetch(cache, file, meter.add) for file in wanted.files]
    push(link, local, note)
    by_name = {file.name: file for file, _ in local}
    if wanted.uv:
        link.call({"kind": "put", "what": "uv", "sha256": by_name["uv"].sha256})
    python: Any = wanted.python
    if wanted.archive:
        python = [by_name[wanted.archive.name].sha256, wanted.archive.name]
    chosen = [[by_name[file.name].sha256, file.name] for file in wanted.wheels]
    return {"python": python, "wheels": chosen}


def push(link: Link, files: list[tuple[File, Path]], note: Note) -> None:
    """Copy what is not there yet, from where the last copy stopped. Raises LinkDown, OSError."""
    sizes = there(link, [file for file, _ in files])
    missing = sum(max(file.bytes - size, 0) for (file, _), size in zip(files, sizes, strict=True))
    if not missing:
        return
    total, count = (
        sum(file.bytes for file, _ in files),
        sum(s < f.bytes for (f, _), s in zip(files, sizes, strict=True)),
    )
    rest = f", {megabytes(total - missing)} MB are there" if missing < total else ""
    what = files[0][0].name if len(files) == 1 else f"{count} files"
    note(f"{link.name}: copying {what}, {megabytes(missing)} MB{rest}")
    meter = Meter(f"{link.name}: copying", missing, note)
    for (file, path), size in zip(files, sizes, strict=True):
        with open(path, "rb") as source:
            _push(link, file, source, size, meter)


def _push(link: Link, file: File, source: BinaryIO, size: int, meter: Meter) -> None:
    """Copy one file from `size` on; somebody else may bring the same."""
    stuck = 0
    while size < file.bytes:
        source.seek(size)
        header = {"kind": "piece", "sha256": file.sha256, "name": file.name, "offset": size, "total": file.bytes}
        now = _sizes(link.call(header, [source.read(PIECE_BYTES)])[0], 1)[0]
        stuck = 0 if now > size else stuck + 1
        if stuck == _MOST_STUCK:
            raise reply.Misfit(f"sizes must grow, got {now} bytes of {file.name} {stuck} times")
        meter.add(max(now - size, 0))
        size = now


def there(link: Link, files: Sequence[File]) -> list[int]:
    """How many bytes of each file are there; 0 where its hash is not known yet. Raises LinkDown."""
    known = [file for file in files if file.sha256]
    answer = link.call({"kind": "stored", "files": [[file.sha256, file.name] for file in known]})
    sizes = dict(zip([file.name for file in known], _sizes(answer[0], len(known)), strict=True))
    return [sizes.get(file.name, 0) for file in files]


def _sizes(header: dict[str, Any], count: int) -> list[int]:
    """Raises reply.Misfit."""
    sizes = reply.read(reply.Stored, header).sizes
    if len(sizes) != count:
        raise reply.Misfit(f"sizes must be a list of {count}, got a list of {len(sizes)}")
    return sizes


def missing(link: Link, wanted: Plan) -> str:
    """Name what would be copied: `uv (38 MB), the Python x.tar.gz (30 MB), 41 packages (2893 MB)`; or ''."""
    sizes = dict(zip([file.name for file in wanted.files], there(link, wanted.files), strict=True))
    left = {file.name: max(fetch.size_of(file) - sizes[file.name], 0) for file in wanted.files}
    words = [f"uv ({megabytes(left['uv'])} MB)"] if wanted.uv else []
    if wanted.archive:
        words.append(f"{wanted.archive.name} ({megabytes(left[wanted.archive.name])} MB)")
    lacking = [left[file.name] for file in wanted.wheels if left[file.name]]
    if lacking:
        words.append(f"{len(lacking)} packages ({megabytes(sum(lacking))} MB)")
    return ", ".join(words)


@dataclass(frozen=True)
class Lack:
    """Why a host gets no packages itself ('': it does), and what would change that; what is to be copied there, in
    words, and why it cannot be; what is wrong with the certificates that it names."""

    reason: str = ""
    cure: str = ""
    text: str = ""
    trouble: str = ""
    certificates: str = ""
    is_unknown: bool = False  # uv is to be copied first


def lack(link: Link, environment: dict[str, Any], archive: str | None, offline: bool | None) -> Lack | None:
    """Find what a host lacks that cannot reach a package index; None if it need not. `offline` is its setting.

    Raises LinkDown, reply.Misfit.
    """
    equipment = equipment_of(link, environment)
    if environment["kind"] == "managed" and equipment.uv and not offline:
        index = reply.read(reply.Index, link.call({"kind": "index", "environment": environment})[0])
        found = Lack(index.why, index.cure, certificates=index.certificates)
    else:
        found = Lack("its settings have `offline = true`" if offline else equipment.no_way_out)
    if offline is False:
        return replace(found, trouble="its settings have `offline = false`") if found.reason and equipment.uv else None
    if not found.reason:
        return replace(found, is_unknown=not equipment.uv) if environment["kind"] == "managed" else None
    try:
        return replace(found, text=missing(link, plan(equipment, environment, archive)))
    except (CannotBring, OSError) as error:
        return replace(found, trouble=str(error))


def equip(
    link: Link, environment: dict[str, Any], archive: str | None, cache: str, note: Note
) -> dict[str, Any] | None:
    """Bring what an environment lacks, and return what to make it from; None if it is there.

    Raises CannotBring, LinkDown, OSError of this machine's disk.
    """
    equipment = equipment_of(link, environment)
    if equipment.is_made and equipment.uv:
        return None
    note(f"{link.name}: choosing the packages for {equipment.machine} with {equipment.libc}")
    brought = bring(link, plan(equipment, environment, archive), cache, note)
    return None if equipment.is_made or environment["kind"] != "managed" else brought


def equipment_of(link: Link, environment: dict[str, Any]) -> reply.Equipment:
    """Ask which parts of the environment are there. Raises LinkDown, reply.Misfit."""
    return reply.read(reply.Equipment, link.call({"kind": "equipment", "environment": environment})[0])
