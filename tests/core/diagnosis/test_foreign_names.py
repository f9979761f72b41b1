"""Functions of math, numpy and torch in a kernel: each is refused, and the code that its fix gives compiles."""

import re

import pytest

from dsl.core.diagnosis import foreign_names
from tests.cutlass.test_mistakes import told

ARGUMENTS = {1: "a[0]", 2: "a[0], a[1]", 3: "a[0], a[1], a[2]"}
TWO = set("pow power copysign atan2 arctan2 max min maximum minimum fmax fmin fmod".split())


@pytest.mark.parametrize("library", ["math", "np", "torch"])
def test_the_code_of_each_fix_compiles(library, surface, tmp_path):
    module = __import__({"np": "numpy"}.get(library, library))
    tried = 0
    for name in sorted({*foreign_names._MATH, *foreign_names._RENAMED}):
        if not hasattr(module, name) or name in ("max", "min", "isnan", "isinf", "isfinite"):
            continue  # reductions of numpy and torch; tests that give a Boolean
        arguments = ARGUMENTS[3 if name in ("clip", "clamp", "fma") else 2 if name in TWO else 1]
        folder = tmp_path / name
        folder.mkdir()
        text = told(f"a[3] = {library}.{name}({arguments})", folder)
        if not text and library == "np":
            continue  # numpy leaves `abs` and `pow` to the value's own operator
        fix = re.search(r"\nfix: write `(cute\.math\.\w+\(.*\))`$", text)
        assert fix and f"`{library}.{name}` of " in text, (name, text)
        cured = tmp_path / f"{name}_cured"
        cured.mkdir()
        assert told(f"a[3] = {fix[1]}", cured) == "", fix[1]
        tried += 1
    assert tried > 15


METHODS = {
    "a.reshape(4, 4)": "cute.make_tensor(a.iterator, cute.make_layout((4, 4)))",
    "a.numel()": "cute.size(a)",
    "a.dim()": "cute.rank(a)",
    "a.sum()": "a.load().reduce(cute.ReductionOp.ADD, 0.0, 0)",
    "a.fill_(1.0)": "a.fill(1.0)",
    "a.float()": "a.load().to(Float32)",
}


@pytest.mark.parametrize("wrong", METHODS)
def test_a_method_of_torch_has_a_fix_that_compiles(wrong, surface, tmp_path):
    (tmp_path / "cured").mkdir()
    text = told(f"x = {wrong}", tmp_path)
    assert "UNKNOWN_NAME" in text and "did you mean" not in text
    assert "cute." in text or "`t." in text
    assert told(f"x = {METHODS[wrong]}", tmp_path / "cured") == ""
