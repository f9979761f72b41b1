"""`or` as a sum: where no bit may be 1 in both operands it keeps a kernel a loop over threads, and nowhere else.

The masks are held against instructions computed here, in Python's integers, for threads and parameters by chance.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dsl import emulator
from dsl.emulator.families.table import prepare
from dsl.emulator.ptx.known_bits import SetBits, SetBitsHere
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import Reg
from dsl.emulator.translate.region_code import RegionCode
from dsl.emulator.translate.uniform_branches import rules, writers
from tests.emulator.conftest import HEADER, pack

GRID, LARGE = 5, 1 << 40


def kernel(body: str, demand: str) -> str:
    """out[place] = data[i]: place is linear in the thread whatever the body makes of i."""
    return f"""{HEADER}.visible .entry k(.param .u64 out, .param .u64 data, .param .u32 n)
{demand} {{
  .reg .b32 %t, %y, %b, %c, %i, %j, %n, %w, %h, %p32, %v<4>; .reg .b64 %out, %data, %o; .reg .pred %p; .reg .b16 %s;
  ld.param.u64 %out, [out]; ld.param.u64 %data, [data]; ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x; mov.u32 %y, %tid.y; mov.u32 %c, %ctaid.x; mov.u32 %w, %ntid.x; mov.u32 %h, %ntid.y;
  {body}
  mul.wide.u32 %o, %i, 4; add.s64 %data, %data, %o; ld.global.u32 %j, [%data];
  mul.lo.u32 %p32, %w, %h; mul.lo.u32 %p32, %p32, %c; mad.lo.u32 %p32, %y, %w, %p32; add.u32 %p32, %p32, %t;
  mul.wide.u32 %o, %p32, 4; add.s64 %out, %out, %o; st.global.u32 [%out], %j; ret;
}}
"""


@pytest.mark.parametrize("demand, block, body, index, apart", [
    (".reqntid 128", (128, 1), "shl.b32 %b, %c, 7; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 7 | t, True),
    (".reqntid 128", (128, 1), "shl.b32 %b, %c, 7; or.b32 %i, %t, %b;", lambda c, y, t, n: c << 7 | t, True),
    (".reqntid 128", (128, 1), "shl.b32 %b, %c, 7; xor.b32 %i, %t, %b;", lambda c, y, t, n: c << 7 ^ t, True),
    (".reqntid 96", (96, 1), "shl.b32 %b, %c, 7; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 7 | t, True),
    (".reqntid 129", (129, 1), "shl.b32 %b, %c, 7; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 7 | t, False),
    (".reqntid 128", (128, 1), "shl.b32 %b, %c, 6; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 6 | t, False),
    (".reqntid 128", (128, 1), "shl.b32 %b, %c, 6; xor.b32 %i, %b, %t;", lambda c, y, t, n: c << 6 ^ t, False),
    (".reqntid 96", (96, 1), "mul.lo.u32 %b, %c, 96; or.b32 %i, %b, %t;", lambda c, y, t, n: c * 96 | t, False),
    (".reqntid 64", (64, 1), "mul.lo.s32 %b, %c, 192; or.b32 %i, %b, %t;", lambda c, y, t, n: c * 192 | t, True),
    (".reqntid 64", (64, 1), "mad.lo.u32 %b, %c, 64, 320; or.b32 %i, %b, %t;", lambda c, y, t, n: c * 64 + 320 | t,
     True),
    (".reqntid 64", (64, 1), "mad.lo.u32 %b, %c, 64, 32; or.b32 %i, %b, %t;", lambda c, y, t, n: c * 64 + 32 | t,
     False),
    ("", (128, 1), "shl.b32 %b, %c, 7; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 7 | t, False),
    ("", (200, 1), "shl.b32 %b, %c, 7; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 7 | t, False),
    (".maxntid 128", (200, 1), "shl.b32 %b, %c, 7; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 7 | t, False),
    ("", (200, 1), "shl.b32 %b, %c, 10; or.b32 %i, %b, %t;", lambda c, y, t, n: c << 10 | t, True),
    (".reqntid 8, 16", (8, 16), "shl.b32 %b, %y, 3; or.b32 %i, %b, %t;", lambda c, y, t, n: y << 3 | t, True),
    (".reqntid 16, 8", (16, 8), "shl.b32 %b, %y, 3; or.b32 %i, %b, %t;", lambda c, y, t, n: y << 3 | t, False),
    (".reqntid 32", (32, 1), "and.b32 %b, %n, -32; or.b32 %i, %b, %t;", lambda c, y, t, n: n & -32 | t, True),
    (".reqntid 32", (32, 1), "and.b32 %b, %n, -16; or.b32 %i, %b, %t;", lambda c, y, t, n: n & -16 | t, False),
    ("", (77, 1), "shl.b32 %b, %t, 2; or.b32 %i, %b, 3;", lambda c, y, t, n: t << 2 | 3, True),
    ("", (77, 1), "shl.b32 %b, %t, 2; or.b32 %i, %b, 5;", lambda c, y, t, n: t << 2 | 5, False),
    (".reqntid 128", (128, 1), "shl.b32 %b, %c, 7; setp.eq.u32 %p, %c, 1; @%p add.u32 %b, %b, 3; or.b32 %i, %b, %t;",
     lambda c, y, t, n: (c << 7) + 3 * (c == 1) | t, False),
    (".reqntid 128", (128, 1), "shl.b32 %b, %c, 7; mov.u32 %i, %b; or.b32 %i, %i, %t;", lambda c, y, t, n: c << 7 | t,
     False),
])  # fmt: skip
def test_an_or_of_bits_that_are_apart_is_a_sum(demand, block, body, index, apart):
    """Against numpy, whether it is one or not; if not, threads whose address it makes do not run as a loop."""
    run(demand, block, body, index, apart)


FLAT = "mad.lo.u32 %v0, %c, %w, %t;"
PARTS = f"{FLAT} shr.u32 %v1, %v0, 8; and.b32 %v2, %v0, 255; mad.lo.u32 %i, %v1, 512, %v2;"
PLANE = "mad.lo.u32 %v0, %y, 32, %t;"


@pytest.mark.parametrize("demand, block, body, index, is_linear", [
    (".reqntid 128", (128, 1), PARTS, lambda c, y, t, n: (c * 128 + t >> 8) * 512 + (c * 128 + t) % 256, True),
    (".reqntid 512", (512, 1), PARTS, lambda c, y, t, n: (c * 512 + t >> 8) * 512 + (c * 512 + t) % 256, False),
    (".reqntid 96", (96, 1), PARTS, lambda c, y, t, n: (c * 96 + t >> 8) * 512 + (c * 96 + t) % 256, False),
    ("", (128, 1), PARTS, lambda c, y, t, n: (c * 128 + t >> 8) * 512 + (c * 128 + t) % 256, False),
    (".reqntid 128", (128, 1), f"{FLAT} div.u32 %v1, %v0, 256; rem.u32 %v2, %v0, 256; mad.lo.u32 %i, %v1, 512, %v2;",
     lambda c, y, t, n: (c * 128 + t >> 8) * 512 + (c * 128 + t) % 256, True),
    (".reqntid 128", (128, 1), f"{FLAT} div.u32 %i, %v0, 96;", lambda c, y, t, n: (c * 128 + t) // 96, False),
    (".reqntid 128", (128, 1), f"{FLAT} mul.lo.u32 %v1, %v0, 8; shr.u32 %i, %v1, 1;",
     lambda c, y, t, n: (c * 128 + t) * 4, True),
    (".reqntid 128", (128, 1), "mad.lo.u32 %v0, %t, 8, 64; shr.s32 %v1, %v0, 1; and.b32 %i, 16383, %v1;",
     lambda c, y, t, n: t * 4 + 32, True),
    (".reqntid 64", (64, 1), "shl.b32 %v0, %t, 3; or.b32 %v1, %v0, 5; bfe.u32 %i, %v1, 2, 20;",
     lambda c, y, t, n: t * 2 + 1, True),
    (".reqntid 64", (64, 1), "shl.b32 %v0, %t, 3; or.b32 %v1, %v0, 5; bfe.u32 %i, %v1, 4, 20;",
     lambda c, y, t, n: t >> 1, False),
    (".reqntid 64", (64, 1), "shl.b32 %v0, %t, 3; or.b32 %v1, %v0, 5; bfe.u32 %i, %v1, 3, 6;",
     lambda c, y, t, n: t, True),
    (".reqntid 32, 4", (32, 4), f"{PLANE} shr.u32 %v1, %v0, 5; and.b32 %v2, %v0, 31; mad.lo.u32 %i, %v2, 4, %v1;",
     lambda c, y, t, n: t * 4 + y, True),
    (".reqntid 32, 4", (32, 4), f"{PLANE} and.b32 %i, %v0, 96;", lambda c, y, t, n: y * 32, True),
    (".reqntid 32, 4", (32, 4), f"{PLANE} and.b32 %i, %v0, 33;", lambda c, y, t, n: (y * 32 + t) & 33, False),
    (".reqntid 32", (32, 1), "and.b32 %v0, %n, -32; add.u32 %v1, %v0, %t; shr.u32 %v2, %v1, 5; add.u32 %i, %v2, %t;",
     lambda c, y, t, n: (n >> 5) + t, True),
    (".reqntid 32", (32, 1), "and.b32 %v0, %n, -16; add.u32 %v1, %v0, %t; shr.u32 %v2, %v1, 5; add.u32 %i, %v2, %t;",
     lambda c, y, t, n: ((n & -16) + t >> 5) + t, False),
])  # fmt: skip
def test_shifts_and_masks_keep_apart_what_does_not_carry(demand, block, body, index, is_linear):
    run(demand, block, body, index, is_linear)


def run(demand, block, body, index, apart):
    """data[index] against numpy; whether the kernel is made of regions."""
    threads, n = block[0] * block[1], 75
    rng = np.random.default_rng(3)
    data, out = rng.integers(0, 1 << 32, 1 << 14, dtype=np.uint32), np.zeros(GRID * threads, np.uint32)
    program, memory = emulator.Program(kernel(body, demand)), emulator.Memory()
    program.code("k", LARGE)
    assert isinstance(program._compiler.source("k", False)[0], RegionCode) == apart
    memory.register(data.ctypes.data, data.nbytes, "data")
    memory.register(out.ctypes.data, out.nbytes, "out")
    params = [pack(out), pack(data), pack(np.uint32(n))]
    emulator.launch(program, "k", (GRID, 1, 1), (*block, 1), params, memory)
    place = np.arange(GRID * threads)
    c, y, t = place // threads, place // block[0] % block[1], place % block[0]
    np.testing.assert_array_equal(out, data[index(c, y, t, n)])


# ** the masks, by chance

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


OPERATIONS = {
    "mov.b32 {d}, {a};": lambda a, b, c: a,
    "and.b32 {d}, {a}, {b};": lambda a, b, c: a & b,
    "or.b32 {d}, {a}, {b};": lambda a, b, c: a | b,
    "xor.b32 {d}, {a}, {b};": lambda a, b, c: a ^ b,
    "add.u32 {d}, {a}, {b};": lambda a, b, c: a + b,
    "add.sat.s32 {d}, {a}, {b};": lambda a, b, c: max(-(1 << 31), min(signed(a) + signed(b), (1 << 31) - 1)),
    "sub.s32 {d}, {a}, {b};": lambda a, b, c: a - b,
    "mul.lo.s32 {d}, {a}, {b};": lambda a, b, c: a * b,
    "mul.hi.u32 {d}, {a}, {b};": lambda a, b, c: a * b >> 32,
    "mad.lo.u32 {d}, {a}, {b}, {c};": lambda a, b, c: a * b + c,
    "shl.b32 {d}, {a}, 7;": lambda a, b, c: a << 7,
    "shl.b32 {d}, {a}, 33;": lambda a, b, c: 0,
    "shl.b32 {d}, {a}, {b};": lambda a, b, c: a << b if b < 32 else 0,
    "shr.u32 {d}, {a}, 3;": lambda a, b, c: a >> 3,
    "shr.s32 {d}, {a}, 30;": lambda a, b, c: signed(a) >> 30,
    "selp.b32 {d}, {a}, {b}, %p;": lambda a, b, c: a,
    "selp.b32 {d}, {a}, {b}, %q;": lambda a, b, c: b,
    "@%q mov.b32 {d}, {a};": None,
    "mul.wide.s32 %w, {a}, {b}; cvt.u32.u64 {d}, %w;": lambda a, b, c: a * b,
    "mul.wide.u32 %w, {a}, {b}; cvt.u32.u64 {d}, %w;": lambda a, b, c: a * b,
    "mul.wide.s32 %w, {a}, {b}; shr.u64 %z, %w, 32; cvt.u32.u64 {d}, %z;":
        lambda a, b, c: signed(a) * signed(b) >> 32,
    "mad.wide.u32 %w, {a}, {b}, 12; shr.u64 %z, %w, 20; cvt.u32.u64 {d}, %z;":
        lambda a, b, c: (a * b + 12 & M64) >> 20,
    "cvt.s64.s32 %w, {a}; shr.u64 %z, %w, 16; cvt.u32.u64 {d}, %z;": lambda a, b, c: (signed(a) & M64) >> 16,
    "cvt.u16.u32 %h, {a}; cvt.u32.u16 {d}, %h;": lambda a, b, c: a & 0xFFFF,
    "cvt.u16.u32 %h, {a}; cvt.s32.s16 {d}, %h;": lambda a, b, c: signed(a & 0xFFFF, 16),
    "cvt.rn.f32.u32 {d}, {a};": lambda a, b, c: int(np.float32(a).view(np.uint32)),
}  # fmt: skip
VALUES = [0, 1, 8, 96, 127, 1 << 30, 1 << 31, M32]


def test_bits_that_an_instruction_writes_are_in_its_mask():
    """Each over constants, whose masks are their values: every register is written once."""
    rows = [(how, a, b) for how in OPERATIONS if OPERATIONS[how] for a in VALUES for b in VALUES]
    lines = [
        how.format(d=f"%r{i}", a=a, b=b, c=12).replace("%w", f"%w{i}").replace("%z", f"%z{i}").replace("%h", f"%h{i}")
        for i, (how, a, b) in enumerate(rows)
    ]
    ptx = f"""{HEADER}.visible .entry k() {{ .reg .b32 %r<{len(rows)}>; .reg .b64 %w<{len(rows)}>, %z<{len(rows)}>;
    .reg .b16 %h<{len(rows)}>; .reg .pred %p, %q; {" ".join(lines)} ret; }}"""
    function = prepare(parse(ptx)).functions["k"]
    found = SetBits(function, writers(function), rules("SET_BITS"))
    for i, (how, a, b) in enumerate(rows):
        value, mask = OPERATIONS[how](a, b, 12) & M32, found.of(Reg(f"%r{i}", 32), 32)
        assert not value & ~mask, (how, a, b, hex(value), hex(mask))


NAMES = ["%r0", "%r1", "%r2", "%r3"]
SOURCE = st.one_of(st.sampled_from(NAMES), st.sampled_from(["%t", "%n", "-1", "8", "96", "127", "0x80000000"]))
STEP = st.tuples(st.sampled_from(list(OPERATIONS)), st.sampled_from(NAMES), SOURCE, SOURCE, SOURCE)


@pytest.mark.slow
@given(
    st.lists(STEP, min_size=1, max_size=10), st.integers(1, 300), st.integers(0, M32),
    st.lists(st.sampled_from([0, 1, 8, 64, 4095, 1 << 31]), min_size=4, max_size=4),
)  # fmt: skip
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_value_has_a_bit_outside_its_mask(steps, block, n, firsts):
    """p holds and q does not; the masks cover what registers have at every step, for all threads."""
    first = "".join(f"mov.b32 {name}, {value};" for name, value in zip(NAMES, firsts))
    text = "".join(how.format(d=d, a=a, b=b, c=c) for how, d, a, b, c in steps)
    registers = f".reg .b32 %t, %n, {', '.join(NAMES)}; .reg .b64 %w, %z; .reg .b16 %h; .reg .pred %p, %q;"
    start = f"mov.u32 %t, %tid.x; ld.param.u32 %n, [n]; {first}"
    ptx = f"{HEADER}.visible .entry k(.param .u32 n) .reqntid {block} {{ {registers} {start} {text} ret; }}"
    function = prepare(parse(ptx)).functions["k"]
    found = SetBits(function, writers(function), rules("SET_BITS"))
    masks = {name: found.of(Reg(name, 32), 32) for name in [*NAMES, "%t", "%n"]}
    for thread in {0, block // 2, block - 1}:
        values = dict(zip(NAMES, firsts)) | {"%t": thread, "%n": n}
        for how, d, *rest in steps:
            operands = [values[name] if name in values else int(name, 0) & M32 for name in rest]
            if OPERATIONS[how] is not None:
                values[d] = OPERATIONS[how](*operands) & M32
            for name, value in values.items():
                assert not value & ~masks[name], (name, hex(value), hex(masks[name]))


def test_masks_are_as_narrow_as_they_can_be():
    """A mask of every bit would pass the test above."""
    ptx = f"""{HEADER}.visible .entry k() .reqntid 100 {{ .reg .b32 %a<9>; .reg .b64 %w; .reg .b16 %f, %g, %h;
    mov.u32 %a0, %tid.x; mov.u32 %a1, %ctaid.x; shl.b32 %a2, %a1, 7; or.b32 %a3, %a2, %a0; add.u32 %a4, %a0, %a0;
    mul.lo.u32 %a5, %a0, 12; shr.u32 %a6, %a1, 30; mul.wide.u32 %w, %a0, 4; cvt.u16.u32 %h, %a1; cvt.u32.u16 %a7, %h;
    mad.lo.s32 %a8, %a0, 8, 16; cvt.u16.u32 %g, %a0; add.bf16 %f, %g, %g; ret; }}"""
    function = prepare(parse(ptx)).functions["k"]
    found = SetBits(function, writers(function), rules("SET_BITS"))
    masks = [found.of(Reg(f"%a{i}", 32), 32) for i in range(9)]
    assert masks == [0x7F, M32, M32 & -128, M32, 0xFF, 0x7FC, 3, 0xFFFF, 0x7F8]
    assert found.of(Reg("%w", 64), 64) == 0x1FC and found.of(Reg("%w", 64), 8) == 0xFC
    assert found.of(Reg("%g", 16), 16) == 0x7F and found.of(Reg("%f", 16), 16) == 0xFFFF


def test_masks_at_a_place_are_of_what_was_written_last():
    """A guard that does not hold leaves what was there. The last instruction may write a register that it reads."""
    ptx = f"""{HEADER}.visible .entry k(.param .u32 n) {{ .reg .b32 %a, %b, %c; .reg .pred %p; ld.param.u32 %a, [n];
    mov.u32 %b, cells; and.b32 %a, %a, 12; add.u32 %c, %a, %b; and.b32 %a, %a, 4; @%p mov.b32 %a, 64;
    mov.b32 %a, %a; ret; }}"""
    code = [each for each in prepare(parse(ptx)).functions["k"].items if each.opcode != "ret"]
    function, positions = prepare(parse(ptx)).functions["k"], {}
    for at, instr in enumerate(code):
        positions.setdefault(instr.operands[0].name, []).append(at)
    whole = SetBits(function, writers(function), rules("SET_BITS"), symbols={"cells": 256})
    here = SetBitsHere(whole, code, positions)
    assert [here.of(Reg(name, 32), 32) for name in ("%a", "%b", "%c")] == [68, 256, 0x1FC]
    before = SetBitsHere(whole, code[:4], {"%a": [0, 2], "%b": [1], "%c": [3]})
    assert [before.of(Reg(name, 32), 32) for name in ("%a", "%c")] == [12, whole.of(Reg("%c", 32), 32)]
    assert whole.of(Reg("%a", 32), 32) == M32
