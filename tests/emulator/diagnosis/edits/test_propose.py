"""The edit that a finding proposes cures it: each wrong program in PTX of the pairs, with the edit made, has no finding.

Modules tested here: dsl/emulator/diagnosis/edits/edit.py.
"""

import collections
import functools
from pathlib import Path

import pytest

from dsl.emulator.diagnosis import language
from dsl.emulator.faults import Fault
from tests.emulator.diagnosis.edits import wrong_programs
from tests.emulator.diagnosis.edits.wrong_programs import fault_of

PAGE = (Path(__file__).parents[4] / "docs/fixes.md").read_text()
WRONG = {each.name: each for each in wrong_programs.every()}
TWO_MISTAKES = ["cures: a tree's step unrolled"]  # two barriers are missing
# of each kind of pair: how many wrong programs propose an edit, and how many there are
PROPOSED = {
    "barrier": (0, 13),
    "bulk": (21, 43),
    "cluster": (29, 50),
    "cures": (50, 84),
    "divergence": (0, 12),
    "mbarrier": (2, 23),
    "observed": (7, 25),
    "race": (48, 65),
    "turns": (0, 3),
    "warpgroup": (21, 31),
    "warpgroups of a cluster": (0, 2),
}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@functools.cache
def found(name: str, seed: int) -> Fault:
    with pytest.MonkeyPatch.context() as patch:
        fault = fault_of(patch, WRONG[name], [], seed)
    assert fault is not None and fault.finding is not None, name
    return fault


def edit_of(name: str) -> dict | None:
    return (found(name, 0).finding or {}).get("edit")


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("name", WRONG)
def test_the_edit_cures_and_brings_no_other_finding(name, seed, monkeypatch):
    """Also in another order of the threads, which may find another access of the same mistake."""
    fault, edits = found(name, seed), []
    for _ in range(1 + (name in TWO_MISTAKES)):
        edit = (fault.finding or {}).get("edit")
        if edit is None:
            assert not edits
            return
        edits.append(edit)
        assert edit["file"] == "", "the sources of these programs are not there, so their PTX is edited"
        after = fault_of(monkeypatch, WRONG[name], edits, seed)
        assert (after is None) == (len(edits) == 1 + (name in TWO_MISTAKES)), f"{fault}\n{edits}\n{after}"
        fault = after


def test_how_many_wrong_programs_propose_an_edit():
    proposed, every = collections.Counter(), collections.Counter()
    for name in WRONG:
        kind = name.partition(":")[0]
        every[kind] += 1
        proposed[kind] += edit_of(name) is not None
    assert {kind: (proposed[kind], every[kind]) for kind in sorted(every)} == PROPOSED
    assert f"of the {every.total()} wrong kernels in PTX of its pairs {proposed.total()} propose one" in PAGE


def test_which_statements_no_wrong_program_needs():
    texts = [edit["text"] for name in WRONG if (edit := edit_of(name)) is not None and edit["kind"] != "replace"]
    rows = {row for text in texts for row in text.split("\n")}
    unused = {
        name
        for name, (ptx, *_) in language.STATEMENTS.items()
        if not all(any(row.startswith(line.partition("{")[0].rstrip(";")) for row in rows) for line in ptx.split("\n"))
    }
    # what needs two launches is in tests/emulator/pairs, what needs tensor memory in families/tcgen05/test_check.py
    of_others = {"wait for the launch before", "fence after a relaxed wait"}
    of_others |= {"wait for tensor memory loads", "wait for tensor memory stores"}
    assert unused == {"fence of the block", "fence of the cluster", "wait for bulk stores"} | of_others
