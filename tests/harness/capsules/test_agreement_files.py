"""The files of `validation/`: one table of all GPUs, whole or not at all, and never from files that cannot be trusted."""

import json
import os

import pytest

from harness import store
from harness.capsules import agreement_files
from harness.capsules.agreement_files import Row
from harness.errors import UsageError
from tests.harness.by_a_gpu import FACTS

DEVICE = FACTS | {"name": "Some GPU", "driver": "580.1"}
DAY = "2026-11-22T10:00:00Z"
ROWS = [Row("add.u32", "agrees", 8, 8, 8, "h100"), Row("sub.u32", "disagrees", 8, 6, 6, "h100", "differs")]


def table(root) -> list[str]:
    return (root / "validation/agreement.md").read_text().splitlines()[4:]


def test_one_table_has_all_gpus(tmp_path):
    assert agreement_files.write(tmp_path, ROWS, DEVICE, DAY) == tmp_path / "validation/agreement.md"
    other = [
        Row("add.u32", "skipped", text="skipped: the PTX is for sm_100, but this GPU is sm_75\nmore"),
        Row("ex2.approx.f32", "bounded", 8, 5, 8, "h100"),
        Row("mma", "unmodelled", 8, 7, 7, "a100"),
    ]
    agreement_files.write(tmp_path, other, DEVICE | {"name": "Other"}, DAY)
    assert table(tmp_path) == [
        "| form | Other, driver 580.1 | Some GPU, driver 580.1 |",
        "|---|---|---|",
        "| `add.u32` | skipped: the PTX is for sm_100, but this GPU is sm_75 | 8 equal |",
        "| `ex2.approx.f32` | 5 of 8 equal, the rest within the bound | not run |",
        "| `mma` | 7 of 8 equal, nobody modelled this GPU; a100 is nearest | not run |",
        "| `sub.u32` | not run | 6 of 8 equal, **2 disagree** |",
    ]
    agreement_files.write(tmp_path, [Row("sub.u32", "agrees", 8, 8, 8, "h100")], DEVICE, "2026-11-23T10:00:00Z")
    saved = json.loads((tmp_path / "validation/some-gpu-580.1.json").read_text())
    assert [row["status"] for row in saved["rows"]] == ["agrees", "agrees"] and saved["date"].startswith("2026-11-23")


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", "a|b|`c`", "[x](http://y)", "# *x* _y_ ~~z~~ $w$"])
def test_a_gpus_name_is_only_text(tmp_path, name):
    agreement_files.write(tmp_path, ROWS, DEVICE | {"name": name}, DAY)
    head = table(tmp_path)[0]
    shown = head.removeprefix("| form | ").removesuffix(", driver 580.1 |")
    bare = [character for at, character in enumerate(shown) if character in "<>|`[]#*~$" and shown[at - 1] != "\\"]
    assert bare == [] and "".join(shown.split("\\")) == name
    (path,) = (tmp_path / "validation").glob("*.json")
    assert json.loads(path.read_text())["device"]["name"] == name


def test_a_crash_leaves_old_files_or_new_ones(tmp_path, monkeypatch):
    """At whichever rename it dies: each file is a whole one of before or after, and what came is accepted again."""
    smallest = {"form": "sub.u32", "threads": 1, "rule": {}, "operands": [["1"]], "predicted": [["1"]], "got": [["2"]]}
    later = [Row("add.u32", "agrees", 9, 9, 9, "h100"), Row("sub.u32", "disagrees", 9, 1, 1, "h100", "x", smallest)]
    replace = os.replace
    for count in range(5):
        root = tmp_path / str(count)
        agreement_files.write(root, ROWS, DEVICE, DAY)
        before = {path: path.read_bytes() for path in (root / "validation").rglob("*") if path.is_file()}
        left = iter(range(count))

        def die(*paths, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt
            replace(*paths)

        with monkeypatch.context() as patch:
            patch.setattr(store.os, "replace", die)
            try:
                agreement_files.write(root, later, DEVICE, DAY)
            except KeyboardInterrupt:
                pass
        at_death = {path: path.read_bytes() for path in (root / "validation").rglob("*") if path.is_file()}
        agreement_files.write(root, later, DEVICE, DAY)
        after = {path: path.read_bytes() for path in (root / "validation").rglob("*") if path.is_file()}
        assert all(data in (before.get(path), after[path]) for path, data in at_death.items())
        assert sum(at_death.get(path) == data for path, data in after.items()) == min(count, 3)


CONFLICT = "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> theirs\n"


@pytest.mark.parametrize("text, said", [
    (CONFLICT, "holds a merge conflict between HEAD and theirs\nfix: resolve the conflict in {}"),
    ("{", "cannot be read: Expecting property name"),
    ("[" * 100_000, "cannot be read: "),
    ('{"device": {}, "date": "2026-11-22T10:00:00Z", "rows": [{"form": "|", "status": "agrees"}]}', "rows[0].form must be"),
    (json.dumps({"device": FACTS | {"name": "PTX emulator"}, "date": DAY, "rows": []}),
     "is not of hardware: its device names PTX emulator, a stand-in for a GPU\nfix: remove it"),
    (json.dumps({"device": FACTS | {"uuid": None}, "date": DAY, "rows": []}), "its device names no UUID of the GPU"),
])  # fmt: skip
def test_a_file_that_cannot_be_trusted_is_named_and_nothing_is_written(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    agreement_files.write(tmp_path, ROWS, DEVICE, DAY)
    path = tmp_path / "validation/a-gpu-1.json"
    path.write_text(text)
    before = {path: path.read_bytes() for path in (tmp_path / "validation").rglob("*")}
    with pytest.raises(UsageError) as caught:
        agreement_files.write(tmp_path, ROWS[:1], DEVICE, DAY)
    assert str(caught.value).startswith("validation/a-gpu-1.json ") and said.format("validation/a-gpu-1.json") in str(
        caught.value
    )
    assert {path: path.read_bytes() for path in (tmp_path / "validation").rglob("*")} == before
