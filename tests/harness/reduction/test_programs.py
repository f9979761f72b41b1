"""Reductions of GPU programs on the emulator: what is left is still wrong for the same reason."""

import re
from pathlib import Path

import pytest

from harness import judge
from harness.claim import repro_file
from harness.reduction import properties, reduction
from harness.reduction.candidates import python_problem
from harness.reduction.journal import Journal
from harness.reduction.passes_process import PassesProcess
from harness.reduction.places import Place

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reduce.md").read_text()


def reduced(tmp_path: Path, text: str) -> tuple[str, list[str]]:
    path = tmp_path / "one.py"
    path.write_text(text)
    (case,) = repro_file.read(path).cases()
    kept = properties.read("", case, path.name, lambda **about: Place(tmp_path, width=2, **about))
    passes, journal, said = PassesProcess("python"), Journal(tmp_path, text, {}), []
    journal.open()
    try:
        valid = lambda text: python_problem(text, is_script=False)
        out = tmp_path / "out.py"
        return reduction.reduce(text, kept, passes, out, journal, 2, valid, said.append).text, said
    finally:
        passes.close()
        journal.close()
        kept.close()


def outcome_of(tmp_path: Path, text: str, embedded) -> str:
    path = tmp_path / "cured.py"
    path.write_text(text)
    host, transport = embedded
    return judge.run(transport, next(repro_file.read(path).cases()), host).kind


def test_the_race_of_the_page(tmp_path, embedded):
    text = re.search(r"^```python\n# file: repros/mirrored_rows.py\n(.*?)^```$", PAGE, re.M | re.S)[1]
    best, said = reduced(tmp_path, text)
    assert said[0] in PAGE
    assert reduction.lines(best) <= 35
    cured = re.sub(r"(?m)^( *)words\[.*\] = .*$", r"\g<0>\n\1cute.arch.sync_threads()", best, count=1)
    assert cured != best and outcome_of(tmp_path, cured, embedded) == "outputs"


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("control_flow/type_change_in_loop_is_rejected.py", "acc"),
        ("barrier/barrier_with_too_few_threads_deadlocks.py", "barrier"),
    ],
)
def test_a_repro_of_a_rejection_and_of_a_deadlock(tmp_path, embedded, name, needed):
    text = (ROOT / "repros" / name).read_text()
    best, _ = reduced(tmp_path, text)
    assert needed in best and reduction.lines(best) <= reduction.lines(text)
    assert outcome_of(tmp_path, best, embedded) == outcome_of(tmp_path, text, embedded)
