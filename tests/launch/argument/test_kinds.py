"""Arguments: which leaves are dynamic, what a call must bring, and the text where it does not."""

import ctypes
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from dsl.core.errors import DSLUserCodeRuntimeError, DSLUserCodeTypeError, DSLWarning
from dsl.core.ir import mlir
from dsl.core.number import dtypes
from dsl.core.number.dtypes import BFloat16, Boolean, Float32, Int32, Int64, Uint8
from dsl.core.number.pointer import AddressSpace
from dsl.launch import session
from dsl.launch.argument import abi, dlpack, kinds as arguments
from dsl.launch.argument.kinds import (
    Signature,
    from_dlpack,
    make_fake_compact_tensor,
    make_fake_stream,
    make_fake_tensor,
    make_ptr,
    sym_int,
    sym_int64,
    typed,
)


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()


def layout(tensor) -> str:
    return tensor.argument_type().layout_text()


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("bool", Boolean),
        ("int8", dtypes.Int8),
        ("uint8", Uint8),
        ("int16", dtypes.Int16),
        ("int32", Int32),
        ("int64", Int64),
        ("float16", dtypes.Float16),
        ("bfloat16", BFloat16),
        ("float32", Float32),
        ("float64", dtypes.Float64),
    ],
)
def test_element_types(name, dtype):
    assert from_dlpack(torch.zeros(4, dtype=getattr(torch, name))).element_type is dtype
    if name != "bfloat16":
        assert from_dlpack(np.zeros(4, name)).element_type is dtype


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


def test_complex_tensor_is_refused_by_name():
    with pytest.raises(DSLUserCodeTypeError, match="a tensor of complex64 has no element type here"):
        from_dlpack(torch.zeros(4, dtype=torch.complex64))


def test_view_knows_the_whole_storage():
    for base in (torch.zeros(8, 8), np.zeros((8, 8), np.float32)):
        view = dlpack.view(base[2:, ::2])
        assert view.shape == (6, 4) and view.strides == (8, 2)
        assert view.storage == (view.address - 64, 256)
    reversed_rows = dlpack.view(np.zeros((4, 4), np.int8)[::-1])
    assert reversed_rows.strides == (-4, 1) and reversed_rows.storage == (reversed_rows.address - 12, 16)


# The texts of release 4.8.1 for the same calls, but for its doubled spelling of static strides.
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


def test_fake_compact_tensors():
    n = sym_int(divisibility=4)
    fake = make_fake_compact_tensor
    assert layout(fake(Float32, (32, 8))) == "(32,8):(1,32)"
    assert layout(fake(Float32, (32, 8), stride_order=(1, 0))) == "(32,8):(8,1)"
    assert layout(fake(Float32, (4, 5, 6), stride_order=(2, 0, 1))) == "(4,5,6):(30,1,5)"
    assert layout(fake(Float32, (n, 8))) == "(?{div=4},8):(1,?{i64 div=4})"
    assert layout(fake(Float32, (8, n), stride_order=(1, 0), use_32bit_stride=True)) == "(8,?{div=4}):(?{div=4},1)"
    assert layout(make_fake_tensor(Float32, (sym_int(), 8), (sym_int64(), 1))) == "(?,8):(?{i64},1)"
    with pytest.raises(ValueError, match="must be empty or have same length as shape"):
        fake(Float32, (4, 5), stride_order=(0,))


def test_pointer_arguments():
    assert make_ptr(Float32, 64, AddressSpace.gmem, assumed_align=32).address == 64
    cell = ctypes.c_float(1)
    assert make_ptr(Float32, ctypes.pointer(cell)).address == ctypes.addressof(cell)
    with pytest.raises(ValueError, match="pointer must be 32 bytes aligned, got 0x10"):
        make_ptr(Float32, 16, assumed_align=32)
    with pytest.raises(TypeError, match="Expect int or ctypes.POINTER"):
        make_ptr(Float32, "a")


@dataclass
class Config:
    tensor: object
    rows: int


def test_what_each_value_is_typed_as():
    assert typed(5) == arguments.ScalarType(Int32) and typed(1 << 40).dtype is Int32
    assert typed(5, Float32).dtype is Float32 and typed(True).dtype is Boolean and typed(2.5).dtype is Float32
    assert typed(np.int64(5)).dtype is Int64 and typed(np.uint8(5)).dtype is Uint8
    assert typed(Uint8(3)).dtype is Uint8
    assert layout_of(typed(torch.zeros(4, 8))) == "(?,?):(?{i64},1)"
    assert typed(make_fake_stream()).slot_formats() == "Q"
    assert typed("text") == "text" and typed(None) is None and typed((None, "a")) == (None, "a")
    assert typed((1, 2.5, True)).slot_formats() == "if?"
    pair = typed((torch.zeros(4), 3))
    assert pair.slot_formats() == "Pii" and str(pair) == "tuple(Tensor([?], float32), int32)"
    assert typed(Config(torch.zeros(4, 8), 3)).slot_formats() == "Piiqi"


@pytest.mark.parametrize("dtype", [dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64])
def test_a_python_number_for_an_unsigned_parameter_is_signed_as_upstream(dtype):
    """Upstream 4.8.1: `200` for a Uint8 is an Int8 of -56, in jit functions, dataclass fields and kernels."""
    signed, most = getattr(dtypes, f"Int{dtype.width}"), 2**dtype.width - 1
    type_ = typed(5, dtype)
    assert type_ == arguments.ScalarType(signed)
    assert typed(dtype(5), dtype).dtype is dtype and typed(signed(5), dtype).dtype is dtype
    binding = abi.Binding()
    assert type_.read(5, binding) == [5] and type_.read(-5, binding) == [-5]
    for _ in range(2):  # the warning comes once a place
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            values = [type_.read(number, binding) for number in (most, most)]
        assert values == [[-1], [-1]]
        assert [str(each.message) for each in caught] == [
            f"TYPE_INT_LITERAL_OUT_OF_RANGE: {most} for the {dtype} `argument` is passed as {signed}, as every Python "
            f"number is, and becomes -1: pass {dtype}({most})"
        ]


def test_kernel_parameters_take_python_numbers_as_upstream(emulator):
    from dsl import cutlass
    from dsl.cutlass import cute

    seen = []

    @cute.kernel
    def kernel(a: cutlass.Uint8, b: cutlass.Uint16, c: cutlass.Uint32, d: cutlass.Uint64):
        seen.append((a.dtype, b.dtype, c.dtype, d.dtype))

    @cute.jit
    def host():
        kernel(200, 40000, 4000000000, 2**63 + 5).launch(grid=1, block=1)
        kernel(cutlass.Uint8(2), cutlass.Int16(4), cutlass.Uint32(3), cutlass.Int64(2)).launch(grid=1, block=1)

    with pytest.warns(UserWarning, match="becomes -294967296"):
        host()
    assert seen == [
        (dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64),
        (dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64),
    ]


def layout_of(type_) -> str:
    return type_.layout_text()


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


def test_bfloat16_travels_as_bits():
    slots, _ = Signature("f", ["x"], [typed(BFloat16(0))]).bind([1.5])
    assert slots == [0x3FC0]


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
            TypeError,
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
def test_mismatch_says_what_was_expected(values, error, text):
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


def test_misaligned_tensor_is_refused():
    with pytest.raises(ValueError, match="a.data on argument #0 .* expected to be 16 bytes aligned, got 0x"):
        SIGNATURE.bind([torch.zeros(4 * 8 + 1)[1:].view(4, 8), torch.zeros(4), 1])


def test_stride_of_one_row_does_not_matter():
    SIGNATURE.bind([torch.zeros(8, 1).t(), torch.zeros(1), 1])


def test_symbols_check_divisibility():
    signature = Signature("f", ["a"], [typed(make_fake_compact_tensor(Float32, (sym_int(divisibility=4),)))])
    with pytest.raises(ValueError, match="expected to be a multiple of 4, got 6"):
        signature.bind([torch.zeros(6)])


def test_generic_pointer_is_rebuilt_in_its_space():
    module = mlir.Module()
    _, entry = module.function("f", [mlir.ptr(1)])
    with mlir.inside(entry):
        pointer = make_ptr(Float32, 16).argument_type().rebuild(list(entry.arguments))
        mlir.op("llvm.return")
    assert pointer.space is AddressSpace.generic and pointer.alignment_bytes == 4
    assert "llvm.addrspacecast" in module.text()


def test_a_stream_of_the_environment_is_torchs_current_one(monkeypatch):
    stream = typed(make_fake_stream(use_tvm_ffi_env_stream=True))
    assert stream.read(None, None) == [0]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: type("Stream", (), {"cuda_stream": 77}))
    assert stream.read(None, None) == [77]


def test_an_annotation_of_a_family_takes_numbers_as_they_are():
    from dsl.cutlass import Float, Integer, Numeric, cute

    kinds = []

    @cute.kernel
    def kernel(a: Float, b: Integer, c: Numeric, d: Float):
        kinds.append([type(value).__name__ for value in (a, b, c, d)])

    @cute.jit
    def host(a: Float, b: Integer, c: Numeric, d: Float):
        kinds.append([type(value).__name__ for value in (a, b, c, d)])
        kernel(a, b, c, d).launch(grid=1, block=1)
        kernel(1.5, 2, c, 3).launch(grid=1, block=1)

    host(1e-6, 3, BFloat16(2), 1)
    assert kinds == [["Float32", "Int32", "BFloat16", "Float32"]] * 2 + [["Float32", "Int32", "BFloat16", "Float32"]]
