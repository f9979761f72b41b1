"""Failures on the way to a host and there: one clear message, no verdict, nothing left, the next run works.

Modules tested here: harness/host/connection/agent.py.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from harness.host import hosts
from harness.host.environment import own_wheel, remote_env
from harness.run import frames
from harness.run.transport import Progress
from harness.session import Session
from tests.harness.conftest import wait_until
from tests.harness.host.conftest import ARRAY, SLEEP, start
from tests.slow import rest_slow


def fingerprint(sshd, key: str) -> str:
    said = subprocess.run(["ssh-keygen", "-lf", sshd.keys[key]], capture_output=True, text=True, check=True).stdout
    return f"ssh-ed25519 {said.split()[1]}"


def test_an_unreachable_host(on_host, infra, sshd):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        sshd.alias("dead", Port=port)
        host = on_host("dead")
        text = (
            f"dead (127.0.0.1:{port}) cannot be reached: Connection refused\n"
            f"check: `ssh -F {sshd.folder}/ssh_config dead true`"
        )
        assert infra(host) == text and infra(host) == text


def test_a_host_that_never_speaks(on_host, infra, sshd, monkeypatch):
    """A server listens and sends nothing: the connection is given up, not tried again and again."""
    from harness.host.connection import ssh

    monkeypatch.setattr(ssh, "CONNECT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = on_host(sshd.alias("mute", Port=server.getsockname()[1]))
        why = "no SSH server greeted within 0.3 s: the machine hangs, or another program listens there"
        assert f"cannot be reached: {why}\n" in infra(host)
        assert accepted(server) >= 1
        infra(host)
        assert accepted(server) == 0


def accepted(server: socket.socket) -> int:
    """How many connections wait at `server`; they are closed."""
    server.setblocking(False)
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            count += 1
    return count


def test_a_refused_key(on_host, infra, sshd):
    text = infra(on_host(sshd.alias("locked", "other")))
    assert text.startswith(f"locked (127.0.0.1:{sshd.port}) refused to log in ")
    assert text.endswith(
        f"tried: {sshd.keys['other']}\nfix: make `ssh -F {sshd.folder}/ssh_config locked true` work without a question"
    )


def test_an_unknown_host_key(on_host, infra, sshd, works):
    known = sshd.folder / "known_none"
    known.write_text("")
    alias = sshd.alias("stranger", UserKnownHostsFile=known, StrictHostKeyChecking="no")
    assert infra(on_host(alias)) == (
        f"stranger (127.0.0.1:{sshd.port}) shows a host key that is not in known_hosts:\n"
        f"    {fingerprint(sshd, 'host')}\n"
        "fix: compare it with the host's own, then accept it by "
        f"`ssh -F {sshd.folder}/ssh_config stranger true`"
    )
    assert known.read_text() == ""
    sshd.know(known, "host")
    works(on_host(alias))


@pytest.mark.parametrize("how", ["one file", "hashed", "two files", "an alias"])
def test_a_changed_host_key(on_host, infra, sshd, how):
    """The fix names the files that ssh reads, and cures it."""
    known = sshd.know(sshd.folder / f"known_{how.split()[-1]}", "other")
    files, options = [known], {}
    if how.startswith("hashed"):
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
        options = {"UserKnownHostsFile": f"{sshd.folder}/nowhere {known}"}
    if how == "two files":
        files.append(sshd.know(sshd.folder / f"known_{sshd.port}", "other"))
        options = {"UserKnownHostsFile": f"{sshd.folder}/known_%p", "GlobalKnownHostsFile": known}
        files.reverse()
    if how == "an alias":
        known.write_text("the-box " + sshd.keys["other"].with_suffix(".pub").read_text())
        options = {"HostKeyAlias": "the-box"}
    alias = sshd.alias(
        f"changed-{how[-4:].strip()}", **{"UserKnownHostsFile": known, "StrictHostKeyChecking": "no", **options}
    )
    text = infra(on_host(alias))
    named = " and ".join(map(str, files))
    assert text.startswith(f"{alias} (127.0.0.1:{sshd.port}) shows a host key other than the one in {named}:")
    name = "the-box" if how == "an alias" else f"'[127.0.0.1]:{sshd.port}'"
    fixes = re.findall("`(ssh-keygen [^`]*)`", text)
    assert fingerprint(sshd, "host") in text and fixes == [f"ssh-keygen -R {name} -f {file}" for file in files]
    for fix in fixes:
        subprocess.run(fix, shell=True, check=True, capture_output=True)
    assert "shows a host key that is not in known_hosts" in infra(on_host(alias))


def test_a_revoked_host_key(on_host, infra, sshd):
    known = sshd.know(sshd.folder / "known_revoked", "host")
    with open(known, "a") as file:
        file.write("@revoked * " + sshd.keys["host"].with_suffix(".pub").read_text())
    text = f"the host key of revoked is revoked in known_hosts:\n    {fingerprint(sshd, 'host')}"
    assert infra(on_host(sshd.alias("revoked", UserKnownHostsFile=known))) == text


def test_known_hosts_as_ssh_reads_it(on_host, works, infra, sshd):
    """Hashed names, patterns, several keys, lines that mean nothing; and a key of another kind is not asked for."""
    key, other = (sshd.keys[name].with_suffix(".pub").read_text() for name in ("host", "other"))
    known = sshd.know(sshd.folder / "known_hashed", "host")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    assert known.read_text().startswith("|1|")
    works(on_host(sshd.alias("hashed", UserKnownHostsFile=known)))
    odd = sshd.folder / "known_odd"
    odd.write_text(f"# a comment\n\nnonsense\n@cert-authority *.example {other}[127.0.0.?]:* {other}[127.*]:* {key}")
    works(on_host(sshd.alias("pattern", UserKnownHostsFile=odd)))
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", sshd.folder / "rsa"], check=True)
    odd.write_text(f"[127.0.0.1]:{sshd.port} " + (sshd.folder / "rsa.pub").read_text())
    assert "cannot be reached: " in infra(on_host(sshd.alias("only-rsa", UserKnownHostsFile=odd)))


def test_a_host_key_under_an_alias(on_host, works, sshd):
    known = sshd.folder / "known_alias"
    known.write_text("the-box " + sshd.keys["host"].with_suffix(".pub").read_text())
    works(on_host(sshd.alias("named", UserKnownHostsFile=known, HostKeyAlias="the-box")))


NO_UV = "places: list = [", "places: list = [lambda: cached_uv(cache)] or ["


@pytest.mark.slow
def test_a_host_without_uv(on_host, infra, sshd, there, write, works):
    there("host.environment.remote_env", *NO_UV)
    cache = sshd.folder / "no-uv"
    assert infra(on_host(python=None, cache=cache)) == remote_env.NO_UV
    assert not (cache / "envs").exists()
    index = {"torch_index": "http://127.0.0.1:1/no", "env": "UV_HTTP_RETRIES=0"}
    host = on_host(python=None, cache=cache, bootstrap="true", **index)
    text = infra(host)
    assert (cache / "bin/uv").exists() and any("copying uv, " in note for note in host.notes)
    assert (
        text.startswith("p1 gets no packages itself, and they cannot be brought from here: ")
        and "127.0.0.1:1/no" in text
    )
    text = f"{sshd.folder} is not a project: it has no pyproject.toml"
    assert infra(on_host(python=None, cache=cache, workdir=sshd.folder)) == text
    works(on_host())


@pytest.fixture
def small_disk(sshd):
    """A folder on a disk of 256 KiB."""
    path = sshd.folder / "small"
    path.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k,mode=1777", "tmpfs", path], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_a_full_disk_there(on_host, infra, small_disk, works):
    text = infra(on_host(cache=small_disk))
    assert text.startswith("the disk there is full: ")
    assert list((small_disk / "packages").iterdir()) == []
    with open(small_disk / "fill", "wb") as file, pytest.raises(OSError):
        file.write(b"0" * (1 << 20))
    assert "the disk there is full" in infra(on_host(cache=small_disk / "deeper"))
    works(on_host())


def test_a_link_cut_in_the_middle(on_host, write, sshd, tmp_path, works):
    host, mark = on_host(), tmp_path / "mark"
    join = start(mark, host, write(SLEEP.format(mark=str(mark))))
    wait_until(lambda: len([line for line in sshd.processes() if line.startswith("sleep 99")]) == 2)
    for pid in sshd.connections():
        os.kill(pid, signal.SIGKILL)
    outcome = join()
    assert outcome.kind == "infra" and outcome.text.startswith("the connection was lost")
    wait_until(lambda: not sshd.processes())
    works(host)


CLIENT = """
import sys
from harness.host.connection import link as remote
remote.PING_S, remote.LEASE_S = 0.2, 3.0
from harness.cli import main
settings = ["--set", "python=" + sys.executable, "--set", "cache=" + sys.argv[1]]
sys.exit(main(["run", "repros/one.py", "--host", "p1", *settings]))
"""
ENDS = {"killed": signal.SIGKILL, "Ctrl-C": signal.SIGINT, "terminated": signal.SIGTERM, "frozen": signal.SIGSTOP}


@pytest.mark.slow
@pytest.mark.parametrize("end", rest_slow(ENDS, 1))
def test_a_client_that_goes(on_host, write, sshd, tmp_path, works, end):
    host, mark = on_host(), tmp_path / "mark"
    write(SLEEP.format(mark=str(mark)))
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, sshd.folder / "cache"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_until(mark.exists)
        wait_until(lambda: len([line for line in sshd.processes() if line.startswith("sleep 99")]) == 2)
        client.send_signal(ENDS[end])
        wait_until(lambda: not sshd.processes())
        assert not list((sshd.folder / "cache/runs").iterdir())
    finally:
        if end == "frozen":
            client.kill()
        out, err = client.communicate(timeout=600)
    if end == "Ctrl-C":
        assert (client.returncode, out) == (130, "")
        assert err == "interrupted: nothing is left running, no golden was written\n"
    assert not (tmp_path / "repros/goldens").exists()
    works(host)


def test_ctrl_c_in_pytest(on_host, sshd, pytester, tmp_path, works, write):
    host, mark = on_host(), tmp_path / "mark"
    write(SLEEP.format(mark=str(mark)))
    patient = "import sys, pytest; from harness.fleet import engine; engine.CLOSE_S = 1e6; sys.exit(pytest.main())"
    argv = [sys.executable, "-c", patient, "repros", "-p", "no:cacheprovider", "--gpu-host", "p1"]
    argv += ["--gpu-set", f"p1.python={sys.executable}", "--gpu-set", f"p1.cache={sshd.folder}/cache"]
    client = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until(mark.exists)
    client.send_signal(signal.SIGINT)
    wait_until(lambda: not sshd.processes())
    said = client.communicate(timeout=600)[0]  # it would wait for CLOSE_S where an answer never comes
    assert client.returncode == 2 and "KeyboardInterrupt" in said and "INTERNALERROR" not in said
    works(host)


def test_a_grandchild_in_its_own_session(on_host, write, sshd, works):
    body = SLEEP.format(mark="/dev/null").replace("time.sleep(99)", "import numpy; return {'out': numpy.zeros(1)}")
    host = on_host()
    assert host.run(write(body)).kind == "outputs"
    assert not [line for line in sshd.processes() if "sleep" in line]
    works(host)


def test_a_segfault_there(on_host, write, works):
    host = on_host()
    outcome = host.run(write("import ctypes\ndef run():\n    ctypes.string_at(0)"))
    assert (outcome.kind, outcome.detail) == ("crash", {"signal": "SIGSEGV"})
    assert 'one.py", line 7 in run' in outcome.text and "harness" not in outcome.text
    works(host)


KILLER = """
import os, signal, subprocess
def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
def run():
    subprocess.Popen(["setsid", "sleep", "996"])
    os.kill(WHO, signal.SIGKILL)
    while True:
        pass
"""


def test_a_repro_that_kills_its_supervisor(on_host, infra, works, sshd):
    host = on_host()
    assert infra(host, KILLER.replace("WHO", "os.getppid()")).startswith("the supervisor there ended")
    assert not [line for line in sshd.processes() if "sleep" in line]
    works(host)


def test_a_repro_that_kills_the_agent(on_host, infra, works, sshd):
    """The supervisor ends by itself when its agent does."""
    host = on_host()
    assert infra(host, KILLER.replace("WHO", "parent(os.getppid())")).startswith("the connection was lost")
    wait_until(lambda: not sshd.processes())
    works(host)


def test_a_supervisor_of_another_version(on_host, infra, monkeypatch, works):
    ours = own_wheel.ours()
    theirs = ours.files["harness/run/frames.py"].replace(b"PROTOCOL = 2", b"PROTOCOL = 3")
    monkeypatch.setattr(own_wheel, "ours", lambda: own_wheel.Package(ours.files | {"harness/run/frames.py": theirs}))
    text = "the supervisor there speaks protocol 3 and this machine 2: another gpu-repro is in the way of ours"
    assert infra(on_host()).startswith(text)
    monkeypatch.undo()


def test_200_megabytes_of_output(on_host, write, works):
    body = """
    import numpy as np, os
    def run():
        for _ in range(200):
            os.write(1, b"x" * (1 << 20))
        os.write(1, b"\\x1b[2J\\x1b]0;title\\x07\\x00the end\\r\\n")
        return {"out": np.zeros(1)}
    """
    host = on_host()
    outcome = host.run(write(body))
    assert outcome.kind == "outputs" and outcome.stdout.endswith(r"x\x1b[2J\x1b]0;title\x07\x00the end" "\n")
    assert f"[... {(200 << 20) + 24 - frames.TEXT_LIMIT_BYTES} bytes left out ...]" in outcome.stdout
    assert len(outcome.stdout) < frames.TEXT_LIMIT_BYTES + 100
    works(host)


def test_more_arrays_than_allowed(on_host, write, works):
    host = on_host()
    outcome = host.run(write("import numpy as np\ndef run():\n    return {'out': np.zeros(9 << 20)}"))
    assert outcome.kind == "error" and "returned 75497472 bytes, and the limit is 67108864" in outcome.text
    works(host)


def test_garbage_instead_of_a_python(on_host, infra, sshd, works):
    fake = sshd.folder / "fake-python"
    fake.write_text("#!/bin/sh\necho Welcome to this machine\nsleep 996\n")
    fake.chmod(0o755)
    host = on_host(python=fake)
    assert infra(host).startswith("expected a frame, got b'Welcome '")
    assert infra(on_host(python=sshd.folder / "none")) == (
        f"there is no program {sshd.folder}/none on the host\nfix: correct `python` in the settings of this host"
    )
    works(on_host())


def test_no_cuda_where_it_is_demanded(on_host, infra):
    text = infra(on_host(device="cuda"))
    assert text.startswith("p1 has no CUDA device that can be used: there is no NVIDIA driver")


@pytest.mark.slow
def test_infra_in_pytest_is_an_error(on_host, sshd, pytester, repros):
    """Both hosts are judged; the one that is out of reach gives errors, and no failed claim."""
    on_host()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        sshd.alias("gone", Port=free.getsockname()[1])
        repros(one=ARRAY)
        options = ["--gpu-set", f"p1.python={sys.executable}", "--gpu-set", f"p1.cache={sshd.folder}/cache"]
        options += ["--gpu-host", "p1", "--gpu-host", "gone", "--update-goldens"]
        done = pytester.runpytest_subprocess("repros", *options)
    done.assert_outcomes(passed=1, errors=1)
    head = "gpu-repro: p1 (over SSH), gone (over SSH)"
    done.stdout.fnmatch_lines([head, "infra: could not be run", "host:  gone *"])
    lines = [
        line for path in (pytester.path / ".repro/records").glob("*.jsonl") for line in path.read_text().splitlines()
    ]
    records = {record["host"]: record for record in map(json.loads, lines)}
    assert records["gone"]["verdict"] == "infra" and records["gone"]["device"] == {"kind": "unknown"}
    assert records["p1"]["verdict"] == "pass" and records["p1"]["device"] == {"kind": "emulator"}
    unknown = pytester.runpytest_subprocess("repros", "--gpu-host", "p9", "--gpu-bootstrap")
    assert unknown.ret == 4
    unknown.stderr.fnmatch_lines(["ERROR: unknown host 'p9': the hosts are embedded, local, p1*"])


def test_hosts_are_not_asked_before_they_are_needed(on_host):
    assert hosts.resolve("p1").device == "unknown"


def test_a_live_line_takes_progress_alone(tmp_path):
    said, phases = [], []
    run = Session(tmp_path, note=said.append)
    run.live = SimpleNamespace(phase=phases.append)
    run.notify(Progress("p1: running (2 s)"))
    run.notify("uv: resolved")
    assert phases == ["p1: running (2 s)", "uv: resolved"] and said == ["uv: resolved"]
