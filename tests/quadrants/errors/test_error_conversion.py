"""Errors of core, of launches and of Python leave a kernel as Quadrants' own."""

import pytest

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeZeroDivisionError
from dsl.core.number.dtypes import Float32, Int32
from dsl.core.phrase import Phrase, conversion
from dsl.quadrants.errors import error_conversion
from dsl.quadrants.errors.errors import (
    OutOfRange,
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsNameError,
    QuadrantsTypeError,
)


def of(error: Exception) -> Exception:
    with pytest.raises(QuadrantsCompilationError) as caught, error_conversion.converted():
        raise error
    return caught.value


def test_an_error_of_core_has_the_surfaces_class_words_and_fix():
    phrase = Phrase("`{sign}` needs integers, got {dtype}", sign="&", dtype=Float32)
    error = of(DSLUserCodeTypeError(phrase, fix=Phrase("convert it: {to}", to=conversion(Int32)), id="X"))
    assert type(error) is QuadrantsTypeError
    assert (error.message, error.fix, error.id) == ("`&` needs integers, got f32", "convert it: `qd.i32(x)`", "X")


def test_a_fix_for_another_language_is_replaced():
    error = of(DSLUserCodeError("wrong", fix=Phrase("pass it as cutlass.Constexpr", "PASS_AS_STATIC")))
    assert error.fix == "compute it outside the kernel, and pass it as an argument"


def test_a_class_that_names_the_mistake_stays():
    error = of(DSLUserCodeZeroDivisionError("`//` divides by zero", fix="test the divisor first"))
    assert isinstance(error, ZeroDivisionError) and isinstance(error, QuadrantsCompilationError)
    assert error.fix == "test the divisor first"


def test_a_name_that_has_no_value_is_a_name_error():
    assert type(of(DSLUserCodeError("`x` has no value", "assign it", "SCOPE_UNBOUND_NAME"))) is QuadrantsNameError


def test_errors_outside_of_kernels_get_a_compilation_class():
    assert type(of(OutOfRange("index 3", "use 2"))) is QuadrantsIndexError


def test_an_error_of_python_is_worded():
    error = of(TypeError("unsupported operand type(s) for +: 'Int32' and 'str'"))
    assert type(error) is QuadrantsTypeError
    assert error.message == "`+` is not defined for an i32 and a string"
    assert error.fix == "compute with numbers: a string is for print and assert"


def test_a_launch_error_that_is_not_a_fault_stays():
    error = OSError("no device")
    assert error_conversion.of_launch(error) is error
