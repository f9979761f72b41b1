"""Loads, stores, atomics, address spaces and the faults of bad addresses. PTX ISA 9.7.9.8 to 9.7.9.18, 9.7.13.5.

Modules tested here: dsl/emulator/families/memory/addresses.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

ATOMICS = {
    "add.u32": lambda old, b: old + b, "add.u64": lambda old, b: old + b, "min.s32": min, "max.s32": max,
    "min.u32": min, "max.u64": max, "and.b32": lambda old, b: old & b, "or.b64": lambda old, b: old | b,
    "xor.b32": lambda old, b: old ^ b,
    "exch.b32": lambda old, b: b, "inc.u32": lambda old, b: 0 if old >= b else old + 1,
    "dec.u32": lambda old, b: b if old == 0 or old > b else old - 1,
}  # fmt: skip
DTYPES = {"u32": np.uint32, "s32": np.int32, "b32": np.uint32, "u64": np.uint64, "b64": np.uint64}


def one_thread(body: str, variables: str = "", registers: str = "") -> str:
    return f"""{variables}
.visible .entry k(.param .u64 out, .param .u64 src)
{{
  .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %o, %g, %rd<8>; .reg .f32 %f<4>; .reg .pred %p; {registers}
  ld.param.u64 %o, [out]; ld.param.u64 %g, [src];
{body}
  ret;
}}
"""


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_return_the_old_value_and_store_the_new(machine, space, name):
    kind = name.split(".")[1]
    dtype, function = np.dtype(DTYPES[kind]), ATOMICS[name]
    bits = 8 * dtype.itemsize
    rng = np.random.default_rng(1)
    src = rng.integers(0, 2**bits - 1, (20, 2), dtype=f"u{bits // 8}").view(dtype)
    src[:3, 0], src[3:6, 0] = 0, src[3:6, 1]
    b = f"b{bits}"
    where = {"global": ("%g", ".global"), "shared": ("%rd1", ".shared"), "generic": ("%rd2", "")}[space]
    body = f"""
  mov.u32 %r1, 0;
NEXT:
  .shared .align 8 .b8 cell[8];
  mov.u64 %rd1, cell; cvta.shared.u64 %rd2, %rd1;
  ld.global.{b} %x, [%g]; ld.global.{b} %y, [%g+{bits // 8}];
  st.shared.{b} [%rd1], %x;
  atom{where[1]}.{name} %z, [{where[0]}], %y;
  st.global.{b} [%o], %z;
  ld{where[1]}.{b} %z, [{where[0]}];
  st.global.{b} [%o+{bits // 8}], %z;
  add.s64 %g, %g, {bits // 4}; add.s64 %o, %o, {bits // 4};
  add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 20; @%p bra NEXT;"""
    out = np.zeros_like(src)
    before = src.copy()
    machine.run(one_thread(body, registers=f".reg .b{bits} %x, %y, %z;"), out=out, src=src)
    mask = (1 << bits) - 1
    expected = [[int(o) & mask, function(int(o), int(v)) & mask] for o, v in before]
    np.testing.assert_array_equal(out.view(f"u{bits // 8}"), np.array(expected, f"u{bits // 8}"))


def test_cas_and_float_adds(machine):
    src = np.array([5, 7, 5], np.uint32)
    out = np.zeros(4, np.uint32)
    machine.run(one_thread("""
  atom.global.cas.b32 %r1, [%g], 5, 9; atom.global.cas.b32 %r2, [%g+4], 5, 9;
  st.global.v2.u32 [%o], {%r1, %r2};
  red.global.add.f32 [%o+8], 0f3FC00000; red.global.add.f32 [%o+8], 0f40000000;"""), out=out, src=src)  # fmt: skip
    assert src.tolist() == [9, 7, 5] and out[:2].tolist() == [5, 7] and out[2:].view(np.float32).tolist() == [3.5, 0.0]


def test_narrow_loads_extend_by_their_type(machine):
    src = np.array([0x80, 0xFF, 0x01, 0x8000 & 0xFF, 0x80, 0, 0, 0], np.uint8)
    out = np.zeros(5, np.int64)
    machine.run(one_thread("""
  ld.global.s8 %r1, [%g]; cvt.s64.s32 %rd1, %r1; st.global.u64 [%o], %rd1;
  ld.global.u8 %r1, [%g]; cvt.s64.s32 %rd1, %r1; st.global.u64 [%o+8], %rd1;
  ld.global.s8 %rd1, [%g+1]; st.global.u64 [%o+16], %rd1;
  ld.global.s16 %rd1, [%g]; st.global.u64 [%o+24], %rd1;
  ld.global.u16 %rd1, [%g]; st.global.u64 [%o+32], %rd1;"""), out=out, src=src)  # fmt: skip
    assert out.tolist() == [-128, 128, -1, -128, 0xFF80]


def test_vectors_and_hints(machine):
    source, target = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    aligned, result = (a[(-a.ctypes.data % 16) // 4 :][:16] for a in (source, target))
    aligned[:] = np.arange(16)
    machine.run(one_thread("""
  ld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%g+16];
  st.global.wb.v4.u32 [%o], {%r4, %r3, %r2, %r1};
  ld.relaxed.gpu.global.v2.u64 {%rd1, %rd2}, [%g+32];
  st.release.sys.global.u64 [%o+16], %rd2;
  ld.volatile.global.u8 %h1, [%g+4]; st.global.u8 [%o+24], %h1;
  ld.acquire.cta.global.f32 %f1, [%g+8]; st.global.f32 [%o+28], %f1;"""), out=result, src=aligned)  # fmt: skip
    assert result[:8].tolist() == [7, 6, 5, 4, 10, 11, 1, 2]


VARIABLES = """
.global .align 4 .u32 counter = 5;
.const .align 4 .f32 table[3] = {0f3F800000, 0f40000000, 0f40400000};
.global .align 8 .u64 where = generic(counter);
.global .align 1 .b8 text[4] = {72, 105, 33};
.extern .shared .align 16 .b8 dynamic[];
"""


def test_registers_of_vectors_have_parts(machine):  # PTX ISA 5.4.2, 6.4.3
    body = """
  { .reg .v4 .u32 abcd; .reg .v2 .f32 ab; mov.u32 abcd.x, 1; mov.u32 abcd.g, 2; add.u32 abcd.z, abcd.x, abcd.y; mov.u32 abcd.w, 9;
    st.global.v4.u32 [%o], abcd; ld.global.v2.f32 ab, [%g]; st.global.f32 [%o+16], ab.y; st.global.f32 [%o+20], ab.r; }
"""
    out, src = np.zeros(9, np.uint32), np.array([1.5, 2.5], np.float32)
    out = out[(-out.ctypes.data % 16) // 4 :]
    machine.run(one_thread(body), out=out, src=src)
    assert out[:4].tolist() == [1, 2, 3, 9] and out[4:6].view(np.float32).tolist() == [2.5, 1.5]


def test_module_variables_keep_their_values_between_launches(machine):
    ptx = one_thread("""
  ld.global.u32 %r1, [counter]; add.u32 %r1, %r1, 1; st.global.u32 [counter], %r1; st.global.u32 [%o], %r1;
  ld.const.f32 %f1, [table+8]; st.global.f32 [%o+4], %f1;
  ld.global.u64 %rd1, [where]; ld.u32 %r2, [%rd1]; st.global.u32 [%o+8], %r2;
  ld.global.u8 %r3, [text+1]; st.global.u32 [%o+12], %r3;""", VARIABLES)  # fmt: skip
    program = emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + ptx)
    memory = emulator.Memory()
    out = np.zeros(4, np.uint32)
    memory.register(out.ctypes.data, out.nbytes, "out")
    for expected in (6, 7):
        address = out.ctypes.data.to_bytes(8, "little")
        emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), [address, address], memory)
        assert out.tolist() == [expected, np.float32(3).view(np.uint32), expected, 105]


SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")


def test_every_address_is_of_its_space_alone(machine):
    """PTX ISA 9.7.9.17: isspacep for a generic address of each space, for each space that can be asked for."""
    places = {"global": "mov.u64 %rd1, counter;", "array": "mov.b64 %rd1, %g;",
              "shared": "mov.u64 %rd1, cell; cvta.shared.u64 %rd1, %rd1;",
              "local": "mov.u64 %rd1, depot; cvta.local.u64 %rd1, %rd1;",
              "const": "mov.u64 %rd1, table; cvta.const.u64 %rd1, %rd1;",
              "param": "mov.b64 %rd1, src; cvta.param.u64 %rd1, %rd1;"}  # fmt: skip
    lines = [".local .align 8 .b8 depot[16]; .shared .align 8 .b8 cell[8];"]
    for row, take in enumerate(places.values()):
        lines.append(take)
        for column, space in enumerate(SPACES):
            at = 4 * (len(SPACES) * row + column)
            lines.append(f"isspacep.{space} %p, %rd1; selp.u32 %r1, 1, 0, %p; st.global.u32 [%o+{at}], %r1;")
    out = np.full((len(places), len(SPACES)), 9, np.uint32)
    machine.run(one_thread("\n".join(lines), VARIABLES), out=out, src=np.zeros(1, np.uint32))
    expected = [[int(space.split("::")[0] == ("global" if place == "array" else place)) for space in SPACES]
                for place in places]  # fmt: skip
    assert out.tolist() == expected


def test_the_policy_of_a_cache_is_a_word_that_only_hints_take(machine):
    """PTX ISA 9.7.9.19: createpolicy; .cvt gives what the access property holds."""
    forms = ("fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5", "fractional.L2::evict_first.b64 %rd1",
             "range.global.L2::evict_last.L2::evict_unchanged.b64 %rd1, [%g], %r1, %r2", "cvt.L2.b64 %rd1, 0x12f")  # fmt: skip
    lines = ["mov.u32 %r1, 128; mov.u32 %r2, 256; ld.global.u32 %r3, [%g];"]
    for i, form in enumerate(forms):
        lines.append(f"createpolicy.{form}; st.global.L2::cache_hint.u32 [%o+{4 * i}], %r3, %rd1;")
    lines.append("st.global.u64 [%o+16], %rd1;")
    out = np.zeros(6, np.uint32)
    machine.run(one_thread("\n".join(lines)), out=out, src=np.array([7], np.uint32))
    assert out.tolist() == [7, 7, 7, 7, 0x12F, 0]


def test_generic_addresses_of_shared_local_and_parameters(machine):
    ptx = one_thread("""
  .local .align 8 .b8 depot[16]; .shared .align 8 .b8 cell[8];
  mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;
  st.u32 [%rd2+4], 77; ld.local.u32 %r1, [%rd1+4]; st.global.u32 [%o], %r1;
  mov.u64 %rd3, cell; cvta.shared.u64 %rd4, %rd3;
  st.shared.u32 [%rd3+4], 88; ld.u32 %r2, [%rd4+4]; st.global.u32 [%o+4], %r2;
  cvta.to.shared.u64 %rd5, %rd4; ld.shared.u32 %r3, [%rd5+4]; st.global.u32 [%o+8], %r3;
  cvt.u32.u64 %r4, %rd4; ld.shared.u32 %r4, [%r4+4]; st.global.u32 [%o+12], %r4;
  mov.b64 %rd6, out; ld.param.u64 %rd7, [%rd6]; st.global.u32 [%rd7+16], 99;
  isspacep.shared %p, %rd4; selp.u32 %r5, 1, 0, %p; isspacep.global %p, %rd7; @%p add.u32 %r5, %r5, 2;
  isspacep.local %p, %rd2; @%p add.u32 %r5, %r5, 4; st.global.u32 [%o+20], %r5;""")  # fmt: skip
    out = np.zeros(6, np.uint32)
    machine.run(ptx, out=out, src=out)
    assert out.tolist() == [77, 88, 88, 88, 99, 7]


def test_local_memory_is_a_threads_own(machine):
    out = np.zeros(64, np.uint32)
    machine.run(""".visible .entry k(.param .u64 out) { .local .align 4 .b8 depot[4];
  .reg .b32 %t, %v; .reg .b64 %o, %off;
  mov.u32 %t, %tid.x; st.local.u32 [depot], %t; bar.sync 0; ld.local.u32 %v, [depot];
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off; st.global.u32 [%o], %v; ret; }""",
                block=64, out=out)  # fmt: skip
    assert out.tolist() == list(range(64))


# ** faults: each pair differs by one number

READ = """.file 1 "gather.py"
.visible .entry gather(.param .u64 out, .param .u64 src, .param .u32 shift)
{
  .reg .b32 %t, %c, %v, %s; .reg .b64 %o, %g, %off;
  mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %t, %c, 32, %t;
  ld.param.u64 %o, [out]; ld.param.u64 %g, [src]; ld.param.s32 %s, [shift];
  mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off; add.s64 %g, %g, %off;
  cvt.s64.s32 %off, %s; add.s64 %g, %g, %off;
  .loc 1 7 14
  ld.global.u32 %v, [%g];
  st.global.u32 [%o], %v;
  ret;
}
"""


@pytest.mark.parametrize("shift, kind, where", [
    (0, None, ""),
    (4, "out_of_bounds", "read of 4 bytes at {0:#x} is just past the end of `src` (256 bytes)"),
    (8, "out_of_bounds", "read of 4 bytes at {0:#x} is just past the end of `src` (256 bytes)"),
    (100, "out_of_bounds", "read of 4 bytes at {0:#x} is just past the end of `src` (256 bytes)"),
    (-4, "out_of_bounds", "read of 4 bytes at {1:#x} is 4 bytes before the start of `src` (256 bytes)"),
    (2, "misaligned", "read of 4 bytes at {2:#x} is not aligned to 4 bytes (it is 2 past)"),
])  # fmt: skip
def test_a_read_outside_its_array_or_misaligned(machine, tmp_path, monkeypatch, shift, kind, where):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gather.py").write_text("\n" * 6 + "    value = src[i + shift]\n")
    src, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    if kind is None:
        machine.run(READ, grid=2, block=32, out=out, src=src, shift=shift)
        np.testing.assert_array_equal(out, src)
        return
    with pytest.raises(emulator.Fault) as caught:
        machine.run(READ, grid=2, block=32, out=out, src=src, shift=shift)
    fault = caught.value
    base = src.ctypes.data
    first_bad = max(0, 64 - shift // 4) if shift > 2 else 0
    message = where.format(base + 256, base + shift, base + shift)
    assert str(fault) == "\n".join([
        f"gather.py:7:14: {kind.upper()}",
        "    value = src[i + shift]",
        "             ^ " + message,
        f"    in `gather`, block ({first_bad // 32}, 0, 0), thread ({first_bad % 32}, 0, 0) = warp 0, "
        f"lane {first_bad % 32}",
        "    PTX line 13: ld.global.u32 %v, [%g];",
        *(["fix: keep the address a multiple of 4, or use narrower accesses"] if kind == "misaligned" else []),
    ])  # fmt: skip
    assert fault.kind == kind and fault.repro_outcome["outcome"] == "fault" and fault.repro_outcome["line"] == 7


@pytest.mark.parametrize("statement, message", [
    ("st.global.u32 [%o+256], 1;", "write of 4 bytes"),
    ("st.global.v2.u32 [%o+252], {%r1, %r1};", "not aligned to 8 bytes"),
    ("mov.u64 %rd1, 0; ld.global.u32 %r1, [%rd1];", "is a null pointer"),
    ("mov.u64 %rd1, -1; ld.global.u8 %h1, [%rd1];", "OUT_OF_BOUNDS"),
    ("ld.shared.u32 %r1, [4092];", "at smem+0xffc is outside shared memory (64 bytes, 64 static + 0 dynamic)"),
    ("mov.u32 %r1, -4; ld.shared.u32 %r2, [%r1];", "at smem+0xfffffffc is outside shared memory"),
    ("ld.shared.u32 %r1, [cell+2];", "at smem+0x2 is not aligned to 4 bytes"),
    ("ld.local.u32 %r1, [64];", "at local+0x40 is outside the thread's local memory (16 bytes)"),
    ("mov.u64 %rd1, cell; cvta.shared.u64 %rd1, %rd1; ld.global.u32 %r1, [%rd1];",
     "inside `shared memory` (64 bytes), which this instruction's state space cannot reach"),
    ("atom.global.add.u32 %r1, [%o+256], 1;", "atomic of 4 bytes"),
    ("ld.const.u32 %r1, [table+12];", "just past the end of `table` (12 bytes)"),
    ("mov.u64 %rd1, 0x7fffffffffffff00; st.u64 [%rd1], %rd1;", "write of 8 bytes at 0x7fffffffffffff00"),
])  # fmt: skip
@pytest.mark.parametrize("meets", [False, True])
def test_bad_addresses_never_reach_the_host(machine, statement, message, meets):
    body = ".shared .align 4 .b8 cell[64]; .local .align 4 .b8 depot[16];\n" + ("bar.sync 0;\n" if meets else "")
    body += "st.local.u32 [depot], 0; st.shared.u32 [cell], 0;\n" + statement
    out = np.zeros(64, np.uint32)
    with pytest.raises(emulator.Fault) as caught:
        machine.run(one_thread(body, VARIABLES), out=out, src=out)
    assert message in str(caught.value) and statement.split(";")[-2].strip() in str(caught.value)
    assert not out.any()


def test_freed_and_unregistered_memory_is_out_of_bounds():
    memory = emulator.Memory()
    address = memory.alloc(256, "a")
    assert address % 256 == 0
    program = emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + one_thread("st.global.u32 [%o], 1;"))
    params = [address.to_bytes(8, "little")] * 2
    emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), params, memory)
    memory.free(address)
    with pytest.raises(emulator.Fault, match="OUT_OF_BOUNDS"):
        emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), params, memory)
    with pytest.raises(ValueError, match="is not the start of an allocation"):
        memory.free(address)


def test_overlapping_registrations_are_one_range(machine):
    whole = np.zeros(64, np.uint32)
    memory = emulator.Memory()
    memory.register(whole.ctypes.data, 128, "front")
    memory.register(whole.ctypes.data, 128, "front again")
    memory.register(whole.ctypes.data + 64, 192, "back")
    program = emulator.load(
        ".version 8.0\n.target sm_90a\n.address_size 64\n" + one_thread("st.global.u32 [%o+252], 1;")
    )
    params = [whole.ctypes.data.to_bytes(8, "little")] * 2
    emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), params, memory)
    memory.unregister(whole.ctypes.data)
    emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), params, memory)
    assert whole[63] == 1


def test_ptxas_accepts_what_is_tested_here(ptxas):
    ptxas(READ)
    ptxas(one_thread("ld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%g+16]; isspacep.shared %p, %rd4;"
                     "ld.acquire.cta.global.f32 %f1, [%g+8]; st.release.sys.global.u64 [%o+16], %rd2;"
                     "ld.const.f32 %f1, [table+8]; atom.shared.inc.u32 %r1, [%rd1], 5;", VARIABLES))  # fmt: skip
