"""`repro fix` as a person types it."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from harness.cli import main
from harness.cli.fix import changes
from tests.harness.documents import result_of

PAGE = (Path(__file__).parents[4] / "docs/fixes.md").read_text()
PROGRAM = re.search(r"^```python\n# repros/reversed_tile.py without its barrier\n(.*?)^```$", PAGE, re.M | re.S)[1]
SHOWN = re.search(r"^```text\n\$ repro fix reversed_tile --apply\n(.*?)^```$", PAGE, re.M | re.S)[1]
READ = "    out[thread] = tile[63 - thread]\n"
BARRIER = "    cute.arch.sync_threads()\n"
WITH_BARRIER = PROGRAM.replace(READ, BARRIER + READ)
QUADRANTS = """import numpy as np
import quadrants as qd
qd.init(arch=qd.gpu)

@qd.kernel
def swap(a: qd.types.ndarray(), b: qd.types.ndarray()):
    qd.loop_config(block_dim=64)
    for i in range(128):
        a[i] = i
        b[i] = a[i ^ 63]

swap(np.zeros(128, np.int32), np.zeros(128, np.int32))
"""
TIRX = """import numpy as np
import tvm
from tvm.script import tirx as TT

@TT.prim_func
def reverse(A: TT.Buffer((64,), "float32"), B: TT.Buffer((64,), "float32")):
    TT.device_entry()
    tx = TT.thread_id([64])
    s = TT.alloc_shared((64,), "float32")
    s[tx] = A[tx]
    TT.cuda.warp_sync()
    B[tx] = s[63 - tx]

tvm.compile(reverse, target="cuda")(np.zeros(64, np.float32), np.zeros(64, np.float32))
"""


@pytest.fixture
def file(project):
    (project / "repros").mkdir()
    path = project / "repros/reversed_tile.py"
    path.write_text(PROGRAM)
    return path


def said(capsys) -> str:
    """Standard error without progress."""
    return "".join(row for row in capsys.readouterr().err.splitlines(True) if "running it" not in row)


def test_the_diff_alone_is_on_standard_output_and_nothing_is_written(file, capsys):
    assert main(["fix", "reversed_tile"]) == 1
    text = capsys.readouterr()
    assert text.out in SHOWN and text.out.startswith("--- a/repros/reversed_tile.py\n")
    assert text.err.endswith("\nto make the edits: repro fix reversed_tile --apply\n")
    assert file.read_text() == PROGRAM


def test_apply_as_the_page_shows_it(file, capsys):
    assert main(["fix", "reversed_tile", "--apply"]) == 0
    text = capsys.readouterr()
    told = "".join(row for row in text.err.splitlines(True) if "running it" not in row)
    *finding, cured = told.splitlines(True)
    assert "".join(finding) + text.out + cured == SHOWN, told
    assert file.read_text() == WITH_BARRIER
    assert main(["fix", str(file)]) == 0
    assert said(capsys) == "nothing was found\n"


def test_the_document(file, capsys):
    assert main(["fix", "reversed_tile", "--apply", "--json"]) == 0
    result = result_of(capsys.readouterr().out, 0)
    (one,) = result["findings"]
    assert (result["file"], result["applied"], result["cured"], result["left"]) == (
        "repros/reversed_tile.py", True, True, [],
    )  # fmt: skip
    assert one["edit"] == {
        "file": "repros/reversed_tile.py", "line": 18, "kind": "insert_after", "text": BARRIER.rstrip(),
        "old": "    tile[thread] = a[thread]",
    }  # fmt: skip
    assert result["diff"] in SHOWN


def test_a_finding_that_the_claim_states_is_left_alone(file, capsys):
    file.write_text(PROGRAM.replace("[tool.repro]\n", '[tool.repro]\n# outcome = "race"\n'))
    assert main(["fix", "reversed_tile", "--apply"]) == 0
    assert said(capsys).endswith("\nthe claim states it: there is nothing to fix\n")
    assert "sync_threads" not in file.read_text()


def test_the_edit_stays_if_another_mistake_shows_after_it(file, capsys):
    file.write_text(PROGRAM.replace(READ, READ + "    tile[thread] = 0.0\n    out[63 - thread] = tile[63 - thread]\n"))
    assert main(["fix", "reversed_tile", "--apply", "--json"]) == 1
    text = capsys.readouterr()
    result = result_of(text.out, 1)
    assert (result["applied"], result["cured"], [one["id"] for one in result["left"]]) == (True, False, ["RACE"])
    assert "the edits are made, and that finding is cured; another one is left:\n" in text.err
    assert file.read_text().count("sync_threads") == 1


def test_an_edit_that_brings_a_deadlock_is_taken_back(file, capsys, monkeypatch):
    """The edit is changed on its way: no program is known in which a true one does harm."""
    bad, of = "    if thread < 32: cute.arch.barrier(barrier_id=1, number_of_threads=64)", changes.of

    def of_bad(found, *where):
        return of([dataclasses.replace(one, edit=dataclasses.replace(one.edit, text=bad)) for one in found], *where)

    monkeypatch.setattr(changes, "of", of_bad)
    assert main(["fix", "reversed_tile", "--apply"]) == 1
    assert "\nthe edits do not cure it, and the files are as before; with them it has:\n" in said(capsys)
    assert file.read_text() == PROGRAM


def test_no_edit_is_known(file, capsys):
    file.write_text(PROGRAM.replace("63 - thread]", "640 - thread]"))
    assert main(["fix", "reversed_tile", "--apply"]) == 1
    assert said(capsys).endswith("\nno single edit is known for it\n")


@pytest.mark.parametrize(
    ("text", "added"), [(QUADRANTS, "        qd.simt.block.sync()\n"), (TIRX, "    TT.cuda.cta_sync()\n")]
)
def test_scripts_in_other_languages(project, capsys, text, added):
    (project / "script.py").write_text(text)
    assert main(["fix", "script.py", "--apply", "--", "an argument"]) == 0, said(capsys)
    assert set((project / "script.py").read_text().splitlines(True)) - set(text.splitlines(True)) == {added}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-"], "standard input cannot be edited\nfix: save the program, and name its file\n"),
        (["reversed_tile", "more"], "a repro takes no arguments\nfix: choose a value with -p NAME=VALUE\n"),
        (
            ["none.py"],
            "repro: none.py: No such file or directory\n"
            "fix: name a file that is there; `repro new NAME` writes a first repro\n",
        ),
    ],
)
def test_wrong_usage(file, capsys, words, message):
    assert main(["fix", *words, "--json"]) == 2
    text = capsys.readouterr()
    assert json.loads(text.out)["error"]["message"] + "\n" == message
