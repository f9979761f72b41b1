"""python -m dsl -i and -m: functions typed at the prompt, and modules of packages, have source."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
START = "import cutlass.cute as cute\nfrom cutlass import Int32\n"
TOTAL = "@cute.jit\ndef total(n: Int32):\n    for i in range(n):\n        n += i\n    return n\n\n"
BAD = "@cute.jit\ndef bad(n: Int32):\n    x = 1\n    if n > 2:\n        x = 1.5\n    return x\n\n"


def dsl(*arguments: str, typed: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "dsl", *arguments],
        input=typed,
        text=True,
        cwd=cwd,
        capture_output=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_prompt():
    run = dsl("-i", typed=START + TOTAL + "total(4)\n" + BAD + "bad(3)\n1/0\nfor\ntotal(5)\nexit(3)\n")
    assert run.returncode == 3
    assert [line.lstrip("> .") for line in run.stdout.splitlines() if line.lstrip("> .")] == ["10", "15"]
    assert run.stderr.startswith("""\
<input 5>:5:9: TYPE_UNSTABLE_JOIN
    x = 1.5
    ^ `x` is Python float on one path and Python int on another
fix: give `x` one type on both paths
Traceback (most recent call last):
  File "<input 7>", line 1, in <module>
""")
    # CPython before 3.11.4 words it differently
    last = "SyntaxError: invalid syntax" if sys.version_info >= (3, 11, 4) else "SyntaxError: incomplete input"
    assert run.stderr.endswith(f"{last}\n")


@pytest.fixture
def package(tmp_path) -> Path:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helper.py").write_text("def pick(x):\n    return 10 if x > 2 else 20\n")
    (folder / "program.py").write_text(
        "import sys\n"
        + START
        + "from .helper import pick\n"
        + TOTAL.replace("+= i", "+= pick(i)")
        + "print(__name__, sys.argv[1:], total(4))\n"
    )
    (folder / "__main__.py").write_text("from . import program\n")
    return tmp_path


@pytest.mark.slow
def test_a_module_of_a_package(package):
    assert dsl("-m", "inner.program", "a", "--c", cwd=package).stdout == "__main__ ['a', '--c'] 74\n"
    assert dsl("-m", "inner", cwd=package).stdout == "inner.program [] 74\n"
    after = dsl("-m", "inner.program", "-i", typed="total(3)\n", cwd=package)
    assert after.stdout.splitlines()[1].lstrip("> ") == "63"


def test_the_error_of_a_file_of_a_package_shows_how_to_run_it(package):
    run = dsl("inner/program.py", cwd=package)
    assert run.returncode == 1 and run.stderr.endswith(
        "ImportError: attempted relative import with no known parent package\n"
        "fix: run it as a module of its package: python -m dsl -m PACKAGE.MODULE\n"
    )


@pytest.mark.parametrize(
    "arguments, says",
    [
        ((), "dsl: give a FILE, - for standard input, -m MODULE, or -i for a prompt (see --help)\n"),
        (("-m", "no.such"), "dsl: cannot read no.such: No module named 'no'\n"),
        (("-m", "math"), "dsl: cannot read math: there is no source of a module of this name\n"),
    ],
)
def test_nothing_to_run(arguments, says):
    run = dsl(*arguments)
    assert (run.returncode, run.stderr) == (2, says)
