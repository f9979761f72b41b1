"""Needs of kernel libraries in addition to public names: patched classes, objects with protocols, early imports."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from dsl.cutlass.base_dsl.typing import T

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import cute, pipeline
from dsl.cutlass._mlir.dialects import llvm
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.cutlass.cutlass_dsl import dsl_user_op

LIBRARY = """
from cutlass.cute.typing import Numeric, Optional, Type
from cutlass.cute.runtime import List
from cutlass.cute.nvgpu import tcgen05
from cutlass.cute.nvgpu.tcgen05.mma import CtaGroup, MmaOp
from cutlass.utils import TmemAllocator
import cutlass.utils.blockscaled_layout as blockscaled
import cutlass.base_dsl.tvm_ffi_builder.spec

KINDS = (MmaOp.ONE, blockscaled.tile_atom)


class Allocator(TmemAllocator):
    def other(self, kind=MmaOp.TWO):
        return kind


print(Optional[Type], List[int])
print(CtaGroup.TWO is tcgen05.CtaGroup.TWO, MmaOp, isinstance(3, TmemAllocator))
for use in (lambda: MmaOp.ONE, lambda: Allocator(1), lambda: blockscaled.tile_atom()):
    try:
        use()
    except Exception as error:
        print(error.message)
"""


def test_missing_names_are_imported_and_refused_when_used(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "program.py").write_text("import library\n")
    run = subprocess.run(
        [sys.executable, "-m", "dsl", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    missing = "is not part of this compiler yet"
    assert run.stdout.splitlines() == [
        "typing.Optional[typing.Type] typing.List[int]",
        "True <cutlass.cute.nvgpu.tcgen05.mma.MmaOp, not part of this compiler yet> False",
        f"cutlass.cute.nvgpu.tcgen05.mma.MmaOp {missing}",
        f"cutlass.utils.TmemAllocator {missing}",
        f"cutlass.utils.blockscaled_layout.tile_atom {missing}",
    ], run.stderr


@dataclass
class Sizes:
    n: cutlass.Int32
    shape: tuple

    def __extract_mlir_values__(self):
        return cutlass.extract_mlir_values(self.n)

    def __new_from_mlir_values__(self, values):
        return Sizes(cutlass.new_from_mlir_values(self.n, values), self.shape)


@cute.kernel
def write(out: cute.Tensor, sizes: Sizes):
    if cutlass.const_expr(cute.size(sizes.shape) == 6):
        out[0] = sizes.n
    for k in cutlass.range_constexpr(4):
        if k < 3:
            out[k + 1] = out[k] + 1


def test_a_protocol_keeps_static_members_and_a_dead_branch_may_index_outside():
    @cute.jit
    def host(out: cute.Tensor, n: cutlass.Int32):
        write(out, Sizes(n, (2, 3))).launch(grid=1, block=1)

    out = np.zeros(4, np.int32)
    host(from_dlpack(out), 5)
    assert out.tolist() == [5, 6, 7, 8]


@dataclass
class Outer:
    """Rebuilds its part by its protocol in the kernel, where the values of the host function are no more."""

    sizes: Sizes

    def __extract_mlir_values__(self):
        return cutlass.extract_mlir_values(self.sizes)

    def __new_from_mlir_values__(self, values):
        return Outer(cutlass.new_from_mlir_values(self.sizes, values))


@cute.kernel
def count_up(out: cute.Tensor, outer: Outer):
    for i in range(out[0]):
        out[1] = outer.sizes.n + i


def test_an_object_in_an_object_is_rebuilt_where_it_goes():
    @cute.jit
    def host(out: cute.Tensor, n: cutlass.Int32):
        count_up(out, Outer(Sizes(n, (2, 3)))).launch(grid=1, block=1)

    out = np.array([3, 0], np.int32)
    host(from_dlpack(out), 5)
    assert out.tolist() == [3, 7]


@cute.kernel
def restarted(out: cute.Tensor, tiled_mma: cute.TiledMma):
    field = cute.nvgpu.warpgroup.Field.ACCUMULATE
    for i in range(out[0]):
        tiled_mma = restart(tiled_mma, i)
        out[1 + i] = cutlass.Int32(tiled_mma.get(field))


@cute.jit
def restart(tiled_mma: cute.TiledMma, i: cutlass.Int32):
    tiled_mma.set(cute.nvgpu.warpgroup.Field.ACCUMULATE, i > 0)
    return tiled_mma


def test_a_function_gives_back_the_mma_that_it_changed():
    @cute.jit
    def host(out: cute.Tensor):
        k_major = cute.nvgpu.OperandMajorMode.K
        tiled_mma = cutlass.utils.hopper_helpers.make_trivial_tiled_mma(
            cutlass.Float16, cutlass.Float16, k_major, k_major, cutlass.Float32, (1, 1, 1), (64, 64)
        )
        restarted(out, tiled_mma).launch(grid=1, block=1)

    out = np.array([3, 7, 7, 7], np.int32)
    host(from_dlpack(out))
    assert out.tolist() == [3, 0, 1, 1]


def test_an_index_outside_is_refused_where_it_may_run():
    @cute.jit
    def host(out: cute.Tensor, n: cutlass.Int32):
        if n < 3:
            out[4] = n

    with pytest.raises(DSLUserCodeError, match="the index 4 is outside"):
        host(from_dlpack(np.zeros(4, np.int32)), 5)


def test_threads_and_tiles_of_a_tiled_copy():
    seen = []

    @cute.jit
    def host(n: cutlass.Int32):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
        threads = cute.make_ordered_layout((16, 8), order=(1, 0))
        copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
        seen.append((cute.size(copy), str(copy.tiler_mn[0]), copy.tiler_mn[1].shape))

    host(1)
    assert seen == [(128, "16:1", 64)]  # measured: NVIDIA's compiler


@dsl_user_op
def doubled(a, *, loc=None, ip=None):
    number = cutlass.Float32(a).ir_value(loc=loc, ip=ip)
    return cutlass.Float32(llvm.inline_asm(T.f32(), [number], "add.f32 $0, $1, $1;", "=f,f", has_side_effects=False))


@cute.kernel
def leaving_early(out: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    pipe, state = pipeline.PipelineEmpty.create(num_stages=2), None
    for _ in range(n):
        pipe.producer_acquire(state, pipe.producer_try_acquire(state))
        pipe.producer_commit(state)
        pipe.consumer_wait(state)
        pipe.consumer_release(state)
        out[thread] = doubled(out[thread])
    if thread > 3:
        cute.arch.nvvm.exit()
    out[thread] = out[thread] + 1


@cute.jit
def leave_early(out: cute.Tensor, n: cutlass.Int32):
    leaving_early(out, n).launch(grid=(1, 1, 1), block=(8, 1, 1))


def test_names_of_types_an_empty_pipeline_and_an_instruction_of_the_dialect():
    """`base_dsl.typing.T`, `PipelineEmpty`, `cute.arch.nvvm`: NVIDIA's compiler gives the same values."""
    out = np.ones(8, np.float32)
    leave_early(from_dlpack(out), 3)
    assert out.tolist() == [9, 9, 9, 9, 8, 8, 8, 8]
