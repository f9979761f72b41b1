"""The checks that a device is asked for: by name, by default, and always for a claim about a finding."""

from pathlib import Path

import pytest

from harness.claim import findings
from harness.claim.repro_file import read
from harness.cli import main
from harness.errors import UsageError
from harness.session import Session

REPROS = Path(__file__).parents[3] / "repros" / "checks"


@pytest.mark.parametrize("text, names", [
    ("all", ("race", "undefined")), ("none", ()), ("race", ("race",)), ("undefined,race", ("race", "undefined")),
])  # fmt: skip
def test_checks_by_name(text, names):
    assert findings.checks(text) == names


@pytest.mark.parametrize("text", ["", "races", "race,", "all,race", "race undefined"])
def test_unknown_names_of_checks_are_refused(text, tmp_path):
    with pytest.raises(findings.BadChecks, match="fix: write all, none, schedules, or some of race, undefined"):
        findings.checks(text)
    with pytest.raises(UsageError, match="unknown check"):
        Session(tmp_path, checks=text)


@pytest.mark.parametrize("asked, outcome, varies, found", [
    (None, "outputs", False, "race,undefined"), (None, "outputs", True, "none"), ("none", "outputs", False, "none"),
    ("race", "outputs", True, "race"), ("none", "race", False, "race"), (None, "undefined_read", True, "undefined"),
    (None, "rejected", False, "race,undefined"),
])  # fmt: skip
def test_the_checks_of_a_repro(asked, outcome, varies, found):
    assert findings.sought(asked, outcome, varies) == found


def test_repros_whose_outputs_vary():
    assert read(REPROS / "race_store_buffer.py").varies
    assert not read(REPROS / "race_tree_sum_without_barrier.py").varies


@pytest.mark.slow
def test_a_claim_about_outputs_fails_where_its_kernel_races(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    text = (REPROS / "race_shuffle_orders_no_memory.py").read_text().replace('# outcome = "race"\n', "")
    (tmp_path / "repros/one.py").write_text(text)
    assert main(["run", "repros/one.py"]) == 1
    assert "race:\nrepros/one.py:23:12: RACE" in capsys.readouterr().out
    assert main(["run", "repros/one.py", "--check", "none"]) == 1
    said = capsys.readouterr().out
    assert "RACE" not in said and "no golden" in said


@pytest.mark.parametrize(("asked", "seconds"), [("schedules", 10), ("schedules=2.5", 2.5), ("all", 0), (None, 0)])
def test_seconds_for_other_orders(asked, seconds):
    assert findings.orders_s(asked) == seconds
    assert findings.sought(asked, "outputs", False) == "race,undefined"
