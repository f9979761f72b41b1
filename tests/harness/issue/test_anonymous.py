"""Text without paths, users, hosts and addresses."""

import ast
import getpass
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from harness.issue import anonymous
from harness.issue.anonymous import Anonymous

ONE = Anonymous(
    {"anna": "USER", "box7": "HOST", "p1": "HOST"},
    {"/srv/secret project/": "", "/srv/secret project": ".", "/home/anna": "~"},
)
NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{2,10}[a-z0-9]", fullmatch=True).filter(lambda name: not name.isdigit())


@pytest.mark.parametrize(
    "text, shown",
    [
        ("in /srv/secret project/repros/one.py", "in repros/one.py"),
        ("the folder /srv/secret project is gone", "the folder . is gone"),
        ('File "/home/anna/my code/x.py", line 3', 'File "x.py", line 3'),
        ("File '/home/anna/venv/lib/python3.12/site-packages/torch/_ops.py'", "File 'site-packages/torch/_ops.py'"),
        ("opened /scratch/anna/run-1/out.npy: no", "opened out.npy: no"),
        ("file:///home/anna/x.py and ~/notes/x.txt", "x.py and x.txt"),
        ("anna@box7:~/code ssh p1", "ADDRESS:code ssh HOST"),
        ("Anna wrote it on BOX7.", "USER wrote it on HOST."),
        ("scratch_anna_2", "scratch_USER_2"),
        ("savannah, box75, %p1, $p1", "savannah, box75, %p1, $p1"),
        ("10.0.12.7 answers, version 12.0.1 does not", "ADDRESS answers, version 12.0.1 does not"),
        ("https://docs.nvidia.com/cuda/ptx/index.html", "https://docs.nvidia.com/cuda/ptx/index.html"),
        ("a / b, int32/int64, x[0]/2, //, 1/2/3", "a / b, int32/int64, x[0]/2, //, 1/2/3"),
        ("mail an.na+x@example.org", "mail ADDRESS"),
    ],
)
def test_text(text, shown):
    assert ONE.text(text) == shown


def test_registers_of_code_stay():
    assert ONE.code("@%p1 bra $L; p1 = 1  // anna /home/anna/x.cu") == "@%p1 bra $L; p1 = 1  // USER x.cu"


def test_a_program_keeps_its_statements():
    source = (
        '"""By anna@box7."""\n'
        "import cute\n"
        "@cute.jit\n"
        "def anna_sum(a, b):  # see /home/anna/notes.md\n"
        "    data = open('/home/anna/my data/x.npy')\n"
        "    c = a@b / 2 / 3\n"
        "    return f'{c} for anna', 'é', \"p1\"\n"
    )
    one = Anonymous(dict(ONE.names), ONE.folders)
    assert one.source(source) == (
        '"""By ADDRESS."""\n'
        "import cute\n"
        "@cute.jit\n"
        "def anna_sum(a, b):  # see notes.md\n"
        "    data = open('x.npy')\n"
        "    c = a@b / 2 / 3\n"
        "    return f'{c} for USER', 'é', \"HOST\"\n"
    )
    assert one.kept == ["anna_sum"]


def test_a_text_that_is_not_a_program():
    assert ONE.source("def (: /home/anna/x.py anna") == "def (: x.py USER"


@given(NAMES, NAMES, NAMES)
def test_no_name_is_left_and_the_program_parses(user, host, folder):
    one = Anonymous({user: "USER", host: "HOST"}, {f"/home/{user}/{folder}/": "", f"/home/{user}": "~"})
    source = f'"""{user} on {host}"""\n# {user}@{host}:/home/{user}/{folder}/x\nx = "/home/{user}/{folder}/a b/c.py", "{host}"\n'
    text = f'File "/home/{user}/{folder}/x.py", {user}: {host}\nssh {user}@{host} cd ~/{folder}; /data/{user}/{host}/y'
    ast.parse(one.source(source))
    for made in (one.source(source), one.text(text), one.text(source)):
        words = made.replace("USER", "").replace("HOST", "").replace("ADDRESS", "")
        for name in (user, host):
            if name not in ("file", "ssh", "def"):
                assert not _has(words, name), made


def _has(text: str, name: str) -> bool:
    return Anonymous._without_names(text, {name: "\x00"}) != text


def test_names_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "annabel")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host gpu-1 *.lab\n  HostName=10.1.2.3\n  User anselm\nHost !no\n")
    one = anonymous.of_this_machine(tmp_path / "kestrel", ["ada@far:22", "embedded", "local"])
    assert {"annabel", "anselm", "ada"} <= one.names.keys() and {"gpu-1", "10.1.2.3", "far"} <= one.names.keys()
    assert not one.names.keys() & {"embedded", "local", "*.lab", "!no", "root", "22"}
    text = f"{getpass.getuser()} {socket.gethostname()} {tmp_path}/kestrel/x.py {Path.home()}/y ada gpu-1"
    shown = one.text(text)
    for private in (str(tmp_path), "gpu-1", "ada", "kestrel"):
        assert private not in shown
    assert os.path.expanduser("~") not in shown


def test_without_an_ssh_config(tmp_path):
    assert anonymous.ssh_names(tmp_path / "config") == []


@pytest.mark.parametrize(
    "text, shown",
    [
        ('  File "secret_project/models/x.py", line 3, in f', '  File "x.py", line 3, in f'),
        ("../secret-chip/repros/x.py:31:9: RACE", "x.py:31:9: RACE"),
        ("kernel of secret/gemm.cu:12", "kernel of gemm.cu:12"),
        (".venv/lib/python3.12/site-packages/torch/x.py:7", "site-packages/torch/x.py:7"),
        ("1/2 of 3/4: 0.5 in/out, GB/s:12", "1/2 of 3/4: 0.5 in/out, GB/s:12"),
        ("https://docs.nvidia.com/cuda/ptx.html: see", "https://docs.nvidia.com/cuda/ptx.html: see"),
    ],
)
def test_the_folders_of_a_file_at_a_line(text, shown):
    assert Anonymous({}, {}).text(text) == shown
