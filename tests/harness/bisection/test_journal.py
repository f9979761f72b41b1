"""The same command goes on with the answers of an interrupted bisection; other commands do not get them."""

import json

from harness.bisection.journal import Journal
from tests.harness.bisection.test_answer import given, values


def test_the_same_command_goes_on(tmp_path):
    one = Journal(tmp_path, {"claim": "a"})
    one.open()
    one.take("1.0", [given(outputs={"x": values(1, 2)})])
    one.take("1.1", "no wheel")
    again, other = Journal(tmp_path, {"claim": "a"}), Journal(tmp_path, {"claim": "b"})
    again.open(), other.open()
    assert list(again.known) == ["1.0", "1.1"] and again.known["1.1"] == "no wheel" and other.known == {}
    assert again.known["1.0"][0].outputs["x"].values().tolist() == [1, 2]
    again.forget()
    again.open()
    assert again.known == {}


def test_a_damaged_file_is_as_none(tmp_path):
    one = Journal(tmp_path, {})
    one.open()
    one.take("1.0", "no wheel")
    for text in ("{", "[]", '{"answers": {"1.0": [{"case": 1}]}}', '{"answers": 3}'):
        (one.folder / "answers.json").write_text(text)
        one.open()
        assert one.known == {}


def test_at_the_end_the_result_is_left(tmp_path):
    one = Journal(tmp_path, {})
    one.open()
    one.take("1.0", "no wheel")
    (one.trees / "abc").mkdir(parents=True)
    one.finish({"kind": "found"})
    assert [path.name for path in one.folder.iterdir()] == ["result.json"]
    assert json.loads((one.folder / "result.json").read_text()) == {"kind": "found"}
