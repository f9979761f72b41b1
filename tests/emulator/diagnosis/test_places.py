"""Names of shared memory, as nvcc and the Itanium C++ ABI have them."""

import numpy as np
import pytest

from dsl import emulator

KERNEL = """
VARIABLES
.visible .entry NAME(.param .u64 out)
{
  .reg .b32 %t, %v, %a; .reg .b64 %o, %q;
  mov.u32 %t, %tid.x; shl.b32 %v, %t, 2; mov.u32 %a, VARIABLE; add.u32 %a, %a, %v;
  ld.shared.u32 %v, [%a+4];
  mul.wide.u32 %o, %t, 4; ld.param.u64 %q, [out]; add.u64 %o, %o, %q; st.global.u32 [%o], %v;
  ret;
}
"""


@pytest.mark.parametrize(
    ("kernel", "variable", "place"),
    [
        ("_Z1kPi", "_ZZ1kPiE4tile", "element 1 of `tile`"),
        ("_Z1kPi", "_ZZ1kPiE4tile_0", "element 1 of `tile`"),
        ("_Z1kPi", "_ZZ1kPiE4tile__12_", "element 1 of `tile`"),
        ("_ZN2nsL1kILi4EEEvPT_", "_ZZN2nsL1kILi4EEEvPT_E1E", "element 1 of `E`"),
        ("_Z1kPi", "line", "element 1 of `line`"),
        ("_Z1kPi", "__reserved", "smem+0x4"),
        ("_Z1kPi", "_ZZ1kPiE40tile", "smem+0x4"),
        ("kernel_cutlass", "line", "smem+0x4"),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_shared_variable_has_its_name(machine, kernel, variable, place, dynamic):
    declared = f".extern .shared .align 4 .b8 {variable}[];" if dynamic else f".shared .align 4 .b8 {variable}[256];"
    text = KERNEL.replace("VARIABLES", declared).replace("NAME", kernel).replace("VARIABLE", variable)
    with pytest.raises(emulator.Fault) as caught:
        machine.run(
            text, block=32, out=np.zeros(32, np.uint32), checks=("undefined",), smem_bytes=256 if dynamic else 0
        )
    assert f"reads {place}, which nobody wrote" in str(caught.value)


def test_groups_of_several_warps_have_the_memory_that_the_system_reserves(machine):
    """A store to it changes no variable of the kernel, and static shared memory does not include it."""
    text = """
.shared .align 4 .b32 own[32];
.visible .entry k(.param .u64 out)
{
  .reg .b32 %t, %v, %a, %r; .reg .b64 %o, %q;
  mov.u32 %t, %tid.x; shl.b32 %v, %t, 2; mov.u32 %a, own; add.u32 %a, %a, %v; st.shared.u32 [%a], %t;
  mov.u32 %r, %reserved_smem_offset_1; add.u32 %r, %r, %v; st.shared.u32 [%r], 77; bar.sync 0;
  ld.shared.u32 %t, [%a]; ld.shared.u32 %r, [%r]; add.u32 %t, %t, %r;
  cvt.u64.u32 %o, %v; ld.param.u64 %q, [out]; add.u64 %o, %o, %q; st.global.u32 [%o], %t;
  ret;
}
"""
    out = np.zeros(32, np.uint32)
    machine.run(text, block=32, out=out, checks=("race", "undefined"))
    assert out.tolist() == [*range(77, 109)]
    assert emulator.load(machine.header + text).entries["k"].static_smem_bytes == 128
