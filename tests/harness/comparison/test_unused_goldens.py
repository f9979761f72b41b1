"""Goldens that belong to no case, of repros that exist and of a repro that is gone."""

import numpy as np

from harness.comparison import unused_goldens
from harness.comparison.golden import make, write as write_golden
from harness.run.result import DTYPES, Array, Outcome

RUN = "def run():\n    return {}"


def test_unused(write, tmp_path):
    one, two = write(RUN, name="one"), write(RUN.replace("run()", "run(w)"), "params = { w = [1] }", "two")
    for case in [*one.cases(), *two.cases()]:
        large = Array(DTYPES["uint32"], np.zeros(5000, np.uint32))
        write_golden(make(case, Outcome("outputs", outputs={"out": large}), {}))
    goldens = tmp_path / "repros/goldens"
    assert unused_goldens.unused([one, two]) == []
    (goldens / "two/w=2.json").write_text("{}")
    (goldens / "one/0123.npy").write_text("")
    (goldens / "gone").mkdir()
    (goldens / "gone/default.json").write_text("{}")
    names = [str(path.relative_to(goldens)) for path in unused_goldens.unused([one, two])]
    assert names == ["gone/default.json", "one/0123.npy", "two/w=2.json"]
    assert unused_goldens.unused([two], broken=[tmp_path / "repros/one.py", tmp_path / "repros/gone.py"]) == [
        goldens / "two/w=2.json"
    ]
