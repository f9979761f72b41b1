"""Lines of the record come with checkouts: what is no record is damaged, and nothing else comes of it."""

import json
import os

import pytest

from harness import lines, store
from harness.cli import main
from harness.schema import Misfit

LINE = {
    "schema": 2, "id": "aaaaaaaa-0001", "key": {"repro_sha256": "0" * 64}, "repro": "repros/one.py", "case": "",
    "host": "embedded", "hardware": False, "device": {"kind": "emulator", "arch": "sm_90a"}, "asked": "embedded",
    "compiler": {"name": "embedded", "version": "1"}, "versions": {"python": "3.11.7"}, "verdict": "fail",
    "reason": "differs", "outcome": "outputs", "outputs": {"o": "e" * 64}, "shapes": {"o": ["int32", [2]]},
    "kernels": {"k": "f" * 64}, "durations": {"run_s": 0.1}, "date": "2026-11-21T00:00:00.000000Z", "digest": "d",
    "title": "It is so.",
    "differences": [{"output": "o", "against": "the golden", "message": "m", "first": [[[0], "", "0x0 0", "0x1 1"]]}],
}  # fmt: skip
HOSTILE = {
    "repro": ["../../etc/passwd", "/etc/passwd", "repros/../../x", "..", 5, None, "a\0b"],
    "case": ["../x", "a/b", 5],
    "kernels": [5, {"k": "../../x"}, {"k": 5}, ["k"]],
    "sass": [{"k": "/dev/zero"}],
    "date": ["$(reboot)", "", 5, "2026-11-21T00:00:00Z; x"],
    "device": [5, {"arch": "sm_90/../../x"}, {"arch": 5}],
    "id": ["../x", "a b", 5],
    "versions": [5, {"python": {}}],
    "differences": [5, [5], [{"output": "o"}], [{**LINE["differences"][0], "first": [[1, 2]]}]],
    "histogram": [5, [{"count": "x"}]],
    "durations": [{"run_s": "x"}],
    "verdict": [None, 5],
}


def test_what_a_line_must_be():
    lines.check(LINE, "")
    for key, values in HOSTILE.items():
        for value in values:
            with pytest.raises(Misfit) as caught:
                lines.check(LINE | {key: value}, "")
            assert str(caught.value).startswith(key) and str(caught.value).isprintable(), (key, value)


def test_hostile_lines_are_damaged_and_harm_nothing(tmp_path, monkeypatch, capsys):
    """Each command answers from the sound line, and `repro status` names the others."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros/records").mkdir(parents=True)
    (tmp_path / "repros/one.py").write_text("# a repro\n")
    bad = [LINE | {"id": f"bbbbbbbb-{n:04}", key: value} for key in HOSTILE for n, value in enumerate(HOSTILE[key])]
    text = "".join(json.dumps(one) + "\n" for one in [*bad, LINE | {"title": "\u202e\x1b[2J", "host": "\u202ep1"}])
    (tmp_path / "repros/records/2026-11-21-aaaaaaaa.jsonl").write_text(text)
    for command in (["status", "--all"], ["history", "one"], ["diff", "aaaaaaaa-0001", "aaaaaaaa-0001"], ["matrix"]):
        main(command)
    said = capsys.readouterr()
    assert said.out.count("is damaged") == len(bad) and "1 record" in said.out and r"\u202ep1" in said.out
    assert (said.out + said.err).replace("\n", "").isprintable()


def test_a_path_stays_below_the_root(tmp_path):
    (tmp_path / "root/repros").mkdir(parents=True)
    (tmp_path / "root/out").symlink_to(tmp_path)
    root = tmp_path / "root"
    for name in ("../x", "/etc/passwd", "repros/../../x", "", "out/x", "a\0b"):
        assert store.inside(root, name) is None, name
    assert store.inside(root, "repros/one.py") == root / "repros/one.py"
