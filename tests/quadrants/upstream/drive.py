"""Run one file of Quadrants' own tests in this process; write what became of each case as JSON lines.

    python drive.py real|ours|gpu FILE RESULTS LIMIT_S [CASE ...]

`real` is the installed package with the repository's own conftest and tests.test_utils; `ours` is this compiler's
surface under the name quadrants, with stand_in.py for both; `gpu` is that with the cases of a CUDA GPU, on the
emulator. The cases named are not run. A row is written when a case
starts and when it ends, so that the one which ends the process is known; one that takes longer than LIMIT_S seconds
ends it with SIGALRM.
"""

import json
import os
import re
import signal
import sys
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


class Recorder:
    """Writes a row as each case starts and ends."""

    def __init__(self, results: str, limit_s: int, without: set[str]):
        self.results, self.limit_s, self.without = open(results, "a", buffering=1), limit_s, without

    def row(self, **values) -> None:
        print(json.dumps(values), file=self.results, flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            self.row(case="", outcome="failed", why=_why(report))

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if case_of(item.nodeid) not in self.without]

    def pytest_runtest_logstart(self, nodeid, location):
        self.row(case=case_of(nodeid), outcome="started")
        signal.alarm(self.limit_s)

    def pytest_runtest_logreport(self, report):
        if report.failed or report.skipped or report.when == "call":
            self.row(case=case_of(report.nodeid), outcome=report.outcome, why=_why(report))

    def pytest_runtest_logfinish(self, nodeid, location):
        signal.alarm(0)


def case_of(nodeid: str) -> str:
    """A case's name: its file, class and the architecture left out."""
    name = nodeid.partition("::")[2]
    return re.sub(r"\[\]$", "", re.sub(r"arch=\w+-?|-arch=\w+", "", name))


def _why(report) -> str:
    if report.passed:
        return ""
    if isinstance(report.longrepr, tuple):  # a skipped case: file, line, reason
        return str(report.longrepr[2])[:300]
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr)).strip().splitlines()
    lines = [line for line in lines if line.startswith("E ")] or lines  # of a file that cannot be imported
    return " | ".join(line.strip() for line in lines if line.strip())[:600]


def main() -> int:
    whose, file, results, limit_s, *without = sys.argv[1:]
    path = Path(file).resolve()
    folder = path.parents[2]
    sys.path.insert(0, str(folder))
    plugins: list = [Recorder(results, int(limit_s), set(without))]
    arguments = [
        str(path),
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:gpu-repro",
        "--rootdir",
        str(folder),
        "-c",
        str(folder / "tests/pytest.ini"),
        "--tb=short",
        "--color=no",
    ]
    if whose == "real":
        os.environ["QD_WANTED_ARCHS"] = "cpu"
    else:
        sys.path.insert(0, str(HERE.parents[2]))
        from dsl import alias

        alias.install("emulator")
        import quadrants

        import tests

        assert Path(quadrants.__file__).is_relative_to(HERE.parents[2] / "dsl"), quadrants.__file__
        sys.path.insert(0, str(HERE))
        import stand_in

        if whose == "gpu":
            stand_in.ARCH = quadrants.cuda
        sys.modules["tests.test_utils"] = tests.test_utils = stand_in
        plugins.append(stand_in)
        arguments += ["--noconftest", "-p", "no:xdist"]
    warnings.simplefilter("default")
    return pytest.main(arguments, plugins=plugins)


if __name__ == "__main__":
    sys.exit(main())
