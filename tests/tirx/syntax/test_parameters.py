"""Parameters of a T function as written: their places, and what cannot be one."""

import pytest

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.tirx.syntax import parameters


def function(first, second: "an annotation" = 3, *rest, **more):  # noqa: F722
    pass


def bare(x: int, y, self):
    pass


def text_at(place) -> str:
    return place.source_line()[place.column - 1 : place.end_column - 1]


def test_the_place_of_a_parameter_is_its_name_and_annotation():
    assert text_at(parameters.parameter_place(function, "first")) == "first"
    assert text_at(parameters.parameter_place(function, "second")) == 'second: "an annotation"'
    line = function.__code__.co_firstlineno
    assert parameters.parameter_place(function, "absent").line == line


def test_errors_of_an_annotation_get_the_place_of_the_parameter():
    with pytest.raises(DSLUserCodeError) as error, parameters.at_parameter(function, "second"):
        raise DSLUserCodeError("is wrong")
    assert text_at(error.value.place) == 'second: "an annotation"'


def test_defaults_and_stars_are_refused():
    with pytest.raises(DSLUserCodeTypeError) as error:
        parameters.check_parameters(function, {})
    assert error.value.message == "`second` has a default, which a call does not know"
    with pytest.raises(DSLUserCodeTypeError) as error:
        parameters.check_parameters(function, {"second": 5})
    assert error.value.message == "`*rest` stands for any number of arguments"
    parameters.check_parameters(bare, {})


@pytest.mark.parametrize(
    "name, annotation, message, fix",
    [
        ("x", int, "`x` of `bare` is annotated with the type int", "x: T.int32"),
        ("y", None, "`y` of `bare` has no annotation", 'y: T.Buffer((256,), "float32"), T.handle or T.int32'),
        ("self", None, "`self` of `bare` must be a tensor or a number", "define the kernel outside the class"),
    ],
)
def test_annotations_that_no_parameter_has(name, annotation, message, fix):
    error = parameters.bad_annotation(bare, name, annotation)
    assert (str(error.message), error.fix) == (message, fix) and text_at(error.place).startswith(name)
