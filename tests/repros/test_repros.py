"""Every file below repros/, by its text: one claim with its source, short, and able to run alone."""

import ast
import re
import sys
from pathlib import Path

from harness.claim import languages, repro_file

FOLDER = Path(__file__).parents[2] / "repros"
REPROS = sorted(FOLDER.rglob("*.py"))
KERNELS = [repro.kernels.path for path in REPROS if (repro := repro_file.read(path)).kernels]  # of Python files
OTHERS = [path for path in languages.files_below(FOLDER) if path.suffix != ".py" and path not in KERNELS]
MOST_LINES = 100
DISTRIBUTIONS = {
    "cutlass": "nvidia-cutlass-dsl",
    "torch": "torch",
    "numpy": "numpy",
    "cuda": "cuda-python",
    "quadrants": "quadrants",
    "tvm": "apache-tvm",
    "tvm_tirx": "apache-tvm-tirx",
    "triton": "triton",
    "numba": "numba-cuda",
    "tilelang": "tilelang",
}


def imported(text: str) -> set[str]:
    """The first names of every module a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or "").partition(".")[0])
    return found


def test_each_is_in_the_folder_of_its_subject_and_no_two_have_one_name():
    assert len(REPROS) >= 170
    every = [*REPROS, *OTHERS, *KERNELS]
    assert {path.parent.parent for path in every} == {FOLDER}
    assert len({path.stem for path in every}) == len(every)


def test_is_a_repro_with_a_claim_and_a_source():
    for path in REPROS:
        assert repro_file.is_repro(path.read_bytes()), path
        assert repro_file.read(path).claim.endswith("."), path
        assert re.search(r"(?m)(^|\s)Source: \S", ast.get_docstring(ast.parse(path.read_text()))), path


def test_is_a_repro_of_another_language_with_a_claim_and_a_source():
    assert {path.suffix for path in OTHERS} == {".cu", ".ptx"}
    for path in OTHERS:
        assert repro_file.is_repro(path.read_bytes()), path
        assert repro_file.read(path).claim.endswith("."), path
        assert re.search(r"(?m)^(//| \*) Source: \S", path.read_text()), path


def test_reads_on_two_screens():
    for path in [*REPROS, *OTHERS]:
        lines = path.read_text().splitlines()
        assert len(lines) <= MOST_LINES, path
        assert [number for number, line in enumerate(lines, 1) if len(line) > 120] == [], path


def test_imports_and_dependencies_agree():
    for path in REPROS:
        text = path.read_text()
        modules = imported(text) - sys.stdlib_module_names
        assert modules <= DISTRIBUTIONS.keys(), path
        needed = {DISTRIBUTIONS[name] for name in modules}
        needed |= {"cuda-core"} if "from cuda.core " in text else set()
        needed |= {"apache-tvm-ffi"} if "--enable-tvm-ffi" in text else set()
        dependencies = re.search(r"(?m)^# dependencies = \[(.*)\]$", text)[1]
        assert {re.match(r"[\w-]+", name)[0] for name in re.findall(r'"(.*?)"', dependencies)} == needed, path


def test_the_main_block_prints_a_run():
    for path in REPROS:
        if repro_file.read(path).kernels:
            continue  # its run() needs their PTX
        last = ast.parse(path.read_text()).body[-1]
        assert ast.unparse(last).startswith("if __name__ == '__main__':\n    print(run("), path
