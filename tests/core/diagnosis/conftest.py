"""Programs of authors that import `cutlass` in this process."""

import warnings

import pytest

from dsl import alias


@pytest.fixture
def surface():
    alias.install("emulator")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    alias.uninstall()
