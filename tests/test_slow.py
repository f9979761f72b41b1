"""Slow tests run only with --slow or in a named file; files of a group run in one process."""

from pathlib import Path

import pytest

from tests import slow

CONFTEST = "from tests.slow import pytest_addoption, pytest_collection_modifyitems, pytest_configure"
TESTS = """
import pytest
from tests.slow import rest_slow

@pytest.mark.slow
@pytest.mark.parametrize("n", range(40))
def test_long(n):
    pass

@pytest.mark.parametrize("n", rest_slow(range(20), 2))
def test_some(n):
    pass

@pytest.mark.parametrize("n", range(100))
def test_short(n):
    pass
"""


@pytest.fixture
def ran(pytester):
    """`ran(*arguments)`: how many sets of parameters of each test ran."""
    pytester.makeconftest(CONFTEST)
    (pytester.mkdir("tests") / "test_one.py").write_text(TESTS)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = '-p no:cacheprovider'\n")

    def ran(*arguments: str) -> dict[str, int]:
        done = pytester.runpytest_inprocess("-v", *arguments)
        assert done.ret == 0
        names = [line.partition("::")[2].partition("[")[0] for line in done.outlines if "PASSED" in line]
        return {name: names.count(name) for name in names}

    return ran


def test_every_unmarked_test_runs_with_every_row(ran):
    assert ran() == {"test_some": 2, "test_short": 100}
    assert ran("tests") == {"test_some": 2, "test_short": 100}


@pytest.mark.parametrize("arguments", [["--slow"], ["tests/test_one.py"]])
def test_slow_tests_run_if_asked_for(ran, arguments):
    assert ran(*arguments) == {"test_long": 40, "test_some": 20, "test_short": 100}


def test_one_named_slow_test_runs(ran):
    assert ran("tests/test_one.py::test_long[7]") == {"test_long": 1}


def test_durations_are_written_by_file(pytester, monkeypatch):
    pytester.makeconftest(CONFTEST)
    folder = pytester.mkdir("tests")
    for name, seconds in {"quick": 0, "long": 1.0, "longest": 2.0}.items():
        (folder / f"test_{name}.py").write_text(f"import time\ndef test_it(): time.sleep({seconds})\n")
    monkeypatch.setattr(slow, "DURATIONS", folder / "durations.txt")
    monkeypatch.setattr(slow, "LEAST_S", 1)
    assert pytester.runpytest_inprocess("--write-durations", "tests").ret == 0
    assert slow.longest() == ["test_longest.py", "test_long.py"]


@pytest.mark.slow
def test_files_of_a_group_run_in_one_process(pytester):
    pytester.makeconftest(CONFTEST + ", pytest_xdist_make_scheduler")
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = '-p no:cacheprovider'\n")
    text = "def test_process(worker_id):\n    open('{}.txt', 'w').write(worker_id)\n"
    folder = pytester.mkdir("tests")
    for path in (*slow.GROUPS["sshd"], *(f"test_alone_{n}.py" for n in range(4))):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.format(Path(path).stem))
    assert pytester.runpytest_subprocess("-n2", "--dist", "loadfile", "--import-mode=importlib").ret == 0
    processes = {path.stem: path.read_text() for path in pytester.path.glob("*.txt")}
    assert len({processes[Path(file).stem] for file in slow.GROUPS["sshd"]}) == 1
    assert set(processes.values()) == {"gw0", "gw1"}


def test_files_of_the_tables_are_there():
    for file in (*slow.longest(), *(file for files in slow.GROUPS.values() for file in files)):
        assert (Path(slow.__file__).parent / file).is_file(), file
