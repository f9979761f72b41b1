"""Products of a warpgroup: layouts, descriptors' layouts and values agree with upstream; refused operands.

Modules tested here: dsl/cutlass/cute/nvgpu/warpgroup.py.
"""

from pathlib import Path

import pytest

from dsl.cutlass import BFloat16, Float8E4M3FN, Float16, Float32, Int8, Int32, cute
from dsl.cutlass.cute.nvgpu import OperandMajorMode, warp, warpgroup

PROGRAM = Path(__file__).with_name("warpgroup_program.py")
K = OperandMajorMode.K
SMEM = warpgroup.OperandSource.SMEM


@pytest.mark.slow
def test_layouts_and_values_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 584 and " False\n" not in theirs.output
    assert ours.output == theirs.output


def half(*, ab=Float16, acc=Float32, shape=(64, 64, 16), source=SMEM, a=K, b=K):
    return lambda: warpgroup.MmaF16BF16Op(ab, acc, shape, source, a, b)


REFUSED = [
    (half(ab=Float32), "ab_dtype of MmaF16BF16Op must be BFloat16 or Float16, got Float32"),
    (half(ab=BFloat16, acc=Float16), "acc_dtype of MmaF16BF16Op of BFloat16 must be Float32, got Float16"),
    (half(shape=(128, 64, 16)), "M of MmaF16BF16Op must be 64, got 128"),
    (half(shape=(64, 12, 16)), "N of MmaF16BF16Op must be a multiple of 8 up to 256, got 12"),
    (half(shape=(64, 264, 16)), "N of MmaF16BF16Op must be a multiple of 8 up to 256, got 264"),
    (half(shape=(64, 64, 32)), "K of MmaF16BF16Op must be 16 for Float16, got 32"),
    (half(shape=64), "instruction_shape of MmaF16BF16Op must be (M, N) or (M, N, K), got 64"),
    (half(source="SMEM"), "a_src of MmaF16BF16Op must be OperandSource.RMEM or OperandSource.SMEM, got 'SMEM'"),
    (half(a="K"), "a_major_mode of MmaF16BF16Op must be OperandMajorMode.MN or OperandMajorMode.K, got 'K'"),
    (
        lambda: warpgroup.MmaI8Op(Int8, Int8, Int32, (64, 40, 32), SMEM, K, K),
        "N of MmaI8Op must be 8, 16, 24 or a multiple of 16, got 40",
    ),
    (
        lambda: warpgroup.MmaF8Op(Int8, Float8E4M3FN, Float32, (64, 40, 32), SMEM, K, K),
        "a_dtype of MmaF8Op must be Float8E5M2 or Float8E4M3FN, got Int8",
    ),
    (
        lambda: warpgroup.make_smem_layout_atom(K, Float16),
        "kind of make_smem_layout_atom must be a SmemLayoutAtomKind, got OperandMajorMode",
    ),
    (
        lambda: cute.make_tiled_mma(half()()).set("accumulate", True),
        "set: the field of a warpgroup's atom must be warpgroup.Field.ACCUMULATE, got 'accumulate'",
    ),
    (
        lambda: cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))).get(warpgroup.Field.ACCUMULATE),
        "get: an atom of MmaF16BF16Op has no fields",
    ),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=range(len(REFUSED)))
def test_operands_that_no_wgmma_takes_are_refused(refused, call, text):
    @cute.kernel
    def kernel():
        call()

    assert refused(kernel)[0] == text
