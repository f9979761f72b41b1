"""Quick and optimised machine code of an entry give the same bits, whatever the instructions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import emulator

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
TEMPLATES = [
    "add.s32 {0}, {1}, {2};", "sub.s32 {0}, {1}, {2};", "mul.lo.s32 {0}, {1}, {2};", "mul.hi.s32 {0}, {1}, {2};",
    "div.s32 {0}, {1}, {2};", "rem.s32 {0}, {1}, {2};", "div.u32 {0}, {1}, {2};", "shl.b32 {0}, {1}, {2};",
    "shr.s32 {0}, {1}, {2};", "shr.u32 {0}, {1}, {2};", "bfe.s32 {0}, {1}, {2}, {3};", "bfind.s32 {0}, {1};",
    "neg.s32 {0}, {1};", "abs.s32 {0}, {1};", "add.f32 {0}, {1}, {2};", "fma.rn.f32 {0}, {1}, {2}, {3};",
    "add.rz.f32 {0}, {1}, {2};", "div.rn.f32 {0}, {1}, {2};", "sqrt.rn.f32 {0}, {1};", "min.f32 {0}, {1}, {2};",
    "cvt.rzi.s32.f32 {0}, {1};", "cvt.rni.u32.f32 {0}, {1};", "cvt.rn.f32.s32 {0}, {1};",
    "prmt.b32 {0}, {1}, {2}, {3};",
    "add.rn.f16x2 {0}, {1}, {2};", "fma.rn.bf16x2 {0}, {1}, {2}, {3};", "cvt.rn.bf16x2.f32 {0}, {1}, {2};",
    "setp.lt.f32 %p, {1}, {2}; @%p mov.b32 {0}, {3};", "setp.ge.s32 %p, {1}, {2}; @!%p add.s32 {0}, {0}, 3;",
    "shf.l.clamp.b32 {0}, {1}, {2}, {3};", "shfl.sync.bfly.b32 {0}, {1}, 5, 31, -1;", "bar.sync 0;",
]  # fmt: skip
REGISTER = st.sampled_from(["%r0", "%r1", "%r2", "%r3"])
INSTRUCTION = st.builds(lambda text, *r: text.format(*r), st.sampled_from(TEMPLATES), *[REGISTER] * 4)


def kernel(instructions: list[str]) -> str:
    return (
        HEADER
        + f""".visible .entry k(.param .u64 data) {{
  .reg .b32 %r<4>; .reg .b32 %t; .reg .b64 %a, %off; .reg .pred %p;
  mov.u32 %t, %tid.x; ld.param.u64 %a, [data]; mul.wide.u32 %off, %t, 16; add.s64 %a, %a, %off;
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%a];
  {" ".join(instructions)}
  st.global.v4.b32 [%a], {{%r0, %r1, %r2, %r3}};
  ret; }}"""
    )


@pytest.mark.slow
@given(st.lists(INSTRUCTION, min_size=1, max_size=10), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_optimisation_changes_no_bit(instructions, seed):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**32, 4 * 64, dtype=np.uint32)
    special = [0, 1, 2**31, 2**32 - 1, 0x7F800000, 0x7FC00001, 0x80000001, 0x3F800000, 32, 31]
    words[::3] = rng.choice(np.array(special, np.uint32), len(words[::3]))
    program = emulator.load(kernel(instructions))
    results = []
    for threads in (64, 1 << 20):  # what the code is compiled for; the launch has 64
        program.code("k", threads)
        buffer = np.zeros(4 * 64 + 4, np.uint32)
        data = buffer[(-buffer.ctypes.data % 16) // 4 :][: 4 * 64]
        data[:] = words
        memory = emulator.Memory()
        memory.register(data.ctypes.data, data.nbytes, "data")
        emulator.launch(program, "k", (1, 1, 1), (64, 1, 1), [data.ctypes.data.to_bytes(8, "little")], memory)
        results.append(data.copy())
    assert set(program._code) == {("k", True, ()), ("k", False, ())}
    np.testing.assert_array_equal(*results)


def guarded(bodies: int) -> str:
    """Stores that a branch may jump over, each at its own address."""
    return kernel(
        [
            f"setp.gt.s32 %p, %r0, {i}; @!%p bra L{i}; add.s64 %off, %a, {16 * i}; st.global.b32 [%off], %r1; L{i}:"
            for i in range(bodies)
        ]
    )


def test_quick_code_that_is_not_run_costs_a_thread_nothing():
    lengths = []
    for bodies in (4, 80):
        before = emulator.Program(guarded(bodies)).llvm_ir("k").partition("define void @block")[2].partition("$")[0]
        work = [line for line in before.splitlines() if line and " alloca " not in line]
        lengths.append(next(i for i, line in enumerate(work) if "br i1" in line))  # up to the first branch
    assert lengths[0] == lengths[1] < 100
