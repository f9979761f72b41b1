"""Products that become part of an fma: those that only sums use, and NVIDIA's compiler rounds the others."""

import numpy as np
import pytest
import torch

from dsl import cutlass
from dsl.cutlass import cute
from dsl.lower.rewrites.contraction import with_contracted_sums_only

HEAD = "define void @k(float %0, float %1, ptr %2, <2 x float> %3) {\n"


def is_contracted(type_, *uses):
    product = f"  %p = fmul contract {type_} %0, %1\n"
    text = HEAD + product + "".join(f"  {use}\n" for use in uses) + "  ret void\n}"
    return product in with_contracted_sums_only(text)


@pytest.mark.parametrize(
    ("type_", "uses", "contracted"),
    [
        ("float", ["%4 = fadd contract float %p, %1"], True),
        ("float", ["%4 = fadd contract float %p, %1", "%5 = fsub contract float %0, %p"], True),
        ("float", ["%4 = fadd contract float %p, %1", "store float %p, ptr %2"], False),
        ("float", ["%4 = fadd contract float %p, %1", "%5 = fmul contract float %p, %0"], False),
        ("<2 x float>", ["%4 = extractelement <2 x float> %p, i64 0", "%5 = fadd contract float %4, %1"], True),
        ("<2 x float>", ["%4 = extractelement <2 x float> %p, i64 0", "store float %4, ptr %2"], True),  # no sum
        ("<2 x float>", ["%4 = fadd contract <2 x float> %p, %3", "store <2 x float> %p, ptr %2"], False),
        (
            "<2 x float>",
            ["%4 = tail call contract float @llvm.vector.reduce.fadd.v2f32(float %0, <2 x float> %p)"],
            True,
        ),
        (
            "<2 x float>",
            [
                "%4 = tail call float @llvm.vector.reduce.fmax.v2f32(<2 x float> %p)",
                "%5 = tail call contract float @llvm.vector.reduce.fadd.v2f32(float %0, <2 x float> %p)",
            ],
            False,
        ),
    ],
)
def test_a_product_that_is_used_otherwise_too_is_rounded(type_, uses, contracted):
    assert is_contracted(type_, *uses) is contracted


@cute.kernel
def sums(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    product = a[thread, 0] * b[thread, 0]
    out[thread, 0] = product
    out[thread, 1] = product + a[thread, 1]
    out[thread, 2] = a[thread, 1] * b[thread, 1] + a[thread, 2]
    rows = [cute.local_tile(each[thread, None], (4,), (0,)) for each in (a, b)]
    dot = rows[0].load() * rows[1].load()
    out[thread, 3] = dot.reduce(cute.ReductionOp.ADD, cutlass.Float32(0), 0)


@cute.jit
def run_sums(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    sums(a, b, out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_bits_agree_with_nvidias_compiler():
    """Its machine code of these statements: FMUL and FADD for the first sum, FFMA for the second and for each step of
    the reduction. A float64 holds a product of two floats exactly, and these sums too."""
    random = np.random.default_rng(7)
    a, b = (random.integers(1 << 12, 1 << 13, (32, 4)).astype(np.float32) + np.float32(0.123) for _ in "ab")
    out = torch.zeros((32, 4))
    run_sums(torch.from_numpy(a), torch.from_numpy(b), out)
    assert np.array_equal(out[:, 1], a[:, 0] * b[:, 0] + a[:, 1])
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    assert np.array_equal(out[:, 2], (wide_a[:, 1] * wide_b[:, 1] + wide_a[:, 2]).astype(np.float32))
    dot = np.zeros(32, np.float32)
    for step in range(4):
        dot = (wide_a[:, step] * wide_b[:, step] + dot).astype(np.float32)
    assert np.array_equal(out[:, 3], dot)


def test_a_long_chain_of_elements():
    moves = [f"  %v{n} = insertelement <5000 x float> %v{n - 1}, float %x, i64 {n}" for n in range(1, 5000)]
    lines = [
        "define void @k() {",
        "  %p = fmul contract float %a, %b",
        "  %v0 = insertelement <5000 x float> poison, float %p, i64 0",
        *moves,
        "  %s = fadd contract <5000 x float> %v4999, %y",
        "  store float %p, ptr %q",
        "}",
    ]
    assert "%p = fmul float %a, %b" in with_contracted_sums_only("\n".join(lines))
