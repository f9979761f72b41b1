"""The C++ types of MLIR types."""

from __future__ import annotations

import pytest

from dsl.readable_cuda.cpp_types import Unsupported, c_type, count_and_element, registers_of, vector_type


def test_types():
    assert c_type("i64") == "long long"
    assert c_type("vector<4xf32>") == "float4"
    assert c_type("vector<8xf16>") == "Vector<__half, 8>"
    assert c_type("!llvm.struct<(i32, i32, i32)>") == "Vector<int, 3>"
    assert c_type("!llvm.struct<(i32, i1)>") == "int"  # of cmpxchg


def test_parts_of_types():
    assert vector_type("vector<4xf32>") == count_and_element("vector<4xf32>") == (4, "f32")
    assert vector_type("f32") is vector_type("vector<2x2xf32>") is None
    assert registers_of("!llvm.struct<(f32, f32)>") == ["f32", "f32"]
    assert registers_of("!llvm.struct<(f32, i32)>") is registers_of("f32") is None


def test_a_type_without_a_spelling_is_refused():
    with pytest.raises(Unsupported) as caught:
        c_type("vector<2xtf32>")
    assert str(caught.value) == "--show cuda does not print the type vector<2xtf32> yet"
