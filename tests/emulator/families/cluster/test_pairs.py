"""Pairs of blocks: copies of boxes that signal the mbarrier of either block. PTX ISA 9.7.9.27.1.2 (.cta_group)."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled
from tests.emulator.conftest import HEADER_100

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
# Each block of the cluster loads its own rows into its own memory; the even block of a pair waits for the bytes of both,
# and tells the odd one at the barrier of the cluster.
KERNEL = """
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 mask)
{
  .shared .align 128 .b8 box[256]; .shared .align 8 .b64 bar;
  .reg .b32 %s, %b, %d, %e, %r, %v, %x, %y, %z; .reg .b16 %m; .reg .b64 %f, %o, %g; .reg .pred %p, %q, %odd;
  mov.u32 %s, box; mov.u32 %b, bar; mov.u32 %r, %cluster_ctarank; mov.u32 %x, %tid.x; mov.u32 %z, 0;
  mov.b64 %f, map; cvta.param.u64 %f, %f; ld.param.u64 %o, [out]; ld.param.u16 %m, [mask]; mad.wide.u32 %o, %r, 256, %o;
  and.b32 %v, %r, 1; setp.eq.u32 %odd, %v, 1; shl.b32 %y, %r, 1;
  setp.eq.u32 %q, %x, 0; @%q mbarrier.init.shared.b64 [%b], 1; @%q fence.mbarrier_init.release.cluster;
  MEET
  BODY
  @%odd bra done;
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%b], 0; @!%p bra wait;
done:
  MEET
  mad.lo.u32 %s, %x, 4, %s; ld.shared.u32 %v, [%s]; mad.wide.u32 %o, %x, 4, %o; st.global.u32 [%o], %v;
  MEET
  ret;
}
"""
EXPECT = "not.pred %p, %odd; and.pred %p, %p, %q; @%p mbarrier.arrive.expect_tx.shared.b64 _, [%b], 512;"
LOAD = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{}.cta_group::2 "
    "[%s], [%f, {{%z, {}}}], [%e]{};"
)
CLEARED = "and.b32 %e, %b, -16777217;"


def run(body: str, blocks: int = 2, mask: int = 0, seed: int = 0, checks=()):
    """The 64 words in the box of each block."""
    table = np.arange(1000, 1000 + 32 * 16, dtype=np.uint32)
    one = Tiled(2, table.ctypes.data, (32, 16), (128,), (32, 2), (1, 1)).encode()
    out = np.zeros((blocks, 64), np.uint32)
    memory = emulator.Memory()
    memory.register(table.ctypes.data, table.nbytes, "table")
    memory.register(out.ctypes.data, out.nbytes, "out")
    text = HEADER_100 + KERNEL.replace("MEET", MEET).replace("BODY", body)
    params = [one, out.ctypes.data.to_bytes(8, "little"), mask.to_bytes(4, "little")]
    shape = (blocks, 1, 1), (64, 1, 1), params, memory
    emulator.launch(emulator.load(text), "k", *shape, cluster=(blocks, 1, 1), seed=seed, checks=checks)
    return out


ADDRESSES = {
    "CUTLASS": CLEARED,
    "known to be aligned": "and.b32 %e, %b, -16777224;",
    "known in all low bits": "and.b32 %e, %b, -16777984;",
    "by way of other registers": "add.u32 %e, %b, 16; and.b32 %e, %e, -16777217; sub.u32 %d, %e, 16; mov.b32 %e, %d;",
    "of a generic address": "{ .reg .b64 %c; cvt.u64.u32 %c, %b; cvta.shared.u64 %c, %c; cvta.to.shared::cluster.u64 %c, %c;"
    "cvt.u32.u64 %e, %c; } and.b32 %e, %e, -16777217;",
    "of the block's own rank": "mapa.shared::cluster.u32 %e, %b, %r; and.b32 %e, %e, -16777217;",
    "mapa": "and.b32 %e, %r, 14; mapa.shared::cluster.u32 %e, %b, %e;",
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("blocks, seed", [(2, 0), (4, 0), (4, 3)])
def test_both_blocks_of_a_pair_signal_the_even_one(address, blocks, seed):
    out = run(EXPECT + ADDRESSES[address] + "@%q " + LOAD.format("", "%y", ""), blocks, seed=seed)
    np.testing.assert_array_equal(out, 1000 + np.arange(64 * blocks).reshape(blocks, 64))


@pytest.mark.parametrize("seed", [0, 5])
def test_a_multicast_signals_the_even_blocks_of_its_pairs(seed):
    """Two pairs: block 0 loads for 0 and 2, block 3 for 1 and 3."""
    load = LOAD.format(".multicast::cluster", "%y", ", %m")
    masks = (
        "setp.eq.u32 %p, %r, 0; selp.u32 %v, 5, 10, %p; cvt.u16.u32 %m, %v; and.b32 %v, %r, 3; setp.eq.u32 %p, %v, 0;"
    )
    other = "setp.eq.or.u32 %p, %v, 3, %p; and.pred %p, %p, %q;"
    out = run(EXPECT + CLEARED + masks + other + "@%p " + load, 4, seed=seed)
    first, last = 1000 + np.arange(64), 1000 + 6 * 32 + np.arange(64)
    np.testing.assert_array_equal(out, [first, last, first, last])


def test_a_group_of_one_signals_its_own_block():
    body = "@%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256; mov.b32 %e, %b;" + "@%q " + LOAD.format("", "%y", "")
    out = run(
        body.replace("cta_group::2", "cta_group::1")
        + "waits: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra waits;"
    )
    np.testing.assert_array_equal(out, 1000 + np.arange(128).reshape(2, 64))


@pytest.mark.parametrize("group, blocks, other, text", [
    ("cta_group::1", 2, "xor.b32 %e, %r, 1;", "an mbarrier counts only bytes for its block\n"),
    ("cta_group::2", 4, "xor.b32 %e, %r, 2;", "counts only bytes for its block and the other block of its pair\n"),
])  # fmt: skip
def test_the_mbarrier_must_be_in_the_block_or_in_its_pair(group, blocks, other, text):
    load = LOAD.format("", "%y", "").replace("cta_group::2", group)
    with pytest.raises(emulator.Fault) as caught:
        run(EXPECT + other + "mapa.shared::cluster.u32 %e, %b, %e; @%q " + load, blocks)
    assert caught.value.kind == "illegal" and text in str(caught.value)


def test_a_mask_that_is_not_of_an_address_is_one():
    """Words of 32 bits that only look so."""
    body = EXPECT + CLEARED + "@%q " + LOAD.format("", "%y", "")
    body += "mov.b32 %d, 0x12345678; and.b32 %d, %d, -16777217; setp.ne.u32 %p, %d, 0x12345678; @%p trap;"
    body += "mov.b32 %d, -1; and.b32 %d, %d, -16777217; setp.ne.u32 %p, %d, 0xfeffffff; @%p trap;"
    assert run(body)[0, 0] == 1000


@pytest.mark.parametrize("seed", [0, 2])
def test_the_right_program_has_no_race(seed):
    run(EXPECT + CLEARED + "@%q " + LOAD.format("", "%y", ""), 4, seed=seed, checks=("race", "undefined"))


def test_the_odd_block_must_hear_of_the_end():
    """It reads its own box before the blocks meet."""
    early = "@%odd mad.lo.u32 %d, %x, 4, %s; @%odd ld.shared.u32 %v, [%d];"
    with pytest.raises(
        emulator.Fault, match=r"RACE\n    reads .*, which the bulk copy .* still writes: nobody has waited"
    ):
        run(EXPECT + CLEARED + "@%q " + LOAD.format("", "%y", "") + early, checks=("race",))
