"""The parts that are read from PTX text, for a kernel that has each of them."""

import pytest

from harness.capture.launches import ptx
from tests.harness.capture.launches.program_of_the_driver import PTX


def test_parameters():
    rows = [(each.name, each.type, each.nbytes, each.align) for each in ptx.parameters(PTX, "add_scaled")]
    assert rows == [("out", "u64", 8, 8), ("x", "u64", 8, 8), ("pair", "b8", 16, 8), ("factor", "f32", 4, 4)]


def test_a_kernel_alone():
    text = ptx.alone(PTX, "through_table")
    assert text.startswith(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry through_table(")
    assert "scale" not in text and "twice" not in text and "ranks" not in text
    with pytest.raises(ptx.NoSuchEntry, match="its PTX has no kernel nobody"):
        ptx.alone(PTX, "nobody")


def test_functions_that_a_kernel_calls_stay():
    called = PTX.replace("mov.u32 %r1, 5;", "mov.u32 %r1, 5; call (%f1), twice, (%f1);")
    names = [each.name for each in ptx.items(ptx.alone(called, "through_table")) if each.name]
    assert names == ["twice", "through_table"]


def test_variables():
    assert ptx.variables(PTX, "add_scaled") == ["scale"] and ptx.variables(PTX, "ranks") == []
    assert ptx.dtype_of_variable(PTX, "unused") == "uint32" and ptx.dtype_of_variable(PTX, "scale") == "uint8"


def test_the_types_that_pointers_point_at():
    types = ptx.pointed_types(PTX, "add_scaled")
    assert types == {("out", 0): "float32", ("x", 0): "float32", ("pair", 0): "float32"}
    assert ptx.pointed_types(PTX, "through_table") == {("table", 0): "uint64"}


def test_untyped_accesses_have_the_type_of_their_register():
    text = PTX.replace("ld.global.f32 %f2", "ld.global.b32 %f2").replace("st.global.u32 [%rd3]", "st.global.b32 [%rd3]")
    assert ptx.pointed_types(text, "add_scaled")["x", 0] == "float32"
    assert ptx.pointed_types(text, "ranks") == {("out", 0): "uint32"}


@pytest.mark.parametrize(
    ("name", "shown", "one"),
    [
        ("saxpy", "saxpy", "saxpy"),
        ("_Z5saxpyIfEvT_PKS0_S2_PS0_m", "saxpy", "saxpy"),
        ("_ZN3lib5saxpyEPf", "saxpy", "lib"),
    ],
)
def test_names_of_cpp(name, shown, one):
    assert ptx.shown_name(name) == shown and {name, one} <= ptx.plain_names(name)
