"""The findings of a run, each once."""

from harness.reporting import finding_list
from tests.harness.reporting.findings_of_a_run import case, finding


def test_a_finding_of_several_cases_is_one():
    tables = [case(finding(), name=f"repros/one.py::n={n}") for n in range(3)]
    (one,) = finding_list.listed(tables)
    assert one.about == "repros/one.py::n=0 (host embedded, compiler ours) and 2 more"


def test_places_and_ids_keep_findings_apart():
    tables = [case(finding(), finding(line=22), finding("DEADLOCK")), case(finding(place=None), name="two")]
    assert len(finding_list.listed(tables)) == 4


def test_predicted_findings_are_left_out_and_errors_come_first():
    tables = [case(finding("WARP_SYNCHRONOUS", level="warning"), finding(expected=True), finding("DEADLOCK"))]
    assert [one.finding["id"] for one in finding_list.listed(tables)] == ["DEADLOCK", "WARP_SYNCHRONOUS"]


def test_paths_are_relative_to_the_repository(tmp_path):
    (tmp_path / ".git").mkdir()
    root = tmp_path / "gpu"
    root.mkdir()
    assert finding_list.repository(root) == tmp_path
    assert finding_list.path_in(tmp_path, root, "repros/one.py") == "gpu/repros/one.py"
    assert finding_list.path_in(tmp_path, root, str(tmp_path / "x.py")) == "x.py"
    assert finding_list.path_in(tmp_path, root, "/usr/lib/x.py") is None
    assert finding_list.repository(tmp_path.parent) == tmp_path.parent
