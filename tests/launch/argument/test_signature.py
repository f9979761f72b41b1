"""Arguments that a call needs, and the text of the error if they do not fit."""

import pytest
import torch

from dsl.core.errors import DSLWarning
from dsl.core.number.dtypes import Float32, Int32
from dsl.launch.argument.fake_arguments import make_fake_compact_tensor, make_fake_stream
from dsl.launch.argument.kinds import typed
from dsl.launch.argument.runtime_tensor import from_dlpack
from dsl.launch.argument.signature import Signature
from dsl.launch.argument.symbolic_int import sym_int


def test_slots_of_a_call():
    n = sym_int()
    tensor = torch.zeros(4, 8)
    signature = Signature(
        "f",
        ["a", "b", "n", "s"],
        [
            typed(make_fake_compact_tensor(Float32, (n, 8), stride_order=(1, 0))),
            typed(from_dlpack(tensor)),
            typed(7),
            typed(make_fake_stream(use_tvm_ffi_env_stream=True)),
        ],
    )
    slots, binding = signature.bind([tensor, from_dlpack(tensor), 7])
    assert slots == [tensor.data_ptr(), 4, tensor.data_ptr(), 7, 0]
    assert binding.storages == [(tensor.data_ptr(), 128, "a"), (tensor.data_ptr(), 128, "b")]
    assert "".join(type_.slot_formats() for type_ in signature.types) == "PiPiQ"


def test_arguments_by_name():
    tensor, other = torch.zeros(4, 8), torch.zeros(4)
    assert SIGNATURE.bind([tensor], {"n": 3, "b": other})[0] == SIGNATURE.bind([tensor, other, 3])[0]
    with pytest.raises(TypeError, match="Expects 3 arguments .* got 3 and m;"):
        SIGNATURE.bind([tensor, other, 3], {"m": 1})
    with pytest.raises(TypeError, match="Expects 3 arguments .* got 1, b missing;"):
        SIGNATURE.bind([tensor], {"n": 3})


N = sym_int()


SIGNATURE = Signature(
    "f",
    ["a", "b", "n"],
    [
        typed(make_fake_compact_tensor(Float32, (N, 8), stride_order=(1, 0), assumed_align=16)),
        typed(make_fake_compact_tensor(Float32, (N,))),
        typed(Int32(1)),
    ],
)


F = "f(a: Tensor([?, 8], float32), b: Tensor([?], float32), n: int32)"


@pytest.mark.parametrize(
    "values, error, text",
    [
        (
            (torch.zeros(4, 9), torch.zeros(4), 1),
            ValueError,
            f"Mismatched a.shape[1] on argument #0 when calling: `{F}`, expected to be 8, got 9",
        ),
        (
            (torch.zeros(4), torch.zeros(4), 1),
            ValueError,
            f"Mismatched a.ndim on argument #0 when calling: `{F}`, expected to be 2, got 1",
        ),
        (
            (torch.zeros(4, 8), torch.zeros(5), 1),
            ValueError,
            f"Mismatched b.shape[0] on argument #1 when calling: `{F}`, expected to be 4, as a.shape[0], got 5",
        ),
        (
            (torch.zeros(8, 4).t(), torch.zeros(4), 1),
            ValueError,
            f"Mismatched a.strides[0] on argument #0 when calling: `{F}`, expected to be 8, got 1",
        ),
        (
            (torch.zeros(4, 8).half(), torch.zeros(4), 1),
            ValueError,  # as TVM FFI
            f"Mismatched a.dtype on argument #0 when calling: `{F}`, expected to be Float32, got Float16",
        ),
        (
            (torch.zeros(4, 8), None, 1),
            TypeError,
            f"Mismatched b on argument #1 when calling: `{F}`, expected to be a tensor, got NoneType",
        ),
        (
            (torch.zeros(4, 8), torch.zeros(4), "1"),
            TypeError,
            f"Mismatched n on argument #2 when calling: `{F}`, expected to be Int32, got str",
        ),
        (
            (torch.zeros(4, 8), torch.zeros(4)),
            TypeError,
            f"Expects 3 arguments when calling: `{F}`, got 2, n missing; static ones are part of the code",
        ),
    ],
)
def test_a_mismatch_names_what_was_expected(values, error, text):
    with pytest.raises(error) as raised:
        SIGNATURE.bind(values)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    "value, becomes, warning",
    [
        (1 << 40, 0, "TYPE_INT_LITERAL_OUT_OF_RANGE: 1099511627776 does not fit in Int32"),
        (1.5, 1, "TYPE_FLOAT_TRUNCATED: 1.5 becomes 1 as the Int32 `n`"),
    ],
)
def test_a_number_that_does_not_fit_is_converted_with_a_warning(value, becomes, warning):
    with pytest.warns(DSLWarning, match=warning):
        slots, _ = SIGNATURE.bind((torch.zeros(4, 8), torch.zeros(4), value))
    assert slots[-1] == becomes


DYNAMIC = "`from_dlpack(tensor).mark_layout_dynamic()` leaves extents and strides to each call"
AGAIN = f"pass one like the argument that it was compiled with, or compile it again with this one; {DYNAMIC}"


@pytest.mark.parametrize(
    "values, fix",
    [
        ((torch.zeros(4, 9), torch.zeros(4), 1), AGAIN),
        ((torch.zeros(4), torch.zeros(4), 1), AGAIN),
        ((torch.zeros(4, 8), torch.zeros(5), 1), "pass one whose shape[0] is 4, as a.shape[0]"),
        (
            (torch.zeros(4, 8).half(), torch.zeros(4), 1),
            "pass elements of Float32, or compile the function again with an argument like this one",
        ),
        (
            (torch.zeros(33)[1:].view(4, 8), torch.zeros(4), 1),
            "pass memory with this alignment, or compile it with `from_dlpack(tensor, assumed_align=4)`",
        ),
        ((torch.zeros(4, 8), None, 1), "pass a tensor as `b`"),
        ((torch.zeros(4, 8), torch.zeros(4), "1"), "pass Int32 as `n`"),
        ((torch.zeros(4, 8), torch.zeros(4)), "call it with `a`, `b`, `n`"),
    ],
)
def test_a_mismatch_has_a_fix_and_is_not_one_of_the_compiler(values, fix):
    with pytest.raises((TypeError, ValueError)) as raised:
        SIGNATURE.bind(values)
    assert raised.value.__notes__ == [f"fix: {fix}"] and raised.value.is_authors


def test_misaligned_tensor_is_refused():
    with pytest.raises(ValueError, match="a.data on argument #0 .* expected to be 16 bytes aligned, got 0x"):
        SIGNATURE.bind([torch.zeros(4 * 8 + 1)[1:].view(4, 8), torch.zeros(4), 1])


def test_stride_of_one_row_does_not_matter():
    SIGNATURE.bind([torch.zeros(8, 1).t(), torch.zeros(1), 1])
