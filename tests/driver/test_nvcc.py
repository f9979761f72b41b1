"""nvcc's messages at the author's lines, and programs that are compiled.

Modules tested here: dsl/driver/program.py.
"""

import json
import shutil

import pytest

from dsl.driver import nvcc, program

TEXT = "int main() {\n   int *x = nothing;\n}\n"


def source(text: str = TEXT, **more) -> nvcc.Source:
    return nvcc.Source(
        **{"path": "/a/x.cu", "text": text, "headers": {}, "options": [], "arch": "sm_90a"} | more, for_gpu=False
    )


def refusal(said: str) -> str:
    return str(nvcc.refusal(source(), said))


def test_an_error_of_nvcc_has_a_place_and_a_caret():
    said = '/a/x.cu(2): error: identifier "nothing" is undefined\n     int *x = nothing;\n              ^\n\n1 error\n'
    error = nvcc.refusal(source(), said)
    assert str(error).splitlines() == [
        "/a/x.cu:2:13: COMPILE_ERROR",
        "    int *x = nothing;",
        '             ^ identifier "nothing" is undefined',
    ]
    assert error.repro_outcome["outcome"] == "rejected" and error.repro_outcome["line"] == 2


def test_errors_of_the_host_compiler_and_more_errors():
    said = "/a/x.cu:2:4: error: no such thing\n/a/x.cu:3:1: error: another\n"
    assert refusal(said).startswith("/a/x.cu:2:4: COMPILE_ERROR\n") and refusal(said).endswith("(1 more error)")


def test_a_message_without_a_place_is_shown_as_it_is():
    assert (
        refusal("x.o: undefined reference to `f()'\n") == "nvcc refuses the program:\nx.o: undefined reference to `f()'"
    )


def test_a_missing_host_compiler_is_not_a_fault_of_the_program():
    error = nvcc.refusal(source(), "gcc: No such file or directory\nnvcc fatal   : Failed to preprocess")
    assert isinstance(error, nvcc.CompilerMissing) and "install the host compiler g++" in str(error)


def test_without_nvcc_the_fix_names_the_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvcc, "INSTALLED", tmp_path / "nvcc")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(nvcc.CompilerMissing, match="nvidia-cuda-nvcc"):
        nvcc.command()


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


def test_the_key_has_all_that_is_compiled(tmp_path):
    compiler = [shutil.which("sh")]
    keys = {
        source(**more).key(compiler)
        for more in ({}, {"text": "int"}, {"headers": {"h": ("/a/h", "1")}}, {"options": ["-G"]}, {"arch": "sm_80"})
    }
    assert len(keys) == 5


def test_a_line_that_a_killed_process_left_is_not_read(tmp_path):
    report = tmp_path / "found.jsonl"
    report.write_text('{"level": "error", "kind": "ra\n{"level": "error", "kind": "race", "text": "RACE"}\n{"lev')
    assert program.first_failure(report)["kind"] == "race"
