"""Selection and order of tests: those marked `slow` run only if asked for, the longest files run first, and files that
wait for the same resource run in one process.

`@pytest.mark.slow` is for tests that are long and seldom fail. They run with `--slow`, and when their file is named.

The hooks of a conftest.py, which imports them.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

# Seconds of each file of tests that takes long, the longest first: one of them at the end leaves the other processes
# without work. `pytest -n 3 --dist loadfile --write-durations` writes it.
DURATIONS = Path(__file__).with_name("durations.txt")
LEAST_S = 3
# Files that one process runs: those that mostly wait, so that the others keep the cores busy, and those that measure or
# count what others of their group would change.
GROUPS = {
    "sshd": (
        "harness/host/connection/test_connection.py",
        "harness/host/connection/test_ssh.py",
        "harness/host/environment/test_local_uv.py",
        "harness/host/test_login.py",
        "harness/host/environment/test_offline.py",
        "harness/host/environment/test_releases.py",
        "harness/fleet/test_slurm_slots.py",
    ),
    "browser": ("harness/reporting/test_page_browser.py", "test_notebook.py"),
    "GPU lock": ("harness/run/test_gpu_lock.py", "harness/run/test_progress.py", "harness/test_plugin.py"),
}
_GROUP_OF = {f"{Path(__file__).parent.name}/{file}": name for name, files in GROUPS.items() for file in files}


def rest_slow(values: Iterable, count: int) -> list:
    """Parameters of a test: all but the first `count` are slow."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*row, marks=[pytest.mark.slow] if place >= count else []) for place, row in enumerate(rows)]


def pytest_addoption(parser):
    group = parser.getgroup("slow tests")
    group.addoption("--slow", action="store_true", help="run the tests that are marked `slow` too")
    group.addoption(
        "--write-durations",
        action="store_true",
        help=f"write to tests/{DURATIONS.name} how long each file of tests took",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: long, and seldom fails; runs with --slow")
    config.option.loadscopereorder = False  # xdist would put files with many tests first
    if config.option.write_durations and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Durations())


class _Durations:
    """Adds up how long the tests of each file took, in whatever processes."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        own = f"{DURATIONS.parent.name}/"
        rows = [(round(s), file.removeprefix(own)) for file, s in self.seconds.most_common() if file.startswith(own)]
        DURATIONS.write_text("".join(f"{seconds:5} {file}\n" for seconds, file in rows if seconds >= LEAST_S))


def longest() -> list[str]:
    """The files of DURATIONS, below tests/."""
    return [line.split()[1] for line in DURATIONS.read_text().splitlines()] if DURATIONS.exists() else []


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


def pytest_collection_modifyitems(config, items):
    """Put the longest files first, and leave out slow tests unless `--slow` or their file is on the command line."""
    order = {Path(__file__).parent / name: place for place, name in enumerate(longest())}
    items.sort(key=lambda item: order.get(item.path, len(order)))
    if config.option.slow:
        return
    named = named_files(config)
    slow = [item for item in items if item.get_closest_marker("slow") and item.path not in named]
    if slow:
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]


def named_files(config) -> set[Path]:
    """The files that the command line names."""
    paths = {Path(argument.partition("::")[0]).absolute() for argument in config.args}
    return {path for path in paths if path.is_file()}


def takes(config, text: str, share: int = 28) -> bool:
    """Whether a check of very many texts includes this one: one in `share`, unless `--slow` or a file is given."""
    return config.option.slow or bool(named_files(config)) or zlib.crc32(text.encode()) % share == 0
