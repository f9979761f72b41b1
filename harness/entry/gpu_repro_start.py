"""The door of the command and of the pytest plugin: a top module, whose name no other package has.

Our import packages are called `dsl` and `harness`, and a repository may have packages of these names. Then the plugin
stays off and prints why, so that the tests there run as they do without it. The command ends with a sentence.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_NAMES = {"harness": "plugin.py", "dsl": "native_library.py"}  # a package of ours, and a file that another has not
_FIX = "fix: install the command apart from it, by `uv tool install`, or rename that package"


def foreign() -> str:
    """A sentence about a package of another project that has the name of one of ours, or ''."""
    places = _of_project()
    for name, mark in _NAMES.items():
        spec = importlib.util.find_spec(name)
        found = list((spec and spec.submodule_search_locations) or ())
        theirs = [f"{place}/{name}" for place in places if _is_package(f"{place}/{name}")]
        for folder in found + theirs:
            if not os.path.exists(f"{folder}/{mark}"):
                return f"{folder} has the name of the package `{name}` of gpu-repro"
    return ""


def _of_project() -> set[str]:
    """The folders whose packages the tests of this folder's project may import."""
    here = project = os.getcwd()
    while not os.path.exists(f"{project}/pyproject.toml"):
        if project == "/":
            return {here, f"{here}/src"}
        project = os.path.dirname(project)
    return {here, project, f"{project}/src"}


def _is_package(folder: str) -> bool:
    return os.path.isdir(folder) and any(name.endswith(".py") for name in os.listdir(folder))


class Off:
    """The plugin when it must be off: a line in pytest's header, and an error if an option of ours is given."""

    def __init__(self, why: str) -> None:
        self.why = f"{why}, so its plugin is off\n{_FIX}"

    def pytest_report_header(self) -> list[str]:
        """Tell why."""
        return f"gpu-repro: {self.why}".splitlines()

    def pytest_addoption(self) -> None:
        """Raises pytest.UsageError if the command line has an option of the plugin."""
        if any(word.startswith("--gpu-") for word in sys.argv[1:]):
            import pytest  # noqa: PLC0415

            raise pytest.UsageError(self.why)


def __getattr__(name: str):
    if name != "plugin":
        raise AttributeError(name)
    why = foreign()
    return Off(why) if why else importlib.import_module("harness.plugin")


def main() -> int:
    """The command `repro`; its exit status."""
    spec = importlib.util.find_spec("harness")
    folders = (spec and spec.submodule_search_locations) or ()
    if not any((Path(folder) / _NAMES["harness"]).exists() for folder in folders):
        where = next(iter(folders), "no folder")
        print(f"repro: `harness` is the package in {where}, not the one of gpu-repro\n{_FIX}", file=sys.stderr)
        return 3
    return _command()()


def _command() -> Callable[[], int]:
    """`repro` as a function. Ctrl-C while its modules load ends the process without a traceback."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return importlib.import_module("harness.cli").main
    finally:
        signal.signal(signal.SIGINT, usual)
