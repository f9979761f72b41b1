"""A judged case as plain data."""

import pytest

from harness import judge
from harness.claim.repro_file import Case
from harness.host.hosts import resolve
from harness.reporting import case_table
from harness.run.result import Outcome

RACE = "repros/one.py:2:5: RACE\n    x[0] = 1\n    ^ writes\n"


@pytest.fixture
def table(write, tmp_path, monkeypatch):
    """The table of an outcome of a claim."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)

    def table(outcome, lines=""):
        case, host = Case(write("def run(): ...", lines), {}), resolve("embedded")
        return case_table.of(case, host, judge.judge(case, host, outcome, tmp_path), tmp_path)

    return table


def ids(table):
    return [(one["id"], one["expected"]) for one in table["findings"]]


def test_a_finding_that_the_claim_does_not_predict(table):
    one = table(Outcome("race", RACE))
    assert (one["verdict"], ids(one)) == ("fail", [("RACE", False)])


def test_a_finding_that_the_claim_predicts(table):
    one = table(Outcome("race", RACE), 'outcome = "race"')
    assert (one["verdict"], one["reason"], ids(one)) == ("fail", "no golden", [("CLAIM_FAILS", False), ("RACE", True)])


def test_a_failed_claim_has_a_finding_at_the_claim(table):
    one = table(Outcome("exited", detail={"exit": 0}))
    (finding,) = one["findings"]
    assert finding["id"] == "CLAIM_FAILS" and finding["place"]["line"] == 4


def test_a_case_that_was_not_run_has_none(table):
    one = table(Outcome("infra", "the host is gone"))
    assert (one["verdict"], one["findings"]) == ("infra", [])


def test_code_is_there_if_it_was_asked_for():
    kernel = {"name": "k", "arch": "sm_90a", "ptx": ".version", "sass": "", "ptx_sha256": "0"}
    outcome = Outcome("outputs")
    outcome.facts = {"kernels": [kernel]}
    assert case_table.with_output({}, outcome, False, True)["kernels"][0]["ptx"] is None
    (one,) = case_table.kernels(outcome, True, True)
    assert (one["ptx"], one["sass"]) == (".version", None)
