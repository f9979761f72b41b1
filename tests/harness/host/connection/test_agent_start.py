"""The agent starts whatever the shell of a host is and prints, on any Python from 3.8 on."""

import shlex
import shutil
from pathlib import Path

import pytest

from harness.host.connection import agent_start, link
from tests.harness.host.conftest import ARRAY


def test_noise_of_start_up_files_is_skipped(on_host, write, sshd):
    noise = "echo Welcome; printf '\\0\\033[31mRPR1'; echo to stderr >&2; eval \\\"$SSH_ORIGINAL_COMMAND\\\""
    sshd.key("noisy")
    sshd.authorize("noisy", f'command="{noise}"')
    assert on_host(sshd.alias("noisy", "noisy")).run(write(ARRAY)).kind == "outputs"


OLD = (*Path.home().glob(".pyenv/versions/3.8.*/bin/python"), shutil.which("python3.8"), shutil.which("python3.9"))


@pytest.mark.slow
@pytest.mark.skipif(not any(OLD), reason="there is no old Python here")
def test_the_agent_on_an_old_python(on_host, write, monkeypatch):
    old = next(filter(None, OLD))
    monkeypatch.setattr(link, "BOOT", f"exec {old} -I -u -c {shlex.quote(agent_start.READ)}")
    host = on_host()
    assert host.run(write(ARRAY)).kind == "outputs"
    assert host.session.transport(host.host).doctor(fix=False).python.startswith(("3.8.", "3.9."))


@pytest.mark.parametrize("shell", ["tcsh", "fish", "zsh", "dash"])
def test_the_users_shell_does_not_matter(on_host, write, sshd, shell, needs):
    needs(shell, shell)
    sshd.key(shell)
    sshd.authorize(shell, f'command="{shell} -c \\"$SSH_ORIGINAL_COMMAND\\""')
    assert on_host(sshd.alias(shell, shell)).run(write(ARRAY)).kind == "outputs"
