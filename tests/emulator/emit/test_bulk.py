"""cp.async.bulk: bytes land when somebody looks or waits, not before; groups in order; what is refused.
PTX ISA 9.7.9.25.5."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

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


def test_between_blocks_of_a_cluster_is_refused_by_name():
    text = (
        HEAD + "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s], [%s], %n, [%b];\nret;\n}"
    )
    with pytest.raises(emulator.Unsupported, match="bulk copies between blocks of a cluster are not emulated"):
        emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + text)


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
