"""Facts of a line of the record: its cell, the fields that may explain its verdict, the command that runs it again."""

from harness.records.index import cells
from harness.records.index.cells import Cell, Record
from tests.harness.by_a_gpu import UUID

LINE = {
    "repro": "repros/one.py", "case": "w=8,op=max", "host": "p1", "hardware": True, "asked": "nvidia", "seed": 3,
    "device": {"kind": "cuda", "name": "H100", "arch": "sm_90a", "driver": "570", "uuid": UUID},
    "compiler": {"name": "nvidia", "version": "4.8.1", "llvm": "22"}, "versions": {"numpy": "2"},
    "key": {"repro_sha256": "ab"}, "kernels": {"k": "p1"}, "verdict": "fail", "outcome": "outputs", "title": "It is so.",
}  # fmt: skip


def test_the_cell_of_a_line():
    assert cells.column(LINE) == {
        "claim": "repros/one.py", "case_name": "w=8,op=max", "arch": "sm_90", "compiler": "nvidia", "host": "p1",
    }  # fmt: skip
    emulated = LINE | {"device": {"kind": "emulator", "arch": "sm_90a", "gpu_model": "a100"}, "asked": None, "host": ""}
    assert cells.column(emulated) | {"arch": "a100", "host": "embedded"} == cells.column(emulated)
    assert cells.column(emulated)["compiler"] == "nvidia"  # of an old line, which does not name what was asked for


def test_provenance_is_flat_and_leaves_out_what_is_not_there():
    assert cells.provenance(LINE) == {
        "repro_sha256": "ab", "compiler": "nvidia", "compiler_version": "4.8.1", "compiler.llvm": "22", "numpy": "2",
        "device": "cuda", "gpu": "H100", "arch": "sm_90a", "driver": "570", "gpu_uuid": UUID, "host": "p1", "seed": 3, "ptx.k": "p1",
    }  # fmt: skip
    assert cells.marks(LINE) == ["It is so.", "ab"]


def test_kernels_are_unknown_after_a_crash_and_empty_after_a_refusal():
    kernels = {
        outcome: cells.facts({**LINE, "kernels": {}, "outcome": outcome})["kernels"]
        for outcome in ("crash", "rejected")
    }
    assert kernels == {"crash": None, "rejected": {}}


def test_arithmetic_is_as_sure_as_the_least_sure_output():
    through = [{"instruction": "ex2.approx.f32", "line": 31, "bound": "2 ulp"}]
    table = {"a": {"arithmetic": "exact"}, "b": {"arithmetic": "bounded", "through": through},
             "c": {"arithmetic": "bounded", "through": through}}  # fmt: skip
    assert cells.arithmetic({"arithmetic": table}) == ["bounded", "`b`, `c`: ex2.approx.f32 (line 31, 2 ulp)"]
    assert cells.arithmetic({"arithmetic": table | {"d": {"arithmetic": "open"}}})[0] == "open"
    assert cells.arithmetic({"arithmetic": {"a": {"arithmetic": "exact"}}}) == ["exact", ""]
    assert cells.arithmetic({}) is None


def record(**facts) -> Record:
    table = {"id": "r", "date": "", "claim": "repros/my one.py", "case": "", "title": "", "arch": "", "compiler": "ours",
             "host": "embedded", "hardware": False, "verdict": "pass", "verdict_reason": "", "outcome": "", "digest": "",
             "provenance": {}, "outputs": {}, "differences": [], "histogram": None, "durations": {}, "detail": {}}  # fmt: skip
    return Record(**table | facts)


def test_the_command_that_runs_it_again():
    assert record().rerun == "uv run repro run 'repros/my one.py'"
    asked = record(case="w=8,op=max", host="p1", compiler="nvidia", provenance={"seed": 7, "gpu_model": "a100"})
    assert asked.rerun == (
        "uv run repro run 'repros/my one.py' -p w=8 -p op=max --host p1 --compiler nvidia --gpu-model a100 --seed 7"
    )
    assert record(compiler="nvidia, torch==2.9.0").rerun.endswith(" --compiler nvidia")


def test_outcomes_that_were_seen_come_before_those_that_only_might():
    seen = record(
        histogram=[{"count": 3, "outputs": {"out": [1, 0]}}, {"count": 1, "outputs": None}],
        line={"allowed": {"out": [[0, 1], [1, 0]]}},
    ).seen
    assert seen == [(3, "out = [1, 0]"), (1, "yet other outcomes"), (0, "out = [0, 1]  (allowed)")]


def cell(case: str, state: str, hardware: bool) -> Cell:
    return Cell("c", case, "", "sm_90", "ours", "h", hardware, state, "why", *[None] * 4, 0, 0, "")


def test_a_prediction_adds_nothing_where_hardware_answered():
    assert cells.combine([cell("", "predicted", False), cell("", "validated", True)]) == "validated"
    assert cells.combine([cell("a", "predicted", False), cell("b", "validated", True)]) == "predicted"
    assert cells.as_table(record())["claim"] == "repros/my one.py" and "line" not in cells.as_table(record())


def test_forgetting_gives_a_line_of_the_same_cell():
    one = cell("w=8", "failing", True)
    line = cells.forgetting(one)
    assert cells.column(line) == {"claim": "c", "case_name": "w=8", "arch": "sm_90", "compiler": "ours", "host": "h"}
    assert line["verdict"] == "forgotten" and cells.line_is_hardware(line)
