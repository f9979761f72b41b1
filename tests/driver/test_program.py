"""CUDA C++ programs that are run: their streams, how they end, and the first kernel that failed."""

import json

import pytest

from dsl import driver
from dsl.driver import nvcc, program

HOW = ("race", 7)  # checks, seed


def source(*shell: str, for_gpu: bool = False) -> nvcc.Source:
    text = "".join(f"//$ {line}\n" for line in shell)
    return nvcc.Source("/a/x.cu", text, {}, [], "sm_90a", for_gpu)


@pytest.mark.usefixtures("nvcc_calls")
def test_a_program_gets_its_arguments_and_the_emulator(capfd, monkeypatch):
    monkeypatch.setenv("MINE", "kept")
    names = "GPU_REPRO_CHECK GPU_REPRO_SEED MINE".split()
    shell = 'echo "$0" "$2" "' + " ".join(f"${name}" for name in names) + '"; echo "$LD_LIBRARY_PATH"; exit 3'
    print("before")
    _, status, found = program.run(source(shell), ["a", "b c"], *HOW)
    before, line, folders = capfd.readouterr().out.splitlines()
    assert (before, status, found) == ("before", 3, {})
    assert line.partition("/x ")[2] == "b c race 7 kept"
    assert folders.split(":")[0] == str(driver.library_folder())


@pytest.mark.usefixtures("nvcc_calls")
def test_on_a_gpu_a_program_finds_the_libraries_of_the_machine(capfd, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/theirs")
    program.run(source('echo "$LD_LIBRARY_PATH:$GPU_REPRO_REPORT"', for_gpu=True), [], *HOW)
    assert capfd.readouterr().out == "/theirs:\n"


@pytest.mark.usefixtures("nvcc_calls")
def test_a_signal_and_the_time_end_a_program():
    assert program.run(source("kill -SEGV $$"), [], *HOW)[1] == -11
    assert program.run(source("exec sleep 60"), [], *HOW, timeout_s=0.2)[1] is None


@pytest.mark.usefixtures("nvcc_calls")
def test_the_report_of_a_program_has_its_outcome():
    row = {"level": "error", "kind": "deadlock", "text": "nobody comes"}
    shell = f"echo '{json.dumps(row)}' >> $GPU_REPRO_REPORT"
    _, status, found = program.run(source(shell), [], *HOW)
    assert status == 0 and found == {"outcome": "deadlock", "text": "nobody comes", "finding": None}


def test_the_first_kernel_that_failed_is_the_outcome(tmp_path):
    rows = [
        {"level": "warning", "kind": None, "text": "w"},
        {"level": "error", "kind": None, "text": "a launch"},
        {"level": "error", "kind": "race", "text": "r", "finding": {"id": "RACE", "file": "x.cu", "line": 3}},
        {"level": "error", "kind": "trap", "text": "t"},
    ]
    (tmp_path / "found").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = program.first_failure(tmp_path / "found")
    assert (found["outcome"], found["kind"], found["file"], found["line"]) == ("fault", "race", "x.cu", 3)


def test_a_line_that_a_killed_process_left_is_not_read(tmp_path):
    report = tmp_path / "found.jsonl"
    report.write_text('{"level": "error", "kind": "ra\n{"level": "error", "kind": "race", "text": "RACE"}\n{"lev')
    assert program.first_failure(report)["kind"] == "race"
