"""`repro replay validate` from end to end below a stand-in for the driver: disagreements at every level, stops, and going on."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import cli
from harness.capsules import capsule_file, results, validation
from harness.claim.repro_file import read
from harness.comparison import golden
from tests.harness.conftest import wait_until

STAND_IN = Path(__file__).parents[2] / "launch" / "stand_in" / "stand_in_driver.py"
REPRO = """\
# /// script
# [tool.repro]
# ///
\"\"\"It adds.\"\"\"

import cutlass
import cutlass.cute as cute
import numpy as np

@cute.kernel
def NAME(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] + 1.0

@cute.jit
def host(x: cute.Tensor):
    NAME(x).launch(grid=(1, 1, 1), block=(32, 1, 1))

def run():
    x = np.zeros(32, np.float32)
    host(x)
    return {"x": x}

def expected():
    return {"x": np.ones(32, np.float32)}
"""
ADD, SUB, MMA, NEWER = "sad.u32", "sub.u32", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "add.rn.f32x2"
SHUFFLE, SIN = "shfl.sync.idx.b32.width8", "sin.approx.f32"
BOX = "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
KEYWORD = " or ".join(("adds", ADD, SUB, MMA, NEWER, SHUFFLE, SIN, BOX))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "pyproject.toml").write_text("")
    (root / "repros").mkdir()
    for name in ("adds", "other_adds"):
        (root / "repros" / f"{name}.py").write_text(REPRO.replace("NAME", name))
    cases = capsule_file.find([root / "repros"])
    said = []
    assert validation.write(cases, root / "v.pyz", KEYWORD, said.append)[0] == 2
    assert said[0].endswith("instruction forms predicted")
    return root


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory, needs) -> dict[str, str]:
    needs("cc", "build-essential")
    return runpy.run_path(str(STAND_IN))["build"](tmp_path_factory.mktemp("stand_in")) | {
        "STAND_IN_NAME": "NVIDIA H100"
    }


@pytest.fixture
def start(project, stand_in, tmp_path):
    """`start(STAND_IN_WRONG=...)`: `python v.pyz` in an empty folder, as on a machine that has nothing of this project."""
    shutil.copyfile(project / "v.pyz", tmp_path / "v.pyz")

    def start(**variables: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "v.pyz"], cwd=tmp_path, env=os.environ | stand_in | variables, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    return start


def accepted(project: Path, out: Path, folder: Path, monkeypatch, capsys) -> tuple[int, list[str], Path]:
    """Exit status and lines of `repro replay accept`, in a copy of the project."""
    root = folder / "copy"
    shutil.copytree(project, root)
    monkeypatch.chdir(root)
    monkeypatch.delenv("CI", raising=False)
    status = cli.main(["replay", "accept", str(out)])
    return status, capsys.readouterr().out.splitlines(), root


@pytest.mark.slow
def test_all_agree_and_what_the_gpu_lacks_is_skipped(project, start, tmp_path, monkeypatch, capsys):
    process = start()
    lines = process.communicate(timeout=600)[0].splitlines()
    assert process.returncode == 1
    assert lines[:2] == ["[1/9] adds: ran", "[2/9] other_adds: ran"]
    assert lines[-2:] == [
        "skipped 1: the PTX is for sm_100, but this GPU is sm_90",
        "8 ran, 1 skipped on NVIDIA H100: out.zip",
    ]
    status, said, root = accepted(project, tmp_path / "out.zip", tmp_path, monkeypatch, capsys)
    assert (status, said[-1]) == (0, "6 agreement, 1 skipped, 2 validated")
    assert not (root / "validation/failing").exists()
    page = (root / "validation/agreement.md").read_text()
    assert "| `sad.u32` | 3072 equal |" in page
    assert "| `add.rn.f32x2` | skipped: the PTX is for sm_100, but this GPU is sm_90 |" in page
    assert golden.read(golden.path_of(next(read(root / "repros/adds.py").cases()))).validated


@pytest.mark.slow
def test_planted_disagreements_become_failing_cases_of_their_level(project, start, tmp_path, monkeypatch, capsys):
    wrong = "other_adds,form_sub_u32,form_shfl,form_mma,form_sin,form_cp_async"
    assert start(STAND_IN_WRONG=wrong).communicate(timeout=600)[0]
    status, said, root = accepted(project, tmp_path / "out.zip", tmp_path, monkeypatch, capsys)
    assert (status, said[-1]) == (1, "5 disagreement, 2 agreement, 1 skipped, 1 validated")
    differ = {
        line.partition(": ")[0]: line.partition(": ")[2] for line in said if ": differs" in line or "disagr" in line
    }
    assert differ[SUB] == (
        "differs in 1 of 3072 elements; the smallest: 0x00000000, 0x00000000 gives 0x00000040, predicted 0x00000000"
    )
    assert differ[SHUFFLE].startswith("differs in 1 of 6144 elements; the smallest: lane 0: 0x")
    assert differ[MMA].startswith("differs in 1 of 4096 elements; the smallest: lane 0: 0x")
    assert differ["other_adds"].startswith("disagreement: differs from expected()")
    page = (root / "validation/agreement.md").read_text()
    assert "| `sub.u32` | 3071 of 3072 equal, **1 disagree** |" in page
    assert "| `sin.approx.f32` | 3071 of 3072 equal, the rest within the bound |" in page
    files = sorted(path.name for path in (root / "validation/failing").iterdir())
    assert files == sorted(f"{form}@nvidia-h100.json" for form in (SUB, SHUFFLE, MMA, BOX.replace(":", "-")))
    failing = json.loads((root / f"validation/failing/{SHUFFLE}@nvidia-h100.json").read_text())
    assert [len(each) for each in (*failing["operands"], *failing["got"])] == [32] * 4
    argv = [sys.executable, "-m", "dsl.forms", "--failing", *map(str, (root / "validation/failing").iterdir())]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 4
    assert "sub.u32: thread 0, operands 0x00000000, 0x00000000: the emulator gives 0x00000000, NVIDIA H100 gave 0x000000" \
        in done.stdout  # fmt: skip


@pytest.mark.slow
def test_tensor_maps_are_made_by_the_driver_of_the_gpu(start, tmp_path):
    process = start(STAND_IN_FAIL="cuTensorMapEncodeTiled=1")
    lines = process.communicate(timeout=600)[0].splitlines()
    assert process.returncode == 1 and lines[-1] == "1 error, 7 ran, 1 skipped on NVIDIA H100: out.zip"
    result = json.loads((tmp_path / f"out/form--{BOX.replace(':', '_')}.json").read_text())["result"]
    assert result["text"] == "invalid argument (cuTensorMapEncodeTiled)"


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_goes_on_where_it_was(start, tmp_path, how):
    out = tmp_path / "out"
    process = start(STAND_IN_HANG="form_shfl")
    wait_until(lambda: (out / f"form--{SUB}.json").exists())
    process.send_signal(how)
    said = process.communicate(timeout=600)[0].splitlines()
    earlier = {path.name: path.stat().st_mtime_ns for path in out.glob("*.json")}
    assert 2 < len(earlier) < 9
    if how == signal.SIGINT:
        assert process.returncode == 130 and "replay: stopped; run the same command again to go on" in said
        with zipfile.ZipFile(tmp_path / "out.zip") as file:
            assert set(earlier) <= set(file.namelist())
    again = start()
    lines = again.communicate(timeout=600)[0].splitlines()
    assert lines[0] == f"{len(earlier)} of 9 cases have results from an earlier run"
    assert lines[-1] == "8 ran, 1 skipped on NVIDIA H100: out.zip"
    assert {name: (out / name).stat().st_mtime_ns for name in earlier} == earlier
    with zipfile.ZipFile(tmp_path / "out.zip") as file:
        assert len(file.namelist()) == 2 * 9 + 1 and file.testzip() is None


@pytest.mark.slow
def test_results_of_another_capsule_are_left_alone(start, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/replayed.capsule").write_bytes(b"another")
    process = start()
    assert process.communicate(timeout=600)[0] == (
        "replay: out has results of another capsule: choose another folder with -o\n"
    )
    assert process.returncode == 2 and len(list((tmp_path / "out").iterdir())) == 1


@pytest.mark.slow
def test_results_of_another_gpu_are_left_alone(start, tmp_path):
    start().communicate(timeout=600)
    (tmp_path / "out/form--sad.u32.json").unlink()
    process = start(STAND_IN_VERSION="13010")
    assert "choose another folder with -o" in process.communicate(timeout=600)[0] and process.returncode == 2
    assert not (tmp_path / "out/form--sad.u32.json").exists()


@pytest.mark.parametrize("name", ["../evil.json", "a/b.json", "x.py"])
def test_a_file_of_results_writes_nothing_elsewhere(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as file:
        file.writestr(name, b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(results.Refused, match="is not a file of results: it has a "):
        results.read(tmp_path / "out.zip", tmp_path / "folder")
    assert not list((tmp_path / "folder").iterdir())


@pytest.mark.slow
def test_a_file_that_is_too_large_is_not_left(project, tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "LIMIT_BYTES", 1000)
    with pytest.raises(
        capsule_file.Refused, match=r"v.pyz would have \d+ bytes, and may have 1000: choose cases with -k"
    ):
        validation.write([], tmp_path / "v.pyz", SUB, lambda line: None)
    assert not list(tmp_path.iterdir())
