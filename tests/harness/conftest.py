"""Repros for the harness's own tests: numpy alone, so that a supervisor starts in a tenth of a second."""

import getpass
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from harness import session, store
from harness.claim.repro_file import Repro, read
from harness.host.hosts import resolve
from harness.reporting import text_report  # noqa: F401  (pytester forgets what it imports)
from tests.harness.by_a_gpu import UUID

for _name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
    os.environ.pop(_name, None)  # a run of these tests on GitHub is not what they are about


def repro_text(body: str, table: str = "", claim: str = "It is so.") -> str:
    """A repro file with these lines in its [tool.repro] table."""
    lines = [f"# {line}".rstrip() for line in ["/// script", "[tool.repro]", *table.strip().splitlines(), "///"]]
    return "\n".join([*lines, f'"""{claim}"""', textwrap.dedent(body).strip(), ""])


def validate(path: Path) -> None:
    """Make a golden one that a GPU gave."""
    table = json.loads(path.read_text())
    gpu = {"device": "cuda", "gpu": "NVIDIA H100", "driver": "570.1", "uuid": UUID, "arch": "sm_90"}
    table["provenance"] |= gpu | {"answer_sha256": store.answer_sha256(path.read_bytes())}
    path.write_text(json.dumps(table | {"evidence": "hardware:NVIDIA H100", "validated": True}))


@pytest.fixture(scope="session", autouse=True)
def bytecode(pytestconfig):
    """Keep bytecode in pytest's cache if writing it is turned off: these tests start many interpreters."""
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
    """The embedded host with its own supervisor, which is gone afterwards."""
    host = resolve("embedded")
    transport = host.connect()
    yield host, transport
    transport.close()


@pytest.fixture(scope="session", name="uv")
def uv_program():
    """Runs uv: `uv("venv", path)`."""
    return uv


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


FAKE_DRIVER = """
#include <string.h>
int cuInit(unsigned f) { return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "NVIDIA H100", n); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; return 0; }
int cuDeviceGetUuid(char *u, int d) { for (int i = 0; i < 16; i++) u[i] = (char[]){0xc0, 0xff, 0xee, 0}[i % 4]; return 0; }
int cuDriverGetVersion(int *v) { *v = 13020; return 0; }
int nvmlInit_v2(void) { return 0; }
int nvmlSystemGetDriverVersion(char *s, int n) { strncpy(s, "580.65.06", n); return 0; }
int nvmlDeviceGetHandleByUUID(char *u, void **d) { return 3; }
"""


@pytest.fixture
def fake_driver(needs, tmp_path):
    """A folder for LD_LIBRARY_PATH with a stand-in for the CUDA driver, which knows one H100."""
    needs("cc", "gcc libc6-dev")
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "cuda.c").write_text(FAKE_DRIVER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", folder / "cuda.c"], check=True)
    (folder / "libnvidia-ml.so.1").symlink_to("libcuda.so.1")
    return folder


class Sshd:
    """A real sshd on loopback with throwaway keys, and an ssh_config whose aliases lead to it."""

    PROGRAM = "/usr/sbin/sshd"  # sshd insists on being started by its full path

    def __init__(self, folder: Path, home: Path | None = None, aliases: tuple[str, ...] = ("p1",)) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.keys: dict[str, Path] = {}
        for name in ("host", "user", "other"):
            self.key(name)
        self.authorize("user")
        lines = f"""
            Port {self.port}
            ListenAddress 127.0.0.1
            HostKey {self.keys["host"]}
            PidFile {folder}/pid
            AuthorizedKeysFile {folder}/authorized_keys
            UsePAM no
            StrictModes no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin prohibit-password
            MaxStartups 100:30:200
        """
        more = f"SetEnv HOME={home}\n" if home else ""
        (folder / "sshd_config").write_text(textwrap.dedent(lines) + more)
        self.known_hosts = folder / "known_hosts"
        self.know(self.known_hosts, "host")
        for name in aliases:
            self.alias(name)
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        subprocess.run([self.PROGRAM, "-f", folder / "sshd_config", "-E", folder / "log"], check=True)
        wait_until((folder / "pid").exists)

    def key(self, name: str) -> Path:
        path = self.keys[name] = self.folder / f"{name}_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
        return path

    def authorize(self, name: str, options: str = "") -> None:
        """Let a key log in, with options of authorized_keys."""
        line = f"{options} {self.keys[name].with_suffix('.pub').read_text()}".lstrip()
        path = self.folder / "authorized_keys"
        with open(path, "a") as file:
            file.write(line)
        path.chmod(0o644)

    def know(self, path: Path, key: str) -> Path:
        """A known_hosts file that gives the host this key."""
        kind, data = self.keys[key].with_suffix(".pub").read_text().split()[:2]
        path.write_text(f"[127.0.0.1]:{self.port} {kind} {data}\n")
        return path

    def alias(self, name: str, key: str = "user", **options: object) -> str:
        """Add a host to ssh_config."""
        defaults = {"HostName": "127.0.0.1", "Port": self.port, "User": getpass.getuser()}
        defaults |= {"IdentityFile": self.keys[key], "IdentitiesOnly": "yes", "UserKnownHostsFile": self.known_hosts}
        lines = [f"Host {name}", *(f"  {key} {value}" for key, value in (defaults | options).items()), ""]
        with open(self.folder / "ssh_config", "a") as file:
            file.write("\n".join(lines))
        return name

    def processes(self) -> list[str]:
        """Command lines of everything alive that came over this sshd, by their environment."""
        found = []
        for entry in os.listdir("/proc"):
            try:
                environ = Path(f"/proc/{entry}/environ").read_bytes() if entry.isdigit() else b""
                if re.search(rb"SSH_CONNECTION=\S+ \d+ 127\.0\.0\.1 %d\0" % self.port, environ):
                    found.append(Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found

    def agents(self) -> list[int]:
        """Process ids of agents."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                line = Path(f"/proc/{entry}/cmdline").read_bytes()
                environ = Path(f"/proc/{entry}/environ").read_bytes()
            except OSError:
                continue
            if b"GPU-REPRO" in line and b" %d\0" % self.port in environ and not line.startswith(b"sh\0"):
                found.append(int(entry))
        return found

    def connections(self) -> list[int]:
        """Process ids of the sshd of each connection; for an ordinary user it is two processes."""
        found = [int((self.folder / "pid").read_text())]
        for pid in found:  # which grows
            try:
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                found += [int(c) for c in children if Path(f"/proc/{c}/comm").read_text().startswith("sshd")]
            except OSError:
                continue
        return found[1:]

    def stop(self) -> None:
        for pid in [*self.connections(), int((self.folder / "pid").read_text())]:
            os.kill(pid, signal.SIGTERM)


def uv(*arguments: object) -> None:
    """Run the uv that runs these tests, or the one on PATH."""
    subprocess.run([os.environ.get("UV") or "uv", *map(str, arguments)], check=True)


def wait_until(condition, patience_s: float = 600.0) -> None:
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def sshd(needs):
    """The sshd of these tests."""
    needs(Sshd.PROGRAM, "openssh-server")
    folder = Path(tempfile.mkdtemp(prefix="gpu-repro-sshd-"))
    folder.chmod(0o755)
    daemon = Sshd(folder)
    yield daemon
    daemon.stop()
    shutil.rmtree(folder, ignore_errors=True)


GPUS = FAKE_DRIVER.replace("*n = 1;", "*n = GPUS;").replace(
    "u[i] = (char[]){0xc0, 0xff, 0xee, 0}[i % 4];", "u[i] = HOST; u[0] = 127; u[15] = d;"
)


class TwoHosts:
    """p1 and p2: two real sshds on two ports with two homes, each with GPUs of a stand-in for the driver's library.

    The hosts' settings are in the user's file below `config`; both aliases are in one ssh_config.
    """

    def __init__(self, folder: Path, gpus: int = 4) -> None:
        self.config, self.sshds = folder / "config", {}
        tables = []
        for number, name in enumerate(("p1", "p2"), 1):
            top = folder / name
            (top / "home").mkdir(parents=True)
            self.sshds[name] = Sshd(top, top / "home", (name,))
            source, library = top / "cuda.c", top / "libcuda.so.1"
            source.write_text(GPUS.replace("GPUS", str(gpus)).replace("HOST", str(number)))
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
            (top / "libnvidia-ml.so.1").symlink_to(library.name)
            # bytecode where the tests' own is, for these hosts start many interpreters
            env = {"LD_LIBRARY_PATH": str(top), "PYTHONPYCACHEPREFIX": sys.pycache_prefix or str(folder / "bytecode")}
            items = ", ".join(f'{key} = "{value}"' for key, value in env.items())
            tables.append(f'[{name}]\npython = "{sys.executable}"\nenv = {{ {items} }}\n')
        (self.config / "gpu-repro").mkdir(parents=True)
        (self.config / "gpu-repro/hosts.toml").write_text("\n".join(tables))
        self.ssh_config = folder / "ssh_config"
        self.ssh_config.write_text("".join((sshd.folder / "ssh_config").read_text() for sshd in self.sshds.values()))

    def environment(self) -> dict[str, str]:
        """Variables for a client of theirs."""
        return {"GPU_REPRO_SSH_CONFIG": str(self.ssh_config), "XDG_CONFIG_HOME": str(self.config)}

    def processes(self) -> list[str]:
        return [line for sshd in self.sshds.values() for line in sshd.processes()]

    def agents(self) -> dict[str, int]:
        """How many agents live on each."""
        return {name: len(sshd.agents()) for name, sshd in self.sshds.items()}

    def logins(self) -> dict[str, int]:
        """How many connections each has accepted so far."""
        return {n: (s.folder / "log").read_text().count("Accepted publickey") for n, s in self.sshds.items()}

    def stop(self) -> None:
        for sshd in self.sshds.values():
            sshd.stop()


@pytest.fixture(scope="session")
def two_hosts_running(needs, bytecode):
    needs(Sshd.PROGRAM, "openssh-server")
    folder = Path(tempfile.mkdtemp(prefix="gpu-repro-hosts-"))
    folder.chmod(0o755)
    hosts = TwoHosts(folder)
    yield hosts
    hosts.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def two_hosts(two_hosts_running, monkeypatch):
    """Two hosts with four GPUs each; afterwards nothing may be left running there."""
    for name, value in two_hosts_running.environment().items():
        monkeypatch.setenv(name, value)
    yield two_hosts_running
    wait_until(lambda: not two_hosts_running.processes())


@pytest.fixture
def on_host(sshd, tmp_path, monkeypatch):
    """A session on a host: `on_host("p1", python=...)`; afterwards nothing may be left running there."""
    monkeypatch.setenv("GPU_REPRO_SSH_CONFIG", str(sshd.folder / "ssh_config"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    sessions = []

    def on_host(alias: str = "p1", compiler: str = "ours", gpu_model: str | None = None, **settings: object) -> OnHost:
        chosen = {"python": sys.executable, "cache": sshd.folder / "cache"} | settings
        options = [f"{alias}.{key}={value}" for key, value in chosen.items() if value is not None]
        sessions.append(OnHost(tmp_path, alias, options, compiler, gpu_model))
        return sessions[-1]

    yield on_host
    for one in sessions:
        one.session.close()
    wait_until(lambda: not sshd.processes())


class OnHost:
    """A session whose only host is one over SSH."""

    def __init__(self, root: Path, alias: str, options: list[str], compiler: str, gpu_model: str | None) -> None:
        self.notes: list[str] = []
        note = self.notes.append
        self.session = session.Session(root, [alias], False, options, note, compiler, gpu_model=gpu_model)
        self.host = self.session.hosts()[0]

    def run(self, repro: Repro, fresh: bool = False):
        """The outcome of the repro's first case."""
        self.host, outcome = self.session.run(next(repro.cases()), self.host, None, fresh)
        return outcome
