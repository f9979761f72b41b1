"""Slow tests: a sample a day, each within a week, the same in every process; all of them where they are asked for."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from tests import slow

CONFTEST = (
    "from tests.slow import pytest_addoption, pytest_collection_modifyitems, pytest_configure, pytest_report_header"
)
TESTS = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("n", range(40))
def test_long(n):
    pass

def test_short():
    pass
"""


@pytest.fixture
def ran(pytester):
    """`ran(*arguments)`: the names of the slow tests that ran, and what pytest printed."""
    pytester.makeconftest(CONFTEST)
    (pytester.mkdir("tests") / "test_one.py").write_text(TESTS)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = '-p no:cacheprovider'\n")

    def ran(*arguments: str) -> tuple[set[str], str]:
        done = pytester.runpytest_inprocess("-v", *arguments)
        assert done.ret == 0
        names = [line.split()[0].partition("::")[2] for line in done.outlines if "PASSED" in line]
        assert names.count("test_short") == 1
        return {name for name in names if name != "test_short"}, done.stdout.str()

    return ran


def test_a_day_has_its_sample(ran):
    found, printed = ran("--slow-seed", "2026-11-22")
    assert (
        "\nslow tests: one in 28, or as marked; other tests: 8 sets of parameters or more; --slow-seed 2026-11-22; --slow runs all\n"
        in printed
    )
    assert 0 < len(found) < 9 and f"{40 - len(found)} deselected" in printed
    assert found == {
        f"test_long[{n}]"
        for n in range(40)
        if slow.is_of_the_day(f"tests/test_one.py::test_long[{n}]", date(2026, 11, 22))
    }
    other, _ = ran("--slow-seed", "2026-11-23")
    assert other and not other & found


def test_all_of_them_and_those_that_are_named(ran):
    everything = {f"test_long[{n}]" for n in range(40)}
    for arguments in (["--slow"], ["tests/test_one.py"]):
        found, printed = ran(*arguments)
        assert found == everything and "deselected" not in printed
    assert "\nslow tests: all\n" in ran("--slow")[1]


def test_each_runs_once_in_so_many_days():
    days = [date(2026, 12, 29) + timedelta(n) for n in range(slow.SHARE)]
    for name in map(str, range(100)):
        assert sum(slow.is_of_the_day(name, day) for day in days) == 1


def test_of_many_parameters_a_part_runs_and_each_within_days(pytester):
    pytester.makeconftest(CONFTEST)
    text = "import pytest\n@pytest.mark.parametrize('n', range({}))\ndef test_{}(n):\n    pass\n"
    (pytester.mkdir("tests") / "test_one.py").write_text(text.format(40, "many") + text.format(8, "few"))
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = '-p no:cacheprovider'\n")
    days = []
    for day in (22, 23, 24, 25, 26):
        done = pytester.runpytest_inprocess("-v", "--slow-seed", f"2026-11-{day}")
        names = [line.split()[0].partition("::")[2] for line in done.outlines if "PASSED" in line]
        assert sum(name.startswith("test_few") for name in names) == 8
        days.append({name for name in names if name.startswith("test_many")})
    assert set().union(*days) == {f"test_many[{n}]" for n in range(40)} and sum(map(len, days)) == 40


def test_a_mark_says_in_how_many_days(pytester):
    pytester.makeconftest(CONFTEST)
    text = (
        "import pytest\n@pytest.mark.slow(days=3)\n"
        "@pytest.mark.parametrize('n', [*range(9), pytest.param(9, marks=pytest.mark.slow(days=30))])\n"
        "def test_unique(n):\n    pass\n"
    )
    (pytester.mkdir("tests") / "test_one.py").write_text(text)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = '-p no:cacheprovider'\n")
    ran = []
    for day in (22, 23, 24):
        done = pytester.runpytest_inprocess("-v", "--slow-seed", f"2026-11-{day}")
        ran += [line.split()[0].partition("::")[2] for line in done.outlines if "PASSED" in line]
    assert sorted(ran) == [f"test_unique[{n}]" for n in range(9)]


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
    for file in (*slow.LONGEST, *(file for files in slow.GROUPS.values() for file in files)):
        assert (Path(slow.__file__).parent / file).is_file(), file
