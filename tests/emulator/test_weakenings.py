"""The changes that weakenings.py makes of PTX: each by name, and each still PTX."""

import pytest

from dsl import emulator
from tests.emulator.conftest import HEADER
from tests.emulator.weakenings import weakenings

BODY = """.visible .entry k()
{
  .shared .align 8 .b8 bar[8]; .reg .pred %p; .reg .b32 %r, %n; .reg .b64 %d;
  TEXT
  ret;
}
.visible .entry other() { bar.sync 0; ret; }
"""
CHANGES = {
    "bar.sync 0;": {"removed": ""},
    "bar.sync 1, 64;": {"removed": "", "count + 32": "bar.sync 1, 96;", "count - 32": "bar.sync 1, 32;"},
    "bar.warp.sync -1;": {
        "removed": "", "mask narrowed": "{ .reg .b32 %weaker; and.b32 %weaker, -1, 65535; bar.warp.sync %weaker; }",
    },
    "fence.acq_rel.gpu;": {"removed": "", "gpu -> cta": "fence.acq_rel.cta;"},
    "fence.sc.cta;": {"removed": "", "sc -> acq_rel": "fence.acq_rel.cta;"},
    "cp.async.wait_group 1;": {"removed": "", "group + 1": "cp.async.wait_group 2;"},
    "cp.async.bulk.wait_group 0;": {
        "removed": "", "group + 1": "cp.async.bulk.wait_group 1;", "reads only": "cp.async.bulk.wait_group.read 0;",
    },
    "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];": {
        "removed": "", "noinc": "cp.async.mbarrier.arrive.shared.b64 [bar];",
    },
    "mbarrier.init.shared.b64 [bar], 2;": {
        "removed": "", "count + 1": "mbarrier.init.shared.b64 [bar], 3;", "count - 1": "mbarrier.init.shared.b64 [bar], 1;",
    },
    "@%p mbarrier.try_wait.parity.shared.b64 %p, [bar], %n;": {
        "wait removed": "@%p setp.eq.u32 %p, 0, 0;",
        "parity flipped": "{ .reg .b32 %weaker; xor.b32 %weaker, %n, 1; "
        "@%p mbarrier.try_wait.parity.shared.b64 %p, [bar], %weaker; }",
    },
    "mbarrier.arrive.release.cluster.shared::cta.b64 %d, [bar];": {
        "removed": "", "release -> relaxed": "mbarrier.arrive.relaxed.cluster.shared::cta.b64 %d, [bar];",
        "cluster -> cta": "mbarrier.arrive.release.cta.shared::cta.b64 %d, [bar];",
    },
    "st.release.gpu.shared.u32 [bar], %r;": {
        "release -> relaxed": "st.relaxed.gpu.shared.u32 [bar], %r;", "gpu -> cta": "st.release.cta.shared.u32 [bar], %r;",
    },
    "shfl.sync.idx.b32 %r, %n, 0, 31, -1;": {
        "mask narrowed": "{ .reg .b32 %weaker; and.b32 %weaker, -1, 65535; shfl.sync.idx.b32 %r, %n, 0, 31, %weaker; }",
    },
    "wgmma.fence.sync.aligned;": {"removed": ""},
    "tcgen05.wait::ld.sync.aligned;": {"removed": ""},
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];": {"removed": ""},
    "tcgen05.fence::after_thread_sync;": {"removed": ""},
    "griddepcontrol.wait;": {"removed": ""},
    "add.u32 %r, %n, 1; ld.shared.u32 %r, [bar];": {},
}  # fmt: skip


@pytest.mark.parametrize("text", CHANGES)
def test_each_change_of_an_instruction(text):
    ptx = HEADER + BODY.replace("TEXT", text)
    found = weakenings(ptx, "k")
    assert {each.change: each.text for each in found} == CHANGES[text]
    for each in found:
        assert each.applied(ptx) == HEADER + BODY.replace("TEXT", each.text)
        emulator.load(each.applied(ptx)).llvm_ir("k")


def test_a_cluster_barrier_goes_as_a_whole_too():
    ptx = HEADER + BODY.replace("TEXT", "barrier.cluster.arrive;\n  barrier.cluster.wait;")
    found = {(each.opcode, each.change): each.applied(ptx) for each in weakenings(ptx, "k")}
    assert len(found) == 4
    assert "barrier" not in found["barrier.cluster.arrive", "removed with its wait"].replace(".shared", "")
    assert "arrive.relaxed;" in found["barrier.cluster.arrive", "relaxed"]


def test_a_trap_in_the_place_of_an_instruction_keeps_its_guard():
    ptx = HEADER + BODY.replace("TEXT", "@!%p bar.sync 0;")
    (change,) = weakenings(ptx, "k")
    assert change.reached(ptx) == HEADER + BODY.replace("TEXT", "@!%p trap;")
    assert (change.opcode, change.number, change.line) == ("bar.sync", 1, 7)
