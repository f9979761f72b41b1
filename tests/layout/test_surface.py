"""The layout functions under upstream's names: what a recorded run of NVIDIA's compiler gives, in jit and in Python."""

import json
import random

import pytest

import dsl.cutlass as cutlass
import dsl.cutlass.cute as cute
from dsl.cutlass.cute import typing as cute_typing
from tests.layout import surface_table

RECORD = json.loads(surface_table.TABLE.read_text())
SAME, DIFFERS = RECORD["same"], RECORD["differs"]
OURS = {**SAME, **{text: ours for text, (_, ours) in DIFFERS.items()}}
LIVE = 60


@pytest.fixture(autouse=True)
def imported(monkeypatch):
    """`import cutlass` in surface_table finds ours."""
    for name, module in (("cutlass", cutlass), ("cutlass.cute", cute)):
        monkeypatch.setitem(__import__("sys").modules, name, module)


def wrong(found: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {text: (value, OURS[text]) for text, value in found.items() if value != OURS[text]}


def test_jit_functions_give_what_is_recorded():
    assert wrong(dict(zip(OURS, surface_table.values(list(OURS)), strict=True))) == {}


def test_plain_python_gives_the_same():
    """Whatever needs no argument of a jit function and makes no op."""
    static = [text for text, value in OURS.items() if "a number" not in value and
              not any(word in text for word in ("n)", "(n", "n,", "(m", "m,", "m/", "m%", "*n", "Float32"))]
    found = dict(zip(static, surface_table.values(static, in_jit=False), strict=True))
    assert len(static) > 500 and wrong(found) == {}


def test_a_sample_of_the_record_is_what_nvidias_compiler_gives_now():
    texts = random.Random(7).sample(list(SAME), LIVE)
    assert dict(zip(texts, surface_table.theirs(texts), strict=True)) == {text: SAME[text] for text in texts}


def test_names_of_typing():
    for name in ("Int32", "Int128", "Float8E4M3FN", "Shape", "Stride", "Coord", "IntTuple", "Tile", "Tiler", "XTuple",
                 "Layout", "ComposedLayout", "Tensor", "Pointer", "AddressSpace", "ScaledBasis", "Numeric", "Integer",
                 "is_int_tuple", "is_integer", "as_numeric", "sym_int"):
        assert getattr(cute_typing, name) is getattr(cute, name)
