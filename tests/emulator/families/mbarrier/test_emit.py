"""mbarrier: phases by arrivals and bytes, what a wait sees, and that waiting threads let others run.
PTX ISA 9.7.13.15."""

from __future__ import annotations

import numpy as np
import pytest

HEAD = """
.visible .entry k(.param .u64 out)
{
  .shared .align 8 .b64 bar; .shared .align 4 .b32 box[128];
  .reg .b32 %t, %b, %v, %i, %p; .reg .b64 %o, %s; .reg .pred %first, %done;
  mov.u32 %t, %tid.x; mov.u32 %b, bar; ld.param.u64 %o, [out];
  mad.wide.u32 %o, %t, 4, %o; setp.eq.s32 %first, %t, 0;
"""


def kernel(init: str, body: str) -> str:
    return f"{HEAD}@%first mbarrier.init.shared.b64 [%b], {init};\nbar.sync 0;\n{body}\nret;\n}}\n"


@pytest.mark.parametrize(
    "wait",
    [
        "mbarrier.try_wait.parity.shared::cta.b64 %done, [%b], %p;",
        "mbarrier.try_wait.parity.shared.b64 %done, [%b], %p, 1000;",
        "mbarrier.test_wait.parity.shared.b64 %done, [%b], %p;",
    ],
)
def test_threads_wait_for_each_phase(machine, wait):
    """In every phase each thread leaves a number and reads the one of the next thread."""
    body = f"""
  mov.u32 %i, 0; mov.u32 %p, 0; mov.u32 %v, 0;
again:
  shl.b32 %v, %t, 2; mov.u32 %b, box; add.u32 %v, %v, %b; mad.lo.u32 %b, %i, 1000, %t; st.shared.b32 [%v], %b;
  mov.u32 %b, bar; mbarrier.arrive.shared.b64 %s, [%b];
wait1:
  {wait} @%done bra done1; bra wait1;
done1:
  xor.b32 %p, %p, 1;
  add.u32 %v, %t, 1; and.b32 %v, %v, 63; shl.b32 %v, %v, 2; mov.u32 %b, box; add.u32 %v, %v, %b;
  ld.shared.b32 %v, [%v]; st.global.b32 [%o], %v;
  mov.u32 %b, bar; mbarrier.arrive.shared.b64 _, [%b];
wait2:
  {wait} @%done bra done2; bra wait2;
done2:
  xor.b32 %p, %p, 1; add.u32 %i, %i, 1; setp.lt.u32 %done, %i, 3; @%done bra again;"""
    out = np.zeros(64, np.uint32)
    machine.run(kernel("64", body), block=64, out=out)
    np.testing.assert_array_equal(out, 2000 + (np.arange(64) + 1) % 64)


@pytest.mark.parametrize("count, arrivals, done", [(1, 0, 0), (1, 1, 1), (3, 2, 0), (3, 3, 1), (1, 2, 0), (2, 5, 0)])
def test_a_phase_ends_with_its_arrivals(machine, count, arrivals, done):
    """`done`: whether the phase of parity 0 is over and the phase of parity 1 is not."""
    body = (
        "@!%first bra end;"
        + "mbarrier.arrive.shared.b64 _, [%b];" * arrivals
        + """
  mbarrier.test_wait.parity.shared.b64 %done, [%b], 0; selp.b32 %v, 1, 0, %done; st.global.b32 [%o], %v;
end:"""
    )
    out = np.zeros(1, np.uint32)
    machine.run(kernel(str(count), body), block=1, out=out)
    assert out[0] == done


def test_a_phase_waits_for_bytes(machine):
    """The arrival expects 32 bytes: the phase is open until they are there. A state is compared as a parity is."""
    look = "mbarrier.test_wait.shared.b64 %done, [%b], %s; selp.b32 %v, 1, 0, %done; st.global.b32 [%o+{}], %v;"
    body = "\n".join(
        [
            "mbarrier.arrive.expect_tx.shared.b64 %s, [%b], 32;",
            look.format(0),
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 16;",
            look.format(4),
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 16;",
            look.format(8),
        ]
    )
    out = np.zeros(3, np.uint32)
    machine.run(kernel("1", body), block=1, out=out)
    np.testing.assert_array_equal(out, [0, 0, 1])


def test_several_arrivals_at_once(machine):
    body = """mbarrier.arrive.shared.b64 _, [%b], 5; mbarrier.test_wait.parity.shared.b64 %done, [%b], 0;
  selp.b32 %v, 1, 0, %done; st.global.b32 [%o], %v;"""
    out = np.zeros(1, np.uint32)
    machine.run(kernel("5", body), block=1, out=out)
    assert out[0] == 1


@pytest.mark.parametrize("count, drop, arrivals", [(2, "arrive_drop", 1), (3, "arrive_drop", 2)])
def test_a_dropped_arrival_is_not_expected_again(machine, count, drop, arrivals):
    """The first phase needs `count` arrivals, later ones one less."""
    look = "mbarrier.test_wait.parity.shared.b64 %done, [%b], {}; selp.b32 %v, 1, 0, %done; st.global.b32 [%o+{}], %v;"
    rest = "mbarrier.arrive.shared.b64 _, [%b];" * arrivals
    body = (
        f"mbarrier.{drop}.shared.b64 _, [%b];{rest}" + look.format(0, 0) + rest + look.format(1, 4) + look.format(0, 8)
    )
    out = np.zeros(3, np.uint32)
    machine.run(kernel(str(count), body), block=1, out=out)
    np.testing.assert_array_equal(out, [1, 1, 0])


def test_a_drop_may_expect_bytes(machine):
    look = "mbarrier.test_wait.parity.shared.b64 %done, [%b], 0; selp.b32 %v, 1, 0, %done; st.global.b32 [%o+{}], %v;"
    body = "mbarrier.arrive_drop.expect_tx.shared.b64 _, [%b], 8;" + look.format(0)
    body += "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 8;" + look.format(4)
    out = np.zeros(2, np.uint32)
    machine.run(kernel("1", body), block=1, out=out)
    np.testing.assert_array_equal(out, [0, 1])


def test_pending_arrivals_of_a_state(machine):
    body = """mbarrier.arrive.noComplete.shared.b64 %s, [%b], 2; mbarrier.pending_count.b64 %v, %s; st.global.b32 [%o], %v;
  mbarrier.arrive.shared.b64 %s, [%b]; mbarrier.pending_count.b64 %v, %s; st.global.b32 [%o+4], %v;"""
    out = np.zeros(2, np.uint32)
    machine.run(kernel("5", body), block=1, out=out)
    np.testing.assert_array_equal(out, [5, 3])


REMOTE = """
.visible .entry k(.param .u64 out)
{
  .shared .align 8 .b64 bar; .shared .align 4 .b32 box;
  .reg .b32 %t, %b, %v, %r, %n, %m, %a; .reg .b64 %o, %s; .reg .pred %first, %done;
  mov.u32 %t, %tid.x; mov.u32 %b, bar; mov.u32 %a, box; mov.u32 %r, %cluster_ctarank; ld.param.u64 %o, [out];
  setp.eq.s32 %first, %t, 0; @%first mbarrier.init.shared.b64 [%b], COUNT; @%first fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  add.u32 %n, %r, 1; and.b32 %n, %n, 3; mapa.shared::cluster.u32 %m, %b, %n; mapa.shared::cluster.u32 %a, %a, %n;
  mad.lo.u32 %v, %r, 10, %t; @%first st.shared::cluster.u32 [%a], %v;
  ARRIVE
wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%b], 0; @!%done bra wait;
  ld.shared.u32 %v, [box]; mad.lo.u32 %n, %r, 32, %t; mad.wide.u32 %o, %n, 4, %o; st.global.u32 [%o], %v;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;
}
"""


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("count, arrive", [
    (32, "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%m];"),
    (32, "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%m];"),
    (1, "@%first mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%m], 4; bar.sync 0; "
        "@%first mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%m], 4;"),
    (3, "@%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%m], 3;"),
    (1, "@%first mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%m], 16; @%first mbarrier.arrive.release.cluster."
        "shared::cluster.b64 _, [%m]; @%first mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%m], 16;"),
])  # fmt: skip
def test_arrivals_at_another_blocks_mbarrier(machine, count, arrive, seed):
    """Block r gives its number to block r + 1, and arrives at its mbarrier."""
    out = np.zeros((4, 32), np.uint32)
    text = REMOTE.replace("COUNT", str(count)).replace("ARRIVE", arrive)
    machine.run(text, grid=4, block=32, cluster=(4, 1, 1), seed=seed, out=out)
    np.testing.assert_array_equal(out, np.repeat([[30], [0], [10], [20]], 32, 1))


def test_ptxas_accepts_what_is_tested_here(ptxas):
    arrive = (
        "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%m]; mbarrier.arrive_drop.shared.b64 _, [%b];"
    )
    arrive += "mbarrier.arrive.noComplete.shared.b64 %s, [%b], 2; mbarrier.pending_count.b64 %v, %s;"
    arrive += "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%m], 16;"
    ptxas(REMOTE.replace("COUNT", "4").replace("ARRIVE", arrive))
