"""A captured file, run alone and compared with the program."""

import numpy as np

from harness.capture import checked

FILE = '''# /// script
# dependencies = ["numpy"]
# [tool.repro]
# ///
"""Call 1 of f in train.py gives what it gave there."""
import numpy as np


def run():
    return {"out": np.arange(4, dtype=np.float32)}
'''


def differences(folder, text, wanted, outcome=None):
    np.savez(
        folder / "outputs.npz", **{f"{a.dtype.name} {name}": a.view(f"u{a.itemsize}") for name, a in wanted.items()}
    )
    report = {"outputs": {name: a.dtype.name for name, a in wanted.items()}, "outcome": outcome}
    alone = checked.Alone(folder / "x.py", folder, report, print)
    try:
        return alone.check(text)
    finally:
        alone.close()


def test_files_and_what_differs(tmp_path):
    same = {"out": np.arange(4, dtype=np.float32)}
    assert differences(tmp_path, FILE, same) == []
    other = {"out": np.array([0, 1, 2, 4], np.float32), "more": np.zeros(2)}
    assert differences(tmp_path, FILE, other) == [
        "`out` differs from the program's in 1 of 4 elements",
        "run alone it does not give `more`",
    ]
    assert differences(tmp_path, FILE, {"out": np.zeros(2, np.float32)}) == [
        "`out` is float32 (2,) in the program, and float32 (4,) alone"
    ]


def test_ends_that_differ(tmp_path):
    failing = FILE.replace('return {"out"', 'raise ValueError("no such thing")\n    return {"out"')
    (text,) = differences(tmp_path, failing, {"out": np.zeros(4, np.float32)})
    assert text.startswith("run alone it ends in error: ") and "no such thing" in text
    told = {"outcome": "fault", "kind": "race", "line_text": "x[i] = 1"}
    assert differences(tmp_path, FILE, {}, told) == ["the program ended in race, and the file in outputs: "]


def test_a_text_that_is_not_a_repro(tmp_path):
    (text,) = differences(tmp_path, "def run(:\n", {})
    assert text.startswith("the file is not a repro: ")


def test_a_line_that_a_shorter_file_joins():
    assert checked._is_same_line("f(x).launch(  # too many", "f(x).launch(grid=1)")
    assert not checked._is_same_line("f(x).launch(", "g(x).launch(grid=1)")
