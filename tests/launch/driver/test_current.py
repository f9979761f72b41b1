"""Which driver is asked: one at a time, made once, when somebody asks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dsl.launch.driver import current


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(current._Current, "state", current._State(None, None))


def test_it_is_made_once_whoever_asks():
    together, made = threading.Barrier(4), []

    def make() -> object:
        made.append(object())
        return made[-1]

    def ask() -> object:
        together.wait()
        return current.current()

    end = current.use_made_by(make)
    with ThreadPoolExecutor(4) as pool:
        assert {id(each) for each in pool.map(lambda _: ask(), range(4))} == {id(made[0])} and len(made) == 1
    end()
    assert current.current() is None


def test_the_one_before_comes_back():
    current.use("first")
    end = current.use_made_by(lambda: "second")
    assert current.current() == "second"
    end()
    assert current.current() == "first"
