"""Machine code of a claim from two compilers: which records are paired, the figures, and what the page is given."""

import hashlib
import sys

import pytest

from harness import cli, store
from harness.records.index.index import open_index
from harness.reporting import both_codes, page, page_records
from harness.reporting.page_model import Figure

REPRO = '# /// script\n# [tool.repro]\n# ///\n"""A sentence."""\ndef run():\n    return {}\n'

# Stands for ptxas and nvdisasm: a kernel's SASS is the words that its PTX has after `//`, an instruction each.
ANSWERS = r"""
import json, re, sys
for line in sys.stdin:
    ptx = json.loads(line)
    name, code = re.search(r"entry (\w+)", ptx)[1], ptx.partition("//")[2].split()
    lines = "".join(f"        /*{16 * n:04x}*/   {each} R0, R1 ;\n" for n, each in enumerate(code))
    log = f"Compiling entry function '{name}' for 'sm_90a'\n    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    other = "\t.section\t.text.other\n.text.other:\n        /*0000*/   EXIT ;\n"
    print(json.dumps({"ptxas": "13.5", "log": "Compiling entry function 'other'\nUsed 99 registers\n" + log + f"Used {len(code) * 10} registers\n",
                      "sass": other + f"\t.section\t.text.{name}\n.text.{name}:\n{lines}"}))
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "kestrel"\n')
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros/one.py").write_text(REPRO)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(both_codes, "LISTING", (sys.executable, "-c", ANSWERS))
    return tmp_path


def put(root, compiler, day, kernel, code):
    """A record of that day, by that compiler, and its PTX."""
    ptx = f".target sm_90a\n.entry {kernel}() //{code}"
    name = store.sha256(ptx)
    folder = store.folder(root / "repros/one.py", False, root)
    store.make_folder(folder)
    store.keep_text(folder, f"{name}.ptx", ptx)
    line = {
        "schema": 2, "key": {"repro_sha256": hashlib.sha256(REPRO.encode()).hexdigest()}, "case": "",
        "repro": "repros/one.py", "host": "embedded", "hardware": False, "device": {"kind": "emulator", "arch": "sm_90a"},
        "asked": compiler, "compiler": {"name": compiler, "version": "4.8.1" if compiler == "nvidia" else "0.1.0"},
        "versions": {}, "verdict": "pass", "reason": "", "outcome": "outputs", "outputs": {"out": "1"},
        "kernels": {kernel: name}, "date": f"2026-11-{day:02}T00:00:00Z", "digest": compiler, "title": "It is so.",
    }  # fmt: skip
    store.Run().append(folder, line)


def collected(root):
    with open_index(root) as records:
        return page_records.collect(records)


def test_kernels_of_both_compilers_stand_side_by_side(root):
    put(root, "ours", 1, "kernel_k_0", " LDG.E LDG.E FADD STG.E EXIT")
    assert collected(root).both_codes == ()
    put(root, "nvidia", 2, "kernel_cutlass_k", " LDG.E.64 FADD STG.E EXIT")
    report = collected(root)
    ((row, column, code),) = report.both_codes
    assert (report.claims[row].repro, report.columns[column].compiler) == ("repros/one.py", "ours")
    assert (code.kernel, code.theirs, code.ptxas, code.problem) == ("kernel_k_0", "NVIDIA's 4.8.1", "13.5", "")
    assert code.figures == (
        Figure("registers", 50, 40, True),
        Figure("stack", 8, 8),
        Figure("spills", 8, 8),
        Figure("instructions", 5, 4, True),
        Figure("loop", 0, 0),
        Figure("mma", 0, 0),
        Figure("memory", 3, 2, True),
        Figure("LDG.32", 2, 0),
        Figure("LDG.64", 0, 1),
    )
    assert code.our_sass.splitlines()[-5:] == [f"{each} R0, R1 ;" for each in "LDG.E LDG.E FADD STG.E EXIT".split()]
    assert "other" not in code.our_sass
    page.render(report)


def test_the_newest_record_of_each_compiler_is_asked(root):
    for day, code in ((1, " FADD"), (2, " FMUL EXIT")):
        put(root, "ours", day, "k", code)
        put(root, "nvidia", day, "k", code)
    ((_, _, code),) = collected(root).both_codes
    assert code.figures[3] == Figure("instructions", 2, 2)


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (
            "import json, sys\nfor line in sys.stdin: print(json.dumps({'missing': 'no ptxas\\nfix: uv sync'}))",
            "no ptxas\nfix: uv sync",
        ),
        ("raise SystemExit('the tool broke')", "the tool broke"),
    ],
)
def test_without_a_tool_the_command_gives_the_fix(root, monkeypatch, capsys, program, problem):
    monkeypatch.setattr(both_codes, "LISTING", (sys.executable, "-c", program))
    for compiler in ("ours", "nvidia"):
        put(root, compiler, 1, "k", " EXIT")
    assert [code.problem for _, _, code in collected(root).both_codes] == [problem]
    assert cli.main(["record", "report"]) == 0
    assert capsys.readouterr().err == f"no SASS of both compilers: {problem}\n"
    assert cli.main(["record", "report", "--no-sass"]) == 0
    assert capsys.readouterr().err == ""
