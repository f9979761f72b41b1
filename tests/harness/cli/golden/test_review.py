"""`repro golden review` at a terminal: what each key does, lane by lane too, and that nothing is asked without a terminal."""

import json
import os
import pty
import subprocess
import sys

import pytest

from harness import pending
from harness.claim.repro_file import read
from harness.cli.golden import review

REPRO = (
    '# /// script\n# [tool.repro]\n# params = { n = [1, 2, 3] }\n# ///\n"""It is so."""\ndef run(n):\n    return {}\n'
)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A project in which three cases wait: n=1 differs from its golden in 40 elements, n=2 and n=3 have none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / "repros/one.py"
    path.parent.mkdir()
    path.write_text(REPRO)
    for case in ("n=1", "n=2", "n=3"):
        propose(tmp_path, path, case)
    return tmp_path


def propose(root, path, case):
    import numpy as np

    from harness.comparison import golden
    from harness.host.hosts import Host
    from harness.records import history
    from harness.run.result import DTYPES, Array, Outcome

    found = next(one for one in read(path).cases() if one.name == case)

    def made(value):
        array = Array(DTYPES["int32"], np.full(64, value, np.uint32))
        array.raw[:24] = 0
        outcome = Outcome("outputs", outputs={"out": array}, facts={"compiler": {"name": "ours"}})
        kernels = [{"name": "k", "ptx_sha256": "", "launches": [{"grid": [1, 1, 1], "block": [64, 1, 1]}]}]
        outcome.facts["kernels"] = kernels
        return outcome, golden.make(found, outcome, history.provenance(found, Host("embedded", "emulator"), outcome))

    if case == "n=1":
        golden.write(made(1)[1])
    outcome, proposal = made(2)
    line = history.record(found, Host("embedded", "emulator"), outcome, "fail", root, None)
    basis = golden.answer(found, None, "", None) if case == "n=1" else None
    data = {"record": line | {"golden_sha256": basis}, "is_hardware": False,
            "proposal": [proposal.path, proposal.text, {}], "launches": outcome.facts["kernels"][0]["launches"]}  # fmt: skip
    pending.propose(root, data, "1f2e3d4c-0001")


def reviewed(root, keys: str, capsys) -> tuple[int, str]:
    pressed = iter([*keys])
    left = review.review(root, pending.waiting(root), lambda: next(pressed, ""))
    return left, capsys.readouterr().out


def test_a_key_an_answer(root, capsys):
    left, text = reviewed(root, "ars", capsys)
    assert left == 1 and "1 of 3  repros/one.py::n=1\n" in text
    assert "accepted repros/goldens/one/n=1.json\n" in text and "rejected repros/one.py::n=2\n" in text
    assert json.loads((root / "repros/goldens/one/n=1.json").read_text())["outputs"]["out"]["values"][-1] == 2
    assert [one.name for one in pending.waiting(root)] == ["repros/one.py::n=3"]


def test_elements_that_differ_are_shown_lane_by_lane(root, capsys):
    left, text = reviewed(root, "llq", capsys)
    assert left == 3 and "    out[24]  block 0 warp 0 lane 24  0x00000001 1  ->  0x00000002 2\n" in text
    first, rest = text.split("    8 more: l\n")
    assert first.count("  ->  ") == 32 and rest.count("  ->  ") == 8
    assert "    out[63]  block 0 warp 1 lane 31  0x00000001 1  ->  0x00000002 2\n" in rest


def test_a_refused_key_asks_again_and_an_unknown_key_lists_the_keys(root, capsys):
    left, text = reviewed(root, "xf", capsys)
    assert left == 3 and "    r  reject: forget the result, keep the golden\n" in text
    assert "not accepted: repros/one.py::n=1: --for-arch is for a result that differs from" in text


@pytest.mark.slow
def test_at_a_terminal_keys_need_no_enter(root):
    code = "import sys; from harness.cli import main; sys.exit(main(['golden', 'review']))"
    here, there = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stdin=there, stdout=there, stderr=there, cwd=root)
    os.close(there)
    text = b""
    try:
        for key in (b"a", b"a", b"r"):
            while text.count(b"[q]uit") < 1:
                text += os.read(here, 4096)
            text = text.partition(b"[q]uit")[2]
            os.write(here, key)
        assert process.wait(600) == 0
    finally:
        process.kill()
        os.close(here)
    assert pending.waiting(root) == []


def test_without_a_terminal_nothing_is_asked(root, capsys):
    from harness.cli import main

    assert main(["golden", "review"]) == 1
    assert capsys.readouterr().out.endswith("\n\n3 wait: repro golden accept, repro golden reject\n")
