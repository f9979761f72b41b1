"""Choices for products of a warpgroup: the same as upstream; refused operands.

Modules tested here: dsl/cutlass/utils/hopper_helpers.py.
"""

from pathlib import Path

import pytest

from dsl.cutlass import Float16, Float32, cute
from dsl.cutlass.cute.nvgpu import OperandMajorMode
from dsl.cutlass.tensor_utils import LayoutEnum
from dsl.cutlass.utils import hopper_helpers

PROGRAM = Path(__file__).with_name("hopper_program.py")
K = OperandMajorMode.K


def test_choices_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 250 and ours.output == theirs.output


REFUSED = [
    (
        lambda: hopper_helpers.make_trivial_tiled_mma(Float16, Float32, K, K, Float32, (1, 1, 1), (64, 64)),
        "A and B of 16 bits must have one type, got Float16 and Float32",
    ),
    (
        lambda: hopper_helpers.make_trivial_tiled_mma(Float32, Float32, K, K, Float32, (1, 1, 1), (64, 64)),
        "a warpgroup multiplies Float16, BFloat16, Float8E4M3FN, Float8E5M2, Int8 and Uint8, got Float32",
    ),
    (
        lambda: hopper_helpers.get_smem_layout_atom("row", Float16, 64),
        "layout must be LayoutEnum.ROW_MAJOR or .COL_MAJOR, got Python str",
    ),
    (
        lambda: hopper_helpers.sm90_get_smem_store_op(LayoutEnum.ROW_MAJOR, 16, Float32),
        "sm90_get_smem_store_op takes numeric types, got Python int",
    ),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=range(len(REFUSED)))
def test_operands_without_a_choice_are_refused(refused, call, text):
    @cute.kernel
    def kernel():
        call()

    assert refused(kernel)[0] == text
