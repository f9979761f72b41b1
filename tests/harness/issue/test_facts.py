"""The facts of an issue, from the record."""

import json

import pytest

from harness import store
from harness.bisection.bisection import Result
from harness.bisection.journal import Journal
from harness.errors import UsageError
from harness.issue import facts, issue
from harness.records.observations import Observation
from tests.harness.conftest import repro_text
from tests.harness.records.conftest import put, root, said  # noqa: F401

TEXT = repro_text("def run():\n    return {}")


@pytest.fixture
def recorded(root, put):  # noqa: F811
    """Appends records of repros/vote.py as it is now."""
    (root / "repros/vote.py").write_text(TEXT)
    return lambda verdict, day, **more: put("vote", verdict, day, key={"repro_sha256": store.sha256(TEXT)}, **more)


def bisection(root, bad, good, **more):  # noqa: F811
    folder = root / ".repro/bisections/0123"
    folder.mkdir(parents=True, exist_ok=True)
    table = {
        "claim": "repros/vote.py", "date": "2026-11-20T12:00:00Z", "kind": "found", "axis": "--compiler",
        "last_good": "nvidia==4.6.3", "first_bad": "nvidia==4.7.0", "candidates": ["nvidia==4.7.0"],
        "records": {"last_good": {"": good}, "first_bad": {"": bad}}, "runs": 4,
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(table | more))


def test_the_newest_that_failed_and_the_newest_that_passed(recorded, root):  # noqa: F811
    recorded("pass", 1, asked="nvidia==4.5.0")
    good = recorded("pass", 2, asked="nvidia==4.6.3", version="4.6.3")
    recorded("fail", 3, asked="nvidia==4.7.0")
    bad = recorded("fail", 4, asked="nvidia==4.8.1", version="4.8.1", hardware=True)
    found = facts.of(root, "vote")
    assert (found.record.id, found.good.id, found.bisected) == (bad, good, None)
    assert found.difference["a"]["id"] == good and found.hosts == ["p1", "embedded"]
    assert facts.of(root, "vote", ("embedded", "nvidia==4.7.0", None)).record.date.startswith("2026-11-03")
    assert facts.of(root, good).record.id == good


def test_a_claim_that_holds_has_no_other_side(recorded, root):  # noqa: F811
    recorded("pass", 1)
    found = facts.of(root, "repros/vote.py")
    assert found.record.verdict == "pass" and found.good is None


def test_a_bisection_names_the_side_that_was_good(recorded, root):  # noqa: F811
    good = recorded("pass", 1, asked="nvidia==4.6.3")
    recorded("pass", 2, asked="nvidia==4.5.0")
    bad = recorded("fail", 3, asked="nvidia==4.7.0")
    bisection(root, bad, good)
    found = facts.of(root, "vote")
    assert found.good.id == good and found.bisected.first_bad == "nvidia==4.7.0"


def test_a_bisection_as_repro_bisect_keeps_it(recorded, root):  # noqa: F811
    good, bad = recorded("pass", 1), recorded("fail", 3)
    found = Result("found", good="nvidia==4.6.3", bad="nvidia==4.7.0", candidates=["nvidia==4.7.0"]).as_data()
    found["records"] = {"last_good": {"": good}, "first_bad": {"": bad}}
    kept = {"claim": "repros/vote.py", "axis": "--compiler", **found, "summary": "", "date": store.now()}
    journal = Journal(root, {})
    journal.open()
    journal.finish(kept)
    one = facts.of(root, "vote").bisected
    assert (one.kind, one.last_good, one.first_bad) == ("found", "nvidia==4.6.3", "nvidia==4.7.0")


@pytest.mark.parametrize("broken", [{"claim": 3}, {"first_bad": None}, {"claim": "repros/other.py"}, {"records": []}])
def test_a_bisection_of_something_else_or_broken_is_left_out(recorded, root, broken):  # noqa: F811
    bad = recorded("fail", 3)
    bisection(root, bad, bad, **broken)
    assert facts.of(root, "vote").bisected is None


def test_a_program_that_changed_since_is_refused(recorded, root):  # noqa: F811
    recorded("fail", 1)
    (root / "repros/vote.py").write_text(TEXT + "# more\n")
    with pytest.raises(UsageError, match=r"(?s)has changed since record .*\nfix: run it again"):
        facts.of(root, "vote")


def test_nothing_recorded(root, recorded):  # noqa: F811
    recorded("infra", 1)
    with pytest.raises(UsageError, match="no record of vote was judged there"):
        facts.of(root, "vote")
    with pytest.raises(UsageError, match="no record is of a claim 'vot'"):
        facts.of(root, "vot")


def test_hosts_of_a_bisection_are_private(recorded, root):  # noqa: F811
    bad = recorded("fail", 3)
    bisection(root, bad, bad, axis="--host", candidates=["p8"], last_good="p7", first_bad="p8")
    assert {"p7", "p8"} <= set(facts.of(root, "vote").hosts)


def test_a_script_is_shown_by_the_run_that_went_wrong(root, monkeypatch):  # noqa: F811
    """Several runs have one text; a bisection of the script belongs to it."""
    monkeypatch.setattr(facts.observations, "script_of", lambda one: "import cutlass, yaml_of_nobody\n")
    path = str(root / "smooth.py")
    runs = [
        Observation(str(n), "2026-11-20", path, "a" * 64, "b" * 64, exit=n % 2, outcome="exited") for n in (4, 3, 2)
    ]
    monkeypatch.setattr(facts.observations, "named", lambda name: runs)
    bisection(root, "1", "2", claim="smooth.py")
    found = facts.of(root, "smooth.py")
    assert found.run.id == "3" and found.bisected.first_bad == "nvidia==4.7.0"
    assert "--with nvidia-cutlass-dsl --with yaml_of_nobody python smooth.py" in issue._alone(found, "smooth.py")
