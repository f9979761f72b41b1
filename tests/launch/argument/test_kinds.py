"""The table of kinds: which kind each value is of, and the type it is passed as."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from dsl.core.number.dtypes import Boolean, Float32, Int32, Int64, Uint8
from dsl.launch.argument import abi
from dsl.launch.argument.fake_arguments import make_fake_stream
from dsl.launch.argument.kinds import KINDS, Annotated, kind_of, typed
from dsl.launch.argument.runtime_pointer import make_ptr
from dsl.launch.argument.runtime_tensor import from_dlpack
from dsl.launch.call import argument_reader
from dsl.layout import Layout


@dataclass
class Config:
    tensor: object
    rows: int


def test_the_type_of_each_value():
    assert typed(5) == abi.ScalarType(Int32) and typed(1 << 40).dtype is Int32
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


def layout_of(type_) -> str:
    return type_.layout_text()


class Own:
    """With the DynamicExpression protocol."""

    def __extract_mlir_values__(self):
        return Int32(3).__extract_mlir_values__()

    def __new_from_mlir_values__(self, values):
        return self


class Stream:
    cuda_stream = 7


OF_EACH_KIND = {
    "runtime argument": (from_dlpack(torch.zeros(4)), make_ptr(Float32, 64), make_fake_stream()),
    "typed number": (Int32(3), Float32(1.5)),
    "stream": (Stream(),),
    "Python number": (True, 3, 2.5, np.int8(3), np.float32(1), np.zeros((), np.int16)),
    "tensor": (torch.zeros(4), np.zeros((2, 3)), torch.zeros(())),
    "layout": (Layout((4, Int32(2)), (2, 1)), Layout(4, 1)),
    "object of an author's class": (Own(),),
    "container": ((1, 2), [], {"a": 3}, Config(None, 1)),
}


def test_every_kind_has_its_values_and_types():
    assert [kind.name for kind in KINDS] == list(OF_EACH_KIND)
    for kind in KINDS:
        for value in OF_EACH_KIND[kind.name]:
            wanted = Annotated(None, None)
            assert kind_of(value, wanted) is kind, value
            type_ = kind.type_of(value, wanted)
            assert type_ is None or isinstance(type_, kind.types)
    for value in ("text", None, int, {1}, b"a", 1j):
        assert kind_of(value, Annotated(None, None)) is None and typed(value) is value


def test_every_type_has_all_three_ways():
    types = {type_ for kind in KINDS for type_ in kind.types} | {abi.Static}
    for type_ in types:
        assert all(callable(getattr(type_, way)) for way in ("slot_formats", "read", "rebuild"))
    assert set(argument_reader._WRITERS) <= types


@pytest.mark.parametrize("value", [value for values in OF_EACH_KIND.values() for value in values])
def test_a_value_fills_the_slots_of_its_type(value):
    type_ = typed(value)
    if type_ is not value and not isinstance(type_, abi.StreamType):
        assert len(type_.read(value, abi.Binding())) == len(type_.slot_formats())
