"""Names of compilers: what is typed, and what records, goldens and results of earlier releases hold."""

import json

import pytest

from harness import compiler_name, store
from harness.cli.main_command import main
from harness.comparison import golden

FORMER = {"asked": "embedded", "compiler": {"name": "embedded", "version": "0.1.0"}, "host": "embedded"}


@pytest.mark.parametrize(
    "name, now",
    [
        ("embedded", "ours"),
        ("embedded, torch==2.9.0", "ours, torch==2.9.0"),
        ("embedded==1", "embedded==1"),
        ("nvidia==4.6.3", "nvidia==4.6.3"),
        (None, None),
    ],
)
def test_a_former_name_is_read_as_the_name_of_today(name, now):
    assert compiler_name.current(name) == now


def test_a_line_of_the_record_keeps_its_host_and_its_id(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_text(json.dumps(FORMER) + "\n" + json.dumps(FORMER | {"id": "a-1"}) + "\n")
    (_, _, first), (_, _, second) = store.read_lines(path)
    now = {"asked": "ours", "compiler": {"name": "ours", "version": "0.1.0"}, "host": "embedded"}
    assert first == {"id": store.line_id(FORMER)} | now
    assert second == {"id": "a-1"} | now


def test_a_line_of_today_is_read_as_it_is():
    line = {"asked": "ours", "compiler": None, "host": "embedded"}
    assert compiler_name.in_table(line) is line
    assert compiler_name.in_table({}) == {}


def test_a_golden_names_its_compiler_as_today(tmp_path):
    table = {"outcome": "outputs", "outputs": {}, "validated": False}
    data = json.dumps(table | {"provenance": {"host": "embedded", "compiler": FORMER["compiler"]}}).encode()
    read = golden.parse(tmp_path / "default.json", data, lambda name: b"")
    assert read.provenance == {"host": "embedded", "compiler": {"name": "ours", "version": "0.1.0"}}


@pytest.mark.parametrize("words", [["record", "history"], ["issue"]])
def test_a_former_name_that_is_typed_gives_a_note(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    main([*words, "nothing", "--compiler", "ours"])
    today = capsys.readouterr()
    main([*words, "nothing", "--compiler", "embedded"])
    note = "note: the compiler `embedded` is now `ours`; the old spelling ends with 0.3\n"
    assert capsys.readouterr() == (today.out, note + today.err)
