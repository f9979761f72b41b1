"""Facts of issues, from a line of the record as tests write it."""

import dataclasses
import functools
import tempfile
from pathlib import Path
from typing import Any

from harness.claim import repro_file
from harness.claim.repro_file import Repro
from harness.issue.facts import Facts
from harness.records.index.cells import Record
from tests.harness.conftest import repro_text

SOURCE = repro_text(
    """
    import numpy as np
    def run(width):
        return {"out": np.arange(width)}
    def expected(width):
        return {"out": np.arange(width) * 2}
    """,
    "params = { width = [8, 16] }",
    "Each lane reads its neighbour.",
).replace("# [tool.repro]", '# dependencies = ["nvidia-cutlass-dsl", "numpy"]\n# [tool.repro]')
DIFFERENCE = {
    "output": "out", "against": "expected()", "message": "out differs from expected() in 7 of 8 elements", "count": 7,
    "size": 8, "lanes": None, "first": [[[1], "", "0x2 2", "0x1 1"], [[2], "", "0x4 4", "0x2 2"]],
}  # fmt: skip
GPU = {"kind": "cuda", "name": "NVIDIA H100", "arch": "sm_90", "driver": "580.65", "cuda": "13.0"}


def line(**more: Any) -> dict[str, Any]:
    return {
        "asked": "nvidia==4.8.1", "compiler": {"name": "nvidia", "version": "4.8.1"}, "device": GPU,
        "versions": {"python": "3.12.4", "numpy": "2.4.6"}, "text": None, "repro": "repros/one.py",
    } | more  # fmt: skip


def record(line: dict[str, Any], **more: Any) -> Record:
    fields = {
        "id": "1f2e3d4c-0017", "date": "2026-11-20T12:00:00Z", "claim": "repros/one.py", "case": "width=8", "title": "",
        "arch": "sm_90", "compiler": "nvidia==4.8.1", "host": "p1", "hardware": True, "verdict": "fail",
        "verdict_reason": "differs from expected()", "outcome": "outputs", "digest": "", "provenance": {}, "outputs": {},
        "differences": [], "histogram": None, "durations": {}, "detail": {},
    }  # fmt: skip
    return Record(**(fields | more), line=line)


@functools.lru_cache(maxsize=64)
def repro(text: str = SOURCE, path: str = "/srv/project/repros/one.py") -> Repro:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "one.py")
        file.write_text(text)
        return dataclasses.replace(repro_file.read(file), path=Path(path))


def facts(
    text: str = SOURCE, differences: Any = (DIFFERENCE,), said: dict[str, Any] | None = None, **more: Any
) -> Facts:
    return Facts(repro(text), record(line(**(said or {})), differences=list(differences), **more))
