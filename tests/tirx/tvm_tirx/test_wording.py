"""Errors of tvm programs in the words of tvm_tirx programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.span import Span
from dsl.tirx.tvm_tirx.wording import SPELLINGS, respelled, translated

TEXTS = (Path(__file__).parents[1] / "errors" / "mistakes.txt").read_text()
SOURCES = "".join(path.read_text() for path in (Path(__file__).parents[3] / "dsl").rglob("*.py"))


@pytest.mark.parametrize(
    "text, becomes",
    [
        ('tvm.compile(tvm.IRModule({"main": f}), target="cuda")', 'tvm_tirx.tirx.compile(f, target="cuda")'),
        ("T.prim_func decorates a function", "T.function decorates a function"),
        ("`x` is a register of int32, got buffer of float32 (64,)", "`x` is a variable of int32, got tensor of float32 (64,)"),
        ("register count must be a multiple of 8", "register count must be a multiple of 8"),
        ("call `buffer(3)` of `register`", "call `buffer(3)` of `register`"),
        ("in T it is T.thread_id([...])", 'in T it is T.cuda.thread_idx("x")'),
        ("`acc__dsl_2` is not defined here", "`acc` is not defined here"),
        ("apache-tvm-ffi", "apache-tvm-ffi"),
    ],
)  # fmt: skip
def test_texts(text, becomes):
    assert translated(text) == becomes


def test_an_error_inside_has_the_words():
    place = Span("k.py", 1)
    with pytest.raises(DSLUserCodeError) as caught, respelled():
        raise DSLUserCodeError("a T.prim_func", fix="T.Buffer(...)", place=place, also=((place, "a register"),))
    assert (caught.value.message, caught.value.fix) == ("a T.function", "T.Tensor(...)")
    assert caught.value.also == ((place, "a variable"),)


def test_every_spelling_is_one_of_a_text_that_exists():
    """A text that changes in dsl.tirx must change here too."""
    for theirs, _ in SPELLINGS:
        words = max(re.split(r"\\.|[()\[\]{}|?*+^$!:]", theirs), key=len)
        assert words in TEXTS or words in SOURCES, theirs
