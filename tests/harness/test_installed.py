"""The built wheel in somebody else's repository: their repros, goldens, records and settings, and nothing of ours."""

import json
import os
import shlex
import subprocess
import sysconfig
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from tests.harness.documents import result_of

ROOT = Path(__file__).parents[2]
NUMBERS = "import numpy as np\ndef run(n):\n    print('seen')\n    return {'out': np.arange(n, dtype=np.int32)}"
KERNEL = """
import os
import cutlass
import cutlass.cute as cute
import numpy as np
import torch

@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    out[lane] = cute.arch.shuffle_sync(lane * 10, n)

@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(32, 1, 1))

def run(dies):
    out = torch.zeros(32, dtype=torch.int32, device="cuda")
    host(out, 5)
    if dies:
        os.abort()
    return {"out": out}

def expected(dies):
    return {"out": np.full(32, 50, np.int32)}
"""
CONFTEST = "def pytest_addoption(parser):\n    parser.addoption('--theirs', action='store_true')\n"


class Theirs:
    """A repository with an environment in which the wheel is installed."""

    def __init__(self, root: Path, bin_folder: Path) -> None:
        self.root, self.bin = root, bin_folder

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def repro(self, name: str, body: str, table: str) -> None:
        lines = ["/// script", "[tool.repro]", table, "///"]
        self.write(f"claims/gpu/{name}.py", "\n".join([*(f"# {line}" for line in lines), '"""It is so."""', body, ""]))

    def run(self, program: str, *arguments: str, cwd: str = ".", **variables: str) -> tuple[int, str]:
        """Exit status and output."""
        known = {
            name: value
            for name, value in os.environ.items()
            if name not in ("CI", "PYTHONPATH", "UV_RUN_RECURSION_DEPTH", "VIRTUAL_ENV")
        }
        argv = [self.bin / program] if program == "repro" else [self.bin / "python", "-m", program]
        done = subprocess.run([*argv, *arguments], cwd=self.root / cwd, env=known | variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)  # fmt: skip
        return done.returncode, done.stdout

    def files(self) -> set[str]:
        """The files of the repository that git would see."""
        found = (path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())
        return {name for name in found if not name.startswith((".repro/", ".pytest_cache/")) and ".pyc" not in name}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory, uv):
    top = tmp_path_factory.mktemp("theirs")
    uv("build", "--quiet", "--wheel", "--out-dir", top / "dist", ROOT)
    (wheel,) = (top / "dist").glob("*.whl")
    uv("venv", "--quiet", "--no-project", "--python", Path(sysconfig.get_path("scripts"), "python"), top / "venv")
    python = top / "venv/bin/python"
    uv("pip", "install", "--quiet", "--no-deps", "--python", python, wheel, "pytest-json-report", "pytest-metadata")
    (site,) = top.glob("venv/lib/python*/site-packages")
    (site / "beside.pth").write_text(sysconfig.get_path("purelib"))  # what the wheel requires, without another copy
    found = Theirs(top / "kestrel", top / "venv/bin")
    found.write("pyproject.toml", '[project]\nname = "kestrel"\n[tool.repro.hosts.box]\nworkdir = "~/code"\n')
    found.repro("numbers", NUMBERS, "params = { n = [2, 3] }")
    found.repro("kernel", KERNEL, "params = { dies = [false, true] }")
    found.write("checks/conftest.py", CONFTEST)
    found.write("checks/test_theirs.py", "def test_theirs(pytestconfig):\n    assert pytestconfig.option.theirs\n")
    return found


@pytest.mark.slow
def test_a_repository_of_somebody_else(theirs):
    before = theirs.files()
    status, said = theirs.run("pytest", "claims", "--junitxml=.repro/j.xml", "--json-report",
                              "--json-report-file=.repro/j.json", "-p", "no:cacheprovider")  # fmt: skip
    assert status == 1 and "2 results wait for you" in said and "fail: crash: SIGABRT" in said, said
    assert "accept it with `repro golden accept claims/gpu/numbers.py::n=2`" in said
    assert theirs.files() == before and not (theirs.root / "claims/.repro").exists()

    tests = {one["nodeid"]: one for one in json.loads((theirs.root / ".repro/j.json").read_text())["tests"]}
    told = {
        k: v for row in tests["claims/gpu/kernel.py::embedded::dies=False"]["user_properties"] for k, v in row.items()
    }
    cases = {case.get("name"): case for case in xml.parse(theirs.root / ".repro/j.xml").iter("testcase")}
    junit = {one.get("name"): one.get("value") for one in cases["dies=False"].iter("property")}
    assert {k: str(v) for k, v in told.items()} == junit
    assert junit["platform"] == "emulator sm_90a" and len(junit["ptx_sha256.kernel_kernel_0"]) == 64
    assert {"digest", "bundle_sha256", "seed", "version.numpy", "duration.run_s", "toolchain"} <= junit.keys()

    status, said = theirs.run("repro", "record", "status", cwd="claims/gpu")
    assert status == 1 and "2 claims in 4 cells" in said and "1 failing, 3 unknown" in said, said
    table = result_of(theirs.run("repro", "record", "history", "kernel", "--json")[1])
    assert {(c["case"], c["arch"]) for c in table["cells"]} == {("dies=False", "sm_90"), ("dies=True", "sm_90")}
    status, said = theirs.run("repro", "golden", "review", "kernel")
    assert status == 1 and "out: int32 (32) 50 50 50" in said
    assert theirs.run("repro", "golden", "accept", "--all", CI="true")[0] == 2
    status, said = theirs.run("repro", "golden", "accept", "--all", cwd="claims")
    assert status == 0 and said.count("accepted gpu/goldens/") == 3
    goldens = {f"claims/gpu/goldens/{name}.json" for name in ("numbers/n=2", "numbers/n=3", "kernel/dies=False")}
    assert theirs.files() == before | goldens

    status, said = theirs.run("pytest", "-n2", "-q", "claims/gpu/numbers.py", "-p", "no:cacheprovider")
    assert status == 0 and "2 passed" in said, said
    status, said = theirs.run("repro", "record", "report", "-o", ".repro/report.html")
    page = (theirs.root / ".repro/report.html").read_text()
    assert status == 0 and "4 cases x 2 columns" in said and "<title>kestrel" in page.replace("\n", "")
    (theirs.root / "claims/gpu/goldens/numbers/n=4.json").write_text("{}")
    assert theirs.run("repro", "golden", "unused") == (1, "claims/gpu/goldens/numbers/n=4.json\n")
    assert theirs.run("repro", "golden", "unused", "--delete")[0] == 0


@pytest.mark.slow
def test_their_own_settings_are_read_and_their_own_tests_left_alone(theirs):
    status, said = theirs.run("pytest", "--gpu-host", "bax", "claims")
    assert status == 4 and "unknown host 'bax': the hosts are embedded, local, box" in said
    for options in ([], ["-p", "no:gpu-repro"]):
        status, said = theirs.run("pytest", "-q", "checks", "--theirs", "-p", "no:cacheprovider", *options)
        assert status == 0 and "1 passed" in said and "gpu-repro" not in said, said


@pytest.mark.slow
def test_the_wheel_holds_what_the_program_opens(theirs):
    status, said = theirs.run("repro", "new", "first", cwd="checks")
    assert status == 0 and "pass: predicted" in said, said
    code = "import harness, dsl; print(harness.__file__, dsl.__file__)"
    found = subprocess.run([theirs.bin / "python", "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert str(theirs.bin.parent) in found.stdout and str(ROOT) not in found.stdout


@pytest.mark.slow
def test_torch_is_an_extra(tmp_path, uv):
    """The wheel with what it requires: without torch a repro of numpy arrays passes, one that imports torch names the
    command that brings it; that command, run as it is printed, makes it pass."""
    uv("build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    uv("venv", "--quiet", "--no-project", "--python", Path(sysconfig.get_path("scripts"), "python"), tmp_path / "venv")
    uv("pip", "install", "--quiet", "--python", tmp_path / "venv/bin/python", wheel)
    mine = Theirs(tmp_path / "mine", tmp_path / "venv/bin")
    mine.write("pyproject.toml", '[project]\nname = "mine"\n')
    status, said = mine.run("repro", "new", "first")
    assert status == 0 and "with numpy arrays: torch is not installed here" in said and "pass: predicted" in said, said
    mine.repro("kernel", KERNEL, "params = { dies = [false] }")
    status, said = mine.run("repro", "run", "claims/gpu/kernel.py")
    assert status == 3 and "the module torch is not installed where the repro runs" in said, said
    (command,) = (line.removeprefix("fix: ") for line in said.splitlines() if line.startswith("fix: "))
    assert command == f"uv pip install --python {tmp_path / 'venv'} 'torch>=2.8'"
    uv(*shlex.split(command)[1:])
    status, said = mine.run("repro", "run", "claims/gpu/kernel.py")
    assert status == 0 and "pass: agrees with expected()" in said, said
