"""A repro run once for each combination of outcomes, with an exploration that chooses numbers."""

from __future__ import annotations

import numpy as np
import pytest

from harness.run import explored


class NeverEnds(Exception):
    """As dsl/launch/devices/exploration.py raises it."""


class Chosen:
    """An exploration of one launch with these outcomes; None is one that never ends."""

    bound, is_complete = 16, True

    def __init__(self, *outcomes):
        self.outcomes, self.number = outcomes, 0

    def launch(self):
        value = self.outcomes[self.number]
        if value is None:
            raise NeverEnds
        return value

    @property
    def choice(self):
        return [self.number]

    def again(self):
        self.number += 1
        return self.number < len(self.outcomes)

    def launches(self):
        return []


def found(*outcomes, of=lambda value: {"r": np.array([value])}):
    exploration = Chosen(*outcomes)
    return explored.claim(lambda: of(exploration.launch()), exploration)


def test_each_answer_once_with_the_first_outcome_that_gives_it():
    assert found(3, 5, 3) == {
        "complete": True, "bound": 16, "launches": [], "results": [
            {"outputs": {"r": "[3]"}, "ends": True, "choice": [0]},
            {"outputs": {"r": "[5]"}, "ends": True, "choice": [1]},
        ],
    }  # fmt: skip


def test_an_outcome_that_never_ends_has_no_outputs():
    assert found(3, None)["results"][1] == {"outputs": {}, "ends": False, "choice": [1]}


def test_errors_of_the_repro_are_raised():
    with pytest.raises(KeyError):
        found(3, of=lambda value: {}["missing"])


def test_a_bounded_exploration_is_not_complete(monkeypatch):
    monkeypatch.setattr(Chosen, "is_complete", False)
    assert not found(3)["complete"]


def test_too_many_answers_are_not_complete(monkeypatch):
    monkeypatch.setattr(explored, "MOST_RESULTS", 2)
    assert len(found(1, 2, 3)["results"]) == 2 and not found(1, 2, 3)["complete"]
    assert found(1, 2)["complete"]


def test_long_outputs_are_cut():
    (one,) = found(3, of=lambda value: {"r": np.arange(100)})["results"]
    assert one["outputs"]["r"] == f"{list(range(64))} ... (100 elements)"


def test_tensors_of_torch():
    import torch

    (one,) = found(3, of=lambda value: {"r": torch.full((2,), value, dtype=torch.bfloat16)})["results"]
    assert one["outputs"]["r"] == "[3.0, 3.0]"
