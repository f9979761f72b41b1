"""Fixtures for tests of hosts: a case that cannot be run, a host that works again, an agent that is changed."""

import threading

import pytest

from harness import judge
from harness.host.connection import agent_start
from tests.harness.conftest import wait_until

ARRAY = "import numpy as np\ndef run():\n    return {'out': np.zeros(1)}"
SLEEP = """
import os, subprocess, time
def run():
    subprocess.Popen(["setsid", "sh", "-c", "setsid sleep 997 & sleep 998"])
    open({mark!r}, "w").close()
    time.sleep(99)
"""


@pytest.fixture
def infra(write, tmp_path):
    """Run a case that cannot be run; the text, after seeing that nothing was concluded from it."""

    def infra(host, body: str = ARRAY) -> str:
        repro = write(body)
        outcome = host.run(repro)
        assert outcome.kind == "infra", outcome
        case = next(repro.cases())
        verdict = judge.judge(case, host.host, outcome, tmp_path, update=True)
        assert verdict.status == verdict.record["verdict"] == "infra" and verdict.pending is None
        return outcome.text

    return infra


@pytest.fixture
def works(write):
    """The next run works: on the same session, or on another."""

    def works(host) -> None:
        outcome = host.run(write(ARRAY))
        assert outcome.kind == "outputs", outcome.text

    return works


@pytest.fixture
def there(monkeypatch):
    """Change the program that is sent: `there(module, old, new)`."""
    sources = dict(agent_start.sources())

    def there(module: str, old: str, new: str) -> None:
        assert old in sources[module]
        sources[module] = sources[module].replace(old, new)
        monkeypatch.setattr(agent_start, "sources", lambda: list(sources.items()))

    return there


def start(condition_path, host, repro):
    """Run the repro in a thread until it has made its mark; `join` gives the outcome."""
    found = []
    thread = threading.Thread(target=lambda: found.append(host.run(repro)))
    thread.start()
    wait_until(condition_path.exists)
    return lambda: (thread.join(600), found[0])[1]
