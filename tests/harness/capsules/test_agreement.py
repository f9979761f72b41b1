"""Agreement of one form: rules, the smallest operands, the table."""

import json

import numpy as np
import pytest

from harness.capsules import agreement
from harness.capsules.agreement import Row

DEVICE = {"name": "Some GPU", "driver": "580.1", "arch": "sm_90", "kind": "cuda", "cuda": "13.0"}


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


def test_one_table_has_all_gpus(tmp_path):
    rows = [Row("add.u32", "agrees", 8, 8, 8, "h100"), Row("sub.u32", "disagrees", 8, 6, 6, "h100", "differs")]
    agreement._write_rows(tmp_path, rows, DEVICE, "2026-11-22T10:00:00Z")
    other = [
        Row("add.u32", "skipped", text="skipped: the PTX is for sm_100, but this GPU is sm_75"),
        Row("ex2.approx.f32", "bounded", 8, 5, 8, "h100"),
        Row("mma", "unmodelled", 8, 7, 7, "a100"),
    ]
    agreement._write_rows(tmp_path, other, DEVICE | {"name": "Other"}, "2026-11-22T10:00:00Z")
    assert agreement.table(tmp_path).splitlines()[4:] == [
        "| form | Other, driver 580.1 | Some GPU, driver 580.1 |",
        "|---|---|---|",
        "| `add.u32` | skipped: the PTX is for sm_100, but this GPU is sm_75 | 8 equal |",
        "| `ex2.approx.f32` | 5 of 8 equal, the rest within the bound | not run |",
        "| `mma` | 7 of 8 equal, nobody modelled this GPU; a100 is nearest | not run |",
        "| `sub.u32` | not run | 6 of 8 equal, **2 disagree** |",
    ]
    agreement._write_rows(tmp_path, [Row("sub.u32", "agrees", 8, 8, 8, "h100")], DEVICE, "2026-11-23T10:00:00Z")
    saved = json.loads((tmp_path / "some-gpu-580.1.json").read_text())
    assert [row["status"] for row in saved["rows"]] == ["agrees", "agrees"] and saved["date"].startswith("2026-11-23")
