"""vprintf and __assertfail: what the host prints for a packed argument buffer. CUDA C++ guide, formatted output.

Modules tested here: dsl/emulator/execute/printing.py, dsl/emulator/ir/body.py.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.execute import print_format

PRINT = """
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[20] = {116, 32, 37, 100, 32, 120, 32, 37, 46, 50, 102, 32, 37, 115, 10, 0};
.global .align 1 .b8 word[4] = {104, 105, 0};
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 depot[24];
  .reg .b32 %t, %r; .reg .b64 %f, %a, %w, %l; .reg .f64 %d; .reg .b64 %o;
  mov.u32 %t, %tid.x; cvt.rn.f64.s32 %d, %t; mul.f64 %d, %d, 0d3FF8000000000000;
  mov.u64 %l, depot; cvta.local.u64 %a, %l;
  st.local.u32 [%l], %t; st.local.f64 [%l+8], %d;
  mov.u64 %w, word; cvta.global.u64 %w, %w; st.local.u64 [%l+16], %w;
  mov.u64 %f, format; cvta.global.u64 %f, %f;
  { .param .b64 p0; .param .b64 p1; .param .b32 r0;
    st.param.b64 [p0], %f; st.param.b64 [p1], %a;
    call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r, [r0]; }
  ld.param.u64 %o, [out]; st.global.u32 [%o], %r;
  ret;
}
"""


@pytest.mark.parametrize("barrier", ["", "bar.sync 0;"])
def test_vprintf_writes_each_threads_line(machine, ptxas, barrier):
    text = PRINT.replace("  mov.u32 %t, %tid.x;", barrier + "  mov.u32 %t, %tid.x;")
    ptxas(text)
    out = np.zeros(1, np.uint32)
    machine.run(text, block=3, out=out)
    assert machine.printed == "t 0 x 0.00 hi\nt 1 x 1.50 hi\nt 2 x 3.00 hi\n"
    assert out[0] == 3


def test_a_string_outside_memory_is_a_fault(machine):
    text = PRINT.replace("mov.u64 %w, word; cvta.global.u64 %w, %w;", "mov.u64 %w, 12345;")
    with pytest.raises(emulator.Fault) as caught:
        machine.run(text, out=np.zeros(1, np.uint32))
    assert "OUT_OF_BOUNDS" in str(caught.value) and "at 0x3039" in str(caught.value)


def test_an_error_of_write_reaches_the_caller():
    program = emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + PRINT)
    out, memory = np.zeros(1, np.uint32), emulator.Memory()
    memory.register(out.ctypes.data, 4, "out")

    def write(text):
        raise OSError("the pipe is closed")

    with pytest.raises(OSError, match="the pipe is closed"):
        emulator.launch(
            program, "k", (1, 1, 1), (3, 1, 1), [out.ctypes.data.to_bytes(8, "little")], memory, write=write
        )


ASSERT = """
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 message[6] = {120, 32, 60, 32, 51, 0};
.visible .entry k(.param .u32 limit)
{
  .reg .b32 %t, %l; .reg .b64 %m; .reg .pred %p;
  mov.u32 %t, %tid.x; ld.param.u32 %l, [limit]; setp.lt.u32 %p, %t, %l; @%p bra FINE;
  mov.u64 %m, message;
  { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
    st.param.b64 [p0], %m; st.param.b64 [p1], %m; st.param.b32 [p2], 7; st.param.b64 [p3], %m; st.param.b64 [p4], 1;
    call.uni __assertfail, (p0, p1, p2, p3, p4); }
FINE: ret;
}
"""


def test_a_failed_assertion_is_a_trap_with_its_text(machine):
    machine.run(ASSERT, block=8, limit=8)
    with pytest.raises(emulator.Fault, match="assertion failed: x < 3") as caught:
        machine.run(ASSERT, block=8, limit=3)
    assert caught.value.kind == "trap" and caught.value.thread == (3, 0, 0)


FORMATS = [
    ("%d|%5d|%-5d|%05d|%+d", "iiiii", (-7, 42, 42, 42, 42), "-7|   42|42   |00042|+42"),
    ("%u %x %X %#x %o %#o", "IIIIII", (4294967295, 255, 255, 255, 8, 8), "4294967295 ff FF 0xff 10 010"),
    ("%ld %lld %lu %llx", "qqQQ", (-1, -(2**63), 2**64 - 1, 2**63),
     "-1 -9223372036854775808 18446744073709551615 8000000000000000"),
    ("%d %ld %d", "iqi", (1, 2, 3), "1 2 3"),
    ("%f %.3f %e %g %G", "ddddd", (1.5, 2 / 3, 12345.678, 1e-10, 1e20), "1.500000 0.667 1.234568e+04 1e-10 1E+20"),
    ("%f %f %5.1f|", "ddd", (float("inf"), float("nan"), 3.14159), "inf nan   3.1|"),
    ("%c%c %%", "ii", (72, 105), "Hi %"),
    ("%*d|%-*d|%.*f", "iiiiid", (5, 42, 4, 7, 2, 1.239), "   42|7   |1.24"),
    ("%hhd %hd %hu", "iiI", (200, 40000, 70000), "-56 -25536 4464"),
    ("100%", "", (), "100%"),
]  # fmt: skip


@pytest.mark.parametrize("format_, codes, values, expected", FORMATS, ids=[row[0] for row in FORMATS])
def test_formats(format_, codes, values, expected):
    buffer = b""
    for code, value in zip(codes, values):
        size = struct.calcsize(code)
        buffer += b"\0" * (-len(buffer) % size) + struct.pack("<" + code, value)
    text, count = print_format.render(lambda a: format_, lambda a, n: buffer[a : a + n], 0, 0)
    assert (text, count) == (expected, len(codes))
