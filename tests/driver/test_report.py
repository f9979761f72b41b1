"""Findings on standard error and in a file."""

import json
import os

from dsl import exceptions
from dsl.driver.report import Report

FAULT = exceptions.finding("RACE", "two writes", "a barrier", None)


class Fault(exceptions.KernelFault):
    kind = "race"
    repro_outcome = {"outcome": "fault", "kind": "race", "finding": FAULT}


def test_findings_are_printed_and_added_to_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GPU_REPRO_REPORT", str(tmp_path / "report"))
    for process in (7, 8):
        Report(process).failed(Fault("RACE: two writes"), 0)
    Report(8).warned("a warning")
    rows = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
    assert [row["process"] for row in rows] == [7, 8, 8] and rows[0] == {
        "process": 7, "command": rows[0]["command"], "level": "error", "result": 0, "kind": "race", "text": "RACE: two writes", "finding": FAULT,
    }  # fmt: skip
    assert rows[2]["level"] == "warning" and rows[2]["text"] == "a warning"
    assert capsys.readouterr().err == "RACE: two writes\nRACE: two writes\na warning\n"


def test_without_a_file_it_is_printed(monkeypatch, capsys):
    monkeypatch.delenv("GPU_REPRO_REPORT", raising=False)
    Report(7).failed(ValueError("wrong"), 1)
    assert capsys.readouterr().err == "wrong\n"


def test_a_process_is_named_by_its_command(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_REPORT", str(tmp_path / "report"))
    Report(os.getpid()).warned("a warning")
    with open("/proc/self/cmdline") as file:
        assert json.loads((tmp_path / "report").read_text())["command"] == file.read().split("\0")[:-1]
