"""The quick reader of a call's arguments gives what the careful way gives, or None."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dsl.core.number.dtypes import BFloat16, Boolean, Float32, Int8, Int32
from dsl.launch.argument.abi import PointerType, ScalarType, Static, StreamType, TensorType
from dsl.launch.argument.fake_arguments import make_fake_compact_tensor, make_fake_stream
from dsl.launch.argument.kinds import typed
from dsl.launch.argument.runtime_pointer import make_ptr
from dsl.launch.argument.runtime_tensor import from_dlpack
from dsl.launch.argument.signature import Signature
from dsl.launch.argument.symbolic_int import sym_int
from dsl.launch.call import argument_reader

HOST = SimpleNamespace(wants_storages=True, kind="emulator")
GPU = SimpleNamespace(wants_storages=False, kind="cuda")


def both_ways(types, values, device=None, exact=False):
    """(slots, storages) of the quick way, which may be None, and of the careful one."""
    names = [f"x{index}" for index in range(len(types))]
    slots, binding = Signature("f", names, types).bind(values)
    return argument_reader.make(names, types, device, exact)(*values), (tuple(slots), tuple(binding.storages))


N = sym_int(divisibility=4)


@pytest.mark.parametrize(
    "type_, value",
    [
        (typed(torch.zeros(4, 8)), torch.zeros(6, 8)),
        (typed(torch.zeros(4, 8)), from_dlpack(torch.zeros(6, 8))),
        (typed(from_dlpack(torch.zeros(4, 8))), torch.zeros(4, 8)),
        (typed(torch.zeros(())), torch.zeros(())),
        (typed(torch.zeros(8, 8)), torch.zeros(8, 8)[2:]),
        (make_fake_compact_tensor(Float32, (N, N)).argument_type(), torch.zeros(8, 8).t()),
        (typed(torch.zeros(4, dtype=torch.bfloat16)), torch.zeros(9, dtype=torch.bfloat16)),
        (ScalarType(Int32), -5),
        (ScalarType(Boolean), True),
        (ScalarType(Float32), 0.5),
        (PointerType(Float32, make_ptr(Float32, 0).memspace, 4), make_ptr(Float32, 64)),
        (StreamType(), 77),
    ],
)
def test_ordinary_arguments_are_read_quickly(type_, value):
    quick, careful = both_ways([type_], [value], HOST)
    assert quick == careful


def test_a_stream_of_the_environment_takes_no_argument():
    types = [typed(1), typed(make_fake_stream(use_tvm_ffi_env_stream=True)), typed(2)]
    assert argument_reader.make(["a", "s", "b"], types, None)(5, 6) == ((5, 0, 6), ())


@pytest.mark.parametrize(
    "type_, value",
    [
        (typed(torch.zeros(4, 8)), torch.zeros(8)),
        (typed(torch.zeros(4, 8)), torch.zeros(4, 8).half()),
        (typed(torch.zeros(4, 8)), torch.zeros(8, 4).t()),
        (typed(torch.zeros(4)), torch.zeros(0)),  # an address of 0
        (typed(torch.zeros(4)), torch.zeros(4, requires_grad=True)),
        (typed(torch.zeros(4)), np.zeros(4, np.float32)),
        (typed(torch.zeros(4)), None),
        (typed(from_dlpack(torch.zeros(4, 8))), torch.zeros(4, 9)),
        (typed(from_dlpack(torch.zeros(8), assumed_align=16)), torch.zeros(9)[1:]),
        (make_fake_compact_tensor(Float32, (N,)).argument_type(), torch.zeros(6)),
        (make_fake_compact_tensor(Float32, (N, N)).argument_type(), torch.zeros(8, 4).t()),
        (ScalarType(Int32), 1.5),
        (ScalarType(Int32), True),
        (ScalarType(Boolean), 1),
        (ScalarType(Float32), 1e39),
        (ScalarType(BFloat16), 1.5),
        (ScalarType(Int8), Int8(3)),
        (PointerType(Float32, make_ptr(Float32, 0).memspace, 16), make_ptr(Float32, 8)),
        (PointerType(Float32, make_ptr(Float32, 0).memspace, 4), make_ptr(Int32, 8)),
        (StreamType(), "stream"),
    ],
)
def test_unusual_values_are_left_to_the_careful_way(type_, value):
    assert argument_reader.make(["x"], [type_], HOST)(value) is None


def test_a_gpu_takes_no_tensor_of_the_host():
    bind = argument_reader.make(["x"], [typed(torch.zeros(4))], GPU)
    assert bind(torch.zeros(4)) is None and bind(from_dlpack(torch.zeros(4))) is None


@pytest.mark.parametrize(
    "value, same, others", [(3, 3, (4, True, "3", 3.0)), ("a", "a", ("b", None)), (None, None, (0,))]
)
def test_exact_readers_compare_static_arguments(value, same, others):
    bind = argument_reader.make(["x"], [Static(value)], None, exact=True)
    assert bind(same) == ((), ())
    assert [bind(other) for other in others] == [None] * len(others)
    assert argument_reader.make(["x"], [Static(value)], None) is None


def test_signatures_without_a_quick_reader():
    assert argument_reader.make(["x"], [typed((1, 2))], None) is None  # a container
    pointer = make_ptr(Float32, 0).argument_type()
    assert argument_reader.make(["x"], [pointer], None, exact=True) is None


def test_an_exact_reader_takes_what_is_typed_alike():
    """Random views of two tensors: the reader made for the type of one takes the other where the types are equal."""
    chance, counts = random.Random(7), {True: 0, False: 0}

    def view():
        shape = [chance.choice((1, 2, 4)) for _ in range(2)]
        tensor = torch.zeros(4, 4)[: shape[0], : shape[1]]
        return tensor.t() if chance.random() < 0.5 else tensor

    for _ in range(300):
        first, second = view(), view()
        try:
            types = [typed(first), typed(second)]
        except RuntimeError:  # the leading mode is ambiguous
            continue
        alike = types[0].layout_text() == types[1].layout_text()
        quick = argument_reader.make(["x"], types[:1], None, exact=True)(second)
        assert (quick is not None) == alike, (first.shape, first.stride(), second.shape, second.stride())
        counts[alike] += 1
    assert min(counts.values()) > 20
    assert isinstance(types[0], TensorType)
