"""Repros over a real sshd on loopback: the ways to a host, and what runs there."""

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import judge
from harness.claim import repro_file as repro
from harness.host.connection import connection, ssh
from harness.host.environment import releases
from harness.records import history
from harness.run import gpu_lock
from harness.run.transport import Progress
from tests.harness.by_a_gpu import UUID
from tests.harness.conftest import wait_until

REPROS = Path(__file__).parents[4] / "repros"

ARRAY = """
import numpy as np, os, sys
print("from the host")
def run():
    return {"out": np.array([1, 2], np.int16), "where": np.frombuffer(sys.prefix.encode(), np.uint8)}
"""
INFO = """
import numpy as np, os, sys
def run():
    print("|".join([sys.prefix, os.getcwd(), os.environ.get("COLOUR", ""), str(os.getuid())]))
    return {"out": np.zeros(1)}
"""
KERNEL = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
@cute.kernel
def kernel(out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    BODY
@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))
def run():
    out = torch.zeros(32, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}
"""


def test_outputs_and_what_was_printed(on_host, write):
    host = on_host()
    for fresh in (False, True, False):
        outcome = host.run(write(ARRAY), fresh)
        assert (outcome.kind, outcome.stdout) == ("outputs", "from the host\n"), outcome.text
        assert outcome.outputs["out"].values().tolist() == [1, 2]
    assert host.host.describe() == "p1 (emulator)" and not host.host.is_hardware


def test_one_connection_and_one_supervisor(on_host, write, sshd):
    host = on_host()
    body = "import numpy as np, os\ndef run(): return {'parent': np.array(os.getppid())}"
    parents = {host.run(write(body)).outputs["parent"].values().item() for _ in range(3)}
    assert len(parents) == 1 and len(sshd.agents()) == 1


def test_the_compiler_and_the_emulator_there(on_host, write, tmp_path):
    """The same outcome, kernels included, as here; and the record names the emulator and that host."""
    host, repro = on_host(), write(KERNEL.replace("BODY", "out[tid] = tid * 3"))
    outcome = host.run(repro)
    assert outcome.kind == "outputs", outcome.text
    assert outcome.outputs["out"].values().tolist() == [3 * lane for lane in range(32)]
    record = judge.judge(next(repro.cases()), host.host, outcome, tmp_path).record
    assert (record["host"], record["device"]["kind"]) == ("p1", "emulator")
    assert record["key"]["toolchain"].startswith("llvm=llvmlite")
    failing = host.run(write(KERNEL.replace("BODY", "out[tid] = nothing")))
    assert failing.kind == "rejected" and "repros/one.py:11:" in failing.text


@pytest.mark.slow
def test_the_emulator_there_computes_as_the_gpu_that_is_asked_for(on_host, write, tmp_path):
    host, repro = on_host(gpu_model="a100"), write(KERNEL.replace("BODY", "out[tid] = tid"))
    outcome = host.run(repro)
    record = judge.judge(next(repro.cases()), host.host, outcome, tmp_path).record
    assert outcome.device["gpu_model"] == record["device"]["gpu_model"] == "a100"
    assert host.host.describe() == "p1 (emulator as a100)" and record["key"]["platform"] == "emulator sm_90a a100"


def test_a_kernel_that_hangs(on_host, write):
    body = KERNEL.replace("BODY", "while out[tid] == 0:\n        out[tid] = 0")
    host = on_host()
    assert host.run(write(body, "timeout = 2")).kind == "timeout"
    assert host.run(write(ARRAY)).kind == "outputs"


def test_a_jump(on_host, write, sshd):
    """The jump's own key is enforced too, and ssh, which makes it, is gone afterwards."""
    assert on_host(sshd.alias("behind", ProxyJump="p1")).run(write(ARRAY)).kind == "outputs"
    sshd.alias("unknown-jump", UserKnownHostsFile="/dev/null")
    outcome = on_host(sshd.alias("behind2", ProxyJump="unknown-jump")).run(write(ARRAY))
    assert outcome.kind == "infra" and outcome.text.startswith(
        f"behind2 (127.0.0.1:{sshd.port}) cannot be reached: the way through `ssh` ended: "
    )
    assert "Host key verification failed." in outcome.text


def test_variables_of_the_settings(on_host, write):
    outcome = on_host(env="COLOUR=a; echo $(id) 'b\" c").run(write(INFO))
    assert outcome.stdout.split("|")[2] == "a; echo $(id) 'b\" c"


@pytest.mark.slow
def test_a_project_there_is_not_touched(on_host, write, sshd, uv):
    """`workdir`: our code and the project's packages, its own folder, and not one file changed in it."""
    project = sshd.folder / "kestrel"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "kestrel"\nversion = "1"\n')
    host = on_host(python=None, workdir=project, bootstrap="true")
    assert f"the project {project} has no environment, and we make none there\nfix: run `uv sync`" in (
        host.run(write(INFO)).text
    )
    assert not (project / ".venv").exists() and not (project / "uv.lock").exists()
    uv("venv", "--quiet", "--python", sys.executable, project / ".venv")
    uv("pip", "install", "--quiet", "--python", project / ".venv/bin/python", "numpy")
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    outcome = host.run(write(INFO))
    assert outcome.stdout.split("|")[:2] == [str(project / ".venv"), str(project)], outcome.text
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


INDEX = (
    "SSL_CERT_FILE SSL_CERT_DIR HTTPS_PROXY UV_INDEX_URL UV_DEFAULT_INDEX UV_INDEX UV_NATIVE_TLS UV_CACHE_DIR"
).split()


@pytest.mark.slow
def test_a_managed_environment_is_made_once(on_host, write, sshd, monkeypatch):
    """With what uv needs on this machine to reach its index, and uv itself where the host has none."""
    variables = {name: os.environ[name] for name in INDEX if name in os.environ}
    monkeypatch.setattr(connection.Settings, "variables", variables)
    repro, settings = write(INFO), {"python": None, "cache": sshd.folder / "managed", "bootstrap": "true"}
    host = on_host(**settings)
    outcome = host.run(repro)
    assert outcome.stdout.startswith(str(sshd.folder / "managed/envs/")), outcome.text
    assert any("making an environment with numpy" in note for note in host.notes)
    again = on_host(**settings)
    assert again.run(repro).stdout.split("|")[0] == outcome.stdout.split("|")[0]
    assert not [note for note in again.notes if not isinstance(note, Progress)]  # as that it takes long


PRINTS_FROM_A_KERNEL = """
import cutlass
import cutlass.cute as cute
import numpy as np
@cute.kernel
def kernel(n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    if tid == n:
        cute.printf("thread {} of the kernel", tid)
@cute.jit
def host(n: cutlass.Int32):
    kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))
def run():
    host(17)
    return {"out": np.zeros(1)}
"""


@pytest.mark.slow
def test_a_release_of_nvidias_compiler_runs_on_a_host(on_host, write, sshd, monkeypatch, needs):
    """The environment made there, on the emulator, has the package and only the needs that it takes."""
    needs("cc", "gcc libc6-dev")
    variables = {name: os.environ[name] for name in INDEX if name in os.environ}
    monkeypatch.setattr(connection.Settings, "variables", variables)
    few = [need for need in connection.own_wheel.needs() if not need.startswith("cuda-python")]
    monkeypatch.setattr(connection.own_wheel, "needs", lambda: few)
    release = releases._version("nvidia-cutlass-dsl") or "4.8.1"
    options = {"python": None, "cache": sshd.folder / "released", "bootstrap": "true", "device": "emulator"}
    host = on_host(compiler=f"nvidia=={release}", **options)
    outcome = host.run(write(PRINTS_FROM_A_KERNEL))
    assert outcome.kind == "outputs" and "thread 17 of the kernel" in outcome.stdout, outcome.text
    assert outcome.facts["compiler"] == {"name": "nvidia", "version": release} and host.host.device == "emulator"
    assert any(f"nvidia-cutlass-dsl=={release}" in note for note in host.notes)


OTHER_LANGUAGES = ["quadrants/quadrants_mod_follows_the_divisor", "tirx/tirx_mod_follows_the_divisor"]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER_LANGUAGES)
def test_other_languages_are_ours_on_a_host(on_host, sshd, monkeypatch, name):
    """The environment made there does not have the package of the language: the program imports ours."""
    variables = {name: os.environ[name] for name in INDEX if name in os.environ}
    monkeypatch.setattr(connection.Settings, "variables", variables)
    few = [need for need in connection.own_wheel.needs() if not need.startswith("cuda-python")]
    monkeypatch.setattr(connection.own_wheel, "needs", lambda: few)
    folder = sshd.folder / "languages"
    host = on_host(python=None, cache=folder, bootstrap="true", device="emulator")
    (case,) = repro.read(REPROS / f"{name}.py").cases()
    outcome = host.run(case.repro)
    assert outcome.kind == "outputs" and outcome.facts["compiler"]["name"] == "ours", outcome.text
    verdict = judge.judge(case, host.host, outcome, REPROS.parent)
    assert verdict.status == "pass", verdict.text
    (packages,) = folder.glob("envs/*/lib/python*/site-packages")
    assert not [path.name for name in ("quadrants", "tvm", "apache_tvm") for path in packages.glob(f"{name}*")]
    assert (packages / "llvmlite").is_dir()


@pytest.mark.parametrize("compiler", ["nvidia", "nvidia==4.8.1"])
def test_other_languages_are_not_run_by_nvidias_compiler_on_a_host(on_host, sshd, compiler):
    folder = sshd.folder / "nothing"
    host = on_host(python=None, cache=folder, device="emulator", compiler=compiler)
    outcome = host.run(repro.read(REPROS / f"{OTHER_LANGUAGES[0]}.py"))
    assert (outcome.kind, outcome.text) == ("skipped", "written in Quadrants: NVIDIA's compiler does not take it")
    assert not list(folder.glob("envs/*"))


@pytest.fixture(scope="module")
def ordinary(sshd, uv):
    """An ordinary user: name, cache, a Python they may run, and whether it has all that the compiler needs."""
    if os.getuid() != 0:
        pytest.skip("an ordinary user runs all these tests as themselves")
    name = "gpureprotest"
    subprocess.run(["userdel", "-rf", name], capture_output=True)
    made = subprocess.run(["useradd", "-m", "-p", "*", "-s", "/bin/sh", name], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"no user can be made here: {made.stderr.strip()}")
    folder = Path(tempfile.mkdtemp(prefix="gpu-repro-user-"))
    try:
        folder.chmod(0o755)
        (folder / "cache").mkdir()
        shutil.chown(folder / "cache", name)
        yield name, folder / "cache", *_python_for(name, folder, uv)
    finally:
        subprocess.run(["userdel", "-rf", name], capture_output=True)
        shutil.rmtree(folder)


def _python_for(user: str, folder: Path, uv: Callable[..., None]) -> tuple[Path, bool]:
    """A Python that the user may run: with this one's packages where they may read them, else with numpy alone."""

    def runs(python: object, code: str) -> bool:
        argv = ["runuser", "-u", user, "--", str(python), "-c", code]
        return subprocess.run(argv, capture_output=True, cwd="/").returncode == 0

    here = ".".join(map(str, sys.version_info[:2]))
    made = folder / "env/bin/python"
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        if not runs(python, "import sys; sys.exit(sys.version_info < (3, 11))"):
            continue
        uv("venv", "--quiet", "--python", python, folder / "env")
        packages = next((folder / "env/lib").iterdir()) / "site-packages"
        if packages.parent.name == f"python{here}":
            (packages / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
            if runs(made, "import torch_mlir, llvmlite, torch"):
                return made, True
            (packages / "outer.pth").unlink()
        uv("pip", "install", "--quiet", "--link-mode", "copy", "--python", made, "numpy")
        return made, False
    pytest.skip("an ordinary user may run no Python 3.11 here")


@pytest.mark.slow
def test_as_an_ordinary_user(on_host, write, sshd, ordinary):
    user, cache, python, compiles = ordinary
    host = on_host(sshd.alias("ordinary", User=user), python=python, cache=cache)
    outcome = host.run(write(INFO))
    assert outcome.stdout.strip().split("|")[3] == str(pwd.getpwnam(user).pw_uid), outcome.text
    crash = host.run(write("import os\ndef run():\n    os.system('setsid sleep 998 &'); os.abort()"))
    assert crash.detail == {"signal": "SIGABRT"}
    assert not [line for line in sshd.processes() if "sleep" in line]
    run_folders = list((cache / "runs").iterdir())
    assert [path.stat().st_mode & 0o777 for path in run_folders] == [0o700]
    if compiles:
        outcome = host.run(write(KERNEL.replace("BODY", "out[tid] = tid * 3")))
        assert outcome.kind == "outputs" and outcome.outputs["out"].values().tolist()[-1] == 93, outcome.text


def test_a_gpu_there(on_host, write, fake_driver, tmp_path):
    """By a stand-in for its driver: the device, its lock, and the record of a hardware run."""
    host = on_host(env=f"LD_LIBRARY_PATH={fake_driver}")
    repro = write(ARRAY, 'arch = "sm_90a"')
    lock = gpu_lock.take(UUID, print, lambda: None)

    def release_when_waited_for():
        wait_until(lambda: any("waiting" in note for note in host.notes))
        os.close(lock)

    threading.Thread(target=release_when_waited_for).start()
    outcome = host.run(repro)
    assert outcome.kind == "outputs", outcome.text
    assert f"p1: waiting for the GPU: process {os.getpid()} has it" in host.notes
    assert host.host.is_hardware and host.host.describe().startswith("p1 (NVIDIA H100, sm_90, driver ")
    verdict = judge.judge(next(repro.cases()), host.host, outcome, tmp_path, update=True)
    assert verdict.validated and verdict.record["device"]["name"] == "NVIDIA H100"
    assert history.folder(repro.path, host.host.is_hardware, tmp_path) == repro.path.parent / "records"
    assert host.run(write(ARRAY, 'arch = "sm_100"')).kind == "skipped"
    emulated = on_host(env=f"LD_LIBRARY_PATH={fake_driver}", device="emulator")
    assert emulated.run(repro).kind == "outputs" and not emulated.host.is_hardware


def test_doctor(on_host, sshd, capsys, tmp_path, monkeypatch, request):
    from harness.cli import main

    on_host()
    monkeypatch.chdir(tmp_path)
    settings = ["--set", f"cache={sshd.folder}/doctor", "--set", f"python={sys.executable}"]
    left = sshd.folder / "doctor/runs/20200101-000000-00000000"
    left.mkdir(parents=True)
    sleeper = subprocess.Popen(["sleep", "997"], env={"GPU_REPRO_RUN": left.name})
    request.addfinalizer(sleeper.kill)
    assert main(["doctor", "p1", *settings]) == 3
    said = capsys.readouterr().out
    assert "left over            1 runs and 1 processes\n" in said and "sleep 997" in said
    assert said.endswith("an earlier run left something\nfix: repro doctor p1 --fix\n")
    assert main(["doctor", "p1", "--fix", *settings]) == 0
    assert sleeper.wait(600) == -9 and not left.exists()
    capsys.readouterr()
    assert main(["doctor", "p1", *settings]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"p1: {pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{sshd.port}, connected in ")
    assert "  left over            nothing" in said and said[-1] == "ready"


def test_names_that_are_not_hosts(on_host, tmp_path, capsys):
    from harness.cli import main

    on_host()
    for name in ("p9", "-oProxyCommand=x", "a b", "p1;id"):
        assert main(["doctor", name] if not name.startswith("-") else ["doctor", "--", name]) == 2
        assert capsys.readouterr().err.startswith(f"unknown host {name!r}: the hosts are embedded, local, p1")
    assert ssh.lookup("someone@box.example").is_configured
    assert not ssh.lookup("box").is_configured


def test_a_host_whose_alias_is_its_name(needs, tmp_path, monkeypatch):
    """`Host` without `HostName`: ssh takes the alias for the machine's name."""
    needs("ssh", "openssh-client")
    (tmp_path / "config").write_text("Host box.example\n  User someone\n")
    monkeypatch.setenv("GPU_REPRO_SSH_CONFIG", str(tmp_path / "config"))
    known, other = ssh.lookup("box.example"), ssh.lookup("box2.example")
    assert (known.user, known.is_configured, other.is_configured) == ("someone", True, False)
