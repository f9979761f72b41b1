"""The command that runs Quadrants' own test files, tried on a small folder that has that repository's shape."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RUN = Path(__file__).with_name("run.py")
HEAD = """\
import pytest
import quadrants as qd
from tests import test_utils


"""
PASSES = (
    HEAD
    + """\
@pytest.mark.parametrize("n", [3, 5])
@test_utils.test()
def test_sum(n):
    @qd.kernel
    def k(m: qd.i32) -> qd.i32:
        s = 0
        for i in range(m):
            s += i
        return s
    assert k(n) == test_utils.approx(n * (n - 1) // 2)


@test_utils.test(arch=qd.gpu)
def test_on_a_gpu():
    assert False


@test_utils.test(exclude=[qd.cpu])
def test_on_others():
    assert False


def test_plain():
    assert test_utils.allclose(1.0, 1.0 + 1e-9) and not test_utils.allclose(1.0, 1.1)
"""
)
FAILS = (
    PASSES
    + """\


@test_utils.test(debug=True)
def test_that_fails():
    assert "dsl" not in qd.__name__
"""
)
CONFTEST = """\
import pytest
import quadrants as qd


@pytest.fixture(autouse=True)
def wanted_arch(req_arch, req_options):
    if req_arch is not None:
        qd.init(arch=req_arch, **req_options)
    yield


def pytest_generate_tests(metafunc):
    if not getattr(metafunc.function, "__qd_test__", False):
        metafunc.parametrize("req_arch,req_options", [(None, None)], ids=["none"])
"""


@pytest.fixture
def clone(tmp_path):
    """A folder with a test file, and what the real package has passed."""

    def make(text: str, real: dict) -> tuple[Path, ...]:
        (tmp_path / "tests/python").mkdir(parents=True)
        for name in ("tests/__init__.py", "tests/python/__init__.py", "tests/test_utils.py"):
            (tmp_path / name).write_text("")
        (tmp_path / "tests/pytest.ini").write_text("[pytest]\n")
        (tmp_path / "tests/python/test_mine.py").write_text(text)
        (tmp_path / "real.json").write_text(json.dumps({"mine": real}))
        (tmp_path / "left_out.toml").write_text("")
        return tmp_path, tmp_path / "real.json", tmp_path / "left_out.toml"

    return make


def run(folder: Path, real: Path, left_out: Path, *more: object) -> subprocess.CompletedProcess:
    command = [sys.executable, RUN, folder, "mine", "--real", real, "--left-out", left_out, *more]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900)


REAL = {
    "test_sum[3]": ["passed", ""],
    "test_sum[5]": ["passed", ""],
    "test_on_a_gpu": ["skipped", ""],
    "test_on_others": ["skipped", ""],
    "test_plain[none]": ["passed", ""],
    "test_that_fails": ["passed", ""],
}


def test_failures_and_crashes_are_red_and_the_others_run(clone):
    text = FAILS.replace("def test_plain():", "def test_dies():\n    import os\n    os.abort()\n\n\ndef test_plain():")
    folder, *files = clone(text, REAL | {"test_dies[none]": ["passed", ""]})
    done = run(folder, *files, "--json", folder / "ours.json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[1].split() == ["test_mine", "5", "3", "60.0", "2"]
    assert "    test_dies[none]: crash: SIGABRT" in done.stdout and "    test_that_fails: failed: " in done.stdout
    ours = json.loads((folder / "ours.json").read_text())["mine"]
    assert {name: row[0] for name, row in ours.items()} == {name: row[0] for name, row in REAL.items()} | {
        "test_that_fails": "failed",
        "test_dies[none]": "crash",
    }


def test_listed_cases_must_fail(clone):
    folder, real, left_out = clone(FAILS.replace("for i in range(m)", "for i in range(m + 1)"), REAL)
    left_out.write_text('[test_mine]\ntest_that_fails = "it asks for the other package"\ntest_sum = "one too many"\n')
    listed = run(folder, real, left_out)
    assert listed.returncode == 0 and "25.0" in listed.stdout, listed.stdout
    left_out.write_text(left_out.read_text() + 'test_plain = "no reason any more"\n')
    stale = run(folder, real, left_out)
    assert stale.returncode == 1 and "test_plain is listed as left out, and passes" in stale.stdout


def test_a_file_that_cannot_be_imported_fails_with_every_case(clone):
    folder, *files = clone("import no_such_module\n", {"test_sum[3]": ["passed", ""]})
    done = run(folder, *files)
    assert done.returncode == 1 and "No module named 'no_such_module'" in done.stdout, done.stdout


def test_the_real_package_runs_with_the_folders_own_conftest(clone, needs_module):
    needs_module("quadrants", "quadrants")
    folder, real, left_out = clone(FAILS, {})
    stand_in = RUN.with_name("stand_in.py").read_text().partition("# ** as a plugin")[0]
    (folder / "tests/test_utils.py").write_text(stand_in)
    (folder / "tests/python/conftest.py").write_text(CONFTEST)
    real.unlink()
    done = run(folder, real, left_out, "--only-real")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(real.read_text())["mine"]
    assert {name: row[0] for name, row in found.items()} == {name: row[0] for name, row in REAL.items()}


@pytest.mark.parametrize(
    "arguments, says",
    [(("/",), "/ is not a clone of Quadrants"), (("FOLDER", "no_such"), "has no tests/python/test_no_such.py")],
)
def test_wrong_usage(arguments, says, clone):
    folder, *_ = clone("", {})
    command = [str(folder) if argument == "FOLDER" else argument for argument in arguments]
    done = subprocess.run([sys.executable, str(RUN), *command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and says in done.stderr
