"""The session in which tests of Quadrants run."""

import pytest

import dsl.quadrants as qd
from dsl.launch import session


@pytest.fixture
def running():
    """A session on the emulator, after qd.init(arch=qd.cpu)."""
    run = session.start("emulator")
    qd.init(arch=qd.cpu)
    yield run
    session.stop()
