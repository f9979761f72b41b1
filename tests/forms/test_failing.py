"""Forms that a GPU contradicted are failing cases, named by form, until the emulator gives what the GPU gave."""

import json
from pathlib import Path

import pytest

from dsl.forms import __main__ as command, failing, table

FILES = sorted((Path(__file__).parents[2] / "validation" / "failing").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_emulator_gives_what_the_gpu_gave(path):
    assert failing.report(json.loads(path.read_text()), path) == ""


@pytest.fixture
def case() -> dict:
    form = next(form for form in table.forms() if form.name == "add.u32")
    return {
        "form": form.name, "threads": 1, "rule": {}, "ptx": form.ptx, "device": {"name": "Planted GPU"}, "model": "h100",
        "types": {"operands": ["<u4", "<u4"], "results": ["<u4"]},
        "operands": [["00000002"], ["ffffffff"]], "predicted": [["00000001"]], "got": [["00000041"]],
    }  # fmt: skip


def test_a_contradicted_form_fails_with_its_operands_until_it_is_mended(case, tmp_path, capsys):
    path = tmp_path / "add.u32@planted-gpu.json"
    path.write_text(json.dumps(case))
    assert command.main(["--failing", str(path)]) == 1
    assert capsys.readouterr().out == (
        "add.u32: thread 0, operands 0x00000002, 0xffffffff: the emulator gives 0x00000001, Planted GPU gave 0x00000041 "
        "(add.u32@planted-gpu.json)\n"
    )
    path.write_text(json.dumps(case | {"got": [["00000001"]]}))
    assert command.main(["--failing", str(path)]) == 0 and capsys.readouterr().out == "all agree\n"


def test_a_folder_or_files_are_named(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main([])
    assert "name a folder to write to, or files after --failing, or give --list" in capsys.readouterr().err
