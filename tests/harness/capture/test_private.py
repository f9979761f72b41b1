"""Nothing of the author's machine is in a captured file."""

import importlib
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.capture import private, written_file
from harness.capture.recorder import Call, Recorder, Wanted


@pytest.fixture(autouse=True)
def planted(monkeypatch, tmp_path):
    monkeypatch.setenv("SERVICE_TOKEN", "tok-5a1b2c3d")
    monkeypatch.setenv("GPU_REPRO_CHECK", "undefined")
    monkeypatch.setattr(private, "_user", lambda: "mlovelace")
    monkeypatch.setattr(socket, "gethostname", lambda: "gpu-box-17")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    "secret", ["tok-5a1b2c3d", "mlovelace", "gpu-box-17", "/usr/share/models/weights.bin", "~/models/weights.bin"]
)
def test_secrets_in_strings_and_comments_are_left_out(secret):
    code = f'NAME = "before {secret} after"  # {secret}\ntext = f"{{NAME}} {secret}"\n'
    clean, said = private.without(code)
    assert secret not in clean and said
    compile(clean, "<clean>", "exec")


def test_the_home_folder_is_left_out(tmp_path):
    clean, said = private.without(f'A = "{tmp_path}/x"\n')
    assert clean == 'A = "REDACTED"\n' or str(tmp_path) not in clean
    assert len(said) >= 1


def test_everything_else_stays():
    code = '"""About a/b and 1/2."""\nx = a / b  # per /element/\nKIND = "undefined"\nURL = "https://docs.nvidia.com/cuda/x"\n'
    assert private.without(code) == (code, [])


def test_the_reason_is_reported():
    _, said = private.without('A = "tok-5a1b2c3d"\n')
    assert said == ["a string was left out: it has the value of the environment variable SERVICE_TOKEN"]


HIDDEN = {
    "by an escape": ("SERVICE_TOKEN", "to'k\"en\n1234", "NAME = {value!r}\n"),
    "in bytes": ("SERVICE_TOKEN", "tok-5a1b2c3d", "NAME = {bytes!r}\n"),
    "between letters": ("SERVICE_TOKEN", "tok-5a1b2c3d9", "NAME = 'v1_{value}_x'\n"),
    "as a part of an address": ("DATABASE_URL", "db://me:s3cr3t-word@host/x", "NAME = 's3cr3t-word'\n"),
    "as a token of the code itself": ("NOTHING", "", "NAME = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'\n"),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_a_secret_is_found(monkeypatch, case):
    variable, value, code = HIDDEN[case]
    monkeypatch.setenv(variable, value)
    clean, said = private.without(code.format(value=value, bytes=value.encode()))
    names: dict = {}
    exec(clean, names)
    assert "REDACTED" in str(names["NAME"]) and not any(
        part in str(names["NAME"]) for part in (value or "ghp", "s3cr3t")
    )
    assert len(said) == 1


def test_a_sentence_has_no_secret():
    assert private.sentence("no file ~/models/weights.bin of mlovelace") == "no file REDACTED of REDACTED"


PROGRAM = """
# Copyright mlovelace
import os, socket
from pathlib import Path
HOME = str(Path.home())
ROOT = Path.home() / "models"
TOKEN = os.environ["SERVICE_TOKEN"]
HEADERS = {"auth": "Bearer " + TOKEN}
HOST = [socket.gethostname()]

def made():
    place = HOME + "/x"
    def scaled(x):
        x *= len(HOME) + len(TOKEN) + len(HEADERS) + len(HOST) + len(str(ROOT)) + len(place)
    return scaled

scaled = made()
"""


def test_nothing_private_is_in_a_captured_file(tmp_path, monkeypatch):
    (tmp_path / "private_program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "private_program", raising=False)
    function = importlib.import_module("private_program").scaled
    x = np.ones(4)
    kept: list = []
    call = Call("scaled", set, lambda spelling: f"{spelling.root(function)}({spelling.of(x, 'x')})", (x,))
    Recorder(Wanted(), kept.append).around(lambda: call, set, lambda: function(x))
    text = written_file.write(kept[0], "mlovelace.py", {}).text
    for secret in ("tok-5a1b2c3d", "mlovelace", "gpu-box-17", str(tmp_path), str(Path.home())):
        assert secret not in text, text
    assert "# missing: a string was left out: it has the path of the home folder" in text
    compile(text, "<captured>", "exec")
