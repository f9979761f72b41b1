"""Copies that leave out elements after the end of a tensor: against numpy, and under both compilers."""

from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLWarning
from dsl.cutlass import cute
from dsl.cutlass.cute import experimental as ext
from dsl.cutlass.cute.nvgpu import CopyUniversalOp
from dsl.cutlass.cute.runtime import from_dlpack

HERE = Path(__file__).parent


@pytest.mark.slow
def test_the_same_elements_are_copied(both):
    ours, theirs = both(HERE / "bounded_program.py", [])
    assert ours.status == 0, ours.errors
    assert ours.output == theirs.output
    assert "widest cp.async 36 27 tensor" in ours.output


@cute.kernel(is_experimental=True)
def copied(a: cute.Tensor, b: cute.Tensor, bits: cutlass.Constexpr, wrong: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    x, y, _ = cute.arch.block_idx()
    count = bits // 32
    tv = cute.make_layout(((4, 8), (count, 4 // count)), stride=((4, 16), (1, count)))
    if cutlass.const_expr(wrong == "view"):
        a = cute.make_tensor(a.iterator, a.layout)
    tiles = [cute.local_tile(t, (16, 8), (x, y)) for t in (a, b)]
    thread = 3 if cutlass.const_expr(wrong == "agent") else tid
    a, b = (ext.partition(t, thread, layout_tv=tv, tiler=(16, 8)) for t in tiles)
    space = cute.AddressSpace.gmem if cutlass.const_expr(wrong == "space") else cute.AddressSpace.rmem
    buffer = ext.allocate(cutlass.Float32, space, cute.make_layout(((count, 4 // count), (1, 1))), alignment=16)
    atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=bits)
    if cutlass.const_expr(wrong == "registers"):
        ext.copy(a, b, copy_atom=atom)
    if cutlass.const_expr(wrong == "widest"):
        ext.simt_auto_vec_copy(a, b)
    ext.copy(a, buffer, copy_atom=atom)
    ext.copy(buffer, b, copy_atom=atom)


@ext.jit
def host(a: cute.Tensor, b: cute.Tensor, bits: cutlass.Constexpr, wrong: cutlass.Constexpr):
    copied(a, b, bits, wrong).launch(grid=(3, 3, 1), block=(32, 1, 1))


def over(m: int, n: int, bits: int, wrong: str = "") -> np.ndarray:
    """A column-major matrix of -1s, of 48 x 24, after numbers were copied to its first m x n elements."""
    a, b = np.arange(48.0 * 24, dtype=np.float32).reshape(24, 48).T, np.full((24, 48), -1, np.float32).T
    host(*(from_dlpack(t[:m, :n], assumed_align=16) for t in (a, b)), bits, wrong, no_cache=True)
    return b


@pytest.mark.parametrize("m, n, bits", [(40, 17, 128), (33, 24, 32), (46, 9, 64)])
def test_elements_after_the_end_stay(m, n, bits):
    numbers, got = np.arange(48.0 * 24, dtype=np.float32).reshape(24, 48).T, over(m, n, bits)
    assert np.array_equal(got[:m, :n], numbers[:m, :n])
    got[:m, :n] = -1
    assert (got == -1).all()


def test_a_vector_that_begins_inside_is_copied_whole():
    with pytest.warns(DSLWarning) as told:
        got = over(38, 24, 128)
    assert (got[38:40] >= 0).all() and (got[40:] == -1).all()
    assert str(told[0].message) == (
        "COPY_BEYOND_ORIGIN: the source has 38 elements along its contiguous mode, and one call copies 4 as soon as "
        "the first is inside: the last goes 2 beyond the end. Copy fewer bits"
    )


@pytest.mark.parametrize(
    "wrong, error, message, fix",
    [
        ("view", DSLUserCodeError, "source of the copy has no origin: it is not part of a parameter of the kernel",
         "take parts of `cute.experimental.predicated_tensor_origin(tensor)`"),
        ("agent", DSLUserCodeTypeError, "agent_id of partition must be an Int32, got Python int",
         "cutlass.Int32(agent_id)"),
        ("space", DSLUserCodeError, "allocate makes tensors in registers and in shared memory, not in gmem",
         "AddressSpace.rmem or AddressSpace.smem"),
        ("registers", DSLUserCodeError, "one side of this copy must be in registers",
         "copy to `allocate(dtype, cute.AddressSpace.rmem, layout, alignment)`, and from there"),
        ("widest", DSLUserCodeError, "one side of simt_auto_vec_copy must be in registers",
         "async_op=True copies global to shared memory"),
    ],
)  # fmt: skip
def test_wrong_copies_are_named(wrong, error, message, fix):
    with pytest.raises(error) as refused:
        over(40, 17, 128, wrong)
    assert (refused.value.message, refused.value.fix) == (message, fix)
