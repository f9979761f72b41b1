"""Mistakes that authors make in T programs: each is reported at their line, with a caret, in their words, with the fix.

Modules tested here: dsl/tirx/errors/expression_errors.py.
"""

from __future__ import annotations

import re

import pytest

from dsl import alias
from dsl.core.errors import DSLUserCodeError
from tests.tirx.errors import mistakes

EVERY = mistakes.read()
# what the real package raises, if the mistake has a Python class
CLASSES = {
    "CALL_ARGUMENTS": TypeError,
    "DIVISION_BY_ZERO": ZeroDivisionError,
    "UNKNOWN_NAME": AttributeError,
    "UNSUPPORTED_NAME": AttributeError,
    "SPECIALIZE": TypeError,
    "NO_FUNCTION": AttributeError,
}
OURS = re.compile(
    r"/dsl/|Traceback|INTERNAL|<locals>|cutlass|@cute|Constexpr\b|__dsl|\bInt32\b|\bFloat32\b|, and (?:got|this is)\b"
)


@pytest.fixture(scope="module")
def errors():
    alias.install("emulator")
    try:
        yield [one.error() for one in EVERY]
    finally:
        alias.uninstall()


@pytest.mark.slow
def test_there_are_many():
    assert len(EVERY) > 250 and len({one.title for one in EVERY}) == len(EVERY)


@pytest.mark.slow
def test_the_whole_texts(errors):
    for one, error in zip(EVERY, errors, strict=True):
        assert mistakes.said(error) == one.text, one.title


@pytest.mark.slow
def test_every_mistake_has_a_place_a_caret_and_a_fix(errors):
    for one, error in zip(EVERY, errors, strict=True):
        assert isinstance(error, DSLUserCodeError), f"{one.title}: {error!r}"
        first, line, caret, *_ = error.said.splitlines()
        place = re.fullmatch(rf"{mistakes.NAME}:(\d+):(\d+): [A-Z][A-Za-z_]+", first)
        assert place, f"{one.title}: {first}"
        source = one.source.splitlines()[int(place[1]) - 1]
        assert line == f"    {source.strip()}", one.title
        column = int(place[2]) - 1 - (len(source) - len(source.lstrip()))
        assert re.match(r" {%d}\^+ \S" % (column + 4), caret), f"{one.title}: {caret}"
        assert error.said.splitlines()[-1].startswith("fix: ") and len(error.fix) > 5, one.title
        assert not OURS.search(error.said), f"{one.title}: {OURS.search(error.said)[0]}"


@pytest.mark.parametrize("name", CLASSES)
def test_errors_are_of_pythons_classes_too(name):
    alias.install("emulator")
    try:
        errors = [
            one.error() for one in EVERY if re.search(rf"^{mistakes.NAME}:\d+:\d+: {name}$", one.text, re.MULTILINE)
        ]
    finally:
        alias.uninstall()
    assert errors and all(error.id == name and isinstance(error, CLASSES[name]) for error in errors)
