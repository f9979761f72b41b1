"""Lines of the record come with checkouts: a line that is not a record is damaged, and has no other effect."""

import json
import os

import pytest

from harness import store
from harness.cli import main
from harness.records.index import lines
from harness.schema import Misfit

LINE = {
    "schema": 2, "id": "aaaaaaaa-0001", "key": {"repro_sha256": "0" * 64}, "repro": "repros/one.py", "case": "",
    "host": "embedded", "hardware": False, "device": {"kind": "emulator", "arch": "sm_90a"}, "asked": "ours",
    "compiler": {"name": "ours", "version": "1"}, "versions": {"python": "3.11.7"}, "verdict": "fail",
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
    "date": [
        "$(reboot)",
        "",
        5,
        "2026-11-21T00:00:00Z; x",
        "2026-11-21T00:00:00",
        "9999-99-99T99:99:99Z",
        "9999-11-21T00:00:00Z",
    ],
    "device": [5, {"arch": "sm_90/../../x"}, {"arch": 5}],
    "id": ["../x", "a b", 5],
    "versions": [5, {"python": {}}],
    "differences": [5, [5], [{"output": "o"}], [{**LINE["differences"][0], "first": [[1, 2]]}]],
    "histogram": [5, [{"count": "x"}]],
    "durations": [{"run_s": "x"}],
    "verdict": [None, 5],
}


def test_hostile_lines_are_refused():
    lines.check(LINE, "")
    for key, values in HOSTILE.items():
        for value in values:
            with pytest.raises(Misfit) as caught:
                lines.check(LINE | {key: value}, "")
            assert str(caught.value).startswith(key) and str(caught.value).isprintable(), (key, value)


PLAIN = LINE | {"differences": [], "seed": 0, "detail": {"id": "X"}, "sass": {}, "histogram": None, "allowed": None,
                "golden_sha256": None}  # fmt: skip
ODD = [None, True, False, 0, 1, -1, 1 << 62, 1 << 71, 10**400, 0.0, 1e305, float("nan"), float("inf"), "", "x", "é",
       "\x7f", "a\nb", "../x", "/", ".", "a b", "x" * 21, "x" * 65, "x" * 101, "x" * 1001, "x" * 4097, "x" * 5001, [],
       [1], [1, 2], [1, 2, 3], {}, "2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z\n", "2026-02-30T00:00:00Z"]  # fmt: skip


def test_a_plain_line_is_one_that_the_check_takes():
    """`plain` never accepts a line that `check` refuses, for any value of any key; and it knows plain lines."""
    tables = ["key", "compiler", "versions", "detail", "kernels", "sass", "outputs", "shapes", "durations", "device"]
    inside = [{name: value} for value in ODD for name in ("k", "arch", "kind", "driver")]
    inside += [
        {"x" * 999: "a"},
        {"x" * 1001: "a"},
        {"\u202e": "a", "\\u202e": "a"},
        {str(n): "a" for n in range(1001)},
        {"a": ["int32", [2]]},
        {"a": ["int32", [2], 3]},
        {"a": 1e12, "b": -1e12},
        {"a": 2e12, "b": -2e12},
    ]
    taken = 0
    for key in [*PLAIN, "allowed", "ptxas", "no_sass", "golden"]:
        for value in [*ODD, *(inside if key in tables else ())]:
            line = PLAIN | {key: value}
            if lines.plain(line, len(json.dumps(line))):
                lines.check(line, "")
                taken += 1
    assert taken > 400
    for key in PLAIN:
        line = {name: value for name, value in PLAIN.items() if name != key}
        assert lines.plain(line, 1000) == (key not in ("repro", "verdict", "date")), key
    assert not lines.plain(PLAIN, 5001)


def test_a_line_is_read_as_json_reads_it(tmp_path):
    path = tmp_path / "a.jsonl"
    for data in (
        b"{}",
        b'{"a": 1}  ',
        b'\t{"a": 1}\r',
        b'\xef\xbb\xbf{"a": "b"}',
        b'{"a": 1} x',
        b'{"a": 1}{}',
        b"{",
        b"[]",
        b"1",
        b'{"a":' * 100_000,
        b'{"a": 1}\xc2\xa0',
        b'{"a": 1}\x0b',
        b'{"a": "\xff"}',
        b'{"a": "\xed\xa0\x80"}',
        b'{\0"\0a\0"\0',
        b'{"a": 1e400}',
    ):
        path.write_bytes(data + b"\n")
        try:
            wanted = json.loads(data)
            wanted = wanted if isinstance(wanted, dict) else None
        except (ValueError, RecursionError):
            wanted = None
        assert [one[2] for one in store.read_lines(path)] == [wanted], data[:40]


def test_hostile_lines_are_damaged_and_harm_nothing(tmp_path, monkeypatch, capsys):
    """Each command answers from the sound line, and `repro record status` names the others."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros/records").mkdir(parents=True)
    (tmp_path / "repros/one.py").write_text("# a repro\n")
    bad = [LINE | {"id": f"bbbbbbbb-{n:04}", key: value} for key in HOSTILE for n, value in enumerate(HOSTILE[key])]
    text = "".join(json.dumps(one) + "\n" for one in [*bad, LINE | {"title": "\u202e\x1b[2J", "host": "\u202ep1"}])
    (tmp_path / "repros/records/2026-11-21-aaaaaaaa.jsonl").write_text(text)
    for command in (
        ["record", "status", "--all"],
        ["record", "history", "one"],
        ["record", "diff", "aaaaaaaa-0001", "aaaaaaaa-0001"],
        ["matrix"],
    ):
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
