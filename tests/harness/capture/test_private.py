"""Nothing of the author's machine is in a captured file."""

import socket

import pytest

from harness.capture import private


@pytest.fixture(autouse=True)
def planted(monkeypatch, tmp_path):
    monkeypatch.setenv("SERVICE_TOKEN", "tok-5a1b2c3d")
    monkeypatch.setenv("DSL_CHECK", "undefined")
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


def test_why_is_said():
    _, said = private.without('A = "tok-5a1b2c3d"\n')
    assert said == ["a string was left out: it has the value of the environment variable SERVICE_TOKEN"]
