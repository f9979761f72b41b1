"""cute.gemm of a warpgroup: which fragments it takes (test_warpgroup.py has the values)."""

import pytest

from dsl.cutlass import Float16, Float32, cute
from dsl.cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from dsl.cutlass.memory import SmemAllocator
from dsl.tile.mma import warpgroup_gemm

K = OperandMajorMode.K


def fragments(a_source=warpgroup.OperandSource.SMEM):
    """A tiled mma with fragments of one step: D, A, B."""
    mma = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(Float16, Float32, (64, 64, 16), a_source, K, K))
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, Float16)
    layout = cute.tile_to_shape(atom, (64, 64), (0, 1))
    s_a, s_b = (SmemAllocator().allocate_tensor(Float16, layout.outer, 1024, layout.inner) for _ in range(2))
    mine = mma.get_slice(0)
    d = mma.make_fragment_C(mma.partition_shape_C((64, 64)))
    if a_source is warpgroup.OperandSource.SMEM:
        a = mma.make_fragment_A(mine.partition_A(s_a))
    else:
        a = mma.make_fragment_A(mma.partition_shape_A((64, 64)))
    return mma, d, a, mma.make_fragment_B(mine.partition_B(s_b))


FIX = "tiled_mma.make_fragment_A and _B of partitions of shared memory, make_fragment_C for the sums"
REFUSED = [
    (
        lambda mma, d, a, b: warpgroup_gemm.gemm(mma, a, a, b, d),
        "gemm: D of a warpgroup must be a tensor in registers, got Tensor of matrix descriptors (1,1,4):(0,0,2)",
    ),
    (
        lambda mma, d, a, b: cute.gemm(mma, d, d, b, d),
        "gemm: A of a warpgroup must be matrix descriptors of shared memory, got Tensor of Float32 ((2,2,8),1,1):((1,2,4),0,0)",
    ),
    (
        lambda mma, d, a, b: cute.gemm(mma, d, a, b, cute.make_rmem_tensor(d.shape, Float16)),
        "gemm: C of a warpgroup must be registers of Float32, got a tensor of Float16 in rmem",
    ),
    (
        lambda mma, d, a, b: cute.gemm(mma, d, a, b[None, None, 0], d),
        "gemm: A (V, M, K), B (V, N, K), C and D (V, M, N) must agree in M, N and K, got A (1,1,4), B (1,1,1), "
        "C ((2,2,8),1,1) and D ((2,2,8),1,1)",
    ),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=range(len(REFUSED)))
def test_fragments_that_do_not_fit_are_refused(refused, call, text):
    @cute.kernel
    def kernel():
        call(*fragments())

    message, fix = refused(kernel)
    assert message == text and fix in (FIX, "partition all of them with one tiled mma")


def test_a_in_registers_is_not_a_descriptor(refused):
    @cute.kernel
    def kernel():
        mma, d, _, b = fragments(warpgroup.OperandSource.RMEM)
        cute.gemm(mma, d, b, b, d)

    assert (
        refused(kernel)[0]
        == "gemm: A of a warpgroup must be a tensor in registers, got Tensor of matrix descriptors (1,1,4):(0,0,2)"
    )
