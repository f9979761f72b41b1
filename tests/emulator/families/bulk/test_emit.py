"""cp.async.bulk: bytes land when somebody looks or waits, not before; groups in order; what is refused.
PTX ISA 9.7.9.25.4.

Modules tested here: dsl/emulator/families/bulk/kept.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled
from tests.emulator.conftest import use

HEAD = """
.visible .entry k(.param .u64 from, .param .u64 to, .param .u32 n)
{
  .shared .align 16 .b8 box[256]; .shared .align 8 .b64 bar;
  .reg .b32 %s, %b, %n, %v; .reg .b64 %f, %t, %w; .reg .pred %p;
  mov.u32 %s, box; mov.u32 %b, bar; ld.param.u64 %f, [from]; ld.param.u64 %t, [to]; ld.param.u32 %n, [n];
  mbarrier.init.shared.b64 [%b], 1;
"""
IN = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s{}], [%f{}], %n, [%b];"
OUT = "cp.async.bulk.global.shared::cta.bulk_group [%t{}], [%s{}], %n;"
EXPECT = "mbarrier.arrive.expect_tx.shared.b64 %w, [%b], {};"
WAIT = "wait: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;"
COMMIT, WAIT_GROUP = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group {};"
LOOK = "ld.global.b32 %v, [%t{}]; st.global.b32 [%f{}], %v;"


def aligned(count: int, value: int = 0) -> np.ndarray:
    space = np.full(count + 4, value, np.uint32)
    return space[(-space.ctypes.data % 16) // 4 :][:count]


def run(machine, *lines, n: int = 64, fill: int = 7):
    given, out = aligned(64), aligned(64, fill)
    given[:] = np.arange(1, 65)
    machine.run(HEAD + "\n".join(lines) + "\nret;\n}\n", given=given, out=out, n=n)
    return given, out


def test_there_and_back(machine):
    _, out = run(
        machine,
        EXPECT.format(128),
        IN.format("", ""),
        IN.format("+64", "+128"),
        WAIT,
        OUT.format("", ""),
        OUT.format("+64", "+64"),
        COMMIT,
        WAIT_GROUP.format(0),
    )
    np.testing.assert_array_equal(out[:32], [*range(1, 17), *range(33, 49)])
    assert (out[32:] == 7).all()


def test_without_a_look_at_the_mbarrier_shared_memory_is_as_it_was(machine):
    _, out = run(
        machine,
        EXPECT.format(64),
        IN.format("", ""),
        "ld.shared.b32 %v, [%s]; st.global.b32 [%t], %v;",
        WAIT,
        "ld.shared.b32 %v, [%s]; st.global.b32 [%t+4], %v;",
    )
    assert out[0] == 0xFFFFFFFF and out[1] == 1


def test_a_group_is_written_when_it_is_waited_for(machine):
    """Two groups; a wait that leaves one in flight sees the first written and the second not yet."""
    lines = EXPECT.format(64), IN.format("", ""), WAIT, OUT.format("", ""), COMMIT, OUT.format("+64", "+64"), COMMIT
    given, out = run(machine, *lines, WAIT_GROUP.format(1), LOOK.format("", ""), LOOK.format("+64", "+4"))
    assert given[0] == 1 and given[1] == 7
    assert out[0] == 1 and out[16] == 0xFFFFFFFF  # it landed when the thread ended


@pytest.mark.parametrize(
    "line, n, kind, text",
    [
        (IN.format("", ""), 20, "illegal", "size of a bulk copy must be a multiple of 16 bytes, got 20"),
        (IN.format("+8", ""), 32, "misaligned", "at smem+0x8 is not aligned to 16 bytes"),
        (IN.format("", "+8"), 32, "misaligned", "is not aligned to 16 bytes"),
        (IN.format("+128", ""), 256, "out_of_bounds", "at smem+0x80 is outside shared memory"),
        (OUT.format("+240", ""), 32, "out_of_bounds", "is across the end of `out` (256 bytes), at byte 240"),
    ],
)
def test_bad_copies(machine, line, n, kind, text):
    with pytest.raises(emulator.Fault) as caught:
        run(machine, line, n=n)
    assert caught.value.kind == kind and text in str(caught.value)


@pytest.mark.parametrize("spaces", ["shared::cta.shared::cta", "shared::cluster.shared::cluster", "global.global"])
def test_other_spaces_are_refused_by_name(spaces):
    text = HEAD + f"cp.async.bulk.{spaces}.mbarrier::complete_tx::bytes [%s], [%s], %n, [%b];\nret;\n}}"
    with pytest.raises(emulator.Unsupported, match=f"`.{spaces.split('.')[0]}` does not go with `.async.bulk"):
        use(".version 8.0\n.target sm_90a\n.address_size 64\n" + text)


# ** between blocks of a cluster

CLUSTER = """
.visible .entry k(.param .u64 from, .param .u64 out, .param .u32 mask)
{
  .shared .align 128 .b8 box[256]; .shared .align 8 .b64 bar;
  .reg .b32 %s, %b, %d, %e, %r, %v, %x; .reg .b16 %m; .reg .b64 %f, %o; .reg .pred %p, %q;
  mov.u32 %s, box; mov.u32 %b, bar; mov.u32 %r, %cluster_ctarank; mov.u32 %x, %tid.x;
  ld.param.u64 %f, [from]; ld.param.u64 %o, [out]; ld.param.u16 %m, [mask]; mad.wide.u32 %o, %r, 256, %o;
  setp.eq.u32 %q, %x, 0; @%q mbarrier.init.shared.b64 [%b], 1; @%q fence.mbarrier_init.release.cluster;
  MEET
""".replace("MEET", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")
TELL = """
wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%b], 0; @!%p bra wait;
  mad.lo.u32 %s, %x, 4, %s; ld.shared.u32 %v, [%s]; mad.wide.u32 %o, %x, 4, %o; st.global.u32 [%o], %v;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;
}
"""
CAST = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%f], 256, [%b], %m;"


def of_cluster(machine, body: str, blocks: int, mask: int = 0, seed: int = 0):
    source, out = aligned(64 * blocks), np.zeros((blocks, 64), np.uint32)
    source[:] = np.arange(64 * blocks)
    machine.run(CLUSTER + body + TELL, grid=blocks, block=64, cluster=(blocks, 1, 1), seed=seed, source=source, out=out,
                mask=mask)  # fmt: skip
    return out


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("blocks", [2, 4, 16])
def test_a_multicast_gives_the_bytes_to_each_block_of_its_mask(machine, blocks, seed):
    """Block 1 copies for all; each waits for 256 bytes at its own mbarrier."""
    body = f"@%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256; setp.eq.and.u32 %p, %r, 1, %q; @%p {CAST}"
    out = of_cluster(machine, body, blocks, mask=(1 << blocks) - 1, seed=seed)
    np.testing.assert_array_equal(out, np.tile(np.arange(64), (blocks, 1)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_block_copies_a_quarter_for_all(machine, seed):
    """As a tile is shared by a row of blocks: four multicasts, to places that the rank chooses."""
    body = """@%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256; shl.b32 %v, %r, 6; add.u32 %d, %s, %v;
  mad.wide.u32 %f, %r, 256, %f;
  @%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%d], [%f], 64, [%b], %m;"""
    out = of_cluster(machine, body, 4, mask=15, seed=seed)
    np.testing.assert_array_equal(out, np.tile((np.arange(4)[:, None] * 64 + np.arange(16)).ravel(), (4, 1)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_from_shared_memory_to_shared_memory_of_the_next_block(machine, seed):
    body = """mad.lo.u32 %d, %x, 4, %s; mad.lo.u32 %v, %r, 1000, %x; st.shared.u32 [%d], %v; fence.proxy.async;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 128; add.u32 %e, %r, 1; and.b32 %e, %e, 3; add.u32 %d, %s, 128;
  mapa.shared::cluster.u32 %d, %d, %e; mapa.shared::cluster.u32 %e, %b, %e;
  @%q cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%d], [%s], 128, [%e];"""
    out = of_cluster(machine, body, 4, seed=seed)
    rank = np.arange(4)[:, None]
    np.testing.assert_array_equal(out[:, :32], 1000 * rank + np.arange(32))
    np.testing.assert_array_equal(out[:, 32:], 1000 * ((rank + 3) % 4) + np.arange(32))


def test_into_the_memory_of_another_block_without_a_multicast(machine):
    body = """@%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256; xor.b32 %e, %r, 1; mapa.shared::cluster.u32 %d, %s, %e;
  mapa.shared::cluster.u32 %e, %b, %e; mad.wide.u32 %f, %r, 256, %f;
  @%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d], [%f], 256, [%e];"""
    out = of_cluster(machine, body, 2)
    np.testing.assert_array_equal(out, [np.arange(64, 128), np.arange(64)])


BOX = """@%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256; mov.b64 %f, from; cvta.param.u64 %f, %f; mov.u32 %d, 0;
  setp.eq.and.u32 %p, %r, 2, %q;
  @%p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%s],
      [%f, {%d, 1}], [%b], %m;"""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_box_is_multicast(machine, seed):
    """Two rows of 32 words from row 1 on, for the blocks that the mask has; the others copy themselves."""
    table = aligned(32 * 8)
    table[:] = np.arange(32 * 8)
    one = Tiled(2, table.ctypes.data, (32, 8), (128,), (32, 2), (1, 1)).encode()
    program = CLUSTER.replace(".param .u64 from", ".param .align 64 .b8 from[128]").replace(
        "ld.param.u64 %f, [from];", ""
    )
    own = (
        CAST.replace(".multicast::cluster", "")
        .replace(", %m", "")
        .replace("cp.async.bulk.shared", "cp.async.bulk.tensor.2d.shared")
    )
    own = own.replace("[%f], 256", "[%f, {%d, 5}]").replace(".global.", ".global.tile.")
    body = BOX + f"setp.eq.and.u32 %p, %r, 1, %q; @%p {own}"
    out = np.zeros((4, 64), np.uint32)
    memory = emulator.Memory()
    memory.register(table.ctypes.data, table.nbytes, "table")
    memory.register(out.ctypes.data, out.nbytes, "out")
    text = ".version 8.0\n.target sm_90a\n.address_size 64\n" + program + body + TELL
    params = [one, out.ctypes.data.to_bytes(8, "little"), (0b1101).to_bytes(4, "little")]
    emulator.launch(emulator.load(text), "k", (4, 1, 1), (64, 1, 1), params, memory, cluster=(4, 1, 1), seed=seed)
    np.testing.assert_array_equal(out, [np.arange(64) + 32 * (1 if r != 1 else 5) for r in range(4)])


@pytest.mark.parametrize("mask, kind, text", [
    (0b0110, "illegal", "a cluster of 2 blocks has no block 2"),
    (0b0011, "exited_block", "copy of 256 bytes at smem+0x0 of block (1, 0, 0), which has exited"),
])  # fmt: skip
def test_bad_masks(machine, mask, kind, text):
    gone = "setp.eq.u32 %p, %r, 1; @%p exit; barrier.cluster.arrive; barrier.cluster.wait;" if mask == 3 else ""
    with pytest.raises(emulator.Fault) as caught:
        of_cluster(machine, f"{gone} @%q {CAST}", 2, mask=mask)
    assert caught.value.kind == kind and text in str(caught.value)
    if mask == 3:
        assert "fix: leave the block out of the multicast's mask, or let no block end before" in str(caught.value)


def test_ptxas_accepts_what_is_tested_here(ptxas):
    ptxas(
        HEAD
        + EXPECT.format(64)
        + IN.format("", "")
        + WAIT
        + OUT.format("", "")
        + COMMIT
        + WAIT_GROUP.format(1)
        + "cp.async.bulk.wait_group.read 0;\nret;\n}\n"
    )
    ptxas(CLUSTER + CAST + TELL)
