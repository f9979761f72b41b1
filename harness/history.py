"""Records: one JSON line for each judged case, appended and never edited.

Runs on the emulator go to `.repro/records/` below the project's root (ignored by git), runs on hardware to `records/`
beside the repro (tracked). One file for each process and day: `<utc-date>-<pid>.jsonl`. Keys of a line:

    schema      1
    key         repro_sha256, platform, toolchain: what the verdict is about; a new hash makes it stale, not false
    repro, case, host, device, compiler, versions
    verdict     pass | fail | contradicted | infra | skip          reason    a few words, '' for pass
    outcome     see result.Outcome
    outputs     name -> sha256 of the raw bytes                    kernels   name -> sha256 of the PTX
    durations   seconds                                            date      UTC, ISO 8601
"""

from __future__ import annotations

import datetime
import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from harness.hosts import Host
from harness.repro import Case
from harness.result import Outcome

SCHEMA = 1


def provenance(case: Case, host: Host, outcome: Outcome) -> dict[str, Any]:
    """Who made a result: device, GPU, driver, compiler, versions, hashes, date, host."""
    device = outcome.device or {"kind": host.device, **host.device_facts}
    return {
        "host": host.name,
        "device": device.get("kind"),
        "gpu": device.get("name") if host.is_hardware else None,
        "driver": device.get("driver"),
        "arch": device.get("arch"),
        "compiler": outcome.facts.get("compiler"),
        "versions": outcome.versions,
        "ptx_sha256": {kernel["name"]: kernel["ptx_sha256"] for kernel in outcome.kernels},
        "repro_sha256": case.repro.sha256,
        "date": outcome.facts.get("date") or now(),  # of a replay, when the GPU gave it
    }


def now() -> str:
    """The time in UTC to the second, `2026-11-20T17:01:00Z`."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def record(case: Case, host: Host, outcome: Outcome, verdict: str, root: Path) -> dict[str, Any]:
    """One line of the record."""
    made = provenance(case, host, outcome)
    compiler = made["compiler"] or {}
    platform = [made["device"], made["gpu"], made["driver"], made["arch"]]
    return {
        "schema": SCHEMA,
        "key": {
            "repro_sha256": case.repro.sha256,
            "platform": " ".join(str(part) for part in platform if part),
            "toolchain": " ".join(f"{name}={compiler[name]}" for name in sorted(compiler)),
        },
        "repro": relative(case.repro.path, root),
        "case": case.name,
        "host": host.name,
        "device": outcome.device or {"kind": host.device, **host.device_facts},
        "compiler": made["compiler"],
        "versions": outcome.versions,
        "verdict": verdict,
        "outcome": outcome.kind,
        "outputs": {name: hashlib.sha256(array.raw.tobytes()).hexdigest() for name, array in outcome.outputs.items()},
        "kernels": made["ptx_sha256"],
        "durations": outcome.durations,
        "date": made["date"],
    }


def root_of(path: Path) -> Path:
    """The project of a file: the nearest folder above it with pyproject.toml or .git, else the working folder."""
    for folder in path.resolve().parents:
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            return folder
    return Path.cwd()


def relative(path: Path, root: Path) -> str:
    """The path below the project's root, or its name where it lies elsewhere (never a private folder)."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.name


def folder(case_path: Path, is_hardware: bool, root: Path) -> Path:
    """Where a record of this repro goes."""
    return case_path.parent / "records" if is_hardware else root / ".repro" / "records"


def append(directory: Path, line: dict[str, Any]) -> None:
    """Append one line by one write, and sync it; on a full disk nothing of it stays. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    data = (json.dumps(line, sort_keys=True) + "\n").encode()
    path = directory / f"{line['date'][:10]}-{os.getpid()}.jsonl"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(fd).st_size
        if os.write(fd, data) != len(data):
            os.ftruncate(fd, size)  # no other process writes this file
            raise OSError(errno.ENOSPC, "the disk took only part of a record", str(path))
        os.fsync(fd)
    finally:
        os.close(fd)
