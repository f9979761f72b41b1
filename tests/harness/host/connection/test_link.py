"""A connection with an agent at its end: messages of the agent, and data that no agent sent."""

import os
import signal
import threading

import pytest

from harness.host.connection import call_progress, link
from tests.harness.conftest import wait_until
from tests.harness.host.conftest import SLEEP, start


def test_a_link_that_is_dead_but_open(on_host, write, sshd, tmp_path, works, monkeypatch):
    """Nothing comes and nothing is closed: the agent is stopped in its tracks."""
    monkeypatch.setattr(link, "DEAD_S", 2.5)
    monkeypatch.setattr(link, "PING_S", 0.2)
    monkeypatch.setattr(link, "CLOSE_S", 0.2)
    host, mark = on_host(), tmp_path / "mark"
    join = start(mark, host, write(SLEEP.format(mark=str(mark))))
    (agent,) = sshd.agents()
    os.kill(agent, signal.SIGSTOP)
    outcome = join()
    assert (outcome.kind, outcome.text) == ("infra", "the connection was lost: nothing arrived for 2.5 s")
    os.kill(agent, signal.SIGCONT)
    wait_until(lambda: not sshd.processes())
    works(host)


def test_an_agent_of_another_version(on_host, infra, there, works):
    there("host.connection.agent", "PROTOCOL = 3", "PROTOCOL = 4")
    assert infra(on_host()) == "the agent there speaks protocol 4, but this machine speaks 3"


@pytest.mark.slow
def test_garbage_instead_of_an_agent(on_host, infra, sshd):
    sshd.key("garbage")
    sshd.authorize("garbage", 'command="head -c 300000 /dev/urandom"')
    assert infra(on_host(sshd.alias("garbage", "garbage"))).startswith(
        "the agent could not be started there; the host printed:\n"
    )
    sshd.key("closed")
    sshd.authorize("closed", 'command="echo This account is closed. >&2; exit 1"')
    assert infra(on_host(sshd.alias("closed", "closed"))) == (
        "the agent could not be started there; the host printed:\nThis account is closed."
    )


def test_garbage_instead_of_frames(on_host, infra, there, works):
    web = "    def send(self, header, buffers=()):\n        os.write(self.answers_fd, b'HTTP/1.1 400')\n\n"
    there("host.connection.agent", "    def send(", web + "    def unused(")
    assert infra(on_host()) == "the agent sent an invalid frame: expected a frame, got b'HTTP/1.1'"


def test_copying_is_counted(monkeypatch):
    """A channel that takes a megabyte a second."""
    now, taken, told = [0.0], [], []
    monkeypatch.setattr(call_progress.time, "monotonic", lambda: now[0])

    class Channel:
        def sendall(self, piece):
            taken.append(bytes(piece))
            now[0] += 1.0

    one = object.__new__(link.Link)
    one.name, one.channel, one._sending = "p1", Channel(), threading.Lock()
    data = os.urandom(25 << 20)
    one._send({"kind": "put"}, [data], told.append)
    assert b"".join(taken).endswith(data) and max(map(len, taken)) == link.PIECE_BYTES
    assert [str(text) for text in told] == [
        "p1: copying: 1 of 25 MB",
        "p1: copying: 11 of 25 MB",
        "p1: copying: 21 of 25 MB",
    ]
