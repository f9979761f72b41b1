"""Runs of scripts, which claim nothing: separate records, kept by the script, that `repro record history` finds.

They are in `.repro/observations` of the working folder's project. Outside of any project they are in
$XDG_STATE_HOME/gpu-repro. An observation is a line as a record is (store.Run); the script and its output are texts by
their hash. Nothing here judges anything.

schema  1                     script, script_sha256, args       how it was called; `<stdin>` for a heredoc
host, device, compiler, versions, asked, seed, checks           where it ran, and who compiled it
outcome, exit, detail, text   how it ended: see result.Outcome  output_sha256   what it printed, stdout then stderr
kernels  name -> sha256 of the PTX                              durations, date, interrupted
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import store
from harness.claim import repro_file
from harness.claim.repro_file import Repro
from harness.errors import UsageError
from harness.host.hosts import Host
from harness.records import history
from harness.run.result import Outcome
from harness.schema import Misfit, boolean, fields, integer, is_moment, many, must, optional, string, table

SCHEMA = 1
KEPT_TEXT = 5000  # characters of how it ended
_STDERR = "\n--- stderr\n"
_ID = re.compile(r"[0-9a-f]{8}(-\d{4,})?")


@dataclass(frozen=True)
class Observation:
    """One line, as it is read again."""

    id: str = must(string(100, r"[\w-]+", "letters, digits and -"))
    date: str = must(string(40))
    script: str = must(string(4096))
    script_sha256: str = must(string(64, r"[0-9a-f]{64}", "a sha256"))
    output_sha256: str = must(string(64, r"[0-9a-f]{64}", "a sha256"))
    outcome: str = must(string(40))
    args: list[str] = must(many(string(1 << 16), 10_000), list)
    host: str = must(string(1000), "")
    asked: str = must(string(100), "")
    exit: int | None = must(optional(integer(0, 255)), None)
    text: str = must(string(1 << 16), "")
    detail: dict[str, Any] = must(table(lambda value, place: value, 100), dict)
    kernels: dict[str, str] = must(table(string(64), 10_000), dict)
    device: dict[str, Any] = must(table(lambda value, place: value, 100), dict)
    compiler: dict[str, Any] | None = must(optional(table(lambda value, place: value, 100)), None)
    versions: dict[str, str] = must(table(string(200), 100), dict)
    interrupted: bool = must(boolean, False)
    seed: int | None = must(optional(integer(-(1 << 63), 1 << 63)), None)
    checks: str = must(string(1000), "")


_check = fields(Observation)


def root() -> Path:
    """The folder of this working folder's project, from which scripts are named."""
    return store.root_of(Path.cwd() / "script.py")


def folder() -> Path:
    """The folder of observations of this working folder."""
    if any((root() / name).exists() for name in ("pyproject.toml", ".git")):
        return root() / store.LOCAL / "observations"
    return outside()


def outside() -> Path:
    """The folder of observations made outside of any project."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "gpu-repro" / "observations"


def keep(script: Repro, host: Host, outcome: Outcome, run: store.Run, checks: str, interrupted: bool) -> dict[str, Any]:
    """Append what a run of a script gave; the line. Raises OSError."""
    where, called = folder(), script.script
    printed = outcome.stdout + (_STDERR + outcome.stderr if outcome.stderr else "")
    line = {
        "schema": SCHEMA,
        "script": store.relative(script.path, store.root_of(script.path)),
        "script_sha256": store.sha256(script.text),
        "args": list(called.args) if called else [],
        "host": host.name,
        "device": outcome.device or {"kind": host.device, **host.device_facts},
        "asked": host.compiler,
        "compiler": outcome.facts.get("compiler"),
        "versions": outcome.versions,
        "seed": outcome.facts.get("seed"),
        "checks": checks,
        "outcome": outcome.detail.get("found") or outcome.kind,
        "exit": outcome.detail.get("exit"),
        "detail": history.detail(outcome),
        "text": outcome.text[:KEPT_TEXT],
        "output_sha256": store.sha256(printed),
        "kernels": {kernel["name"]: kernel["ptx_sha256"] for kernel in outcome.kernels},
        "durations": outcome.durations,
        "interrupted": interrupted,
        "date": store.moment(),
    }
    store.keep_text(where, f"{line['script_sha256']}.py", script.text)
    store.keep_text(where, f"{line['output_sha256']}.txt", printed)
    return run.append(where, line)


def every() -> list[Observation]:
    """All of them, newest first; lines that cannot be read are left out."""
    found = []
    for path in sorted(folder().glob("*.jsonl")):
        for _, _, line in store.read_lines(path):
            try:
                one = _check(line, "")
                if is_moment(one.date):
                    found.append(one)
            except Misfit:
                continue
    return sorted(found, key=lambda one: (one.date, one.id), reverse=True)


def output_of(one: Observation) -> str:
    """Its output, '' if that is lost."""
    return store.kept_text([folder()], f"{one.output_sha256}.txt") or ""


def script_of(one: Observation) -> str:
    """Its text, '' if that is lost."""
    return store.kept_text([folder()], f"{one.script_sha256}.py") or ""


def is_id(name: str) -> bool:
    """Whether a name has the form of the id of an observation or of a run."""
    return _ID.fullmatch(name) is not None


def named(name: str) -> list[Observation]:
    """Those of a script: by its path (its text now), its file's name, or the id of an observation or of a run.

    None of a repro, whose records are its history. Raises OSError.
    """
    path, sha256 = Path(name), ""
    if path.is_file():
        data = path.read_bytes()
        if repro_file.is_repro(data):
            return []
        sha256 = store.sha256(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    if is_id(name):
        return [one for one in every() if one.id.startswith(name)]
    return [one for one in every() if one.script_sha256 == sha256 or Path(one.script).name == path.name]


def with_text(pattern: str) -> list[Observation]:
    """Those whose script, output or end has a text: a regular expression, small letters fit capitals too.

    Raises UsageError if it is not a regular expression.
    """
    try:
        fits = re.compile(pattern, re.IGNORECASE).search
    except re.error as error:
        raise UsageError(f"--grep {pattern!r} is not a regular expression: {error}") from None
    known: dict[str, bool] = {}

    def has(sha256: str, read: Any, one: Observation) -> bool:
        if sha256 not in known:
            known[sha256] = bool(fits(read(one)))
        return known[sha256]

    return [
        one
        for one in every()
        if has(one.script_sha256, script_of, one) or has(one.output_sha256, output_of, one) or fits(one.text)
    ]
