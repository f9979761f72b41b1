"""Findings in the processes of a program, from the lines that their helpers wrote."""

import json

from harness.reporting import program_findings as found


def test_a_torn_report_loses_its_last_line_alone(tmp_path):
    row = {"process": 4, "command": ["a.out"], "level": "error", "result": 700, "kind": "crash", "text": "it broke"}
    (tmp_path / "report").write_bytes(json.dumps(row).encode() + b'\n{"process": 4, "com')
    (table,) = found.tables(tmp_path / "report", ["a.out"], 0, tmp_path)
    assert [(one["id"], one["message"]) for one in table["findings"]] == [("CRASH", "it broke")]
    assert found.errors([table]) == 1
