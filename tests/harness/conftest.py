"""Repros for the harness's own tests: numpy alone, so that a supervisor starts in a tenth of a second."""

import os
import sys
import textwrap
from pathlib import Path

import pytest

from harness import codegen, golden, history, judge, report, session  # noqa: F401  (pytester forgets what it imports)
from harness.hosts import resolve
from harness.repro import Repro, read


def repro_text(body: str, table: str = "", claim: str = "It is so.") -> str:
    """A repro file with these lines in its [tool.repro] table."""
    lines = [f"# {line}".rstrip() for line in ["/// script", "[tool.repro]", *table.strip().splitlines(), "///"]]
    return "\n".join([*lines, f'"""{claim}"""', textwrap.dedent(body).strip(), ""])


@pytest.fixture(scope="session", autouse=True)
def bytecode(pytestconfig):
    """Where writing bytecode is turned off, keep it in pytest's cache: these tests start many interpreters."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode and hasattr(pytestconfig, "cache"):
            prefix = str(pytestconfig.cache.mkdir("bytecode"))
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", prefix)
            patch.setattr(sys, "dont_write_bytecode", False)
            patch.setattr(sys, "pycache_prefix", prefix)
        yield


@pytest.fixture
def write(tmp_path):
    """Write repros/NAME.py below the test's folder and read it as a repro."""

    def write(body: str, table: str = "", name: str = "one") -> Repro:
        path = tmp_path / "repros" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(repro_text(body, table))
        return read(path)

    return write


@pytest.fixture
def repros(pytester, monkeypatch):
    """A project with repros: `repros(name=(body, table))` writes them; never under CI's rules."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")

    def make(**files: str | tuple[str, str]) -> Path:
        folder = pytester.path / "repros"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            body, table = content if isinstance(content, tuple) else (content, "")
            (folder / f"{name}.py").write_text(repro_text(body, table))
        return folder

    return make


@pytest.fixture
def embedded():
    """The embedded host with a supervisor of its own, which is gone afterwards."""
    host = resolve("embedded")
    transport = host.connect()
    yield host, transport
    transport.close()


@pytest.fixture
def processes_with():
    """Command lines of living processes whose environment holds a mark."""
    return _processes_with


def _processes_with(mark: str) -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and mark.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found
