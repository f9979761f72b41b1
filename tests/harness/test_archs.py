"""Two archs that answer a claim differently: the difference is reported, and each keeps its own answer.

Modules tested here: harness/session.py.
"""

import json

import numpy as np
import pytest

from harness import judge, session
from harness.cli import main
from harness.comparison import golden
from harness.host.hosts import Host
from harness.records.index.index import open_index
from harness.run.result import DTYPES, Array, Outcome
from tests.harness.by_a_gpu import UUID

FACTS = {"p1": ("H100", "sm_90a"), "old": ("A100", "sm_80")}


def host(name: str) -> Host:
    gpu, arch = FACTS[name]
    return Host(name, "cuda", device_facts={"name": gpu, "arch": arch, "driver": "570", "uuid": UUID})


def gave(value: int, where: Host) -> Outcome:
    array = Array(DTYPES["int32"], np.full(4, value, np.uint32))
    kind = "cuda" if where.is_hardware else "emulator"
    device = {"kind": kind, **(where.device_facts or {"arch": "sm_90a"})}
    return Outcome("outputs", outputs={"out": array}, facts={"device": device, "kernels": []})


@pytest.fixture
def run(write, tmp_path, monkeypatch):
    """`run("p1", 3)`: judge and record that value from that host; the verdict."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (case,) = write("def run():\n    return {}").cases()

    def run(where: str, value: int, update: bool = False):
        at = host(where) if where in FACTS else Host("embedded", "emulator")
        verdict = judge.judge(case, at, gave(value, at), tmp_path, update)
        writer = session.Session(tmp_path)
        writer.take(session.as_data(verdict, case.repro.path, at.is_hardware))
        writer.finish(interrupted=False)
        return verdict

    run.folder, run.case, run.root = golden.folder(case.repro.path), case, tmp_path
    return run


def states(root) -> dict[str, tuple[str, str]]:
    with open_index(root) as records:
        return {f"{cell.arch} {cell.host}": (cell.state, cell.reason) for cell in records.cells()}


def test_an_arch_keeps_its_own_answer(run, capsys):
    assert run("p1", 1, update=True).status == "pass"
    other = run("old", 2)
    assert (other.status, other.reason) == ("fail", "differs from the golden of sm_90")
    assert "the golden was made on sm_90, but this is sm_80: if they differ here, that is the finding" in other.text
    assert "`repro golden accept --for-arch repros/one.py`" in other.text
    assert main(["golden", "accept", "--for-arch", "one"]) == 0
    assert capsys.readouterr().out == "accepted repros/goldens/one/default@sm_80.json\n"
    assert sorted(path.name for path in run.folder.iterdir()) == ["default.json", "default@sm_80.json"]
    held = [golden.read(golden.path_of(run.case, arch)) for arch in ("sm_80", "sm_90", "sm_100", None)]
    assert [known.outputs["out"].raw[0] for known in held] == [2, 1, 1, 1] and all(known.validated for known in held)
    kept = run("old", 2)
    assert (kept.status, kept.validated) == ("pass", True) and kept.record["golden"] == "default@sm_80.json"
    assert kept.notes == ["sm_80 has its own answer: repros/goldens/one/default@sm_80.json"]
    assert run("p1", 1).status == "pass" and run("embedded", 1).status == "pass"
    assert {state for state, _ in states(run.root).values()} == {"validated", "predicted"}
    assert main(["golden", "unused"]) == 0
    run.case.repro.path.unlink()
    run.case.repro.path.with_name("two.py").write_text(run.case.repro.text)
    assert main(["golden", "unused"]) == 1 and "default@sm_80.json" in capsys.readouterr().out


def test_hardware_validates_its_own_answer_that_an_emulator_gave(run):
    run("p1", 1, update=True)
    run("embedded", 1, update=True)
    own = golden.own_path(golden.path_of(run.case), "sm_80")
    table = json.loads(golden.path_of(run.case).read_text())
    made = table["provenance"] | {"device": "emulator", "gpu": None, "driver": None, "arch": "sm_80"}
    own.write_text(json.dumps(table | {"validated": False, "evidence": "emulator", "provenance": made}))
    before = run("old", 1)
    assert (before.status, before.validated) == ("pass", False)
    assert before.notes == ["hardware agrees with the prediction: --update-goldens makes it validated"]
    accepted = run("old", 1, update=True)
    assert (accepted.status, accepted.validated) == ("pass", True)
    assert accepted.notes == ["validated repros/goldens/one/default@sm_80.json"]
    assert golden.read(own).validated and golden.read(own).provenance["gpu"] == "A100"
    assert golden.read(golden.path_of(run.case)).provenance["gpu"] == "H100"


def test_another_answer_makes_only_its_own_arch_stale(run):
    run("p1", 1, update=True)
    run("old", 2)
    main(["golden", "accept", "--for-arch", "one"])
    run("old", 2)
    run("p1", 1)
    path = golden.path_of(run.case, "sm_80")
    path.write_text(path.read_text().replace("2", "3"))
    found = states(run.root)
    assert found["sm_90 p1"][0] == "validated" and found["sm_80 old"][1].startswith("the golden changed since")
    assert run("old", 2).status == "fail" and run("p1", 1).status == "pass"


def test_an_emulator_of_another_arch_neither_contradicts_nor_replaces(run, capsys):
    run("old", 2, update=True)
    verdict = run("embedded", 1)
    assert (verdict.status, verdict.reason) == ("fail", "differs from the golden of sm_80")
    assert run("embedded", 1, update=True).status == "fail"
    assert main(["golden", "accept", "one"]) == 1
    assert "hardware gave the golden, and the emulator never replaces it" in capsys.readouterr().err
    assert main(["golden", "accept", "--for-arch", "one"]) == 0
    assert not golden.read(golden.path_of(run.case, "sm_90")).validated
    assert golden.read(golden.path_of(run.case, "sm_80")).validated
    assert run("embedded", 1).status == "pass" and run("old", 2).status == "pass"
    assert run("p1", 3).reason == "differs from the golden"  # the prediction for its arch, which it contradicts


def test_an_arch_has_no_own_answer_if_nothing_differs(run, capsys):
    run("p1", 1)
    assert main(["golden", "accept", "--for-arch", "one"]) == 1
    assert "--for-arch is for a result that differs from the golden of another arch" in capsys.readouterr().err
    assert main(["golden", "accept", "one"]) == 0
    run("p1", 2)
    assert main(["golden", "accept", "--for-arch", "one"]) == 1
    assert sorted(path.name for path in run.folder.iterdir()) == ["default.json"]
