"""Errors: the four programs that end the real package's process, and errors that name the line and the fix."""

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session

pytestmark = pytest.mark.usefixtures("running")


@qd.kernel
def divided(a: int, b: int) -> int:
    return a // b


@qd.kernel
def remainder(a: int, b: int) -> int:
    return a % b


@qd.kernel
def true_float(x: float) -> bool:
    return bool(x)


@qd.kernel
def product(x: qd.template()):
    qd.atomic_mul(x[None], 3)


@qd.kernel
def reads(x: qd.template()) -> int:
    return x[None]


def test_an_integer_over_zero_has_a_value():
    assert [divided(a, 0) for a in (7, -7, 0)] == [-1, -1, -1]
    assert [remainder(a, 0) for a in (7, -7, 0)] == [7, -7, 0]
    assert divided(-(2**31), -1) == -(2**31) and remainder(-(2**31), -1) == 0


def test_a_float_is_true_where_it_is_not_zero():
    assert [bool(true_float(x)) for x in (0.0, 0.5, -1.0, float("nan"))] == [False, True, True, True]


def test_atomic_mul_outside_a_loop():
    x = qd.field(qd.i32, shape=())
    x[None] = 7
    product(x)
    assert x[None] == 21


def test_a_field_after_init_is_gone():
    x = qd.field(qd.i32, shape=())
    assert reads(x) == 0
    qd.init(arch=qd.cpu)
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        reads(x)
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        x[None] = 1


@qd.kernel
def captures():
    CAPTURED[0][None] += 1


CAPTURED = []


def test_a_captured_field_after_init_is_gone():
    CAPTURED[:] = [qd.field(qd.i32, shape=())]
    captures()
    qd.init(arch=qd.cpu)
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        captures()


def test_a_kernel_before_init():
    qd.reset()
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        divided(1, 2)


@qd.kernel
def hidden_name(c: int) -> int:
    if c:
        inner = 1
    return inner


@qd.kernel
def changed_index():
    for i in range(3):
        i = 5


@qd.kernel
def early(c: int) -> int:
    if c:
        return 1
    return 2


@qd.kernel
def imports():
    import os


@qd.kernel
def contains(x: int) -> int:
    return x in (1, 2)


@qd.kernel
def too_many(x: qd.types.ndarray(ndim=1)):
    x[0, 0] = 1


@qd.kernel
def real_test(x: float):
    if x:
        pass


WRONG = [
    (hidden_name, (1,), qd.QuadrantsNameError, '"inner" is not defined', "return inner"),
    (changed_index, (), qd.QuadrantsSyntaxError, "cannot be assigned", "i = 5"),
    (early, (1,), qd.QuadrantsSyntaxError, "Return inside non-static", "return 1"),
    (imports, (), qd.QuadrantsSyntaxError, 'Unsupported node "Import"', "import os"),
    (contains, (1,), qd.QuadrantsSyntaxError, "only supported inside", "return x in (1, 2)"),
    (too_many, (np.zeros(3, np.int32),), qd.QuadrantsIndexError, "indexed by 2", "x[0, 0] = 1"),
    (real_test, (1.0,), qd.QuadrantsTypeError, "f32", "if x:"),
]


@pytest.mark.parametrize(
    "kernel, arguments, kind, text, line", WRONG, ids=lambda value: getattr(value, "__name__", None)
)
def test_errors_name_the_line_and_the_fix(kernel, arguments, kind, text, line):
    with pytest.raises(kind, match=text) as caught:
        kernel(*arguments)
    assert caught.value.place.source_line().strip() == line
    assert "^" in str(caught.value) and "fix: " in str(caught.value)
    assert "Int32" not in str(caught.value) and "cutlass" not in str(caught.value)


def test_no_frame_of_the_compiler_is_the_place():
    with pytest.raises(qd.QuadrantsCompilationError) as caught:
        hidden_name(1)
    assert caught.value.place.file == __file__
