"""Values that no parameter takes."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Int32, cute
from dsl.launch import session


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


@pytest.mark.parametrize(
    "value, text",
    [
        ("abc", "`host` cannot take a str for `x` at run time"),
        (b"abc", "`host` cannot take a bytes for `x` at run time"),
        (1j, "`host` cannot take a complex for `x` at run time"),
        ({1, 2}, "`host` takes no set for `x`: a set has no order"),
    ],
)
def test_values_that_are_not_arguments_are_refused(value, text):
    @cute.jit
    def host(x):
        return 1

    with pytest.raises(DSLUserCodeTypeError) as error:
        host(value)
    assert error.value.message == text and error.value.place.file == __file__


def in_kernel(annotation, value):
    """Pass `value` to a kernel's parameter of this annotation."""

    @cute.kernel
    def kernel(x: annotation):
        pass

    @cute.jit
    def host(out: cute.Tensor):
        kernel(out if value == "tensor" else value).launch(grid=1, block=1)

    host(np.zeros(1, np.int32))


def from_python(annotation, value):
    @cute.jit
    def host(x: annotation):
        pass

    host(np.zeros(1, np.int32) if value == "tensor" else value)


@pytest.mark.parametrize(
    "call, annotation, value, message, fix",
    [
        (
            from_python,
            cute.Tensor,
            3,
            "`host` takes a Tensor for `x`, got Python int",
            "pass an array or a torch tensor, or from_dlpack(...)",
        ),
        (
            from_python,
            Int32,
            "tensor",
            "`host` takes Int32 for `x`, got a tensor",
            "annotate `x: cute.Tensor`, or pass a number",
        ),
        (from_python, Int32, (1, 2), "`host` takes Int32 for `x`, got tuple of 2", "pass a number"),
        (in_kernel, cute.Tensor, 3, "`kernel` takes a Tensor for `x`, got Python int", "pass a tensor"),
        (
            in_kernel,
            Int32,
            "tensor",
            "`kernel` takes Int32 for `x`, got Tensor of Int32 (?):(1)",
            "pass a number, or annotate `x: cute.Tensor`",
        ),
    ],
)
def test_a_value_of_another_kind_than_the_annotation(call, annotation, value, message, fix):
    with pytest.raises(DSLUserCodeTypeError) as error:
        call(annotation, value)
    assert (error.value.message, error.value.fix, error.value.id) == (message, fix, "ARG_ANNOTATION_MISMATCH")
