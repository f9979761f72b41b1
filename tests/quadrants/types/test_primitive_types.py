"""The sets of element types: every type is of one kind, and Python's types with their own."""

import dsl.quadrants as qd
from dsl.quadrants.types import primitive_types


def test_every_type_is_real_or_an_integer():
    real, integer = primitive_types.real_types, primitive_types.integer_types
    assert not real & integer and primitive_types.all_types == real | integer
    assert real == {qd.f16, qd.f32, qd.f64, float}
    assert integer == {qd.i8, qd.i16, qd.i32, qd.i64, qd.u1, qd.u8, qd.u16, qd.u32, qd.u64, int, bool}
    assert {id(qd.f32), id(float)} <= primitive_types.real_type_ids and id(
        qd.f32
    ) not in primitive_types.integer_type_ids
