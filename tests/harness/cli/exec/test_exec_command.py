"""`repro exec` as a person types it.

Modules tested here: harness/cli/exec/processes.py.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.cli import main
from tests.harness.documents import result_of

REPRO = [sys.executable, "-c", "from harness.cli import main; import sys; sys.exit(main())"]


def execute(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([*REPRO, *arguments], capture_output=True, text=True, timeout=600)


def test_a_right_program_is_silent(programs):
    done = execute("exec", *programs["right"])
    assert (done.stdout, done.stderr, done.returncode) == ("[63, 62, 61]\n", "", 0)


def test_an_error_fails_the_launch_and_is_reported(programs):
    done = execute("exec", "--junit", "found.xml", "--sarif", "found.sarif", *programs["wrong"])
    assert done.returncode == 1 and "RACE" in done.stderr, done.stderr
    assert "cuMemcpyDtoH_v2 answered 719" in done.stderr
    assert done.stderr.endswith("repro: found 1 error in 1 process\n")
    suite = ElementTree.parse("found.xml").getroot()[0]
    assert suite.attrib["tests"] == suite.attrib["failures"] == "1"
    assert suite[0].attrib["name"].endswith("wrong.py") and suite[0][0].attrib["type"] == "RACE"
    with open("found.sarif") as file:
        assert [one["ruleId"] for one in json.load(file)["runs"][0]["results"]] == ["RACE"]


def test_the_status_of_a_finding_is_chosen(programs):
    ignoring = ["sh", "-c", " ".join(programs["wrong"]) + "; true"]
    assert execute("exec", *ignoring).returncode == 1
    assert execute("exec", "--finding-status", "7", *ignoring).returncode == 7
    assert execute("exec", "--check", "none", *programs["wrong"]).returncode == 0


def test_findings_of_all_processes_are_data(programs):
    both = " ".join(programs["wrong"]) + " & " + " ".join(programs["wrong"]) + "; wait; exit 5"
    done = execute("exec", "--json", "sh", "-c", both)
    result = result_of(done.stdout, done.returncode)
    assert (result["exit"], done.returncode) == (5, 5)
    assert [[one["id"] for one in each["findings"]] for each in result["processes"]] == [["RACE"], ["RACE"]]
    assert len({each["process"] for each in result["processes"]}) == 2


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["sh", "-c", "exit 9"], 9),
        (["sh", "-c", "kill -9 $$"], 137),
        (["./nothing"], 127),
        (["--timeout", "0.5", "sleep", "30"], 124),
        (["--check", "nothing", "true"], 2),
        ([], 2),
    ],
)
def test_the_exit_status(programs, command, status):
    done = execute("exec", *command)
    assert done.returncode == status, done.stderr


@pytest.mark.parametrize("name", ["right", "careless"])
def test_kernels_that_do_not_run_are_an_error(programs, name, monkeypatch):
    """Also of a program that does not look at what the driver answers."""
    monkeypatch.setenv("GPU_REPRO_GPU_MODEL", "nothing")
    careless = ["sh", "-c", " ".join(programs["right"]) + " 2>&1; true"]
    done = execute("exec", "--json", *(careless if name == "careless" else programs[name]))
    result = result_of(done.stdout, done.returncode)
    assert done.returncode == 1
    assert [one["id"] for each in result["processes"] for one in each["findings"]] == ["NO_HELPER"]


def test_options_of_the_program_are_its_own(programs):
    assert execute("exec", "echo", "--check", "-q").stdout == "--check -q\n"
    assert execute("exec", "--", "echo", "--", "-v").stdout == "-- -v\n"


def test_after_the_timeout_nothing_is_left(programs, processes_with):
    execute("exec", "--timeout", "1", "sh", "-c", "setsid sleep 987.5 & sleep 987.5")
    assert not processes_with("987.5")


def test_ctrl_c_ends_the_program(programs, processes_with):
    command = [*REPRO, "exec", "sh", "-c", "trap 'exit 3' INT; echo begun; while :; do sleep 0.1; done"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == b"begun\n"
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(600) == 130


def test_the_folder_of_the_libraries(programs, capsys):
    assert main(["libdir"]) == 0
    folder = capsys.readouterr().out.strip()
    environment = os.environ | {"LD_LIBRARY_PATH": folder}
    done = subprocess.run(programs["right"], capture_output=True, text=True, env=environment, timeout=600)
    assert done.stdout == "[63, 62, 61]\n", done.stderr
    assert main(["libdir", "--json"]) == 0
    assert result_of(capsys.readouterr().out, 0) == {"folder": folder}


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_the_program_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[4] / "docs/languages.md").read_text()
    (tmp_path / "turned.cu").write_text(re.search(r"^```cuda\n(.*?)^```$", page, re.M | re.S)[1])
    build, *shown = re.search(r"^```text\n\$ (nvcc.*?)^```$", page, re.M | re.S)[1].splitlines()
    subprocess.run(build.split(), check=True, timeout=600)
    done = execute("exec", "./turned")
    assert done.returncode == 1 and shown[0] == "$ repro exec ./turned" and shown[-1] == "1"
    for line in shown[1:-2]:
        assert line in (done.stdout + done.stderr).splitlines(), (line, done.stdout, done.stderr)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_a_program_with_nvidias_runtime_inside_gets_the_fix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "static.cu").write_text(
        "__global__ void k() {}\nint main() { k<<<1, 1>>>(); return cudaGetLastError(); }\n"
    )
    subprocess.run(["nvcc", "-arch=sm_90", "static.cu", "-o", "static"], check=True, timeout=600)
    done = execute("exec", "./static")
    assert done.returncode and "build it with `nvcc -cudart shared`" in done.stderr, done.stderr


def test_pytorch_gets_the_fix(programs):
    done = execute("exec", sys.executable, "-c", "import torch; torch.ones(3, device='cuda')")
    assert done.returncode == 1 and "run the program by `python -m dsl`" in done.stderr, done.stderr
