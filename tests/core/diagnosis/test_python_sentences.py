"""Python's sentences are read from real exceptions, so that a release of Python that changes one fails here."""

import math

import numpy as np
import pytest

from dsl.core.diagnosis.python_sentences import read


class Thing:
    """Without operators."""


THING = Thing()
CASES = {
    "BINARY": (lambda: THING + 1, {"operator": "+", "left": "Thing", "right": "int"}),
    "BINARY of pow": (lambda: THING**2, {"operator": "**", "left": "Thing", "right": "int"}),
    "COMPARE": (lambda: THING < 1, {"operator": "<", "left": "Thing", "right": "int"}),
    "UNARY": (lambda: -THING, {"operator": "-", "type": "Thing"}),
    "CONCATENATE": (lambda: [1] + (2,), {"left": "list", "right": "tuple"}),
    "CALL": (lambda: THING(), {"type": "Thing"}),
    "SUBSCRIPT": (lambda: THING[0], {"type": "Thing"}),
    "STORE": (lambda: exec("(1,)[0] = 2"), {"type": "tuple"}),
    "LENGTH": (lambda: len(THING), {"type": "Thing"}),
    "WITH": (lambda: exec("with THING: pass", {"THING": THING}), {"type": "Thing"}),
    "UNPACK_ARGUMENTS": (lambda: print(*THING), {"type": "Thing"}),
    "UNPACK": (lambda: exec("a, b = 1"), {"type": "int"}),
    "ITERATE": (lambda: iter(THING), {"type": "Thing"}),
    "HASH": (lambda: {[]: 1}, {"type": "list"}),
    "ROUND": (lambda: round(THING), {"type": "Thing"}),
    "UFUNC": (lambda: np.exp(np.array([THING])), {"type": "Thing"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_is_a_kind_with_fields(name):
    fail, fields = CASES[name]
    with pytest.raises(TypeError) as caught:
        fail()
    sentence = read(caught.value)
    assert sentence is not None, caught.value
    assert (sentence.kind, sentence.fields) == (name.partition(" ")[0], fields)


def test_other_sentences_have_none():
    assert read(ValueError("math domain error")) is None
    with pytest.raises(TypeError) as caught:
        math.floor("x")
    assert read(caught.value) is None
