"""A load of four whose last element nobody reads takes three: LLVM loads three neighbours so."""

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.table import prepare
from dsl.emulator.ptx.parse import parse

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 s[];
.visible .entry k(.param .u64 x)
{
  .reg .b32 %r<9>, %t; .reg .b64 %g, %a, %q<4>;
  ld.param.u64 %g, [x]; mov.u32 %t, 5;
  st.shared.u32 [s], %t; st.shared.u32 [s+4], 6; st.shared.u32 [s+8], 7; mov.u64 %a, s;
"""
STORE = "st.global.u32 [%g], %r0; st.global.u32 [%g+4], %r1; st.global.u32 [%g+8], %r2;"


def launch(body: str, smem_bytes: int) -> list[int]:
    x = np.zeros(4, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    program, params = emulator.load(f"{HEAD}{body} ret; }}"), [x.ctypes.data.to_bytes(8, "little")]
    emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), params, memory, smem_bytes)
    return x.tolist()


@pytest.mark.parametrize("address", ["s", "%a"])
def test_an_unread_element_may_be_past_the_end(address):
    assert launch(f"ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [{address}]; {STORE}", 12) == [5, 6, 7, 0]


@pytest.mark.parametrize(
    "body",
    [
        f"ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [s]; {STORE} st.global.u32 [%g+12], %r3;",
        f"ld.shared.v4.b32 {{%r0, %r1, %r3, %r2}}, [s]; {STORE}",
        f"ld.volatile.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [s]; {STORE}",
    ],
)
def test_a_read_or_volatile_element_may_not_be_past_the_end(body):
    with pytest.raises(emulator.Fault, match="OUT_OF_BOUNDS"):
        launch(body, 12)
    assert launch(body.replace("%r3, %r2", "%r2, %r3"), 16)[:3] == [5, 6, 7]


def items(body: str) -> list[tuple[str, int]]:
    """The loads of a function, as their names and operands' offsets."""
    entry = prepare(parse(f"{HEAD}{body} ret; }}")).functions["k"]
    return [(item.name, item.operands[1].offset) for item in entry.items if getattr(item, "opcode", "") == "ld"][1:]


def test_the_parts_are_a_load_of_two_and_one_of_one():
    assert items("ld.global.nc.v4.b64 {%q0, %q1, %q2, %q3}, [%g+32];") == [
        ("ld.global.nc.v2.b64", 32),
        ("ld.global.nc.b64", 48),
    ]
    assert items("ld.global.v4.b64 {%q0, %g, %q2, %q3}, [%g];") == [("ld.global.v4.b64", 0)]  # the first changes it
    assert items("ld.global.v4.f32 {%r0, %r1, %r2, %r3}, [%g]; mov.b32 %r0, %r3;") == [("ld.global.v4.f32", 0)]
    assert items("@%t ld.global.v2.f32 {%r0, %r3}, [%g];") == [("ld.global.v2.f32", 0)]
