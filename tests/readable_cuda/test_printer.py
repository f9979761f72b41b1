"""Traced kernels as CUDA C++: the page's programs whole, and nvcc's PTX of the text in the place of ours.

Modules tested here: dsl/readable_cuda/author_names.py, dsl/readable_cuda/calls.py, dsl/readable_cuda/conditional.py,
dsl/readable_cuda/control_flow.py, dsl/readable_cuda/expressions.py, dsl/readable_cuda/kernel_body.py,
dsl/readable_cuda/matrices.py, dsl/readable_cuda/memory.py, dsl/readable_cuda/parallel_copies.py,
dsl/readable_cuda/ranges.py, dsl/readable_cuda/variables.py, dsl/readable_cuda/vectors.py.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dsl.readable_cuda.printer import Unsupported, to_cuda
from tests.readable_cuda import readable_page

FOLDER = Path(__file__).parent

REPROS = [
    "control_flow/for_else_is_skipped_by_break",
    "objects/containers_are_carried_by_element",
    "cp_async/zfill_mixed_tile",
]


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=FOLDER.parents[1], capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def texts() -> list[str]:
    done = run("-W", "ignore", "-m", "dsl", FOLDER / "readable_page.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("place", range(len(readable_page.pairs())))
def test_a_program_of_the_page_becomes_what_is_shown(place, texts):
    assert texts[place].strip() == readable_page.pairs()[place][1].strip()


@pytest.mark.slow
def test_the_text_compiled_by_nvcc_leaves_the_same_arrays(needs):
    needs("nvcc", "nvidia-cuda-toolkit")
    paths = [
        FOLDER / "readable_page.py",
        FOLDER.parent / "lower" / "elementary_program.py",
        *(FOLDER.parents[1] / "repros" / f"{name}.py" for name in REPROS),
    ]
    done = run(FOLDER / "nvcc_runs.py", *paths)
    said = json.loads(done.stdout.splitlines()[-1])["said"]
    assert said == {path.stem: "same" for path in paths}, done.stdout + done.stderr


@pytest.mark.slow
def test_generated_programs_agree_under_nvcc(needs):
    needs("nvcc", "nvidia-cuda-toolkit")
    done = run(FOLDER / "nvcc_runs.py", "--fuzz", 12, "--seed", 5, "--batch", 12)
    numbers = json.loads(done.stdout.splitlines()[-1])["numbers"]
    assert numbers["same"] >= 8 and numbers["same"] == sum(numbers.values()), done.stdout + done.stderr


def kernel(body: str, arguments: str = "%a: !llvm.ptr<1>, %n: i32") -> str:
    return to_cuda(
        f'llvm.func @k({arguments}) attributes {{dsl.names = "a,n", nvvm.kernel}} {{\n{body}\nllvm.return\n}}'
    )


def test_an_operation_without_a_spelling_is_refused_by_name():
    with pytest.raises(
        Unsupported, match="^--show cuda does not print llvm.intr.ctlz|--show cuda does not print ctlz.i32 yet$"
    ):
        kernel(
            '%0 = llvm.call_intrinsic "llvm.ctlz.i32"(%n, %t) : (i32, i1) -> i32\nllvm.store %0, %a : i32, '
            "!llvm.ptr<1>".replace("%0 = ", "%t = arith.constant true\n%0 = ", 1)
        )


def test_values_that_change_places():
    text = kernel("""
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%x = %zero, %y = %n) -> (i32, i32) : i32 {
      %z = arith.addi %x, %one : i32
      scf.yield %y, %z : i32, i32
    } {dsl.names = "x,y"}
    llvm.store %r#0, %a : i32, !llvm.ptr<1>
    %b = llvm.getelementptr %a[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %r#1, %b : i32, !llvm.ptr<1>""")
    assert text.splitlines()[3:-3] == [
        "  for (int i = 0; i < n; ++i) {",
        "    int next_x = y;",
        "    y = x + 1;",
        "    x = next_x;",
        "  }",
    ]


def test_atomics_are_cudas():
    text = kernel("""
    %old = llvm.atomicrmw umax %a, %n monotonic : !llvm.ptr<1>, i32
    %both = llvm.cmpxchg %a, %old, %n monotonic monotonic : !llvm.ptr<1>, i32
    %was = llvm.extractvalue %both[0] : !llvm.struct<(i32, i1)>
    llvm.store %was, %a {alignment = 4 : i64} : i32, !llvm.ptr<1>""")
    assert text.splitlines()[1:-1] == [
        "  int v = (int)atomicMax((unsigned*)a, (unsigned)n);",
        "  int v_1 = atomicCAS(a, v, n);",
        "  a[0] = v_1;",
    ]


def test_a_load_stays_before_a_store():
    text = kernel("""
    %old = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    llvm.store %n, %a {alignment = 4 : i64} : i32, !llvm.ptr<1>
    %b = llvm.getelementptr %a[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %old, %b {alignment = 4 : i64} : i32, !llvm.ptr<1>""")
    assert text.splitlines()[1:-1] == ["  int v = a[0];", "  a[0] = n;", "  a[1] = v;"]


def test_a_flag_of_the_author_stays_a_flag():
    """Only what early exits have become is turned back into a jump."""
    body = """
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %no = arith.constant false
    %r = scf.for %i = %zero to %n step %one iter_args(%flag = %no) -> (i1) : i32 {{
      %three = arith.constant 3 : i32
      %hit = arith.cmpi eq, %i, %three : i32
      %f = scf.if %hit -> (i1) {{
        %yes = arith.constant true
        scf.yield %yes : i1
      }} else {{
        scf.yield %flag : i1
      }} {{dsl.names = "{name}"}}
      scf.yield %f : i1
    }} {{dsl.names = "{name}"}}
    %w = arith.extui %r : i1 to i32
    llvm.store %w, %a : i32, !llvm.ptr<1>"""
    assert "found = true;" in kernel(body.format(name="found"))
