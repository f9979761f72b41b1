"""`repro reduce` as a person types it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.conftest import repro_text

FAILS = """
def run():
    unused = 1
    values = [1, 2]
    return {"x": values[5]}
"""


def command(folder, *arguments):
    line = [sys.executable, "-m", "harness.cli.main_command", *arguments]
    line[1:3] = ["-c", "import sys; from harness.cli.main_command import main; sys.exit(main())"]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "one.py").write_text(repro_text(FAILS, "params = { n = [1, 2] }").replace("run()", "run(n)"))
    (tmp_path / "x.ptx").write_text("// one\n.version 8.0\n// needle\n")
    return tmp_path


def test_a_repro(project):
    done = command(project, "reduce", "one.py", "-p", "n=1")
    assert done.returncode == 0, done.stderr
    text = (project / "one_reduced.py").read_text()
    assert "unused =" not in text and "values[" in text
    assert done.stderr.startswith("kept: IndexError (list index out of range) at values[]\n")
    last = done.stdout.splitlines()
    assert last[-2:] == ["wrote one_reduced.py", "next: repro run one_reduced.py -p n=1"]
    assert not list((project / ".repro/reductions").iterdir())


def test_one_of_several_cases_must_be_chosen(project):
    done = command(project, "reduce", "one.py")
    assert (done.returncode, done.stderr) == (
        2,
        "one.py has 2 cases:\n    n=1\n    n=2\nfix: choose one by -p NAME=VALUE\n",
    )


def test_the_program_itself_is_not_overwritten(project):
    done = command(project, "reduce", "one.py", "-p", "n=1", "-o", "one.py")
    assert (done.returncode, done.stderr) == (2, "-o one.py is the program itself\nfix: name another file\n")


def test_a_time_of_zero_is_refused(project):
    done = command(project, "reduce", "one.py", "--minutes", "0")
    said = done.stderr.splitlines()[-1]
    assert (done.returncode, said) == (
        2,
        "repro reduce: error: argument --minutes: must be a number of minutes above 0, got 0",
    )


def test_ptx_by_a_command(project):
    done = command(project, "reduce", "x.ptx", "--keep", "command: grep -q needle {}")
    assert done.returncode == 0, done.stderr
    assert "needle" in (project / "x_reduced.ptx").read_text()


SCRIPT = """
import sys
unused = [1, 2]
count = int(sys.argv[1])
if count > 1:
    values = [1, 2]
    print(values[0])
    print(values[count])
print("done")
"""


def test_a_script_with_arguments(project):
    (project / "script.py").write_text(SCRIPT)
    done = command(project, "reduce", "script.py", "5")
    assert done.returncode == 0, done.stderr
    text = (project / "script_reduced.py").read_text()
    assert "unused" not in text and "done" not in text and "values[" in text
    again = command(project, "run", "script_reduced.py", "5")
    assert again.returncode == 1 and "IndexError: list index out of range" in again.stderr


def test_a_script_that_ends_by_itself(project):
    (project / "script.py").write_text("import sys\nprint('values differ')\nspare = 1\nsys.exit(3)\n")
    done = command(project, "reduce", "script.py")
    assert done.returncode == 0 and "kept: exit status 3 (values differ)" in done.stderr
    (project / "good.py").write_text("print('fine')\n")
    done = command(project, "reduce", "good.py")
    assert done.returncode == 2 and "it does nothing wrong: it ends with exit status 0" in done.stderr


def test_the_cause_is_kept_by_the_edit_that_cures_it(project):
    (project / "two.py").write_text("x = [1, 2]\ny = x[5]\nz = y + 1\nprint('text' if z else x)\n")
    done = command(project, "reduce", "two.py", "--cured-by", "x[5] => x[0]")
    assert done.returncode == 0, done.stderr
    text = (project / "two_reduced.py").read_text()
    assert "x[5]" in text and "y + 1" not in text
    exec(text.replace("x[5]", "x[0]"), {})
    bad = command(project, "reduce", "two.py", "--anew", "--cured-by", "x[5] => x[6]")
    assert bad.returncode == 2 and "the edit does not cure it" in bad.stderr


@pytest.mark.slow
def test_the_fewest_delays(project):
    page = (Path(__file__).parents[3] / "docs/perturb.md").read_text()
    text = re.search(r"^```python\n# file: repros/exchange.py\n(.*?)^```$", page, re.M | re.S)[1]
    (project / "exchange.py").write_text(text)
    done = command(project, "reduce", "exchange.py", "--delays", "seed 3")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("kept: another answer under delays\n")
    assert len((project / "exchange_reduced.delays").read_text().splitlines()) == 1
    last = "next: repro run exchange.py --check none --delays @exchange_reduced.delays"
    assert done.stdout.splitlines()[-1] == last
    assert command(project, *last.split()[2:]).returncode == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["one.py", "-p", "n=1", "--keep", "hang", "--delays", "seed 1"], "--keep does not go with it"),
        (
            ["one.py", "-p", "n=1", "--delays", "seed 1"],
            "under the delays of `seed 1` the program gives the same answer",
        ),
    ],
)
def test_delays_that_cannot_be_reduced(project, options, why):
    done = command(project, "reduce", *options)
    assert done.returncode == 2 and why in done.stderr
