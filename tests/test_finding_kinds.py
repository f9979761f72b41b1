"""Kinds of findings: the page has the table of the code, every report has a kind, the level decides what a launch does."""

import re
from pathlib import Path

import numpy as np
import pytest

from dsl.emulator.faults import Fault, KernelWarning
from dsl.emulator.machine import context
from dsl.finding_kinds import ERROR, KINDS, NOTE, WARNING
from harness.claim.findings import MEANINGS
from tests.emulator.conftest import Machine
from tests.emulator.diagnosis.one_line_kernel import KERNEL

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", re.MULTILINE)


def test_the_page_has_the_table_of_the_code():
    page = (ROOT / "docs/checkers.md").read_text().partition("## Levels")[2].partition("\n## ")[0]
    assert ROW.findall(page) == [(name, kind.level, kind.meaning) for name, kind in KINDS.items()]


def test_every_kind_is_reported_somewhere_and_every_report_has_a_kind():
    """A report's name is a word of capitals that comes before its message."""
    words = {name: set() for name in KINDS}
    for file in (ROOT / "dsl").rglob("*.py"):
        text = file.read_text()
        for name in KINDS:
            if file.name != "finding_kinds.py" and re.search(rf"\b{name}\b", text):
                words[name].add(file.name)
    assert not [name for name, files in words.items() if not files]
    reported = set(context.KIND_NAMES.values())
    for file in (ROOT / "dsl/emulator/diagnosis").glob("*.py"):
        reported |= set(re.findall(r"(?:error|warn|_of_one)\(launch, (?:instr, )?\"(\w+)\"", file.read_text()))
    assert reported <= {*KINDS}


def test_levels_and_outcomes():
    assert {kind.level for kind in KINDS.values()} == {ERROR, WARNING, NOTE}
    for name, kind in KINDS.items():
        assert bool(kind.outcome) == (kind.level == ERROR), name
    errors = {kind.outcome for kind in KINDS.values()} - {"", "rejected", "trap", "deadlock"}
    faults_without_a_name = {"exited_block", "block_not_started", "mbarrier_not_visible"}  # outcome = "fault"
    assert errors - {*MEANINGS} == faults_without_a_name


def test_an_error_ends_the_launch_and_a_warning_does_not():
    out = np.zeros(4, np.int32)
    with pytest.raises(Fault) as caught:
        Machine().run(KERNEL.replace("BODY", "st.shared.b32 [s], %t;"), block=2, checks=("race",), out=out)
    assert caught.value.repro_outcome["kind"] == KINDS["RACE"].outcome
    with pytest.warns(KernelWarning):
        body = "st.shared.b32 [s], 7; st.global.b32 [%o], 7;"
        Machine().run(KERNEL.replace("BODY", body), block=2, checks=("race",), out=out)
    assert out.tolist() == [7, 7, 0, 0]
