"""Guarded divisions: the values follow the division of the PTX ISA, and the guard is gone."""

import math

import numpy as np
import pytest
import torch

from dsl import cutlass
from dsl.cutlass import cute
from dsl.lower import sass
from dsl.lower.rewrites.guarded_division import divisions_without_guards

GUARDED = """define void @k(i32 %0, i32 %1) {
  %3 = icmp eq i32 %1, 0
  %4 = select i1 %3, i32 1, i32 %1
  %5 = icmp eq i32 %0, -2147483648
  %6 = icmp eq i32 %1, -1
  %7 = and i1 %5, %6
  %8 = select i1 %7, i32 1, i32 %4
  %9 = sdiv i32 %0, %8
  %10 = srem i32 %0, %8
  %11 = select i1 %3, i32 -1, i32 %9, !dbg !7
  %12 = select i1 %3, i32 %0, i32 %10
  ret void
}"""
CALL = 'call i32 asm "div.s32 $0, $1, $2;", "=r,r,r"(i32 %0, i32 %1) memory(none) nounwind willreturn'


def test_a_guarded_division_is_the_instruction():
    assert divisions_without_guards(GUARDED).splitlines()[9:13] == [
        f"  %11 = {CALL}, !dbg !7",
        "  %product.12 = mul i32 %11, %1",
        "  %12 = sub i32 %0, %product.12",
        "  ret void",
    ]


def test_a_remainder_alone_has_its_quotient():
    alone = "\n".join(line for line in GUARDED.splitlines() if "%11 = " not in line)
    assert f"  %quotient.12 = {CALL}\n  %product.12 = mul i32 %quotient.12, %1\n" in divisions_without_guards(alone)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("i32 -1, i32 %9", "i32 7, i32 %9"),  # another value of x / 0
        ("icmp eq i32 %1, 0", "icmp eq i32 %1, 3"),
        ("icmp eq i32 %1, 0", "icmp eq i32 %0, 0"),  # another guard
        ("icmp eq i32 %1, -1", "icmp eq i32 %0, -1"),
        ("icmp eq i32 %0, -2147483648", "icmp eq i32 %0, 5"),
        ("select i1 %7, i32 1, i32 %4", "select i1 %7, i32 2, i32 %4"),
        ("%9 = sdiv i32 %0, %8", "%9 = sdiv i32 %0, %4"),
        ("select i1 %3, i32 1, i32 %1", "select i1 %3, i32 1, i32 5"),  # LLVM divides by constants
    ],
)
def test_a_select_that_is_not_a_guard_stays(written, instead):
    text = GUARDED.replace(written, instead)
    assert "  %11 = select i1 %3" in divisions_without_guards(text)


@cute.kernel
def quotients(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    a, b = x[thread], y[thread]
    out[thread, 0], out[thread, 1] = a // b, a % b
    unsigned, divisor = cutlass.Uint32(a), cutlass.Uint32(b)
    out[thread, 2], out[thread, 3] = cutlass.Int32(unsigned // divisor), cutlass.Int32(unsigned % divisor)


@cute.jit
def divide(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    quotients(x, y, out).launch(grid=(1, 1, 1), block=(x.shape[0], 1, 1))


def test_values_at_the_edges():
    edges = [0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -(2**31)]
    x, y = (np.array(each, np.int32) for each in zip(*((a, b) for a in edges for b in edges)))
    out = torch.zeros((len(x), 4), dtype=torch.int32)
    divide(torch.from_numpy(x), torch.from_numpy(y), out)
    for a, b, found in zip(x.tolist(), y.tolist(), out.tolist()):
        wanted = (a // b, int(math.fmod(a, b))) if b else (-1, a)  # `%` of CuTe has the sign of a
        unsigned, divisor = a & 0xFFFFFFFF, b & 0xFFFFFFFF
        wanted += (unsigned // divisor, unsigned % divisor) if divisor else (-1, a)
        assert [each & 0xFFFFFFFF for each in found] == [each & 0xFFFFFFFF for each in wanted], (a, b)


def test_ptxas_gives_the_values_of_the_guard(ptxas_path):
    """ptxas selects ~0 for a divisor of 0: the result is all ones."""
    ptx = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<4>;
	ld.param.b64 %rd1, [p];
	ld.param.b32 %r1, [a];
	ld.param.b32 %r2, [b];
	div.s32 %r3, %r1, %r2;
	st.global.b32 [%rd1], %r3;
	ret;
}
"""
    code = sass.disassemble(sass.assemble(ptx, "sm_80"))
    assert "LOP3.LUT" in code and ", 0x33, !PT" in code
