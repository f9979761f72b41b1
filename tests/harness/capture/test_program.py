"""The code that runs inside a captured program."""

import json
import sys

import numpy as np
import pytest

import harness.capture as captures
from harness.capture import program
from harness.capture.recorder import Call, Recorder, Wanted


def changes(x):
    x += 1


@pytest.fixture
def recorder(monkeypatch):
    """A recorder whose hooks are the test's own calls."""
    made = []

    def watch(wanted, finish):
        made.append(Recorder(wanted, finish))
        return made[-1]

    monkeypatch.setattr(program, "watch", watch)
    return made


def call_of(recorder, x):
    call = Call("changes", lambda: {"changes"}, lambda speller: f"{speller.root(changes)}({speller.of(x, 'x')})", (x,))
    recorder[-1].around(lambda: call, call.known_as, lambda: changes(x))


def test_a_block_that_captures(recorder, tmp_path):
    data = np.array([3.0, 1.0, 4.0])
    with captures.capture(tmp_path / "repros/x.py", kernel="changes", call=2):
        call_of(recorder, np.zeros(3))
        call_of(recorder, data)
    (kept,) = (tmp_path / "repros/data").iterdir()
    names = {"__name__": "captured", "__file__": str(tmp_path / "repros/x.py")}
    exec((tmp_path / "repros/x.py").read_text(), names)
    assert names["run"]()["x"].tolist() == data.tolist() == [4.0, 2.0, 5.0]
    assert kept.name in (tmp_path / "repros/x.py").read_text().replace('", "float64")', ".npz")


def test_a_block_without_such_a_call(recorder, tmp_path):
    with pytest.raises(captures.NothingCaptured) as error, captures.capture(tmp_path / "x.py", kernel="softmax"):
        call_of(recorder, np.zeros(3))
    assert str(error.value) == "no call was captured: the block made 1 calls, 0 fitting"
    assert not (tmp_path / "x.py").exists()


def test_the_files_that_the_command_reads(recorder, tmp_path):
    taken = []
    kept = Recorder(Wanted(), taken.append)
    call_of([kept], np.ones(4))
    report = program.write(tmp_path, "train.py", taken[0])
    assert (report["name"], report["number"], report["outputs"]) == ("changes", 1, {"x": "float64"})
    with np.load(tmp_path / "outputs.npz") as outputs:
        assert outputs["float64 x"].view(np.float64).tolist() == [2.0] * 4
    compile((tmp_path / "captured.py").read_text(), "captured.py", "exec")


def test_a_reference_is_a_function_by_name_or_an_expression(tmp_path, monkeypatch):
    (tmp_path / "references.py").write_text("def half(x):\n    return x / 2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert program._Later("references:half")(5) == 2.5
    assert program._Later("lambda x: np.sqrt(x)")(16) == 4


def test_a_report_is_there_whole(tmp_path):
    program._report(tmp_path, {"name": "x"}, Recorder(Wanted(), list))
    assert json.loads((tmp_path / "captured.json").read_text()) == {
        "name": "x",
        "seen": 0,
        "fitting": 0,
        "problems": [],
    }
    assert [file.name for file in tmp_path.iterdir()] == ["captured.json"]
