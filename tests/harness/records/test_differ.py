"""Possible causes for two records that differ: the groups of fields that are left, and the runs that would tell."""

import pytest

from harness.records import differ
from tests.harness.records.index.test_cells import record

BASE = {"repro_sha256": "r", "compiler": "ours", "compiler_version": "1", "compiler.llvm": "22", "numpy": "2",
        "device": "emulator", "arch": "sm_90a", "host": "embedded", "golden_sha256": "g"}  # fmt: skip


def pair(a_line: dict, b_line: dict, **changed):
    b = BASE | changed
    return (
        record(id="a", provenance=BASE, verdict="pass", line=a_line, date="2026-01-02T03:04:05.0Z"),
        record(id="b", provenance={k: v for k, v in b.items() if v is not None}, verdict="fail", line=b_line),
    )


KERNELS = {"kernels": {"k": "p"}}


@pytest.mark.parametrize(
    "lines, changed, suspects, cause",
    [
        (({}, {}), {}, [], "nothing that was recorded differs: run it again, it may be flaky"),
        (({}, {}), {"compiler_version": "2"}, ["compiler"], "only the compiler differs"),
        (({}, {}), {"numpy": "3"}, ["packages"], "only the packages differ"),
        (({}, {}), {"numpy": "3", "arch": "sm_80"}, ["packages", "machine"], "one of packages, machine, or several together"),
        (
            (KERNELS, KERNELS),
            {"compiler.llvm": "23", "host": "p1"},
            ["machine"],
            "the PTX is the same, so it is not the compiler; only the machine differs",
        ),
        (
            ({"outputs": {"o": 1}}, {"outputs": {"o": 1}}),
            {"golden_sha256": "h"},
            ["golden"],
            "the outputs are the same: the golden changed, not the program",
        ),
        (({"outputs": {"o": 1}}, {"outputs": {"o": 2}}), {"golden_sha256": "h", "arch": "x"}, ["machine"], "only the machine differs"),
    ],
)  # fmt: skip
def test_suspects(lines, changed, suspects, cause):
    a, b = pair(*lines, **changed)
    assert differ._suspects(a, b, differ.differing_groups(a, b)) == (suspects, cause)


def test_two_that_ended_alike_have_no_cause_to_look_for():
    a, _ = pair({}, {})
    assert differ._suspects(a, a, []) == ([], "none to look for: both passed")


def test_fields_that_differ_are_listed_with_both_values():
    a, b = pair({}, {}, numpy="3", host=None)
    assert differ.differing_fields(a, b) == [
        {"field": "numpy", "a": "2", "b": "3"}, {"field": "host", "a": "embedded", "b": None},
    ]  # fmt: skip


def test_a_third_record_may_tell_without_a_run():
    a, b = pair({}, {}, numpy="3", arch="sm_80")
    third = record(id="c", provenance=BASE | {"numpy": "3"}, verdict="fail")
    said = differ.compare(None, a, b, [third])
    assert said["known"] == ["c with B's packages ends as B: so that is enough"]
    assert [run["tells"] for run in said["runs"]] == [
        "whether B fails again, before anything else",
        "B with A's packages: if it passes, the packages are the cause",
    ]
    assert said["runs"][1]["command"].startswith("uv run --with numpy==2 repro run ")


def test_kernels_are_paired_by_name_and_a_single_other_one_with_the_other():
    assert differ.kernel_pairs(["a", "x"], ["a", "y"]) == [("a", "a"), ("x", "y")]
    assert differ.kernel_pairs(["a", "x", "z"], ["a", "y"]) == [("a", "a"), ("x", None), ("z", None), (None, "y")]
