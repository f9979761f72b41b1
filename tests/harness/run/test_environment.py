"""Faults of the machine are never a verdict: a table of failures, in a fork, a new interpreter and over SSH."""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap

import pytest
from cuda import pathfinder

from harness import judge
from harness.claim.repro_file import read
from harness.host.hosts import resolve
from harness.run import environment

FAILURES = {  # name: (the repro's body, the first words of the message, a part of the fix)
    "a package": ("import no_such_package\ndef run(): ...", "the module no_such_package is not installed where the repro",
                  "name its package under `dependencies` in the block, or correct `import no_such_package`"),
    "a package, late": ("def run():\n    import no_such_package.deep", "the module no_such_package is not installed", "name its package"),
    "a package, by name": ("import importlib\ndef run(): importlib.import_module('no_such_package')",
                           "the module no_such_package is not installed", "name its package"),
    "killed": ("import os\ndef run(): os.kill(os.getpid(), 9)", "the repro's process was ended by SIGKILL, which came from",
               "run it again"),
    "terminated": ("import os, signal\ndef run():\n    os.kill(os.getpid(), signal.SIGTERM)",
                   "the repro's process was ended by SIGTERM", "run it again"),
    "no memory": ("def run(): return bytearray(1 << 60)", "there is too little memory: MemoryError", "run fewer cases"),
    "no address space": ("import resource\ndef run():\n    import numpy as np\n"
                         "    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n    np.ones(1 << 40)",
                         "there is too little memory: ", "run fewer cases"),
    "no files": ("import os, resource\ndef run():\n    resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))\n"
                 "    return [os.open('/dev/null', 0) for _ in range(50)]", "too many files are open: OSError", "ulimit -n"),
    "CPU time": ("import resource\ndef run():\n    resource.setrlimit(resource.RLIMIT_CPU, (1, 9))\n    while True: pass",
                 "the repro's process was ended by SIGXCPU", "run it again"),
    "a full disk": ("def run():\n    with open({small!r} + '/file', 'wb') as file:\n        file.write(b'x' * (1 << 22))",
                    "the disk is full: OSError: [Errno 28] No space left on device", "free some space"),
    "a read-only disk": ("def run(): open('/proc/self/new', 'w')" if os.getuid() else "def run(): open({fixed!r} + '/new', 'w')",
                         "the disk is read-only: OSError: [Errno 30]", "let this user write there"),
    "no temporary folder": ("import tempfile\ntempfile.tempdir = None\nimport os\n"
                            "def run():\n    tempfile._candidate_tempdir_list = lambda: ['/no/such']\n"
                            "    tempfile.mkdtemp()", "no temporary folder is writable", "TMPDIR"),
    "no driver": ("import ctypes\ndef run(): ctypes.CDLL('libcuda-no-such.so.1')",
                  "a library cannot be loaded: OSError: libcuda-no-such.so.1: cannot open shared object file", "install"),
    "torch's driver": ("def run(): raise_it()\n\nexec(compile(\"def raise_it(): raise RuntimeError('Found no NVIDIA driver "
                       "on your system.')\", 'torch/cuda.py', 'exec'))",
                       "the emulator does not answer this function: RuntimeError: Found no NVIDIA", "on a GPU"),
    "behind a library's": ("import os\nexec(compile('''def compile_it():\n  try: os.open({small!r} + '/file', "
                           "os.O_RDWR | os.O_CREAT); os.posix_fallocate(os.open({small!r} + '/f', 66), 0, 1 << 22)\n  "
                           "except OSError as e: raise RuntimeError('compile failed') from e''', 'lib.py', 'exec'))\n"
                           "def run(): compile_it()", "the disk is full: OSError: [Errno 28]", "free some space"),
    "Ctrl-C": ("import os, signal\ndef run():\n    os.kill(os.getpid(), signal.SIGINT)\n    while True: pass",
               "KeyboardInterrupt: \nthe repro's process was interrupted from outside", "run it again"),
}  # fmt: skip
EVERYWHERE = ("a package", "killed", "no memory", "a full disk", "no temporary folder", "no driver")
CLAIMS = {  # errors of the program itself, whatever their class
    "raises MNFE": "def run(): raise ModuleNotFoundError('no kernel module', name='no_such_package')",
    "raises OSError": "import errno\ndef run(): raise OSError(errno.ENOSPC, 'the ring buffer is full')",
    "raises MemoryError": "def run(): raise MemoryError('smem')",
    "raises again": "def run():\n    try: import no_such_package\n    except ImportError: raise RuntimeError('no') from None",
    "a submodule": "def run(): import numpy.no_such_module",
    "a missing name": "def run(): from numpy import no_such_name",
    "a missing file": "def run(): open('/no/such/file')",
    "exits": "import os\ndef run(): os._exit(3)",
    "segfaults": "import ctypes\ndef run(): ctypes.string_at(0)",
    "aborts": "import os\ndef run(): os.abort()",
}  # fmt: skip


@pytest.fixture
def disks(tmp_path):
    """A small disk and one that cannot be written."""
    paths = {"small": tmp_path / "small", "fixed": tmp_path / "fixed"}
    options = {"small": "size=64k", "fixed": "size=64k,ro"}
    for name, path in paths.items():
        path.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options[name], "tmpfs", path], capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    yield {name: str(path) for name, path in paths.items()}
    for path in paths.values():
        subprocess.run(["umount", "-l", path], check=True)


def body_of(text: str, disks: dict) -> str:
    for name, path in disks.items():
        text = text.replace(f"{{{name}!r}}", repr(path))
    return textwrap.dedent(text)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["fork", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fresh", "ssh"))])
def test_faults_of_the_machine_are_not_a_verdict(write, tmp_path, disks, on_host, place):
    """Each failure of the table is infra with what to do, and each error of the program itself stays an error of the program."""
    embedded = resolve("embedded")
    transport = None if place == "ssh" else embedded.connect()
    far = on_host("p1") if place == "ssh" else None

    def run(text: str):
        (case,) = write(body_of(text, disks), "timeout = 20").cases()
        if far:
            far.host, outcome = far.session.run(case, far.host, None, False)
            return far.host, case, outcome
        return embedded, case, judge.run(transport, case, embedded, fresh=place == "fresh")

    try:
        for name, (text, said, fix) in FAILURES.items():
            if place != "fork" and name not in EVERYWHERE:
                continue
            for path in (disks["small"],):
                subprocess.run(f"rm -f {path}/*", shell=True, check=True)
            host, case, outcome = run(text)
            assert outcome.kind == "infra" and outcome.text.startswith(said), (name, outcome.kind, outcome.text)
            assert fix in outcome.text and "Traceback" not in outcome.text, (name, outcome.text)
            verdict = judge.judge(case, host, outcome, tmp_path, update=True)
            assert (verdict.status, verdict.record["verdict"], verdict.pending) == ("infra", "infra", None), name
        for name, text in CLAIMS.items() if place == "fork" else ():
            kind = run(text)[2].kind
            assert kind == ("crash" if name in ("segfaults", "aborts") else "error"), (name, kind)
    finally:
        if transport:
            transport.close()


@pytest.mark.slow
def test_a_declared_package_is_one_command_away(tmp_path, embedded, monkeypatch):
    """For a declared package that is not installed: the command that has uv bring it for this run."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "one.py"
    needs = '["numpy", "nvidia-cutlass-dsl", "no-such-yaml>=2; python_version>\'3\'"]'
    head = f'# /// script\n# dependencies = {needs}\n# [tool.repro]\n# ///\n"""It is so."""\n'
    path.write_text(head + "import no_such_module\ndef run(): ...\n")
    (case,) = read(path).cases()
    host, transport = embedded
    for fresh in (False, True):
        assert judge.run(transport, case, host, fresh=fresh).text == (
            "the module no_such_module is not installed where the repro runs; of what its block declares this is not: "
            "no-such-yaml>=2; python_version>'3'\n"
            "fix: uv run --with 'no-such-yaml>=2; python_version>'\"'\"'3'\"'\"'' repro run one.py"
        )
    monkeypatch.setenv("GPU_REPRO_RUN", "1")  # as on a host over SSH
    host, transport = resolve("embedded"), resolve("embedded").connect()
    assert judge.run(transport, case, host).text.endswith(
        "\nfix: install it in the environment that the settings of this host name (`workdir` or `python`)"
    )
    transport.close()


def test_a_library_that_an_extra_brings(monkeypatch):
    """cuda.core finds NVRTC by cuda.pathfinder; its package comes by the extra of the requirement."""
    monkeypatch.setattr(environment, "install_command", lambda needs, program: f"bring {needs} for {program}")
    with pytest.raises(RuntimeError) as raised:
        pathfinder.load_nvidia_dynamic_lib("cutensor")  # no package here has it
    monkeypatch.chdir("/")
    for needs, fix in (
        (["cuda-core[cu13]", "numpy"], "bring ['cuda-core[cu13]'] for repro run one.py"),
        (["numpy"], "install what it belongs to, or mend that installation"),
    ):
        said = environment.trouble(raised.value, "/one.py", needs)
        assert re.match('a library cannot be (found|loaded): .*Failure finding "libcutensor', said)
        assert said.endswith(f"\nfix: {fix}")


def test_the_command_fits_the_installation(tmp_path, monkeypatch):
    """For each way to install this package, the command that brings a package into it."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(environment, "_own_source", lambda: "dist/ours.whl")
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    (tmp_path / ".venv").mkdir()

    def said() -> str:
        return environment.install_command(["torch", "einops>=1"], "repro run one.py")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert said() == f"uv pip install --python {sys.prefix} torch 'einops>=1'"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert said() == f"{sys.executable} -m pip install torch 'einops>=1'"
    (tmp_path / ".venv/pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.9\n")
    assert said() == f"{sys.executable} -m pip install torch 'einops>=1'"
    (tmp_path / "pyproject.toml").touch()
    assert said() == "uv run --with torch --with 'einops>=1' repro run one.py"
    assert (
        environment.install_command(["torch", "a[b]"], "repro new x", is_for_good=True) == "uv add --dev torch 'a[b]'"
    )
    (tmp_path / ".venv/uv-receipt.toml").touch()
    assert said() == "uv tool install --with torch --with 'einops>=1' dist/ours.whl"
    (tmp_path / ".venv/pipx_metadata.json").touch()
    assert said() == "pipx inject gpu-repro torch 'einops>=1'"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "archive-v0/x"))
    assert said() == "uvx --with torch --with 'einops>=1' --from dist/ours.whl repro run one.py"
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert said() == "uv run --with torch --with 'einops>=1' repro run one.py"


def test_a_command_is_shown_as_this_installation_types_it(tmp_path, monkeypatch):
    prefix = tmp_path / "v"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/repro").write_text("#!/bin/sh\n")
    (prefix / "bin/repro").chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(environment, "_own_source", lambda: "dist/ours.whl")
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)

    def said() -> str:
        return environment.as_typed("uv run repro run one.py")

    assert said() == "v/bin/repro run one.py"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert said() == f"{prefix}/bin/repro run one.py"
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    assert said() == "repro run one.py"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "archive-v0/x"))
    assert said() == "uvx --from dist/ours.whl repro run one.py"
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert said() == "uv run repro run one.py"


def test_torch_is_named_whether_or_not_it_is_declared(monkeypatch):
    """The package is called as its module is, so no block needs to tell."""
    monkeypatch.setattr(environment, "_is_there", lambda name: False)
    monkeypatch.setattr(environment, "_is_installed", lambda need: need == "numpy")
    monkeypatch.setattr(environment, "install_command", lambda needs, program: " ".join(needs))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    error = ModuleNotFoundError("No module named 'torch'", name="torch")
    for needs, wanted in (((), "torch"), (("numpy",), "torch"), (("torch>=2.8", "einops"), "torch>=2.8 einops")):
        text = environment.trouble(error, "one.py", needs)
        assert text.startswith("the module torch is not installed where the repro runs")
        assert text.endswith(f"\nfix: {wanted}"), text


def _device_error(name: str) -> Exception:
    error = type("DeviceError", (Exception,), {})("no")
    error.name = name
    return error


@pytest.mark.parametrize(
    "error, on_gpu, embedded",
    [
        (
            RuntimeError("Found no NVIDIA driver on your system."),
            "the CUDA driver is missing, or does not work: RuntimeError: Found no NVIDIA driver on your system.\n"
            "fix: look at the output of `nvidia-smi` there",
            "the emulator does not answer this function: RuntimeError: Found no NVIDIA driver on your system.\n"
            "fix: leave the function out, or run the repro on a GPU (--gpu-host NAME)",
        ),
        (
            _device_error("CUDA_ERROR_OUT_OF_MEMORY"),
            "the device cannot be used: DeviceError: no\nfix: look at the output of `nvidia-smi` there",
            "there is too little memory: DeviceError: no\n"
            "fix: ask for less memory: the emulator has the memory of this machine",
        ),
        (
            _device_error("CUDA_ERROR_NOT_INITIALIZED"),
            "the device cannot be used: DeviceError: no\nfix: look at the output of `nvidia-smi` there",
            "",  # the program did not call cuInit
        ),
        (ValueError("no"), "", ""),
    ],
)
def test_only_a_gpu_is_looked_at_with_its_tools(error, on_gpu, embedded):
    assert environment.trouble(error, "repro.py") == on_gpu
    assert environment.trouble(error, "repro.py", on_gpu=False) == embedded
