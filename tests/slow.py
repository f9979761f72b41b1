"""Which tests run, in what order, and which never at once: of those marked `slow` a sample that changes daily; what
takes longest first; files that wait for the same thing one after another.

`@pytest.mark.slow` is for what is long and seldom fails: it runs once in SHARE days. `@pytest.mark.slow(days=3)` is for
what takes a second or more, and is the one test of something: once in three days.

The hooks of a conftest.py, which imports them.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

SHARE = 28  # days in which a slow test runs once, where its mark has no `days`
# Of a test with more sets of parameters than this a part runs, which changes daily: each within MOST_DAYS.
ROWS, MOST_DAYS = 8, 14
# Files of which every set of parameters runs: what the pages promise.
WHOLE = ("test_docs.py",)
# Files that take longest, first: one of them at the end leaves the other process without work.
LONGEST = (
    "harness/host/test_connection.py",
    "emulator/check/test_race.py",
    "harness/capsules/test_capsule_file.py",
    "harness/test_plugin.py",
    "test_docs.py",
    "harness/host/test_ssh.py",
    "quadrants/oracle/test_record.py",
    "launch/nvidia/test_hook.py",
    "repros/test_nvidia.py",
    "launch/call/test_ffi_function.py",
    "harness/comparison/test_observed.py",
    "harness/test_store.py",
    "tile/test_mma.py",
    "fuzz/test_fuzz.py",
    "core/control_flow/test_mutable_state.py",
    "emulator/translate/test_region_code.py",
    "upstream/test_run.py",
    "test_own_programs.py",
    "harness/test_folders.py",
    "readable_cuda/test_printer.py",
    "tirx/test_nvcc.py",
    "tile/test_tma.py",
    "harness/run/test_supervisor.py",
    "core/syntax/test_early_exits.py",
    "harness/run/test_progress.py",
    "test_main.py",
    "harness/records/test_query.py",
    "tirx/oracle/test_upstream.py",
    "emulator/diagnosis/test_warp_positions.py",
    "fuzz/test_mutate.py",
    "tile/test_ssa.py",
    "core/number/test_operators.py",
)
# Files that one process runs: those that mostly wait, so that the others keep the cores busy, and those that measure or
# count what others of their group would change.
GROUPS = {
    "sshd": (
        "harness/host/test_connection.py",
        "harness/host/test_ssh.py",
        "harness/host/test_local_uv.py",
        "harness/host/test_login.py",
        "harness/host/test_offline.py",
        "harness/host/test_releases.py",
        "harness/fleet/test_slurm_slots.py",
    ),
    "browser": ("harness/reporting/test_page_browser.py", "test_notebook.py"),
    "GPU lock": ("harness/run/test_gpu_lock.py", "harness/run/test_progress.py", "harness/test_plugin.py"),
}
_GROUP_OF = {f"{Path(__file__).parent.name}/{file}": name for name, files in GROUPS.items() for file in files}


def daily(values: Iterable, count: int) -> list:
    """Parameters of a test: the first `count` run every day, the others are slow."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*row, marks=[pytest.mark.slow] if place >= count else []) for place, row in enumerate(rows)]


def pytest_addoption(parser):
    group = parser.getgroup("slow tests")
    group.addoption("--slow", action="store_true", help="run every test that is marked `slow`, not only today's sample")
    group.addoption(
        "--slow-seed",
        metavar="DATE",
        type=lambda text: date.fromisoformat(text).isoformat(),
        default=datetime.now(UTC).date().isoformat(),
        help="run the sample of this day, as 2026-11-22; default: today, in UTC",
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "slow(days=28): long, and seldom the one that fails; each runs once in so many days"
    )
    config.option.loadscopereorder = False  # xdist would put files with many tests first


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With --dist loadfile: a file, or the files of a group, at a time."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Groups(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return _GROUP_OF.get(file, file)

    return Groups(config, log)


def pytest_report_header(config) -> str:
    if config.option.slow:
        return "slow tests: all"
    seed = f"--slow-seed {config.option.slow_seed}; --slow runs all"
    return f"slow tests: one in {SHARE}, or as marked; other tests: {ROWS} sets of parameters or more; {seed}"


def pytest_collection_modifyitems(config, items):
    """Put the files that take longest first, and leave out slow tests that are not of the day's sample.

    A file or a test that is named on the command line runs in full.
    """
    order = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
    if config.option.slow:
        return
    day = date.fromisoformat(config.option.slow_seed)
    named = named_files(config)
    rows = Counter(function_of(item) for item in items if not item.get_closest_marker("slow"))
    chosen, left_out = [], []
    for item in items:
        days = days_of(item, rows[function_of(item)])
        runs = item.path in named or is_of_the_day(item.nodeid, day, days)
        (chosen if runs else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def function_of(item) -> str:
    """The id of a test without its parameters."""
    return item.nodeid.partition("[")[0]


def days_of(item, rows: int) -> int:
    """In how many days a test, or a set of parameters of one that has so many, runs once."""
    if marks := list(item.iter_markers("slow")):  # of the test and of this set
        return max(mark.kwargs.get("days", SHARE) for mark in marks)
    return 1 if item.path.name in WHOLE else min(-(-rows // ROWS), MOST_DAYS)


def named_files(config) -> set[Path]:
    """The files that the command line names."""
    paths = {Path(argument.partition("::")[0]).absolute() for argument in config.args}
    return {path for path in paths if path.is_file()}


def takes(config, text: str) -> bool:
    """Whether a check that is made of very many texts is made of this one: of a sample, unless files were named."""
    day = date.fromisoformat(config.option.slow_seed)
    return config.option.slow or bool(named_files(config)) or is_of_the_day(text, day)


def is_of_the_day(test: str, day: date, days: int = SHARE) -> bool:
    return (zlib.crc32(test.encode()) + day.toordinal()) % days == 0
