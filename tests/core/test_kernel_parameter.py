"""Kinds and sizes of kernel parameters: those that the argument block of a launch has to have."""

import pytest

from dsl.core import kernel_parameter
from dsl.core.number import dtypes

KINDS = {
    "Boolean": ("int", 1, "i8"),
    "Int8": ("int", 1, "i8"),
    "Uint16": ("int", 2, "i16"),
    "Int32": ("int", 4, "i32"),
    "Uint64": ("int", 8, "i64"),
    "Float16": ("float", 2, "f16"),
    "BFloat16": ("float", 2, "bf16"),
    "Float32": ("float", 4, "f32"),
    "Float64": ("float", 8, "f64"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_number_takes_the_bytes_of_its_type(name):
    kind, size_bytes, type_ = kernel_parameter.of(getattr(dtypes, name)(1))
    assert (kind, size_bytes, str(type_)) == KINDS[name]


def test_memory_is_passed_as_it_is():
    class Block:
        param_bytes = 128

        def ir_type(self):
            return "a block"

    assert kernel_parameter.of(Block()) == ("bytes", 128, "a block")
