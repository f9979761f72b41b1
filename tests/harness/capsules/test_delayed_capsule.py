"""Capsules recorded with --perturb: the delays travel as insertions, and two answers come back as a race."""

import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile

import pytest

from harness.capsules import capsule_file
from harness.cli import main
from harness.perturb_options import Wanted
from harness.records.index import index
from tests.harness.capsules.test_capsule_file import STAND_IN, text_of
from tests.harness.comparison.test_perturbed import FIXED, RACY

SEEDS = 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A project with a racy and a correct claim, and the lines printed when they were recorded."""
    root = tmp_path_factory.mktemp("project")
    (root / "pyproject.toml").write_text("")
    (root / "repros").mkdir()
    (root / "repros/racy.py").write_text(text_of(RACY, 'outcome = "race"'))
    (root / "repros/fixed.py").write_text(text_of(FIXED, ""))
    said: list[str] = []
    cases = capsule_file.find([root / "repros"])
    assert capsule_file.record(cases, root / "all.capsule", None, said.append, perturb=Wanted(SEEDS)) == 2 * (1 + SEEDS)
    return root, said


@pytest.fixture(scope="module")
def results(recorded, tmp_path_factory, needs):
    """The results of a stand-in for a GPU's driver, which runs the kernels on the emulator."""
    needs("cc", "build-essential")
    variables = runpy.run_path(str(STAND_IN))["build"](tmp_path_factory.mktemp("stand_in"))
    variables |= {"STAND_IN_NAME": "NVIDIA H100"}
    out = tmp_path_factory.mktemp("replay") / "out"
    argv = [sys.executable, str(recorded[0] / "all.capsule"), "-o", str(out)]
    done = subprocess.run(argv, env=os.environ | variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture
def project(recorded, results, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    shutil.copytree(recorded[0], tmp_path / "project")
    shutil.copytree(results, tmp_path / "project/out")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def accepted(root):
    said: list[str] = []
    capsule_file.accept(root / "out", root, False, said.append)
    return {text.partition(": ")[0]: text.partition(": ")[2] for text in said}


def test_each_seed_is_a_case_with_its_delays(recorded):
    root, said = recorded
    assert said == ["[1/2] fixed: recorded, 3 launches", "[2/2] racy: recorded, 3 launches"]
    with zipfile.ZipFile(root / "all.capsule") as file:
        cases = {case["name"]: case for case in json.loads(file.read("capsule.json"))["cases"]}
        names = [f"{name}{seed}" for name in ("fixed", "racy") for seed in ("", "--seed=1", "--seed=2")]
        assert list(cases) == names
        (line,) = cases["racy--seed=2"]["launches"]
        ptx = file.read(f"blobs/{line['ptx']}").decode()
    assert "nanosleep" not in ptx and cases["racy"]["launches"][0]["delays"] == []
    assert len(line["delays"]) == len(cases["racy--seed=2"]["delays"].splitlines())
    assert all("nanosleep" in text and ptx[at - 1] in ";\n\t " for at, text in line["delays"])
    assert line["ptx"] == cases["racy"]["launches"][0]["ptx"]


def test_a_gpu_that_gives_one_answer_proves_no_race(project):
    said = accepted(project)
    assert said["fixed"].startswith("validated by replay (NVIDIA H100, ")
    assert said["racy"].startswith('not validated: the claim states `outcome = "race"`, but only a checker sees that')
    assert "3 runs, 2 of them under delays: 1 answer" in said["racy"]


def test_a_gpu_that_gives_two_answers_proves_the_race(project):
    for name in ("racy--seed=2", "fixed--seed=1"):
        data = bytearray((project / f"out/{name}.bin").read_bytes())
        data[0] ^= 1
        (project / f"out/{name}.bin").write_bytes(data)
        table = json.loads((project / f"out/{name}.json").read_text())
        table["data_sha256"] = hashlib.sha256(data).hexdigest()
        table["result"]["launches"][0]["as_predicted"] = False
        (project / f"out/{name}.json").write_text(json.dumps(table))
    said = accepted(project)
    assert said["racy"].startswith("validated by replay (NVIDIA H100, "), said["racy"]
    assert said["fixed"].startswith(
        "disagreement: differs under delays\n    3 runs, 2 of them under delays: 2 answers\n"
    ), said["fixed"]
    with index.open_index(project) as records:
        (one,) = records.records("repros/racy.py", "", host="replay")
    assert one.line["outcome"] == "race"
    assert [(each["count"], each["seed"]) for each in one.line["perturbed"]["answers"]] == [(2, None), (1, 2)]
    assert " ns warps " in one.line["perturbed"]["answers"][1]["delays"]


def test_the_command_records_seeds(recorded, tmp_path, capsys):
    out = tmp_path / "one.capsule"
    assert main(["replay", "capsule", str(recorded[0] / "repros/fixed.py"), "-o", str(out), "--perturb", "1"]) == 0
    assert capsys.readouterr().out.startswith("[1/1] fixed: recorded, 2 launches\n")
    assert main(["replay", "capsule", str(recorded[0] / "repros/fixed.py"), "-o", str(out), "--perturb", "0"]) == 2
