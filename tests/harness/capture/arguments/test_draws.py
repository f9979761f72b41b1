"""Seeds and draws of torch, noted and repeated."""

import inspect

import pytest
import torch

from dsl.launch import session
from harness.capture.arguments import draws


@pytest.fixture(autouse=True, params=[False, True], ids=["torch as it is", "cuda mapped to the emulator"])
def watching(request, monkeypatch):
    """torch as no test before has left it, and after the test as it was."""
    session.stop()
    if request.param:
        session.start("emulator")
        request.addfinalizer(session.stop)
    for name in (*draws.FUNCTIONS, "manual_seed"):
        monkeypatch.setattr(torch, name, inspect.unwrap(getattr(torch, name)))
    for name in draws.METHODS:
        monkeypatch.setattr(torch.Tensor, name, inspect.unwrap(getattr(torch.Tensor, name)))
    monkeypatch.setattr(torch.random, "manual_seed", inspect.unwrap(torch.random.manual_seed))
    monkeypatch.setattr(draws, "_is_watching", [])
    monkeypatch.setattr(draws, "_seen", draws.Draws())
    draws.watch(torch)


def expressions():
    with draws.replayed(torch) as drawn:
        return [text for text, _ in drawn]


def test_draws_are_repeated_and_the_programs_generator_stays():
    torch.manual_seed(7)
    first = torch.randn(3, 4)
    second = torch.empty(5, dtype=torch.int32).random_(-5, 5)
    with draws.replayed(torch) as drawn:
        texts = [text for text, _ in drawn]
        assert texts == ["torch.randn(3, 4)", "torch.empty((5,), dtype=torch.int32).random_(-5, 5)"]
        assert torch.equal(drawn[0][1], first) and torch.equal(drawn[1][1], second)
    after = torch.rand(2)
    torch.manual_seed(7)
    torch.randn(3, 4), torch.empty(5, dtype=torch.int32).random_(-5, 5)
    assert torch.equal(after, torch.rand(2))


def test_a_new_seed_restarts_the_draws():
    torch.manual_seed(1)
    torch.rand(3)
    torch.manual_seed(2)
    like = torch.randn_like(torch.zeros(2, 3, dtype=torch.float16))
    assert draws.seed() == 2 and expressions() == ["torch.randn_like(torch.empty((2, 3), dtype=torch.float16))"]
    assert like.shape == (2, 3)


def test_after_a_draw_that_cannot_be_written_none_is_noted():
    torch.manual_seed(1)
    torch.rand(3)
    torch.randn(2, generator=torch.Generator())
    torch.rand(4)
    assert expressions() == ["torch.rand(3)"]


def test_without_a_seed_nothing_is_known():
    torch.rand(3)
    assert draws.seed() is None and expressions() == []
