"""Claims about all that the PTX memory model allows: `allowed = "model"`."""

import json
from pathlib import Path

import numpy as np
import pytest

from harness import judge
from harness.claim.repro_file import ReproError, read
from harness.cli import main
from harness.host.hosts import Host
from harness.run.result import DTYPES, Array, Other, Outcome
from tests.harness.by_a_gpu import UUID

STORE_BUFFER = Path(__file__).parents[3] / "repros" / "checks" / "race_store_buffer.py"
EVERY = [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    return tmp_path


@pytest.fixture
def claim(project):
    """The store buffer, as a claim about the model."""
    lines = STORE_BUFFER.read_text().splitlines()
    lines = ['# allowed = "model"' if line.startswith("# allowed") else line for line in lines]
    path = project / "repros" / "one.py"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def golden(claim):
    """Its golden, once it is accepted on the emulator."""
    assert main(["run", str(claim), "--update-goldens"]) == 0
    return claim.parent / "goldens" / "one" / "default.json"


def test_the_golden_has_all_outcomes(golden, claim, capsys):
    assert json.loads(golden.read_text())["outputs"]["r"]["allowed"] == EVERY
    capsys.readouterr()
    assert main(["run", str(claim)]) == 0
    assert "one, allowed by the PTX memory model:" in capsys.readouterr().out


def test_another_set_than_the_model_allows_is_not_the_golden(golden, claim, capsys):
    table = json.loads(golden.read_text())
    table["outputs"]["r"]["allowed"] = [*EVERY[:3], [2, 2]]
    golden.write_text(json.dumps(table))
    assert main(["run", str(claim)]) == 1
    text = capsys.readouterr().out
    assert "`r`: the model allows [1, 1], which the golden lacks" in text
    assert "`r`: the golden has [2, 2], which the model does not allow" in text


def by_a_gpu(claim, *rows):
    """The verdict on these answers of a GPU, one a run."""
    facts = {"kind": "cuda", "name": "NVIDIA H100", "driver": "580.1", "arch": "sm_90", "uuid": UUID}
    outputs = [{"r": Array(DTYPES["int32"], np.int32(row).view(np.uint32))} for row in rows]
    outcome = Outcome("outputs", facts={"device": facts}, outputs=outputs[0])
    outcome.others = [Other(1, each, {}) for each in outputs[1:]]
    (case,) = read(claim).cases()
    host = Host("p1", "cuda", device_facts=facts)
    return judge.judge(case, host, outcome, claim.parents[1])


def test_a_gpu_must_stay_within_the_model(golden, claim):
    verdict = by_a_gpu(claim, [0, 1], [1, 0])
    assert verdict.status == "pass"
    assert "one, `r`: allowed, but never seen: [0, 0], [1, 1]" in verdict.notes
    verdict = by_a_gpu(claim, [0, 1], [0, 7])
    assert (verdict.status, verdict.reason) == ("fail", "not allowed")
    assert "`r` is [0, 7] in 1 of 2 runs; allowed by the PTX memory model are [0, 0], [0, 1]" in verdict.text


def test_a_gpu_alone_cannot_make_the_golden(claim):
    verdict = by_a_gpu(claim, [0, 1])
    assert verdict.status == "fail" and "only the emulator finds them\nfix: repro run one.py" in verdict.text


def test_another_word_is_refused(write):
    with pytest.raises(ReproError, match='or `allowed = "model"`'):
        write("def run():\n    return {}", 'allowed = "models"')
