"""The keywords of a launch: under both compilers, and what NVIDIA's asks a driver for."""

from pathlib import Path

import pytest

from dsl.cutlass import Float32, cute
from dsl.cutlass.cute.runtime import make_fake_compact_tensor


@pytest.mark.slow
def test_keywords_leave_what_nvidias_compiler_leaves(both):
    ours, theirs = both(Path(__file__).parents[2] / "launch_program.py", [])
    assert ours.status == 0, ours.errors
    assert ours.output.splitlines() == theirs.output.splitlines()
    assert "{'max_number_threads': [16, 4, 1]} ['.maxntid 16, 4, 1'] 96.0\n" in ours.output
    assert ours.output.count("refused") == 2


@cute.kernel
def kernel(a: cute.Tensor):
    a[0] = a[0] * 2


@pytest.mark.parametrize("blocks", [2, 16])
def test_more_blocks_a_multiprocessor_bound_the_registers(blocks, ptxas_path, tmp_path, monkeypatch):
    """NVIDIA's compiler computes the shared memory they leave each other, with a driver: no GPU, no second opinion."""
    monkeypatch.chdir(tmp_path)

    @cute.jit
    def host(a: cute.Tensor):
        kernel(a).launch(grid=1, block=128, min_blocks_per_mp=blocks)

    fake = make_fake_compact_tensor(Float32, (64,), assumed_align=16)
    ptx = cute.compile(host, fake, options="--keep-ptx --gpu-arch sm_90a").__ptx__
    assert f".minnctapersm {blocks}\n" in ptx and ".reqntid 128, 1, 1\n" in ptx
