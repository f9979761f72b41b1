"""Which files may be repros, and the claim and the block of CUDA C++.

Modules tested here: harness/claim/cuda_headers.py.
"""

from pathlib import Path

import pytest

from harness.claim import cuda_headers, languages, script_file
from harness.claim.repro_file import ReproError, is_repro, read

BLOCK = "// /// script\n// [tool.repro]\n// TABLE\n// ///\n"
CODE = "int main() {}\n"


def cu(path: Path, table: str, rest: str) -> Path:
    file = path / "q.cu"
    file.write_text(BLOCK.replace("TABLE", table) + rest)
    return file


def complaint(file: Path) -> str:
    with pytest.raises(ReproError) as error:
        read(file)
    return str(error.value)


def test_a_cu_file_is_a_claim_about_what_it_prints(tmp_path):
    file = cu(tmp_path, 'nvcc = ["-std=c++20"]', f"/* It is so.  Source: a guide.\n*/\n// CHECK-PTX: bar.sync\n{CODE}")
    assert is_repro(file.read_bytes())
    repro = read(file)
    assert (repro.claim, repro.script.options, list(repro.compare)) == ("It is so.", ("-std=c++20",), ["stdout"])
    assert [(one.target, one.pattern, one.line) for one in repro.checks] == [("PTX", "bar.sync", 7)]


def test_the_claim_may_follow_check_lines(tmp_path):
    assert read(cu(tmp_path, "exit = 0", f"\n// CHECK-PTX: x\n// It is so.\n{CODE}")).claim == "It is so."


@pytest.mark.parametrize(
    "text",
    [
        "/* /// script\n * [tool.repro]\n * exit = 3\n * ///\n *\n * It is so.  Source: a guide.\n * CHECK-PTX: x\n */\n",
        "/*\n/// script\n[tool.repro]\nexit = 3\n///\nIt is so.\nCHECK-PTX: x */\n",
        "/**\n * A guide.\n *\n * /// script\n * [tool.repro]\n * exit = 3\n * /// */\n// It is so.\n/* CHECK-PTX: x */\n",
        "  /*\n    /// script\n    [tool.repro]\n    exit = 3\n    ///\n  */\n/*\n\n  It is so.\n\n  CHECK-PTX: x\n*/\n",
    ],
)
def test_the_block_may_be_in_a_comment_of_several_lines(tmp_path, text):
    file = tmp_path / "q.cu"
    file.write_text(text + CODE)
    assert is_repro(file.read_bytes())
    repro = read(file)
    assert (repro.claim, repro.script.printed.exit) == ("It is so.", 3)
    assert [one.pattern for one in repro.checks] == ["x"]


def test_a_wrong_key_is_shown_inside_a_comment_of_several_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "q.cu"
    file.write_text("/* /// script\n * [tool.repro]\n * nvcc = 3\n * ///\n * It is so.\n */\n")
    assert complaint(file).splitlines()[:3] == [
        "q.cu:3:4: BAD_NVCC",
        "    * nvcc = 3",
        "      ^^^^ is not a list of strings",
    ]
    file.write_text("/* /// script\n * [tool.repro]\n * exit =\n * ///\n * It is so.\n */\n")
    assert complaint(file).startswith("q.cu:3:")
    file.write_text("/* /// script\n * [tool.repro]\n * exit = 1\n * It is so.\n */\n")
    assert complaint(file).startswith("q.cu:1:1: UNCLOSED_BLOCK\n    /* /// script\n    ^^^")


def test_a_block_opens_only_in_a_comment(tmp_path):
    assert not is_repro(b"int x;\n/// script\n[tool.repro]\n///\n") and not is_repro(
        b"/* */\n/// script\n[tool.repro]\n///\n"
    )


@pytest.mark.parametrize("rest", [CODE, "", f"{CODE}// It is too late.\n"])
def test_a_file_without_a_claim_is_refused(tmp_path, monkeypatch, rest):
    monkeypatch.chdir(tmp_path)
    shown = complaint(cu(tmp_path, "exit = 0", rest))
    assert shown.startswith("q.cu:5:1: NO_CLAIM\n") and "first comment after the block" in shown


def test_a_wrong_key_is_shown_in_its_comment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = complaint(cu(tmp_path, "nvcc = 3", f"// It is so.\n{CODE}")).splitlines()
    assert lines == [
        "q.cu:3:4: BAD_NVCC",
        "    // nvcc = 3",
        "       ^^^^ is not a list of strings",
        'fix: write nvcc = ["-std=c++20"]',
    ]


def test_options_of_nvcc_are_refused_in_python(tmp_path):
    file = tmp_path / "q.py"
    file.write_text('# /// script\n# [tool.repro]\n# nvcc = ["-G"]\n# exit = 0\n# ///\n"""It is so."""\nprint(1)\n')
    assert "UNKNOWN_KEY" in complaint(file)


def test_a_cu_file_without_a_block_is_a_program(tmp_path):
    assert script_file.is_program(tmp_path / "a.cu", b"") and not script_file.is_program(
        tmp_path / "a.py", b"def run(): 0"
    )


def test_files_below_a_folder(tmp_path):
    for name in ("b.cu", "a.py", "c.ptx", "d.cuh", "goldens/x.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [file.name for file in languages.files_below(tmp_path)] == ["a.py", "b.cu", "c.ptx"]


def test_goldens_of_a_python_and_a_cuda_file_have_two_folders():
    assert [languages.without_suffix(name) for name in ("x.py", "x.cu", "x.ptx")] == ["x", "x.cu", "x.ptx"]


def test_quoted_headers_below_the_folder_are_found_once(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.cuh").write_text('#include "b.cuh"\n#include "in/a.cuh"\n')
    (tmp_path / "in" / "b.cuh").write_text("#include <cstdio>\n")
    file = tmp_path / "main.cu"
    found = cuda_headers.of(file, '#include "in/a.cuh"\n# include "../above.cuh"\n#include "none.cuh"\n')
    assert {name: Path(path).name for name, (path, _) in found.items()} == {"in/a.cuh": "a.cuh", "in/b.cuh": "b.cuh"}


def test_a_cuda_file_needs_a_host_compiler(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert languages.shortfall(Path("x.cu")).startswith("needs g++") and languages.shortfall(Path("x.py")) == ""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert languages.shortfall(Path("x.cu")) == ""


def test_triton_needs_the_headers_of_python(monkeypatch, tmp_path):
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert languages.shortfall(Path("x.py"), ["torch", "triton>=3.4"]).startswith("needs Python.h")
    assert languages.shortfall(Path("x.py"), ["torch", "tritonclient"]) == ""
    (tmp_path / "Python.h").touch()
    assert languages.shortfall(Path("x.py"), ["triton"]) == ""
