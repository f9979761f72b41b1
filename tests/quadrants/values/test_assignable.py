"""Assignments that change the value: a float that becomes an integer."""

import inspect
import warnings

import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")


def test_a_lost_fraction_is_a_warning_at_its_line():
    x = qd.field(qd.i32, 4)

    @qd.kernel
    def k(value: qd.f32):
        a = 1
        a = 2.5  # lost
        a = value  # lost
        a += value  # lost
        a /= 2  # lost
        x[0] = value  # lost
        x[1] += value  # lost
        v = qd.Vector([1, 2])
        v[0] = value  # lost
        a = 3.0
        a = qd.cast(value, qd.i32)
        x[2] = 2.0
        b = 1.5
        b = 2

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        k(1.5)
    lines, first = inspect.getsourcelines(test_a_lost_fraction_is_a_warning_at_its_line)
    lost = [first + at for at, line in enumerate(lines) if line.endswith("# lost\n")]
    text = "a float is assigned to an i32 and loses its fraction: write `qd.cast(..., qd.i32)` if you mean that"
    assert [(each.lineno, str(each.message)) for each in caught] == [(line, text) for line in lost]
