"""The answer of one record in short: the columns by which the index compares many without reading their lines.

Values, PTX and SASS are kept as marks: short hashes, equal where the texts are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harness.records.index.states import Event

COLUMNS = ("gpu", "driver", "version", "commit_id", "text", "outcome", "diagnostic", "given", "ptx", "sass")
TABLE = ", ".join(f"{name} text" for name in COLUMNS)
READ = ("claim", "case_name", "arch", "compiler", "host", "id", "date", "verdict", "reason", *COLUMNS)
SAME = ("claim", "case_name", "arch", "compiler", "host", "version", "text", "verdict", "reason", "outcome",
        "diagnostic", "given")  # fmt: skip  # in records of one answer
KINDS = ("verdict", "outcome", "diagnostic", "values", "SASS", "PTX")  # of changes, the gravest first
CODE = ("SASS", "PTX")
_MARK = 16  # characters


class Answer(NamedTuple):
    """The columns READ of one record. None where it was not recorded; `given` marks the outputs."""

    claim: str
    case: str
    arch: str
    compiler: str
    host: str
    id: str
    date: str
    verdict: str
    reason: str
    gpu: str | None
    driver: str | None
    version: str | None
    commit: str | None
    text: str | None
    outcome: str | None
    diagnostic: str | None
    given: str | None
    ptx: str | None
    sass: str | None

    @property
    def is_judged(self) -> bool:
        return not Event(self.id, self.date, self.verdict, self.reason).is_unjudged

    @property
    def stamp(self) -> str:
        """Stamps put records in their order."""
        return f"{self.date} {self.id}"

    @property
    def said(self) -> tuple[str | None, ...]:
        """The parts that must stay the same for an answer to be the same one."""
        return self.verdict if self.is_judged else None, self.outcome, self.diagnostic, self.given

    @property
    def ended(self) -> str:
        """`rejected E_LAYOUT`, `fail: differs from the golden`."""
        verdict = f"{self.verdict}: {self.reason}" if self.reason else self.verdict
        how = " ".join(filter(None, (self.outcome if self.outcome != "outputs" else "", self.diagnostic)))
        return f"{verdict} ({how})" if how else verdict


def of(line: Mapping[str, Any], is_hardware: bool) -> tuple[Any, ...]:
    """The columns of a line of the record."""
    device, detail = line.get("device") or {}, line.get("detail") or {}
    told = [str(detail[key]) for key in ("class", "id", "kind", "signal") if detail.get(key)] if detail else ()
    text = (line.get("key") or {}).get("repro_sha256")
    return (
        _text(device.get("name")) if is_hardware else None,
        _text(device.get("driver")),
        _text((line.get("compiler") or {}).get("version")),
        _text(line.get("commit")),
        text[:_MARK] if text else None,
        line.get("outcome"),
        " ".join(told) or None,
        None if line.get("histogram") else _mark(line.get("outputs"), with_names=True),
        _mark(line.get("kernels")),
        _mark(line.get("sass")),
    )


def _text(value: Any) -> str | None:
    """A name or a version, which some records have as a number of any size."""
    return None if value is None else str(value)


def says(a: Answer, b: Answer, kinds: Sequence[str]) -> str:
    """`pass -> fail: differs from the golden`, or which of values, SASS and PTX differ."""
    if a.ended != b.ended:
        more = [kind for kind in kinds if kind in ("values", *CODE)]
        return f"{a.ended} -> {b.ended}" + (f"; other {', '.join(more)}" if more else "")
    if not kinds:
        return f"the same: {b.ended}"
    return f"other {', '.join(kinds)}" + (f" ({b.ended})" if "values" in kinds else "")


def _mark(hashes: Mapping[str, str] | None, with_names: bool = False) -> str | None:
    """A mark of several hashes. Kernels are called by each compiler in its own way, so their names do not count."""
    if not hashes:
        return None
    if len(hashes) == 1 and not with_names:
        return next(iter(hashes.values()))[:_MARK]
    parts = sorted(f"{name} {value}" for name, value in hashes.items()) if with_names else sorted(hashes.values())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_MARK]


def of_record(record: Any) -> Answer:
    """The answer of a whole record."""
    place = record.claim, record.case, record.arch, record.compiler, record.host
    said = record.id, record.date, record.verdict, record.verdict_reason
    return Answer(*place, *said, *of(record.line, record.hardware))


def how(a: Answer, b: Answer) -> list[str]:
    """The KINDS in which two answers differ."""
    differ = {
        "verdict": a.is_judged and b.is_judged and (a.verdict == "pass") != (b.verdict == "pass"),
        "outcome": a.outcome != b.outcome,
        "diagnostic": a.outcome == b.outcome and a.diagnostic != b.diagnostic,
        "values": None not in (a.given, b.given) and a.given != b.given,
        "SASS": None not in (a.sass, b.sass) and a.sass != b.sass,
        "PTX": None not in (a.ptx, b.ptx) and a.ptx != b.ptx,
    }
    return [kind for kind in KINDS if differ[kind]]
