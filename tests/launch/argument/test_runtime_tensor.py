"""from_dlpack: which extents and strides are dynamic, and the refusals."""

import pytest
import torch

from dsl.core.errors import DSLUserCodeRuntimeError, DSLUserCodeTypeError
from dsl.core.number import dtypes
from dsl.core.number.dtypes import Float32, Uint8
from dsl.launch import session
from dsl.launch.argument.runtime_tensor import from_dlpack


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()


def layout(tensor) -> str:
    return tensor.argument_type().layout_text()


def test_elements_are_read_as_another_type_of_their_width(emulator):
    data = torch.tensor([0x38, 0x7E, 0xC0, 0x01], dtype=torch.uint8)
    tensor = from_dlpack(data).mark_layout_dynamic()
    assert tensor.argument_type().dtype is Uint8
    tensor.element_type = dtypes.Float8E4M3FN
    assert tensor.element_type is tensor.dtype is tensor.argument_type().dtype is dtypes.Float8E4M3FN
    assert layout(tensor) == "(?):(1)" and tensor.data_ptr == data.data_ptr()
    for wrong in (Float32, 8):
        with pytest.raises(DSLUserCodeTypeError, match="elements of Float8E4M3FN cannot be read as (Float32|8)"):
            tensor.element_type = wrong


# The texts of release 4.8.1 for the same calls, except its doubled spelling of static strides.
@pytest.mark.parametrize(
    "shape, mark, text",
    [
        ((4, 8), lambda t: t, "(4,8):(8,1)"),
        ((), lambda t: t, "():()"),
        ((4, 8), lambda t: t.mark_layout_dynamic(), "(?,?):(?{i64},1)"),
        ((4, 8), lambda t: t.mark_layout_dynamic(leading_dim=-1), "(?,?):(?{i64},1)"),
        ((4, 1), lambda t: t.mark_layout_dynamic(), "(?,?):(1,?{i64})"),
        ((1, 8), lambda t: t.mark_layout_dynamic(), "(?,?):(?{i64},1)"),
        ((4, 8), lambda t: t.mark_compact_shape_dynamic(0), "(?,8):(8,1)"),
        ((4, 8), lambda t: t.mark_compact_shape_dynamic(mode=0, stride_order=(0, 1)), "(?,8):(8,1)"),
        ((4, 8), lambda t: t.mark_compact_shape_dynamic(mode=1, divisibility=4), "(4,?{div=4}):(?{i64 div=4},1)"),
        ((4, 1, 8), lambda t: t.mark_compact_shape_dynamic(mode=1), "(4,?,8):(?{i64 div=8},8,1)"),
        (
            (4, 8, 16),
            lambda t: t.mark_compact_shape_dynamic(mode=1, divisibility=2),
            "(4,?{div=2},16):(?{i64 div=32},16,1)",
        ),
        (
            (4, 8, 16),
            lambda t: t.mark_compact_shape_dynamic(mode=1, divisibility=2).mark_compact_shape_dynamic(
                mode=2, divisibility=4
            ),
            "(4,?{div=2},?{div=4}):(?{i64 div=8},?{i64 div=4},1)",
        ),
        (
            (4, 8),
            lambda t: t.mark_layout_dynamic(leading_dim=1).mark_compact_shape_dynamic(
                mode=1, stride_order=(0, 1), divisibility=4
            ),
            "(?,?{div=4}):(?{i64 div=4},1)",
        ),
        (
            (4, 8),
            lambda t: t.mark_layout_dynamic(leading_dim=1).mark_compact_shape_dynamic(
                mode=0, stride_order=(0, 1), divisibility=4
            ),
            "(?{div=4},?):(?{i64},1)",
        ),
    ],
)
def test_layout_of_a_marked_tensor(shape, mark, text):
    assert layout(mark(from_dlpack(torch.zeros(shape)))) == text


def test_layout_of_marked_views():
    assert layout(from_dlpack(torch.zeros(4, 1, 8).expand(4, 3, 8)).mark_layout_dynamic()) == "(?,?,?):(?{i64},0,1)"
    assert (
        layout(from_dlpack(torch.zeros(4, 5, 8).permute(2, 0, 1)).mark_layout_dynamic()) == "(?,?,?):(1,?{i64},?{i64})"
    )
    assert layout(from_dlpack(torch.zeros(8, 8)[:, ::2]).mark_layout_dynamic()) == "(?,?):(?{i64},?{i64})"
    assert layout(from_dlpack(torch.zeros(4, 8), use_32bit_stride=True).mark_layout_dynamic()) == "(?,?):(?,1)"


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda t: t.mark_layout_dynamic(5), "Expected leading_dim to be in range [0, 2) or [-2, -1], but got 5."),
        (lambda t: t.mark_layout_dynamic(0), "Expected strides[leading_dim] == 1, but got 8."),
        (lambda t: t.mark_compact_shape_dynamic(3), "Expected mode value to be in range [0, 2), but got 3."),
        (
            lambda t: t.mark_compact_shape_dynamic(1, divisibility=3),
            "The shape(8) of mode(1) is not divisible by the divisibility(3).",
        ),
        (
            lambda t: t.mark_compact_shape_dynamic(1, stride_order=(1, 0)),
            "The stride_order is not consistent with the deduced stride_order.",
        ),
    ],
)
def test_bad_marks_are_refused(call, text):
    with pytest.raises(DSLUserCodeRuntimeError) as error:
        call(from_dlpack(torch.zeros(4, 8)))
    assert error.value.message == text


def test_leading_mode_must_be_known():
    with pytest.raises(DSLUserCodeRuntimeError, match="please specify leading_dim explicitly"):
        from_dlpack(torch.zeros(1, 1)).mark_layout_dynamic()
