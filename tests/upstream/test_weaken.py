"""The table that weaken.py makes of its results."""

import json

import pytest

from tests.upstream import weaken

ROW = {"kernel": "k", "opcode": "bar.sync", "number": 2, "line": 7, "change": "removed", "was": "bar.sync 0;"}


@pytest.mark.parametrize(
    "verdict, column",
    [("race", "found"), ("warning mbarrier_not_fenced", "found"), ("wrong output", "found"), ("silent", "silent"),
     ("not reached", "not reached"), ("refused: it is not PTX", "not PTX"), ("over the limit", "no answer")],
)  # fmt: skip
def test_the_column_of_a_verdict(tmp_path, verdict, column):
    rows = [{"kernel": "k", "verdict": "silent", "seconds": 0.1, "changes": 1}, ROW | {"verdict": verdict}]
    weaken.results_of(tmp_path, "a/b").write_text("\n".join(map(json.dumps, rows)) + "\n")
    text, silent = weaken.table(tmp_path, ["a/b", "not run"])
    assert silent == (column == "silent")
    head, total = (text.splitlines()[i].split(" | ") for i in (-4, -1))
    counts = dict(zip(head[1:], total[1:]))
    assert {name.strip(" |") for name, count in counts.items() if count.strip(" |") == "1"} == {"changes", column}


def test_a_silent_change_is_equivalent_by_its_row():
    known = [["a/*", "k", "bar.sync#2", "removed", "nothing follows it"]]
    assert weaken.outcome("a/b", ROW | {"verdict": "silent"}, known) == "equivalent"
    assert weaken.outcome("c", ROW | {"verdict": "silent"}, known) == "silent"
    assert weaken.outcome("a/b", ROW | {"verdict": "silent"}, [[*known[0][:4], "open: it is a mistake"]]) == "open"
    assert weaken.outcome("a/b", ROW | {"verdict": "race"}, known) == "found"


def test_each_row_of_the_file_has_a_reason_and_a_program():
    names = [*weaken.REPROS, *weaken.TESTS, *weaken.CUTLASS]
    for program, *_, reason in weaken.reasons():
        assert reason and any(weaken.fnmatch.fnmatchcase(name, program) for name in names), program
