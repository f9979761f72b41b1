"""Progress of a reduction."""

from harness.reduction.candidates import Candidates
from harness.reduction.progress import Progress, reasons_of
from harness.reduction.properties import Seen
from tests.harness.reduction.test_search import Holds


def test_the_line_has_lines_candidates_reasons_and_the_pass():
    trial = Candidates(Holds(lambda text: False), Seen(True), 1, lambda text: "")
    trial.submit("a").result()
    trial.close()
    progress = Progress(113, trial, print, False)
    progress.lines = 42
    progress.at("inner", 30, 8)
    head, rest = progress.line().split(" (")
    assert head == "113 -> 42 lines, 1 candidates"
    assert rest.endswith("/s), rejected 1 no longer so; inner: 8 of 30 edits left")


def test_the_commonest_reasons_first():
    assert reasons_of({"a": 1, "b": 3, "c": 2, "d": 1}) == "3 b, 2 c, 1 a, 1 otherwise"
    assert reasons_of({}) == ""
