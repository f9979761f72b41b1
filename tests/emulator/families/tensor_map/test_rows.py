"""Four rows of a matrix, named one by one: tile::gather4 and tile::scatter4. PTX ISA 5.5.3, 9.7.9.27.1.2."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled
from tests.emulator.conftest import HEADER_100

HEAD = """
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 data, .param .align 4 .b8 at[20])
{
  .shared .align 1024 .b8 box[1024]; .shared .align 8 .b64 bar;
  .reg .b32 %c<5>, %b, %s, %v, %x; .reg .b64 %m, %d; .reg .pred %p, %q;
  mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %d, [data]; mov.u32 %s, box; mov.u32 %b, bar;
  mov.u32 %x, %tid.x; setp.eq.u32 %q, %x, 0; shl.b32 %x, %x, 2;
  ld.param.b32 %c0, [at]; ld.param.b32 %c1, [at+4]; ld.param.b32 %c2, [at+8]; ld.param.b32 %c3, [at+12];
  ld.param.b32 %c4, [at+16]; cvt.u64.u32 %d, %x; { .reg .b64 %e; ld.param.u64 %e, [data]; add.u64 %d, %d, %e; }
  @%q mbarrier.init.shared.b64 [%b], 1; @%q fence.mbarrier_init.release.cluster;
  @%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 512; bar.sync 0;
"""
GATHER = "cp.async.bulk.tensor.2d.{}.global.tile::gather4.mbarrier::complete_tx::bytes [%s], [%m, {{%c0, %c1, %c2, %c3, %c4}}], [%b];"
LOAD = """
  @%q {}
wait: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;
  add.u32 %x, %x, %s; ld.shared.b32 %v, [%x]; st.global.b32 [%d], %v; ret;
}}
"""
STORE = """
  ld.global.b32 %v, [%d]; add.u32 %x, %x, %s; st.shared.b32 [%x], %v; fence.proxy.async.shared::cta; bar.sync 0;
  @%q {}[%m, {{%c0, %c1, %c2, %c3, %c4}}], [%s];
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
}}
"""
SCATTER = "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
ADD = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group "
ROWS, COLUMNS = 20, 64
INDICES = [(0, 3, 7, 7, 1), (16, 19, 0, 5, 2), (32, -1, 20, 4, 10**9), (48, 1, 2, 3, 4), (-16, 8, 9, 10, 11)]


def table() -> np.ndarray:
    return np.arange(1, ROWS * COLUMNS + 1, dtype=np.int32).reshape(ROWS, COLUMNS)


def run(body: str, tensor: np.ndarray, data: np.ndarray, at, box=(32, 1), swizzle: int = 0, checks=()) -> None:
    one = Tiled(3, tensor.ctypes.data, (COLUMNS, ROWS), (4 * COLUMNS,), box, (1, 1), swizzle=swizzle).encode()
    memory = emulator.Memory()
    memory.register(tensor.ctypes.data, tensor.nbytes, "tensor")
    memory.register(data.ctypes.data, data.nbytes, "data")
    params = [one, data.ctypes.data.to_bytes(8, "little"), np.array(at, np.int32).tobytes()]
    program = emulator.load(HEADER_100 + HEAD + body)
    emulator.launch(program, "k", (1, 1, 1), (128, 1, 1), params, memory, checks=checks)


def inside(at) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows and columns of the elements that four rows of 32 columns name, and which of them the tensor has."""
    rows, columns = np.broadcast_arrays(np.array(at[1:])[:, None], at[0] + np.arange(32)[None, :])
    return rows, columns, (rows >= 0) & (rows < ROWS) & (columns >= 0) & (columns < COLUMNS)


def swizzled(words: np.ndarray, swizzle: int) -> np.ndarray:
    """Lines of shared memory as a swizzle of 128 bytes leaves them: chunk i of line r is at i ^ r % 8."""
    if not swizzle:
        return words
    chunks = words.reshape(4, 8, 4)
    return np.stack([line[np.arange(8) ^ row % 8] for row, line in enumerate(chunks)]).reshape(4, 32)


@pytest.mark.parametrize("swizzle", [0, 3])
@pytest.mark.parametrize("space", ["shared::cta", "shared::cluster"])
@pytest.mark.parametrize("at", INDICES)
def test_rows_are_gathered(at, space, swizzle):
    """A row outside of the tensor is zeros, and so is a column."""
    tensor, out = table(), np.full((4, 32), -1, np.int32)
    run(LOAD.format(GATHER.format(space)), tensor, out, at, swizzle=swizzle)
    rows, columns, are_inside = inside(at)
    wanted = np.where(are_inside, tensor[rows % ROWS, columns % COLUMNS], 0)
    np.testing.assert_array_equal(out, swizzled(wanted, swizzle))


@pytest.mark.parametrize("at", [each for each in INDICES if len({*each[1:]}) == 4])
@pytest.mark.parametrize("store", [SCATTER, ADD])
def test_rows_are_scattered(at, store):
    """Elements outside are dropped."""
    tensor, data = table(), np.arange(10_000, 10_128, dtype=np.int32).reshape(4, 32)
    run(STORE.format(store), tensor, data, at)
    wanted = table()
    rows, columns, are_inside = inside(at)
    old = wanted[rows[are_inside], columns[are_inside]] if store is ADD else 0
    wanted[rows[are_inside], columns[are_inside]] = data[are_inside] + old
    np.testing.assert_array_equal(tensor, wanted)


def test_a_row_that_is_added_to_twice():
    tensor, data = table(), np.ones((4, 32), np.int32)
    run(STORE.format(ADD), tensor, data, (0, 5, 5, 5, 6))
    wanted = table()
    wanted[5, :32] += 3
    wanted[6, :32] += 1
    np.testing.assert_array_equal(tensor, wanted)


def test_the_box_of_the_map_has_one_row():
    with pytest.raises(emulator.Fault) as caught:
        run(LOAD.format(GATHER.format("shared::cta")), table(), np.zeros(128, np.int32), (0, 1, 2, 3, 4), box=(32, 4))
    assert "copies rows, but the box of the tensor map has 4 of them" in str(caught.value)
    assert "fix: make the map with a box of one row: boxDim[1] = 1" in str(caught.value)


def test_five_coordinates():
    text = HEADER_100 + HEAD + LOAD.format(GATHER.format("shared::cta").replace(", %c4", ""))
    with pytest.raises(emulator.PtxError, match="5 values of .s32 in braces, got 4"):
        emulator.load(text).llvm_ir("k")


@pytest.mark.parametrize("body", [LOAD.format(GATHER.format("shared::cta")), STORE.format(SCATTER)])
def test_the_right_programs_have_no_race(body):
    run(body, table(), np.zeros((4, 32), np.int32), (0, 1, 2, 3, 4), checks=("race", "undefined"))


def test_rows_that_are_gathered_are_waited_for():
    body = LOAD.format(GATHER.format("shared::cta")).replace("wait:", "ld.shared.b32 %v, [%s+384];\nwait:", 1)
    with pytest.raises(emulator.Fault, match=r"RACE\n    reads .*, which the bulk copy .* still writes"):
        run(body, table(), np.zeros((4, 32), np.int32), (0, 1, 2, 3, 4), checks=("race",))
