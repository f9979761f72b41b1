"""Known facts about numbers: `assume`, arithmetic, control flow, and the widths of accesses that follow."""

from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute


@pytest.mark.slow
def test_numbers_and_widths_agree_with_nvidias_compiler(both):
    ours, theirs = both(Path(__file__).with_name("divisibility_program.py"), [])
    assert ours.status == 0, ours.errors
    assert ours.output.splitlines() == theirs.output.splitlines()
    assert "a * 2: 16\na + 4: 4\n" in ours.output
    assert "4 [(('ld', 16), 1), (('st', 16), 1)]\n4 + 2 [(('ld', 8), 2), (('st', 16), 1)]\n" in ours.output


@cute.kernel
def shifted(a: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    four = cute.assume(n, divby=4)
    cute.copy(atom, cute.make_tensor(a.iterator + four * 2 + 4, cute.make_layout(4)), out)


def test_a_vector_starts_where_the_author_has_assumed(run, aligned):
    a, out = aligned(64), aligned(4)
    a[:] = np.arange(64)
    run(shifted, a, out, 12, threads=1)
    assert out.tolist() == [28, 29, 30, 31]
