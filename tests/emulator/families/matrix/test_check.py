"""Undefined values through ldmatrix and mma: an element of D is defined if its row of A and its column of B are.

Which element a register holds is from the figures of PTX ISA 9.7.14.5.8 (m16n8k16) and 9.7.14.5.15 (ldmatrix).
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dsl import emulator
from dsl.emulator.tensor_core import fragments

ROW = 32  # bytes of a row of 16 f16
# Each lane fills half a row of A, and lanes 0 to 15 half a column of B, if its bit of a mask is set.
KERNEL = f"""
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 rows, .param .u32 columns, .param .u32 lane, .param .u32 register)
{{
    .reg .pred %p<8>; .reg .b32 %r<40>; .reg .f32 %f<5>; .reg .b64 %d<4>;
    .shared .align 16 .b8 A[{16 * ROW}]; .shared .align 16 .b8 B[{8 * ROW}];
    ld.param.u64 %d1, [out]; ld.param.u32 %r1, [rows]; ld.param.u32 %r2, [columns];
    ld.param.u32 %r3, [lane]; ld.param.u32 %r4, [register];
    mov.u32 %r5, %tid.x; mov.u32 %r6, A; mov.u32 %r7, B;
    shr.u32 %r8, %r5, 1; and.b32 %r9, %r5, 1;
    mad.lo.u32 %r10, %r8, {ROW}, %r6; mad.lo.u32 %r10, %r9, 16, %r10;
    mad.lo.u32 %r11, %r8, {ROW}, %r7; mad.lo.u32 %r11, %r9, 16, %r11;
    shr.u32 %r12, %r1, %r8; and.b32 %r12, %r12, 1; setp.ne.u32 %p1, %r12, 0; mov.u32 %r13, 0x3c003c00;
    @%p1 st.shared.v4.b32 [%r10], {{%r13, %r13, %r13, %r13}};
    shr.u32 %r12, %r2, %r8; and.b32 %r12, %r12, 1; setp.ne.u32 %p2, %r12, 0; setp.lt.and.u32 %p2, %r5, 16, %p2;
    @%p2 st.shared.v4.b32 [%r11], {{%r13, %r13, %r13, %r13}};
    bar.warp.sync -1;
    and.b32 %r14, %r5, 15; shr.u32 %r15, %r5, 4; mad.lo.u32 %r16, %r14, {ROW}, %r6; mad.lo.u32 %r16, %r15, 16, %r16;
    and.b32 %r14, %r5, 7; shr.u32 %r15, %r5, 3; and.b32 %r15, %r15, 1;
    mad.lo.u32 %r17, %r14, {ROW}, %r7; mad.lo.u32 %r17, %r15, 16, %r17;
    LOADS
    mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f1, %f2, %f3, %f4}}, {{%r20, %r21, %r22, %r23}}, {{%r24, %r25}},
        {{%f1, %f2, %f3, %f4}};
    setp.ne.u32 %p3, %r5, %r3; @%p3 bra E;
    setp.eq.u32 %p4, %r4, 0; @%p4 st.global.f32 [%d1], %f1;
    setp.eq.u32 %p4, %r4, 1; @%p4 st.global.f32 [%d1], %f2;
    setp.eq.u32 %p4, %r4, 2; @%p4 st.global.f32 [%d1], %f3;
    setp.eq.u32 %p4, %r4, 3; @%p4 st.global.f32 [%d1], %f4;
E:  ret;
}}"""
LOADS = {
    "ldmatrix": """
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r16];
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r24, %r25}, [%r17];
    """,
    "ld": f"""
    shr.u32 %r30, %r5, 2; and.b32 %r31, %r5, 3; mad.lo.u32 %r32, %r30, {ROW}, %r6; mad.lo.u32 %r32, %r31, 4, %r32;
    ld.shared.b32 %r20, [%r32]; ld.shared.b32 %r21, [%r32+{8 * ROW}];
    ld.shared.b32 %r22, [%r32+16]; ld.shared.b32 %r23, [%r32+{8 * ROW + 16}];
    mad.lo.u32 %r32, %r30, {ROW}, %r7; mad.lo.u32 %r32, %r31, 4, %r32;
    ld.shared.b32 %r24, [%r32]; ld.shared.b32 %r25, [%r32+16];
    """,
}
PROGRAMS = {name: emulator.load(KERNEL.replace("LOADS", text)) for name, text in LOADS.items()}


def stored(name, rows, columns, row, column):
    """Run the kernel, which stores D[row, column] alone."""
    out = np.zeros(1, np.float32)
    memory = emulator.Memory()
    memory.register(out.ctypes.data, out.nbytes, "out")
    lane, register = row % 8 * 4 + column // 2, row // 8 * 2 + column % 2
    params = [out.ctypes.data.to_bytes(8, "little")]
    params += [each.to_bytes(4, "little") for each in (rows, columns, lane, register)]
    emulator.launch(PROGRAMS[name], "k", (1, 1, 1), (32, 1, 1), params, memory, checks=("undefined",))
    return out[0]


@pytest.mark.parametrize("name", LOADS)
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16 - 1), st.integers(0, 255), st.integers(0, 15), st.integers(0, 7))
def test_an_element_is_undefined_if_its_row_or_column_is(name, rows, columns, row, column):
    if rows >> row & 1 and columns >> column & 1:
        assert stored(name, rows, columns, row, column) == 16
    else:
        with pytest.raises(emulator.Fault, match="(?s)UNDEFINED_READ.*which nobody wrote"):
            stored(name, rows, columns, row, column)


def test_registers_of_one_parity_are_in_one_row():
    """Of all forms, which marks.cc relies on."""
    for form, lane in itertools.product(fragments.forms(), range(32)):
        rows = [fragments.a_element(form, lane, register)[0] for register in range(form.registers[0])]
        assert rows == [lane // 4 + 8 * (i % 2 and form.m == 16) for i in range(form.registers[0])], form
        columns = {fragments.b_element(form, lane, register)[1] for register in range(form.registers[1])}
        assert columns == {lane // 4}, form
        elements = [fragments.c_element(lane, i) for i in range(4)]
        assert elements == [(lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2) for i in range(4)]


TRANSPOSED = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 unwritten, .param .u32 lane)
{
    .reg .pred %p<4>; .reg .b16 %rs<2>; .reg .b32 %r<16>; .reg .b64 %d<2>;
    .shared .align 16 .b8 A[128];
    ld.param.u64 %d1, [out]; ld.param.u32 %r1, [unwritten]; ld.param.u32 %r2, [lane];
    mov.u32 %r3, %tid.x; mov.u32 %r4, A; mov.b16 %rs1, 7;
    mad.lo.u32 %r6, %r3, 2, %r4; setp.ne.u32 %p1, %r3, %r1; @%p1 st.shared.b16 [%r6], %rs1;
    add.u32 %r7, %r3, 32; setp.ne.u32 %p1, %r7, %r1; @%p1 st.shared.b16 [%r6+64], %rs1;
    bar.warp.sync -1;
    mad.lo.u32 %r8, %r3, 16, %r4; setp.ge.u32 %p2, %r3, 8; @%p2 mov.u32 %r8, %r4;
    ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r9}, [%r8];
    setp.eq.u32 %p3, %r3, %r2; @%p3 st.global.b32 [%d1], %r9;
    ret;
}"""


def test_a_transposed_matrix_has_two_rows_in_a_register():
    """Lane 4 c + r has the elements (2 r, c) and (2 r + 1, c)."""
    program = emulator.load(TRANSPOSED)
    for unwritten, lane in itertools.product((0, 9, 37, 63), range(32)):
        out = np.zeros(1, np.uint32)
        memory = emulator.Memory()
        memory.register(out.ctypes.data, out.nbytes, "out")
        params = [out.ctypes.data.to_bytes(8, "little"), *(each.to_bytes(4, "little") for each in (unwritten, lane))]
        found = False
        try:
            emulator.launch(program, "k", (1, 1, 1), (32, 1, 1), params, memory, checks=("undefined",))
        except emulator.Fault as fault:
            found = "UNDEFINED_READ" in str(fault)
        row, column = divmod(unwritten, 8)
        assert found == (lane == 4 * column + row // 2), (unwritten, lane)
