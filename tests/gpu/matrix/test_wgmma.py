"""wgmma and its groups as PTX."""

import re

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Float16, Float32, cute
from dsl.cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from dsl.cutlass.memory import SmemAllocator
from dsl.gpu.matrix import wgmma
from dsl.launch import session

K, MN = OperandMajorMode.K, OperandMajorMode.MN


@pytest.fixture
def emulator():
    yield session.start("emulator")
    session.stop()


@cute.kernel
def kernel(out: cute.Tensor):
    op = warpgroup.MmaF16BF16Op(Float16, Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, K, MN)
    mma = cute.make_tiled_mma(op)
    atoms = [warpgroup.make_smem_layout_atom(kind, Float16) for kind in list(warpgroup.SmemLayoutAtomKind)[::-4]]
    s_a, s_b = (
        SmemAllocator().allocate_tensor(Float16, cute.tile_to_shape(atom, (64, 64), (0, 1)).outer, 1024, atom.inner)
        for atom in atoms
    )
    mine = mma.get_slice(0)
    sums = mma.make_fragment_C(mma.partition_shape_C((64, 8)))
    wgmma.fence()
    a, b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(s_b))
    cute.gemm(mma, sums, a[None, None, 0], b[None, 0, 0], sums)
    wgmma.commit_group()
    wgmma.wait_group(0)
    out[cute.arch.thread_idx()[0]] = sums[0]


def test_its_text(emulator):
    @cute.jit
    def host(out: cute.Tensor):
        kernel(out).launch(grid=1, block=128)

    host(np.zeros(128, np.float32))
    ptx = emulator.kernels[-1].ptx
    assert ".target sm_90a" in ptx
    text = r"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {(%\w+, ){3}%\w+}, %rd\d+, %rd\d+, %dsl_p, 1, 1, 0, 1;"
    assert len(re.findall(text, ptx)) == 1
    order = [ptx.index(f"wgmma.{name}.sync.aligned") for name in ("fence", "mma_async", "commit_group", "wait_group")]
    assert order == sorted(order)


def test_a_number_of_groups_is_static(emulator):
    @cute.kernel
    def waits():
        warpgroup.wait_group(cute.arch.thread_idx()[0])

    @cute.jit
    def host():
        waits().launch(grid=1, block=128)

    with pytest.raises(DSLUserCodeError, match="number of groups must be known while compiling, got Int32"):
        host()
