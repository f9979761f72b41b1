"""Copies under both compilers: which shapes go together, and what an unrolled one keeps."""

import random
from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute

HERE = Path(__file__).parent


@pytest.mark.slow
def test_shapes_that_nvidias_compiler_copies_are_copied(both):
    ours, theirs = both(HERE / "copy_program.py", [str(random.Random(13).randrange(1000))])
    assert (ours.status, theirs.status) == (0, 0), ours.errors + theirs.errors
    pairs = list(zip(ours.output.splitlines(), theirs.output.splitlines(), strict=True))
    taken = [pair for pair in pairs if not pair[1].endswith("refused")]
    assert len(taken) > 30
    assert [pair for pair in taken if pair[0] != pair[1] and not reads_past(pair[1])] == []


def reads_past(line):
    """A vector that is longer than the first mode, which ours refuses."""
    how, a, _, _, bits, _ = line.split("; ")
    return bits == "128" and a in ("(1, 4)", "(2, 2)", "(2, 4)")


def unrolled(factor):
    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
        shape = cute.make_layout((4, (2, 3)))
        cute.copy(atom, cute.make_tensor(a.iterator, shape), cute.make_tensor(b.iterator, shape), unroll_factor=factor)

    return kernel


def test_unroll_factor_keeps_the_values(run, refused, aligned):
    for factor in (1, 2, 3):
        a, b = aligned(24), aligned(24)
        a[:] = np.arange(24)
        run(unrolled(factor), a, b, threads=1)
        assert (a == b).all()
    assert refused(unrolled(0), aligned(24), aligned(24)) == (
        "unroll_factor must be a positive integer, got 0",
        "unroll_factor=2, for example",
    )


@cute.kernel
def whole(a: cute.Tensor, b: cute.Tensor, m: cutlass.Int32, n: cutlass.Int32):
    shape = cute.make_layout((m, n), stride=(n, 1))
    cute.basic_copy(cute.make_tensor(a.iterator, shape), cute.make_tensor(b.iterator, shape))


def test_basic_copy_takes_sizes_of_the_run_time(run):
    for m, n in ((0, 4), (3, 4), (1, 1), (5, 2)):
        a, b = np.arange(12, dtype=np.float32), np.zeros(12, np.float32)
        run(whole, a, b, m, n, threads=1)
        assert b.tolist() == [i if i < m * n else 0 for i in range(12)]
