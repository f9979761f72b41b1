"""The layout functions under upstream's names: what a recorded run of NVIDIA's compiler gives, in jit and in Python.

Modules tested here: dsl/cutlass/cute/annotations.py, dsl/cutlass/cute/typing.py.
"""

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


@pytest.mark.slow
def test_jit_functions_give_what_is_recorded():
    assert wrong(dict(zip(OURS, surface_table.values(list(OURS)), strict=True))) == {}


def test_plain_python_gives_the_same():
    """Whatever needs no argument of a jit function and makes no op."""
    static = [
        text
        for text, value in OURS.items()
        if "a number" not in value
        and not any(word in text for word in ("n)", "(n", "n,", "(m", "m,", "m/", "m%", "*n", "Float32"))
    ]
    found = dict(zip(static, surface_table.values(static, in_jit=False), strict=True))
    assert len(static) > 500 and wrong(found) == {}


@pytest.mark.slow
def test_a_sample_of_the_record_is_what_nvidias_compiler_gives_now():
    texts = random.Random(7).sample(list(SAME), LIVE)
    assert dict(zip(texts, surface_table.theirs(texts), strict=True)) == {text: SAME[text] for text in texts}


def test_names_of_typing():
    for name in (
        "Int32",
        "Int128",
        "Float8E4M3FN",
        "Shape",
        "Stride",
        "Coord",
        "IntTuple",
        "Tile",
        "Tiler",
        "XTuple",
        "Layout",
        "ComposedLayout",
        "Tensor",
        "Pointer",
        "AddressSpace",
        "ScaledBasis",
        "Numeric",
        "Integer",
        "SymInt",
    ):
        assert getattr(cute_typing, name) is getattr(cute, name)
    for name in ("is_int_tuple", "is_integer"):
        assert getattr(cute_typing, name)(3) and not getattr(cute_typing, name)("3")


@pytest.mark.parametrize("i, n", [(5, 3), (-1, 3), (-7, 3), (11, 2), (0, 1), (2, 5), (16, 3)])
def test_indices_at_run_time_round_towards_zero(i, n):
    """Measured, release 4.8.1; shape_div gives at least 1, and 0 of 0."""

    def truncated(a, b):
        return int(a / b), a - int(a / b) * b

    @cute.jit
    def program(i: cutlass.Int32, n: cutlass.Int32):
        first, second = cute.idx2crd(i, (n, 2))
        by_rows = cute.make_layout((4, 2), stride=(2, 1))
        return first, second, by_rows(i), cute.shape_div(n, 4), cute.shape_div(12, n), cute.ceil_div(n, 4)

    quotient, remainder = truncated(i, n)
    row, column = truncated(i, 4)
    assert program(i, n) == (remainder, quotient, column * 2 + row, max(1, n // 4), max(1, 12 // n), -(-n // 4))
