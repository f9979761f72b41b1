"""Calls of public functions: arguments have upstream's names, and a wrong call or shape is reported at its line.

Modules tested here: dsl/quadrants/functions/annotations.py, dsl/quadrants/functions/decorated_function.py,
dsl/quadrants/functions/inlined_function.py, dsl/quadrants/functions/kernel.py.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")


def kernel_of(function, **options):
    return qd.kernel(**options)(function)


POSITIVE, INTEGER = "is positive, got", "is an integer, got"
WRONG = [  # (call, text of its error, its fix)
    (lambda: qd.field(qd.i32, shap=8), "`qd.field` has no argument `shap`", "did you mean `shape`?"),
    (lambda: qd.field(qd.i32, 8, extent=3), "`qd.field` has no argument `extent`", "qd.field takes dtype, shape"),
    (lambda: qd.field(), "`qd.field`: missing a required argument: 'dtype'", "qd.field takes dtype, shape"),
    (lambda: qd.ndarray(qd.i32), "`qd.ndarray`: missing a required argument: 'shape'", "qd.ndarray takes dtype, shape"),
    (lambda: qd.ndarray(qd.i32, 3, dtyp=1), "`qd.ndarray` has no argument `dtyp`", "did you mean `dtype`?"),
    (lambda: qd.ndarray(qd.i32, 1, False, None, 5), "takes at most 4 arguments by position, got 5", "qd.ndarray takes"),
    (lambda: qd.Vector.field(2, qd.i32, shap=3), "`qd.Vector.field` has no argument `shap`", "did you mean `shape`?"),
    (lambda: qd.Matrix.field(2, 2, qd.i32, ofset=3), "`qd.Matrix.field` has no argument `ofset`", "`offset`?"),
    (lambda: qd.Vector.ndarray(2, qd.i32, shap=3), "`qd.Vector.ndarray` has no argument `shap`", "`shape`?"),
    (lambda: qd.Vector([1, 2], dtype=qd.f32), "`qd.Vector` has no argument `dtype`", "did you mean `dt`?"),
    (lambda: qd.types.vector(3, dtyp=qd.f32), "`qd.types.vector` has no argument `dtyp`", "did you mean `dtype`?"),
    (lambda: qd.types.matrix(3, qd.f32), "an extent of a matrix is an integer", "qd.types.matrix(3, 3, qd.f32)"),
    (lambda: qd.types.ndarray(dtyp=qd.f32), "has no argument `dtyp`", "did you mean `dtype`?"),
    (lambda: qd.Template(a=3), "has no argument `a`", "takes element_type, ndim"),
    (lambda: qd.kernel(pur=True), "`qd.kernel` has no argument `pur`", "did you mean `pure`?"),
    (lambda: qd.func(requires_top_levl=True), "`qd.func` has no argument", "did you mean `requires_top_level`?"),
    (
        lambda: qd.data_oriented(template_primitive=True),
        "has no argument `template_primitive`",
        "`template_primitives`?",
    ),
    (lambda: qd.kernel(3), "@qd.kernel decorates a function, got 3", "write @qd.kernel over a `def`"),
    (lambda: qd.func(3), "@qd.func decorates a function, got 3", "write it over a `def`"),
    (lambda: qd.data_oriented(3), "@qd.data_oriented decorates a class, got 3", "write it over a class"),
    (lambda: qd.field(qd.i32, shape=-3), f"an extent of a field {POSITIVE} -3 in dimension 0", "use 1 or more"),
    (lambda: qd.field(qd.i32, shape=0), f"an extent of a field {POSITIVE} 0 in dimension 0", "use 1 or more"),
    (lambda: qd.field(qd.i32, shape=(2, -1)), f"{POSITIVE} -1 in dimension 1", "use 1 or more"),
    (lambda: qd.field(qd.i32, shape=2.5), f"{INTEGER} 2.5 in dimension 0", "convert it: `int(x)`"),
    (lambda: qd.field(qd.i32, shape=(2, 2.0)), f"{INTEGER} 2.0 in dimension 1", "convert it: `int(x)`"),
    (lambda: qd.field(qd.i32, shape="abc"), "a shape is an integer or a tuple of integers, got 'abc'", "shape=8"),
    (lambda: qd.field(qd.i32, shape=True), f"{INTEGER} True in dimension 0", "shape=8"),
    (lambda: qd.field(qd.i32, shape=(2, None)), f"{INTEGER} None in dimension 1", "shape=8"),
    (lambda: qd.field(qd.i32, shape={2, 3}), "a shape is an integer or a tuple of integers, got a set", "shape=8"),
    (lambda: qd.field(qd.i32, shape=((2, 3),)), f"{INTEGER} a tuple in dimension 0", "shape=8"),
    (lambda: qd.field(qd.i32, shape=2**40), "is below 2**31, got 1099511627776", "split it into several dimensions"),
    (lambda: qd.field(qd.i32, shape=(1,) * 13), "a field has at most 12 dimensions, got 13", "compute the index"),
    (lambda: qd.field(qd.i32, shape=(2, 3), order="jk"), "names each of i, j once, got 'jk'", 'order="ij"'),
    (
        lambda: qd.field(qd.i32, shape=3, offset=1.5),
        "an offset is an integer or a tuple of integers, got 1.5",
        "offset=",
    ),
    (lambda: qd.ndarray(qd.i32, -3), f"an extent of an array {POSITIVE} -3", "use 1"),
    (lambda: qd.ndarray(qd.i32, 2.5), f"{INTEGER} 2.5", "convert it"),
    (lambda: qd.ndarray(qd.i32, None), "a shape is an integer or a tuple of integers, got None", "shape=8"),
    (lambda: qd.Vector.field(0, qd.i32, shape=3), f"an extent of a vector {POSITIVE} 0", "use 1 or more"),
    (lambda: qd.Vector.field(2.5, qd.i32, shape=3), "an extent of a vector is an integer, got 2.5", "convert it"),
    (
        lambda: qd.Matrix.field(2, "2", qd.i32, shape=3),
        "an extent of a matrix is an integer, got '2'",
        "qd.types.matrix",
    ),
    (
        lambda: qd.Vector(3),
        "a vector or matrix is made of a list of numbers or of lists, got 3",
        "qd.Vector([1, 2, 3])",
    ),
    (lambda: qd.Vector("ab"), "a vector or matrix is made of a list of numbers or of lists, got 'ab'", "qd.Vector(["),
    (lambda: qd.types.vector(3, "f32"), "a string is not an element type", "for example qd.f32"),
    (lambda: qd.root.dense(qd.i, -3), f"{POSITIVE} -3", "use 1 or more"),
    (lambda: qd.root.dense(qd.i, 2.5), f"{INTEGER} 2.5", "convert it"),
    (lambda: qd.axes("i"), "an axis is a number from 0 to 11, got 'i'", "qd.axes(0, 1)"),
    (lambda: qd.axes(12), "an axis is a number from 0 to 11, got 12", "qd.axes(0, 1)"),
    (lambda: qd.init(arch="cpu"), "`arch` is an architecture, got 'cpu'", "arch=qd.cpu"),
    (lambda: qd.init(default_fp=qd.i32), "`default_fp` is a type of floats, got i32", "default_fp=qd.f64"),
    (lambda: qd.init(default_ip="i32"), "`default_ip` is an integer type, got 'i32'", "default_ip=qd.i64"),
]


def test_a_wrong_call_is_reported_at_its_line():
    for call, said, fix in WRONG:
        with pytest.raises(TypeError) as caught:
            call()
        text = str(caught.value)
        assert said in text and "\nfix: " in text and fix in text.split("\nfix: ")[1], text
        assert isinstance(caught.value, qd.QuadrantsTypeError) and caught.value.place.file == __file__, text
        assert "lambda: " in caught.value.place.source_line(), text


def test_right_ones_are_taken():
    for shape, wanted in (
        (3, (3,)),
        ((2, 3), (2, 3)),
        ([2, 3], (2, 3)),
        (np.int64(3), (3,)),
        (np.array([2, 3]), (2, 3)),
        (range(2, 4), (2, 3)),
        ((), ()),
        ((1,) * 12, (1,) * 12),
    ):
        assert qd.field(qd.i32, shape=shape).shape == qd.ndarray(qd.i32, shape).shape == wanted
    assert qd.field(qd.math.vec2, 3).element_shape == (2,) and qd.field(qd.i32).shape is None
    assert qd.field(qd.i32, (2, 3), order="ji").shape == (2, 3)
    x = qd.field(dtype=qd.i32, shape=3, order=None, name="x", offset=None, needs_grad=False)
    x.fill(val=3)
    x.from_numpy(arr=x.to_numpy() + 1)
    assert x[0] == 4 and qd.cast(obj=1.5, dtype=qd.i32) == 1
    qd.static_assert(cond=True, msg="no")
    assert kernel_of(twice, pure=True, fastcache=True)(2) == 4


def twice(n: int) -> int:
    return n * 2


SAME_NAMES = """field ndarray cast bit_cast grouped static_assert data_oriented kernel func loop_config select pow atan2 atomic_add
atomic_cas raw_div sqrt floor round types.vector types.matrix types.ndarray Vector.field Vector.ndarray Matrix.field Matrix.ndarray
Matrix.fill Matrix.cols Matrix.zero Matrix.unit Matrix.diag ScalarField.fill ScalarField.from_numpy ScalarField.from_torch
ScalarField.copy_from ScalarNdarray.fill ScalarNdarray.from_numpy""".split()
NAMES = """import inspect, json, sys
from operator import attrgetter
import quadrants as qd
found = {}
for name in sys.argv[1:]:
    each = inspect.signature(attrgetter(name)(qd)).parameters.values()
    found[name] = [p.name for p in each if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name[0] != "_"]
print("NAMES" + json.dumps(found))
"""


@pytest.mark.slow
def test_arguments_have_upstream_s_names(tmp_path, needs_module):
    """Each keyword of the real package's functions is one here."""
    needs_module("quadrants", "quadrants")
    file = tmp_path / "names.py"
    file.write_text(NAMES)
    made = []
    for command in ([str(file)], ["-m", "dsl", "--device", "emulator", str(file)]):
        run = subprocess.run(
            [sys.executable, *command, *SAME_NAMES], capture_output=True, text=True, timeout=600, env=dict(os.environ)
        )
        assert "NAMES" in run.stdout, run.stdout + run.stderr
        made.append(json.loads(run.stdout.partition("NAMES")[2]))
    theirs, ours = made
    assert {
        name: sorted(set(theirs[name]) - set(ours[name])) for name in theirs if set(theirs[name]) - set(ours[name])
    } == {}
