"""Errors of the author's program: their text, their class in a surface's family, and warnings that may be errors."""

import warnings

import pytest

from dsl.core import errors
from dsl.core.errors import (
    DSLUserCodeError,
    DSLUserCodeRuntimeError,
    DSLUserCodeTypeError,
    DSLUserCodeZeroDivisionError,
    DSLWarning,
    PortabilityWarning,
    of_family,
    warn,
    warn_not_portable,
)
from dsl.core.number_rules import Rules, using
from dsl.exceptions import outcome_of
from dsl.span import Span


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "k.py"
    path.write_text("x = 1\ny = x + 'a'\n")
    return Span(str(path), 2, 5, 2, 12)


def test_the_whole_text(place):
    error = DSLUserCodeTypeError(
        "cannot be added", fix="give a number", place=place, also=((Span(place.file, 1, 1, 1, 2), "made here"),)
    )
    assert str(error).splitlines()[0].endswith("k.py:2:5: DSLUserCodeTypeError")
    assert str(error).splitlines()[1:3] == ["    y = x + 'a'", "        ^^^^^^^ cannot be added"]
    assert str(error).splitlines()[-1] == "fix: give a number" and "made here" in str(error)
    assert DSLUserCodeError("x", id="NAME", place=place).heading == "NAME"


def test_the_record_of_a_harness(place):
    outcome = outcome_of(DSLUserCodeError("is wrong", id="NAME", place=place))
    assert (outcome["outcome"], outcome["class"], outcome["id"], outcome["line"]) == (
        "rejected",
        "DSLUserCodeError",
        "NAME",
        2,
    )


def test_the_place_is_the_authors_expression_unless_given():
    error = DSLUserCodeError("is wrong")
    assert error.place.file == __file__ and 'DSLUserCodeError("is wrong")' in error.place.source_line()


class SurfaceError(DSLUserCodeError):
    pass


def test_a_surface_has_its_own_class_which_keeps_what_is_wrong():
    assert of_family(DSLUserCodeTypeError("x"), SurfaceError) is SurfaceError
    assert of_family(SurfaceError("x"), SurfaceError) is SurfaceError
    joined = of_family(DSLUserCodeZeroDivisionError("x"), SurfaceError)
    assert issubclass(joined, SurfaceError) and issubclass(joined, ZeroDivisionError)
    assert joined is of_family(DSLUserCodeZeroDivisionError("y"), SurfaceError)
    assert issubclass(DSLUserCodeRuntimeError, RuntimeError)


def say(text, times=1):
    for _ in range(times):
        warn(text, "SOME_ID")


def test_a_warning_is_given_once_for_each_place(monkeypatch):
    monkeypatch.setattr(errors, "_warned", {})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        say("odd", times=3)
    assert [(one.category, str(one.message), one.filename) for one in told] == [(DSLWarning, "SOME_ID: odd", __file__)]


def test_code_that_is_not_portable_gives_a_warning_or_an_error(monkeypatch):
    monkeypatch.setattr(errors, "_warned", {})
    with pytest.warns(PortabilityWarning) as told:
        warn_not_portable("it does so", "SOME_ID")
    assert [str(one.message) for one in told] == ["it does so: NVIDIA's compiler rejects that (SOME_ID)"]
    monkeypatch.setattr(errors, "_warned", {})
    with warnings.catch_warnings():
        warnings.simplefilter("error", PortabilityWarning)
        with pytest.raises(DSLUserCodeError) as error:
            warn_not_portable("it does so", "SOME_ID", fix="do not")
        with using(Rules()):
            warn_not_portable("another language's program", "SOME_ID")
    assert error.value.message == "it does so, which NVIDIA's compiler rejects"
    assert (error.value.id, error.value.fix) == ("SOME_ID", "do not")
