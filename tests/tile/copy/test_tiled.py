"""Tiled copies: partitions as upstream makes them, and every element copied once.

Modules tested here: dsl/gpu/memory/copy.py.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from tests import fork_server

PROGRAM = Path(__file__).with_name("partition_program.py")


def output_of(*command: str) -> str:
    done = fork_server.run(["-W", "ignore", *command, str(PROGRAM)], env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_partitions_are_upstreams():
    theirs = output_of()
    assert theirs.count("\n") > 300 and "refused" not in theirs
    assert output_of("-m", "dsl") == theirs


@pytest.mark.parametrize("m, n", [(32, 64), (29, 61), (1, 64)])
def test_a_predicated_tiled_copy_zero_fills_outside(run, aligned, m, n):
    rows, columns = 16, 64

    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor, m: cutlass.Int32, n: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        load = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
        threads = cute.make_layout((4, 8), stride=(8, 1))
        mine = cute.make_tiled_copy_tv(load, threads, cute.make_layout((2, 2))).get_slice(tid)
        smem = cutlass.utils.SmemAllocator()
        tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((rows, columns), stride=(columns, 1)), 16)
        coords = mine.partition_S(cute.local_tile(cute.make_identity_tensor(a.shape), (rows, columns), (1, 0)))
        src = mine.partition_S(cute.local_tile(a, (rows, columns), (1, 0)))
        dst = mine.partition_D(tile)
        pred = cute.make_rmem_tensor((dst.shape[0][1], *dst.shape[1:]), cutlass.Boolean)
        for i in cutlass.range_constexpr(cute.size(pred)):
            pred[i] = cute.elem_less(coords[i], (m, n))
        cute.copy(load, src, dst, pred=pred)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        store = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
        back = cute.make_tiled_copy_tv(store, threads, cute.make_layout((1, 4))).get_slice(tid)
        fragment = cute.make_fragment_like(back.partition_S(tile))
        cute.copy(store, back.partition_S(tile), fragment)
        cute.copy(store, fragment, back.partition_D(out))

    a, out = aligned((32, 64)), aligned((rows, columns))
    a[:] = np.arange(1, 32 * 64 + 1).reshape(32, 64)
    run(kernel, a, out, m, n)
    row, column = np.arange(16, 32)[:, None], np.arange(64)[None, :]
    assert (out == np.where((row < m) & (column < n), a[16:], 0)).all()


def test_a_tiled_copy_is_an_atom_and_retiles(run, aligned):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        wide = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
        narrow = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=64)
        threads, values = cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((1, 4))
        load, save = (cute.make_tiled_copy_tv(atom, threads, values) for atom in (wide, narrow))
        src = load.get_slice(tid).partition_S(a)
        fragment = cute.make_fragment_like(src)
        cute.copy(load, src, fragment)
        dst = save.get_slice(tid).partition_D(out)
        cute.copy(save, save.get_slice(tid).retile(fragment), dst)

    a, out = aligned((16, 32)), aligned((16, 32))
    a[:] = np.arange(16 * 32).reshape(16, 32)
    run(kernel, a, out)
    assert (out == a).all()


def test_mistakes_are_named(refused, aligned):
    @cute.kernel
    def values(a: cute.Tensor):
        atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
        cute.make_tiled_copy_tv(atom, cute.make_layout(32), cute.make_layout(2))

    @cute.kernel
    def rank(a: cute.Tensor):
        atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
        tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 8)), cute.make_layout((1, 4)))
        tiled.get_slice(0).partition_S(a)

    assert refused(values, aligned(64)) == (
        "the atom copies 4 values at once, but a thread has 2",
        "give each thread a multiple of 4 values, or the atom fewer bits",
    )
    assert refused(rank, aligned(64)) == (
        "partition_S: the tile has 2 modes, but the tensor is (64)",
        "give the tensor as many modes as the tile",
    )
