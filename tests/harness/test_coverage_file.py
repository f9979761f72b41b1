"""`repro run --coverage`: the lines and branches of device code are those that the package coverage finds when the same
file is run as plain Python, thread after thread.

Modules tested here: dsl/core/syntax/coverage.py, dsl/core/control_flow/covered.py.
"""

import ast
import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dsl.core.syntax import coverage
from harness.cli import main
from harness.coverage_file import CoverageFile, executed_steps
from harness.errors import UsageError
from tests.harness.conftest import repro_text

KERNELS = 4

CUTE = """
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

{kernels}

@cute.jit
def run(out: cute.Tensor, n: cutlass.Int32):
    {launches}

out = np.zeros((4, 12), dtype=np.int32)
run(from_dlpack(out), 3)
print(out.tolist())
"""
CUTE_KERNEL = """
@cute.kernel
def kernel_{number}(out: cute.Tensor, n: cutlass.Int32):
    i, _, _ = cute.arch.thread_idx()
    x = i + 0
{body}
    out[{number}, i] = x
"""
QUADRANTS = """
import numpy as np
import quadrants as qd

qd.init(arch=qd.cpu)
out = qd.field(qd.i32, (4, 12))

{kernels}

{launches}
print(out.to_numpy().tolist())
"""
QUADRANTS_KERNEL = """
@qd.kernel
def kernel_{number}(n: qd.i32):
    for i in range(12):
        x = i + 0
{body}
        out[{number}, i] = x
    if n > 100:
        out[0, 0] = 9
"""
TIRX = """
import numpy as np
import tvm
from tvm.script import tirx as T

out = np.zeros((4, 12), dtype=np.int32)

{kernels}

{launches}
print(out.tolist())
"""
TIRX_KERNEL = """
@T.prim_func
def kernel_{number}(A: T.Buffer((12,), "int32"), n: T.int32):
    T.device_entry()
    b = T.cta_id([1])
    i = T.thread_id([12])
    x: T.int32 = i
{body}
    A[i] = x
"""
LANGUAGES = {
    "cutlass": (CUTE, CUTE_KERNEL, "kernel_{0}(out, n).launch(grid=(1, 1, 1), block=(12, 1, 1))", "\n    ", 1),
    "quadrants": (QUADRANTS, QUADRANTS_KERNEL, "kernel_{0}(3)", "\n", 2),
    "tirx": (
        TIRX,
        TIRX_KERNEL,
        "a = tvm.runtime.tensor(out[{0}], tvm.cuda(0))\n"
        'tvm.compile(kernel_{0}, target=tvm.target.Target("cuda"))(a, 3)\n'
        "out[{0}] = a.numpy()",
        "\n",
        1,
    ),
}
# The three languages as plain Python: a kernel runs for one thread after the other.
PLAIN = {
    "cutlass": {
        "cutlass/__init__.py": "Int32 = int\n",
        "cutlass/cute/__init__.py": """
            Tensor = object
            def jit(f): return f
            class arch:
                thread = 0
                def thread_idx(): return arch.thread, 0, 0
            class kernel:
                def __init__(self, f): self.f = f
                def __call__(self, *a): self.a = a; return self
                def launch(self, grid, block):
                    for arch.thread in range(block[0]): self.f(*self.a)
            """,
        "cutlass/cute/runtime.py": "def from_dlpack(a): return a\n",
    },
    "quadrants": {
        "quadrants.py": """
            import numpy
            i32 = cpu = None
            def init(arch): pass
            def kernel(f): return f
            class field(numpy.ndarray):
                def __new__(cls, dtype, shape): return numpy.zeros(shape, dtype="int32").view(cls)
                def to_numpy(self): return numpy.asarray(self)
            """
    },
    "tirx": {
        "tvm/__init__.py": """
            def cuda(n): return n
            def compile(f, target):
                from tvm.script import tirx
                def run(*a):
                    for tirx.thread in range(12): f(*a)
                return run
            class target:
                def Target(name): return name
            class runtime:
                class tensor:
                    def __init__(self, a, device): self.a = a
                    def numpy(self): return self.a
                    def __setitem__(self, i, x): self.a[i] = x
            """,
        "tvm/script/__init__.py": "",
        "tvm/script/tirx.py": """
            int32 = int
            thread = 0
            def prim_func(f): return f
            def Buffer(shape, dtype): return object
            def device_entry(): pass
            def cta_id(extents): return 0
            def thread_id(extents): return thread
            """,
    },
}


class Statements:
    """Random statements over `x`, the thread `i` and the argument `n`, which is 3."""

    def __init__(self, seed: int, language: str) -> None:
        self.random, self.language, self.names = random.Random(seed), language, 0

    def fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def test(self) -> str:
        value = self.random.choice(["x", "i", "i", "n", "x + i"])
        operator = self.random.choice(["<", ">=", "=="])
        if self.random.random() < 0.6:
            return f"({value}) % {self.random.randint(2, 5)} {operator} {self.random.randint(0, 3)}"
        return f"{value} {operator} {self.random.randint(0, 14)}"

    def block(self, depth: int, loops: int) -> list[str]:
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, loops)]

    def statement(self, depth: int, loops: int) -> list[str]:
        kind = self.random.random()
        plain = [f"x = x + {self.random.randint(1, 3)}"]
        if depth == 0 or kind < 0.25:
            return plain
        if kind < 0.6:
            lines = [f"if {self.test()}:", *indented(self.block(depth - 1, loops))]
            if loops and self.random.random() < 0.4:
                return [*lines, f"    {self.random.choice(['break', 'continue'])}"]
            if self.random.random() < 0.3:
                lines += [f"elif {self.test()}:", *indented(self.block(depth - 1, loops))]
            if self.random.random() < 0.4:
                lines += ["else:", *indented(self.block(depth - 1, loops))]
            return lines
        if kind < 0.85:
            bound = self.random.choice(["n", "i % 3", "2", "x % 4"])
            return [f"for {self.fresh('k')} in range({bound}):", *indented(self.block(depth - 1, loops + 1))]
        counter = self.fresh("w")
        declared = f"{counter}: T.int32 = 0" if self.language == "tirx" else f"{counter} = 0"
        body = [f"{counter} = {counter} + 1", *self.block(depth - 1, loops + 1)]
        return [declared, f"while {counter} < {self.random.choice(['n', 'i % 4', '2'])}:", *indented(body)]


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def program(language: str, seed: int) -> str:
    whole, kernel, launch, between, depth = LANGUAGES[language]
    kernels, launches = [], []
    for number in range(KERNELS):
        lines = Statements(100 * seed + number, language).block(4, 0)
        kernels.append(kernel.format(number=number, body=textwrap.indent("\n".join(lines), "    " * depth)))
        launches += launch.format(number).split("\n")
    return whole.format(kernels="\n".join(kernels), launches=between.join(launches))


def report(folder: Path, data: str) -> dict:
    """The lines and branches of the program, by `coverage json`."""
    command = [sys.executable, "-m", "coverage", "json", "-q", "--data-file", data, "-o", "-"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)["files"]["program.py"]
    keys = "executed_lines", "missing_lines", "executed_branches", "missing_branches"
    return {key: found[key] for key in keys if key in found}


def repro_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = ["repro", "run", *arguments]
    root = str(Path(__file__).parents[2])
    variables = {**os.environ, "PYTHONPATH": root}
    variables.pop("CI", None)  # where it is set, a case without a golden fails
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=variables)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
@pytest.mark.parametrize("language", LANGUAGES)
def test_kernels_have_the_coverage_of_plain_python(language, seed, tmp_path):
    (tmp_path / "program.py").write_text(program(language, seed))
    ran = repro_run(tmp_path, "program.py", "--coverage", "device.coverage")
    assert ran.returncode == 0, ran.stderr
    for name, text in PLAIN[language].items():
        file = tmp_path / "plain" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    (tmp_path / "plain" / "program.py").write_text(program(language, seed))
    command = [sys.executable, "-m", "coverage", "run", "--branch", "--data-file=plain.coverage", "program.py"]
    plain = subprocess.run(command, cwd=tmp_path / "plain", capture_output=True, text=True, check=False)
    assert plain.returncode == 0, plain.stderr
    assert ran.stdout == plain.stdout
    device = report(tmp_path, "device.coverage")
    assert device == report(tmp_path / "plain", "plain.coverage")
    assert len(device["executed_branches"]) > 20
    assert len(device["missing_branches"]) > 2


SEVERAL = """
def f(x):
    match x:
        case 1:
            y = 1
        case 2 if x > 5:
            y = 2
        case _:
            y = 3
    with open(x) as a:
        y = 4
    while True:
        if y: break
    return (y +
            1)
"""


def test_steps_are_those_that_coverage_knows():
    ran = [3, 4, 6, 8, 9, 10, 11, 12, 13, 14]
    steps = executed_steps(SEVERAL, "f.py", {"ran": ran, "true": [8, 13], "false": [4, 6]})
    inside = {(3, 4), (4, 6), (6, 8), (8, 9), (9, 10), (10, 11), (12, 13)}
    assert inside <= steps
    assert not steps & {(4, 5), (6, 7), (2, 3)}
    assert (14, -2) in steps


@pytest.mark.parametrize(
    "arguments, told",
    [
        (
            ["one.py", "--compiler", "nvidia"],
            "--coverage follows code of this project's compiler, not of nvidia: leave out --compiler",
        ),
        (["one.py", "--host", "local"], "--coverage follows code on the emulator, not on local: leave out --host"),
        (["a.cu"], "--coverage follows functions in Python, not a.cu: leave it out"),
        (["one.py", "--coverage", "lost/c"], "--coverage lost/c must be a file in a folder that exists"),
    ],
)
def test_refusals(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").write_text(repro_text("def run(): ..."))
    (tmp_path / "a.cu").write_text("int main() {}\n")
    assert main(["run", "--coverage", "c", *arguments]) == 2
    assert capsys.readouterr().err.strip().endswith(told)


def test_the_package_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError) as error:
        CoverageFile(tmp_path / "c")
    assert str(error.value) == (
        "--coverage needs the package coverage, which is not installed\n"
        "fix: pip install coverage    (or uv add --dev coverage)"
    )


def test_a_program_without_device_code_writes_nothing(tmp_path):
    (tmp_path / "plain.py").write_text("print(1)\n")
    ran = repro_run(tmp_path, "plain.py", "--coverage", "c")
    assert (ran.returncode, ran.stdout) == (0, "1\n")
    assert ran.stderr.strip().endswith(
        "--coverage: no function of CuTe DSL, Quadrants or TIRx was compiled, so c is not written"
    )
    assert not (tmp_path / "c").exists()


def test_without_coverage_a_function_has_no_notes():
    tree = ast.parse("def f():\n    if x:\n        y = 1\n").body[0]
    assert isinstance(tree, ast.FunctionDef)
    assert coverage.current() is None
    assert ast.dump(coverage.with_notes(tree, "f.py")) == ast.dump(
        ast.parse("def f():\n    if x:\n        y = 1\n").body[0]
    )


def test_the_page_shows_the_report(tmp_path):
    page = (Path(__file__).parents[2] / "docs/coverage.md").read_text()
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros/clamp.py").write_text(page.partition("# file: repros/clamp.py\n")[2].partition("```")[0])
    assert repro_run(tmp_path, "repros/clamp.py", "--coverage", ".coverage").returncode == 0
    command = [sys.executable, "-m", "coverage", "report", "-m"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert shown in page


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_lines_of_kernels_agree_with_the_real_quadrants(seed, tmp_path):
    pytest.importorskip("quadrants")
    (tmp_path / "program.py").write_text(program("quadrants", seed))
    assert repro_run(tmp_path, "program.py", "--coverage", "ours").returncode == 0
    env = {**os.environ, "QD_KERNEL_COVERAGE": "1"}
    real = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert real.returncode == 0, real.stderr
    (data,) = tmp_path.glob("_qd_kcov.*")
    lines = report(tmp_path, data.name)["executed_lines"]
    text = (tmp_path / "program.py").read_text().splitlines()
    start = text.index("@qd.kernel")
    ours = [line for line in report(tmp_path, "ours")["executed_lines"] if line > start]
    assert [line for line in ours if not text[line - 1].startswith(("@", "def ", "kernel_", "print"))] == lines
    assert len(lines) > 20
