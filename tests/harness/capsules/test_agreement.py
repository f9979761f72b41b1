"""Agreement of one form: rules, the smallest operands, the table."""

import numpy as np
import pytest

from harness.capsules import agreement


@pytest.mark.parametrize(
    "rule, form, want, got, fine",
    [
        ({}, "add.f32", 1.0, 1.0, True),
        ({}, "add.f32", 1.0, 1.0 + 2**-23, False),
        ({"dtype": "f32", "relative": 2.0**-22}, "ex2.approx.f32", 1.0, 1.0 + 3 * 2**-23, True),
        ({"dtype": "f32", "relative": 2.0**-22}, "ex2.approx.f32", 1.0, 1.0 + 4 * 2**-23, False),
        ({"dtype": "f32", "absolute": 2.0**-20}, "sin.approx.f32", 0.0, 2.0**-20, True),
        ({"dtype": "f32", "absolute": 2.0**-20}, "sin.approx.f32", 0.0, 2.0**-19, False),
        ({"dtype": "f32", "relative": 2.0**-22}, "rcp.approx.f32", np.inf, np.nan, False),
        ({"dtype": "f32", "relative": 2.0**-22}, "rcp.approx.f32", np.inf, 3e38, False),
        ({"dtype": "f32", "relative": 2.0**-22}, "rcp.approx.f32", 0.0, -0.0, True),
        ({"dtype": "f32", "open": True}, "x", 1.0, 5.0, True),
    ],
)
def test_rules(rule, form, want, got, fine):
    bits = [np.array([each], np.float32).view(np.uint32) for each in (want, got)]
    assert agreement.agreement(*bits, rule, form)[1].tolist() == [fine]


def test_halves_of_a_register_are_elements():
    want, got = np.array([0x3C003C00], np.uint32), np.array([0x3C003C01], np.uint32)
    same, fine = agreement.agreement(want, got, {"dtype": "f16", "relative": 2.0**-10}, "ex2.approx.f16x2")
    assert (same.tolist(), fine.tolist()) == ([False, True], [True, True])


def test_any_nan_is_another_under_a_bound_and_only_there():
    want, got = np.array([0x7FFFFFFF], np.uint32), np.array([0x7FC00000], np.uint32)
    assert agreement.agreement(want, got, {"dtype": "f32", "relative": 0.1}, "x")[1].all()
    assert not agreement.agreement(want, got, {}, "x")[1].any()


def test_the_smallest_operands_have_the_fewest_bytes_and_bits():
    case = {"form": "not.b32", "threads": 1, "rule": {}, "operands": ["<u4"], "results": ["<u4"]}
    inputs = [np.array([0x0101, 0xFF, 3, 1], np.uint32)]
    want, got = [~inputs[0]], [~inputs[0] ^ np.uint32(4)]
    smallest = agreement._smallest(case, np.array([True, True, True, False]), inputs, want, got)
    assert smallest["operands"] == [["00000003"]] and smallest["got"] == [["fffffff8"]]
    assert agreement.words(smallest) == "0x00000003 gives 0xfffffff8, predicted 0xfffffffc"
