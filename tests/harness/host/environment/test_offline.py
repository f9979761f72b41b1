"""Hosts without internet, over a real sshd whose commands run in their own network: only loopback."""

import hashlib
import http.server
import os
import re
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from harness.host import doctor, settings
from harness.host.connection import connection, ssh
from harness.host.environment import offline, releases, wheels
from harness.run.reply import Equipment, Misfit
from harness.run.transport import LinkDown, Progress

INFO = """
import numpy as np, os, sys
def run():
    print("|".join([sys.prefix, sys.base_prefix, os.environ["HOME"]]))
    return {"out": np.arange(3)}
"""
NUMPY = {"kind": "managed", "requires": ["numpy"], "python": ">=3.11", "torch_index": None, "variables": {}}
HERE = Equipment(False, os.uname().machine, "glibc 2.31", "/bin/uv", "/usr/bin/python3", "3.11.2")


@pytest.fixture
def island(sshd, tmp_path):
    """An alias whose commands have no network and an empty home."""
    if os.getuid() != 0:
        pytest.skip("only root can make a separate network: `unshare --net`")
    name, home = f"island{len(list(sshd.folder.glob('island*_key')))}", tmp_path / "home"
    home.mkdir()
    sshd.key(name)
    run = f'unshare --net env HOME={home} PATH=/usr/bin:/bin sh -c \\"$SSH_ORIGINAL_COMMAND\\"'
    sshd.authorize(name, f'command="{run}"')
    return sshd.alias(name, name), home


@pytest.fixture
def link(on_host, sshd):
    """Connections to the host: `link(cache)`."""
    links = []

    def connect(cache: Path) -> connection.Link:
        on_host()
        address = ssh.lookup("p1")
        assert address is not None
        links.append(connection.Link(address, settings.Settings(cache=str(cache))))
        return links[-1]

    yield connect
    for one in links:
        one.close()


def test_a_copy_that_broke_off_goes_on_where_it_stopped(link, tmp_path, monkeypatch):
    """The connection is cut after three pieces; the next one brings the rest, and a third has nothing to bring."""
    monkeypatch.setattr(offline, "PIECE_BYTES", 1000)
    path, notes, pieces = tmp_path / "one.whl", [], []
    path.write_bytes(bytes(range(256)) * 40)
    files = [(wheels.own_file(path, "one-1.0-py3-none-any.whl"), path)]
    call = connection.Link.call

    def counted(self, header, buffers=(), **options):
        pieces.append(header.get("offset"))
        if len(pieces) == 5:  # after the first question and three pieces
            self.channel.close()
        return call(self, header, buffers, **options)

    monkeypatch.setattr(connection.Link, "call", counted)
    with pytest.raises(LinkDown, match=r"^the connection was lost"):
        offline.push(link(tmp_path / "cache"), files, notes.append)
    offline.push(link(tmp_path / "cache"), files, notes.append)
    assert pieces[:7] == [None, 0, 1000, 2000, 3000, None, 3000] and pieces[-1] == 10000
    assert notes == ["p1: copying one-1.0-py3-none-any.whl, 0.0 MB"] * 1 + [
        "p1: copying one-1.0-py3-none-any.whl, 0.0 MB, 0.0 MB are there"
    ]
    (whole,) = tmp_path.glob("cache/files/*/one-1.0-py3-none-any.whl")
    assert whole.read_bytes() == path.read_bytes() and list(whole.parent.iterdir()) == [whole]
    pieces.clear()
    offline.push(link(tmp_path / "cache"), files, notes.append)
    assert pieces == [None] and len(notes) == 2


def test_a_damaged_copy_is_thrown_away(link, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    file = offline.File("x", str(path), 5, hashlib.sha256(b"other").hexdigest())
    with pytest.raises(connection.Declined, match=r"^the transfer of x is damaged: its hash differs$"):
        offline.push(link(tmp_path / "cache"), [(file, path)], print)
    assert offline.there(link(tmp_path / "cache"), [file]) == [0]


@pytest.mark.parametrize("sizes", [[], [1, 2], [0]])
def test_a_host_that_answers_nonsense_about_sizes(tmp_path, sizes):
    class Liar:
        name = "p1"

        def call(self, header, buffers=()):
            return {"kind": "reply", "sizes": [0] if header["kind"] == "stored" else sizes}, []

    path = tmp_path / "x"
    path.write_bytes(b"12345")
    with pytest.raises(Misfit, match=r"^sizes must "):
        offline.push(Liar(), [(wheels.own_file(path, "x"), path)], print)


def test_hosts_that_a_plan_refuses(monkeypatch):
    with pytest.raises(wheels.CannotBring, match="its processor is riscv64: this machine's uv does not run there"):
        offline.plan(Equipment(False, "riscv64", "glibc 2.36"), NUMPY, None)
    with pytest.raises(wheels.CannotBring, match="its system is x86_64 with a C library other than glibc"):
        offline.plan(Equipment(False, "x86_64", "", "/bin/uv"), NUMPY, None)
    made = Equipment(True, "x86_64", "glibc 2.36", "/bin/uv")
    assert offline.plan(made, NUMPY, None).files == []


def test_the_doctor_lists_what_is_missing_and_its_size(on_host, island, monkeypatch):
    alias, _ = island
    chosen = [wheels.File("a-1-py3-none-any.whl", "https://pypi.org/a", 12_000_000, "a" * 64)]
    chosen.append(wheels.File("b-1-py3-none-any.whl", "https://pypi.org/b", 900_000, "b" * 64))
    monkeypatch.setattr(wheels, "resolve", lambda *about: chosen)
    monkeypatch.setattr(doctor, "LITTLE_BYTES", 0)
    text, ready = doctor.report(on_host(alias, python=None, cache="~/cache").host)
    assert ready, text
    assert "  package index        cannot be used: pypi.org:443 cannot be reached: " in text
    assert ", 2 packages (13 MB): the first run copies it from here\n" in text and "  missing              uv (" in text
    settled = on_host(alias, python=None, cache="~/cache", offline="false").host
    text, ready = doctor.report(settled)
    assert not ready and "package index" not in text and "there is no uv\nfix: `repro run --bootstrap`, " in text


@pytest.mark.slow
def test_from_an_empty_home_to_outputs(on_host, island, write):
    """Found out by itself and reported in one sentence; then uv and the wheels are copied, once."""
    alias, home = island
    host = on_host(alias, python=None, cache="~/cache")
    outcome = host.run(write(INFO))
    assert outcome.kind == "outputs", (outcome.text, host.notes)
    assert outcome.stdout.startswith(f"{home}/cache/envs/") and outcome.stdout.strip().endswith(str(home))
    (said,) = [note for note in host.notes if "gets no packages itself" in note]
    assert said.startswith(f"{alias} gets no packages itself (pypi.org:443 cannot be reached: ")
    assert said.endswith("): what it needs is fetched here and copied")
    assert not [note for note in host.notes if "file://" in note], "a package's name is enough"
    again = on_host(alias, python=None, cache="~/cache", offline="true")
    assert again.run(write(INFO)).kind == "outputs"
    assert not [note for note in again.notes if "copying" in note or "making" in note]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """This interpreter as an archive like the ones of python-build-standalone, and its version."""
    path, base = tmp_path_factory.mktemp("archive") / "python.tar.gz", Path(sys.base_prefix)
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    left_out = {"test", "idlelib", "site-packages", "__pycache__", "lib2to3", "tkinter"}
    left_out.add(f"config-{minor}-x86_64-linux-gnu")

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if left_out & set(Path(member.name).parts) else member

    with tarfile.open(path, "w:gz", compresslevel=1) as file:
        for part in (f"bin/python{minor}", "bin/python3", f"lib/python{minor}"):
            file.add(base / part, f"python/{part}", filter=keep)
    return path, f"{minor}.{sys.version_info.micro}"


@pytest.fixture
def mirror(archive, monkeypatch):
    """A server that gives this archive whatever Python is asked for; the paths that were asked for."""
    asked = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            data = archive[0].read_bytes() if self.command == "GET" else b""
            self.send_response(200)
            self.send_header("Content-Length", str(archive[0].stat().st_size))
            self.end_headers()
            self.wfile.write(data)

        do_HEAD = do_GET

        def log_message(self, *about):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", f"http://127.0.0.1:{server.server_port}/pythons")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield asked
    server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["python_archive", "UV_PYTHON_INSTALL_MIRROR"])
def test_a_host_without_a_python_gets_one_from_an_archive(
    on_host, island, write, archive, way, request, tmp_path, monkeypatch
):
    """The interpreters of the host are too old for the repro; what is copied is copied once."""
    alias, home = island
    path, version = archive
    monkeypatch.setattr(releases, "cache_folder", lambda: tmp_path / "here")
    settings = {"python": None, "cache": "~/cache", "offline": "true"}
    if way == "python_archive":
        settings["python_archive"] = path
    else:
        asked = request.getfixturevalue("mirror")
    repro = write(INFO)
    object.__setattr__(repro, "requires_python", f"=={version}")
    host = on_host(alias, **settings)
    outcome = host.run(repro)
    assert outcome.kind == "outputs", (outcome.text, host.notes)
    assert outcome.stdout.split("|")[1].startswith(f"{home}/cache/pythons/")
    name = path.name
    if way != "python_archive":
        name = asked[0].rpartition("/")[2].replace("%2B", "+")
        assert re.fullmatch(
            rf"/pythons/\d+/cpython-{version}.*-install_only(_stripped)?\.tar\.gz", asked[0].replace("%2B", "+")
        )
    assert f"{alias}: unpacking {name}" in host.notes
    (copied,) = [note for note in host.notes if "copying" in note and not isinstance(note, Progress)]
    assert re.fullmatch(rf"{alias}: copying \d+ files, \d+ MB", copied), copied
    again = on_host(alias, **settings)
    assert again.run(repro).kind == "outputs" and not [note for note in again.notes if "copying" in note]


def test_a_full_disk_there_while_it_is_equipped(link, sshd, tmp_path):
    """One sentence; what was copied so far stays for the next time."""
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        path = tmp_path / "big.whl"
        path.write_bytes(os.urandom(3 << 20))
        file = wheels.own_file(path, "big-1.0-py3-none-any.whl")
        with pytest.raises(connection.Declined, match=r"^the disk there is full: ") as caught:
            offline.push(link(small), [(file, path)], print)
        assert "\nfix: " in str(caught.value)
    finally:
        subprocess.run(["umount", "-l", small], check=True)
