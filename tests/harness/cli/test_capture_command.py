"""repro capture, from the program to a file that does what the program did. With harness/capture/startup/sitecustomize.py.

Modules tested here: harness/capture/startup/sitecustomize.py.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.documents import result_of

PROGRAM = Path(__file__).parents[1] / "capture" / "program_of_an_author.py"


def capture(folder: Path, *options: str, program=("python", str(PROGRAM))) -> tuple[int, str, str]:
    command = [sys.executable, "-c", "from harness.cli import main; raise SystemExit(main())", "capture", *options]
    run = subprocess.run([*command, "--", *program], cwd=folder, capture_output=True, text=True, timeout=600)
    return run.returncode, run.stdout, run.stderr


def test_a_call_in_the_middle(tmp_path):
    status, said, told = capture(tmp_path, "--kernel", "scale_kernel", "--call", "2", "-o", "x.py")
    text = (tmp_path / "x.py").read_text()
    assert (status, said.splitlines()) == (
        0,
        [
            f"wrote x.py: {len(text.splitlines())} lines",
            "it does what the program did: b",
            "next: uv run repro run x.py --update-goldens",
        ],
    ), told
    assert '"""Call 2 of scale in program_of_an_author.py gives what it gave there."""' in text
    assert "TOKEN" not in text and "harness" not in text and str(PROGRAM.parent) not in text
    assert "torch.randn(100, device='cuda')  # drawn before" in text
    assert re.search(r"b = torch\.zeros\(\(128,\), .*\)\.as_strided\(\(100,\), \(1,\), 14\)", text)
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_an_object_that_was_compiled(tmp_path):
    status, said, told = capture(tmp_path, "--kernel", "Scaled", "-o", "repros/x.py", "--compiler", "nvidia")
    text = (tmp_path / "repros/x.py").read_text()
    assert status == 0, said + told
    assert "instance = Scaled(2)" in text and "def unused" not in text
    (name,) = re.findall(r'_stored\("(\w+)"', text)
    assert [file.name for file in (tmp_path / "repros/data").iterdir()] == [f"{name}.npz"]


def test_the_first_finding(tmp_path):
    status, said, told = capture(tmp_path, "--first-finding", "-o", "x.py", program=("python", str(PROGRAM), "beyond"))
    assert (status, said.splitlines()[1:2]) == (0, ["it does what the program did: out_of_bounds"]), said + told
    text = (tmp_path / "x.py").read_text()
    assert '# outcome = "out_of_bounds"' in text and "scale" not in text


@pytest.mark.slow
def test_the_document_of_a_capture(tmp_path):
    status, said, told = capture(tmp_path, "--kernel", "scale_kernel", "-o", "x.py", "--json")
    result = result_of(said, status)
    assert (result["written"], result["same"], result["problems"]) == ("x.py", True, []), told
    assert result["lines"] == len((tmp_path / "x.py").read_text().splitlines())


def test_nothing_that_fits(tmp_path):
    status, said, told = capture(tmp_path, "--kernel", "softmax", "-o", "x.py")
    assert (status, said) == (1, "")
    assert told.splitlines()[-1] == "repro capture: nothing was captured: the program made 4 calls, 0 of softmax"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-o", "x.txt"), "-o x.txt: name a Python file, as in repros/x.py"),
        (("-o", "there.py"), "there.py exists already; --force replaces it"),
        (("-o", "x.py", "--call", "0"), "argument --call: must be 1 or more, got 0"),
    ],
)
def test_wrong_usage(tmp_path, options, text):
    (tmp_path / "there.py").write_text("")
    status, said, told = capture(tmp_path, *options)
    assert (status, said) == (2, "") and text in told


def test_a_program_that_is_not_there(tmp_path):
    status, _, told = capture(tmp_path, "-o", "x.py", program=("python", "nowhere.py"))
    assert status == 3
    assert told.splitlines()[-1] == "repro capture: it ended with exit status 2"
