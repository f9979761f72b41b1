"""Variables of a module: bytes as in the PTX (PTX ISA, 5.4 Variables: initializers), addresses of others among them."""

import ctypes

import pytest

from dsl.emulator.execute.variables import Variables
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import PtxError, Unsupported

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def made(text: str) -> tuple[Variables, dict[str, bytes]]:
    """The variables of a text, and the bytes of each."""
    variables = Variables(list(parse(HEADER + text).variables.values()))
    return variables, {each.label: ctypes.string_at(each.address, each.size_bytes) for each in variables.allocations}


def test_values_are_laid_out_little_endian_and_the_rest_is_zero():
    _, values = made(".global .align 8 .b16 a[4] = {1, 0x203};\n.const .f32 b = 0f3F800000;\n.global .s8 c = -2;")
    assert values == {"a": b"\x01\0\x03\x02\0\0\0\0", "b": b"\0\0\x80\x3f", "c": b"\xfe"}


def test_an_address_of_another_variable_and_alignment():
    variables, values = made(".global .b8 a[3];\n.global .align 128 .b64 b[1] = {a+2};")
    addresses = {each.label: each.address for each in variables.allocations}
    assert addresses["b"] % 128 == 0
    assert int.from_bytes(values["b"], "little") == addresses["a"] + 2


def test_variables_without_memory_or_an_address():
    with pytest.raises(Unsupported, match="an .extern variable has no memory: link the module that has it"):
        made(".extern .global .b32 v[4];")
    with pytest.raises(PtxError, match="`v` is initialised with the address of `f`, not a variable"):
        made(".global .b64 v[1] = {f};")
