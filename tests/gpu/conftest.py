"""A session on the emulator."""

import pytest

from dsl.launch import session


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()
