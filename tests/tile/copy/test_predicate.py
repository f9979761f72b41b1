"""Predicates of copies: which of their values are true, under both compilers and by hand."""

from pathlib import Path

import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLWarning
from dsl.cutlass import cute
from dsl.cutlass.cute.nvgpu import cpasync

HERE = Path(__file__).parent


@pytest.mark.slow
def test_which_values_of_a_predicate_are_true(both):
    ours, theirs = both(HERE / "predicate_program.py", [])
    assert ours.status == 0, ours.errors
    assert ours.output == theirs.output
    assert "cp.async int32 [0, 12, 0, 14, 15, 0, 17, 0]" in ours.output  # 2, 4 and -2 are false
    assert "universal int32 [-7, 12, 13, 14, 15, 16, 17, 18]" in ours.output


@cute.kernel
def counted(a: cute.Tensor):
    tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((1, 4)), 16)
    pred = cute.make_rmem_tensor((1, 4), cutlass.Int32)
    pred.fill(2)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    cute.copy(atom, cute.make_tensor(a.iterator, (1, 4)), tile, pred=pred)


def test_cp_async_warns_that_it_looks_at_one_bit(run, aligned):
    with pytest.warns(DSLWarning) as told:
        run(counted, aligned(4), threads=1)
    assert [str(w.message) for w in told] == [
        "PREDICATE_LOWEST_BIT: cp.async looks at the lowest bit of a predicate of Int32: 2 is false. "
        "Store `x != 0` in a tensor of cutlass.Boolean"
    ]
