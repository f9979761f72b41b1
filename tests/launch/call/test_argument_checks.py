"""Values that no parameter takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Float32, Int32, cute
from dsl.cutlass.cute.runtime import make_ptr
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


@dataclass
class Settings:
    width: int


@dataclass
class Others:
    width: int


def print_nothing():
    pass


ADDRESS = make_ptr(Int32, 64, cute.AddressSpace.gmem)


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
            "pass a number, or annotate `x: cute.Tensor`",
        ),
        (from_python, Int32, (1, 2), "`host` takes Int32 for `x`, got tuple of 2", "pass a number"),
        (
            from_python,
            cute.Tensor,
            [1.0],
            "`host` takes a Tensor for `x`, got list of 1",
            "pass an array or a torch tensor, or from_dlpack(...)",
        ),
        (
            from_python,
            cute.Tensor | None,
            ADDRESS,
            "`host` takes a Tensor or None for `x`, got a pointer",
            "pass a Tensor or None, or annotate `x` with what it gets",
        ),
        (
            from_python,
            cute.Pointer,
            "tensor",
            "`host` takes a Pointer for `x`, got a tensor",
            "pass make_ptr(dtype, address)",
        ),
        (
            from_python,
            cute.Layout,
            (4, 8),
            "`host` takes a Layout for `x`, got tuple of 2",
            "pass cute.make_layout(...)",
        ),
        (
            from_python,
            int,
            2.5,
            "`host` takes an int for `x`, got Python float",
            "pass an int, or annotate `x` with what it gets",
        ),
        (
            from_python,
            cute.Shape,
            print_nothing,
            "`host` takes a Shape for `x`, got a function",
            "pass a Shape, or annotate `x` with what it gets",
        ),
        (
            from_python,
            Settings,
            Others(3),
            "`host` takes a Settings for `x`, got Others",
            "pass a Settings, or annotate `x` with what it gets",
        ),
        (
            in_kernel,
            tuple,
            3,
            "`kernel` takes a tuple for `x`, got Python int",
            "pass a tuple, or annotate `x` with what it gets",
        ),
        (
            in_kernel,
            cute.Pointer,
            "tensor",
            "`kernel` takes a Pointer for `x`, got Tensor of Int32 (?):(1)",
            "pass a pointer: `t.iterator`",
        ),
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


@pytest.mark.parametrize(
    "annotation, value",
    [
        (cute.Tensor, "tensor"),
        (cute.Tensor | None, None),
        (Int32 | Float32, Float32(2.5)),
        (Int32, np.int32(3)),
        (int, True),
        (float, 3),
        (tuple, [1, 2]),
        (list[Int32], (1, 2)),
        (Any, (1, 2)),
        (object, 3),
        (np.ndarray, "tensor"),
        (cute.Shape, (4, (2, 2))),
        (Settings, Settings(3)),
        (cute.Pointer, ADDRESS),
    ],
)
def test_a_value_that_fits_the_annotation(annotation, value):
    from_python(annotation, value)
