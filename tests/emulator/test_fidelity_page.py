"""docs/fidelity.md is current, and agrees with files of a GPU's results."""

import json
import shutil

import pytest

from dsl.emulator.families import table as isa
from dsl.forms import coverage, table
from tests.emulator import coverage_table, fidelity_page
from tests.harness.by_a_gpu import UUID


def test_the_page_is_current():
    text = fidelity_page.PAGE.read_text()
    assert text == fidelity_page.page(text), f"write it again: {fidelity_page.COMMAND}"
    assert fidelity_page.MARK.findall(text) and text.count("<!-- generated") == len(fidelity_page.PARTS)


@pytest.fixture
def root(tmp_path):
    """A project in which a GPU ran four forms: one agrees, one is in a bound, one disagrees, one was skipped."""
    device = {"kind": "cuda", "name": "Planted GPU", "driver": "580.1", "cuda": "13.0", "arch": "sm_90", "uuid": UUID}
    statuses = {"add.u32": "agrees", "add.s32": "disagrees", "ex2.approx.f32": "bounded", "add.rn.f32x2": "skipped"}
    rows = [{"form": form, "status": status} for form, status in statuses.items()]
    (tmp_path / "validation/failing").mkdir(parents=True)
    results = {"device": device, "date": "2026-12-01T10:00:00Z", "rows": rows}
    (tmp_path / "validation/planted-gpu-580.1.json").write_text(json.dumps(results))
    form = next(form for form in table.forms() if form.name == "add.s32")
    case = {
        "form": form.name, "threads": 1, "rule": {}, "ptx": form.ptx, "device": device, "model": "h100",
        "types": {"operands": ["<u4", "<u4"], "results": ["<u4"]},
        "operands": [["00000002"], ["00000001"]], "predicted": [["00000003"]], "got": [["00000043"]],
    }  # fmt: skip
    (tmp_path / "validation/failing/add.s32@planted-gpu.json").write_text(json.dumps(case))
    shutil.copytree(fidelity_page.ROOT / "repros/vote", tmp_path / "repros/vote")
    golden = next((tmp_path / "repros").rglob("goldens/*/*.json"))
    validated = {"validated": True, "provenance": {"gpu": "Planted GPU"}}
    golden.write_text(json.dumps(json.loads(golden.read_text()) | validated))
    return tmp_path


def test_results_of_a_gpu_are_on_the_page(root, monkeypatch):
    integer, exponential = isa.ROWS["add"][0], isa.ROWS["ex2"][0]
    rows = {id(integer): ["add.u32", "add.s32"], id(exponential): ["ex2.approx.f32"]}
    monkeypatch.setattr(coverage, "every_form_by_row", lambda: rows)
    assert fidelity_page.hardware(root).splitlines() == [
        "1 goldens are validated.",
        "",
        "| GPU | driver | date | forms that agree | within a bound | open | disagree | not run | goldens |",
        "|---" * 9 + "|",
        "| Planted GPU | 580.1 | 2026-12-01 | 1 | 1 | 0 | 1 | 1 | 1 |",
    ]
    assert fidelity_page.disagreements(root).splitlines()[2:] == [
        "| Planted GPU | `add.s32` | 0x00000002, 0x00000001 | 0x00000003 | 0x00000043 | not explained yet |"
    ]
    assert "| hardware Planted GPU | `add` 9.7.1.1, `ex2` 9.7.3.21 |" in fidelity_page.sources(root)
    (line,) = [line for line in coverage_table.page(root).splitlines() if line.startswith("| `add` | 9.7.1.1 ")]
    assert "| ISA; hardware Planted GPU (1 of 2 forms agree) |" in line


def test_a_mended_disagreement_shows_its_resolution(root):
    path = root / "validation/failing/add.s32@planted-gpu.json"
    case = json.loads(path.read_text())
    path.write_text(json.dumps(case | {"predicted": [["00000043"]], "got": [["00000003"]]}))
    assert fidelity_page.disagreements(root).splitlines()[-1].endswith("| 0x00000003 | the emulator gives it now |")
    path.write_text(json.dumps(case | {"resolution": "the GPU was overclocked"}))
    assert fidelity_page.disagreements(root).splitlines()[-1].endswith("| the GPU was overclocked |")
