"""Arguments as text: the text gives the value again."""

import dataclasses
import enum
import functools
import math
import operator
from typing import NamedTuple

import numpy as np
import pytest
import torch

from harness.capture.arguments import makings, spelling
from harness.capture.arguments.spelling import Spelling


class Kind(enum.Enum):
    ROW = 1


class Pair(NamedTuple):
    first: int
    second: float


@dataclasses.dataclass(frozen=True)
class Tile:
    rows: int
    kind: Kind


class Plain:
    def __init__(self):
        raise AssertionError("the constructor is not called")


def names(speller):
    found = {id(root): root.__name__ for root in speller.roots}
    return found, {root.__name__: root for root in speller.roots}


def again(value):
    """The value of the text for a value."""
    speller = Spelling()
    text = speller.of(value)
    by_id, space = names(speller)
    space |= {"torch": torch, "np": np, "functools": functools, "operator": operator, "math": math}
    exec(spelling.OBJECT_HELPER, space)
    for mark, expression in speller.statements:
        exec(speller.finished(f"{mark} = {expression}", by_id, set()), space)
    return eval(speller.finished(text, by_id, set()), space)


VALUES = [
    *(1, -2.5, True, None, "text", b"bytes", 3 + 4j, float("inf"), ..., (1,), [1, (2, [3])], {"a": {1: 2}}),
    *({1, 2}, Pair(1, 2.0), Kind.ROW, Tile(4, Kind.ROW), np.float32(1.5), range(3), slice(1, None), int),
    *(torch.float16, torch.device("cpu"), torch.Size([2, 3]), math.exp, operator.add, Tile, functools.partial(max, 3)),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values(value):
    if isinstance(value, functools.partial):
        assert again(value)(5) == 5
    else:
        assert again(value) == value


def test_infinities_and_no_numbers():
    assert math.isnan(again(float("nan"))) and again(-math.inf) == -math.inf


def test_an_object_without_its_constructor():
    value = object.__new__(Plain)
    value.width, value.tile = 3, Tile(2, Kind.ROW)
    made = again([value, value])
    assert type(made[0]) is Plain and vars(made[0]) == vars(value) and made[0] is made[1]


def test_tensors_become_names_of_views():
    speller = Spelling()
    tensor = torch.zeros(4, 4)
    first, second, third = (speller.of(each, "x") for each in (tensor, tensor[1:], tensor))
    assert first == third != second
    assert [len(storage.views) for storage in speller.memory.storages] == [2]


def test_names_keep_clear_of_those_that_are_taken():
    speller = Spelling()
    text = f"{speller.name('x')}, {speller.name('x')}, {speller.name('scale')}, {speller.root(Plain)}"
    assert speller.finished(text, {id(Plain): "Plain"}, {"scale"}) == "x, x_2, scale_, Plain"


def test_values_of_a_runtime_are_written_as_they_were_made():
    tensor, value, speller = torch.zeros(4), Tile(1, Kind.ROW), Spelling()
    makings.note(value, makings.Making("cutlass.cute.runtime.from_dlpack", (tensor,), {"assumed_align": 16},
                                       [("mark_layout_dynamic", (), {"leading_dim": 0})]))  # fmt: skip
    assert speller.finished(speller.of(value, "a"), {}, set()) == "a_cute"
    ((_, text),) = speller.statements
    assert speller.finished(text, {}, set()) == (
        "runtime.from_dlpack(a, assumed_align=16).mark_layout_dynamic(leading_dim=0)"
    )
    assert list(speller.imports) == ["from cutlass.cute import runtime"]


def test_an_address_is_written_with_its_tensor():
    tensor, speller = torch.zeros(64), Spelling()
    text = speller.finished(speller.of(tensor.data_ptr() + 8, "x"), {}, set())
    assert text == "x.data_ptr() + 8" and len(speller.views) == 1


def test_values_that_cannot_be_written_are_reported():
    speller = Spelling()
    assert speller.of(iter([]), "rows") == "None"
    assert speller.missing == ["rows is a builtins.list_iterator, which cannot be written down"]
    loop: list = []
    loop.append(loop)
    assert speller.of(loop, "loop") == "[None]" and speller.missing[1:] == ["loop contains itself"]


def test_compiling_saw_types_of_tensors_and_states_of_objects():
    value = object.__new__(Plain)
    value.width = 3
    kept = spelling.frozen([torch.zeros(2, 3), value])
    value.width = 4
    assert (kept[0].shape, kept[0].stride) == ((2, 3), (3, 1)) and kept[1].attributes == {"width": 3}
    speller = Spelling()
    assert speller.of(kept[0], "x") == "torch.empty_strided((2, 3), (3, 1), dtype=torch.float32)"
