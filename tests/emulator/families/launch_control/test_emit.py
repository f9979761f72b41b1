"""Clusters that take over others of their grid. PTX ISA 9.7.13.17, 9.7.13.18.

Modules tested here: dsl/emulator/families/launch_control/launch_control.cc, dsl/emulator/families/launch_control/words.py,
dsl/emulator/families/launch_control/check.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.launch_control.numbers import answer
from dsl.emulator.machine import context
from tests.emulator.conftest import Machine
from tests.emulator.library.own_block import Block, Grid, Mbarriers, bytes_at, cluster as cluster_of

REQUEST = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{}.b128 [%a], [%m];"
CANCELED = "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p, %q;"
FIRST = "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%x, %y, %z, _}, %q;"
# Each block counts itself and each cluster that it takes over, at the place of the first block.
KERNEL = """
.visible .entry k(.param .u64 out, .param .u64 by)
{{
  .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 full;
  .reg .b32 %a, %m, %x, %y, %z, %i, %n, %c, %phase, %rank; .reg .b64 %o, %g, %b; .reg .pred %p, %done; .reg .b128 %q;
  ld.param.u64 %o, [out]; ld.param.u64 %b, [by]; mov.u32 %a, answer; mov.u32 %m, full; mov.u32 %phase, 0;
  mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %z, %ctaid.z; mov.u32 %rank, %cluster_ctarank;
  mbarrier.init.shared.b64 [%m], 1; fence.mbarrier_init.release.cluster; {meet}
WORK:
  mov.u32 %n, %nctaid.y; mad.lo.u32 %i, %z, %n, %y; mov.u32 %n, %nctaid.x; mad.lo.u32 %i, %i, %n, %x; {own}
  mul.wide.u32 %g, %i, 4; add.u64 %g, %o, %g; red.global.add.u32 [%g], 1;
  mov.u32 %c, %ctaid.x; mul.wide.u32 %g, %i, 4; add.u64 %g, %b, %g; st.global.u32 [%g], %c;
  mbarrier.arrive.expect_tx.shared.b64 _, [%m], 16; {meet}
  {ask}
WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [%m], %phase; @!%done bra WAIT;
  xor.b32 %phase, %phase, 1; ld.shared.b128 %q, [%a]; {look}
  fence.proxy.async.shared::cta; {meet}
  @%p bra WORK;
  ret;
}}
"""


def run(machine: Machine, grid, seed=0, cluster=(1, 1, 1), checks=(), look=CANCELED + "@!%p ret; " + FIRST, ask=None):
    """How often each block's place was worked on, and the x of the block that did."""
    blocks = int(np.prod(cluster))
    many = blocks > 1
    meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" if many else ""
    request = ask or REQUEST.format(".multicast::cluster::all" if many else "")
    lead = f"setp.ne.u32 %done, %rank, 0; @%done bra WAIT; {request}" if many else request
    own = "add.u32 %i, %i, %rank;" if many else ""
    if many:  # the first block of the cluster has the coordinates, each block works on its own place in it
        meet_first = "sub.u32 %x, %x, %rank;"
        meet += " "
    text = KERNEL.format(meet=meet, own=own, ask=lead, look=look)
    if many:
        text = text.replace("WORK:", meet_first + "\nWORK:", 1)
    out, by = np.zeros(grid, np.uint32), np.zeros(grid, np.uint32)
    machine.run(text, grid=tuple(grid[::-1]), block=1, cluster=cluster, seed=seed, checks=checks, out=out, by=by)
    return out, by


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("grid", [(1, 1, 1), (1, 1, 300), (3, 5, 7)])
def test_each_block_of_a_grid_is_worked_on_once(machine_100, grid, seed):
    out, by = run(machine_100, grid, seed)
    np.testing.assert_array_equal(out, 1)
    if not seed and out.size < 200:  # in which it does not give way
        assert (by == 0).all()  # the first block takes all others


def test_a_seed_chooses_who_takes_what(machine_100):
    orders = {tuple(run(machine_100, (1, 1, 40), seed)[1].ravel().tolist()) for seed in range(6)}
    assert len(orders) == 6
    assert run(machine_100, (1, 1, 40), 5)[1].tolist() == run(machine_100, (1, 1, 40), 5)[1].tolist()
    refused = [order for order in orders if len({*order}) > 1]  # another block began, as a request was refused
    assert refused


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("cluster", [2, 4])
def test_clusters_get_the_answer_in_each_block(machine_100, cluster, seed):
    out, by = run(machine_100, (1, 3, 16), seed, (cluster, 1, 1))
    np.testing.assert_array_equal(out, 1)
    if not seed:
        np.testing.assert_array_equal(by.reshape(-1, cluster), [range(cluster)] * (48 // cluster))


def test_generic_addresses_and_single_coordinates(machine_100):
    look = (
        CANCELED
        + "@!%p ret; "
        + "".join(f"clusterlaunchcontrol.query_cancel.get_first_ctaid::{each}.b32.b128 %{each}, %q; " for each in "xyz")
    )
    ask = """{ .reg .b64 %e, %f; cvt.u64.u32 %e, %a; cvta.shared.u64 %e, %e; cvt.u64.u32 %f, %m; cvta.shared.u64 %f, %f;
      clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%e], [%f]; }"""
    np.testing.assert_array_equal(run(machine_100, (2, 3, 4), look=look, ask=ask)[0], 1)


def test_the_answer_lands_after_the_request(machine_100):
    """Bytes in shared memory before an answer are none."""
    text = KERNEL.format(meet="", own="", ask="", look="").replace(
        "WAIT:", "ld.shared.b128 %q, [%a];" + CANCELED + "WAIT:"
    )
    with pytest.raises(emulator.Fault) as caught:
        machine_100.run(text, grid=2, block=1, out=np.zeros(2, np.uint32), by=np.zeros(2, np.uint32))
    assert "ILLEGAL\n    reads 16 bytes that are not an answer of clusterlaunchcontrol.try_cancel" in str(caught.value)
    assert "fix: wait for the phase of the mbarrier that the request signals" in str(caught.value)


def test_a_request_after_a_refusal_that_was_seen(machine_100):
    again = "@%p bra GO; mov.u32 %x, 0; setp.eq.u32 %p, 0, 0; bra AGAIN; GO:" + FIRST + "AGAIN:"
    with pytest.raises(emulator.Fault) as caught:
        run(machine_100, (1, 1, 3), look=CANCELED + again)
    assert (
        "ILLEGAL\n    asks for another cluster, after this block saw at PTX line" in str(caught.value)
        and "that a request failed: the PTX ISA leaves open what a GPU does then" in str(caught.value)
        and "fix: leave the loop as soon as `is_canceled` is false: no later request can be granted"
        in str(caught.value)
    )


def test_a_refusal_belongs_to_its_block(machine_100):
    """Blocks that end after one refused request each; all run, none takes another over twice."""
    ask = REQUEST.format("")
    out, _ = run(machine_100, (1, 1, 9), seed=11, ask=ask)
    np.testing.assert_array_equal(out, 1)


def test_the_block_of_a_refusal_is_undefined(machine_100):
    """Found where the value is used, since compilers read it before they look at the predicate."""
    with pytest.raises(emulator.Fault) as caught:
        run(machine_100, (1, 1, 2), checks=("undefined",), look=FIRST + "setp.lt.u32 %p, %x, 100;")
    assert (
        "UNDEFINED_READ\n    reads the first block of a cluster from an answer that grants none. The value decides"
        in str(caught.value)
    )
    assert "fix: ask query_cancel.is_canceled first, and use the block only if it is true" in str(caught.value)
    run(machine_100, (1, 1, 2), checks=("undefined",), look=FIRST + CANCELED + "@!%p ret;")


@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_right_loop_has_no_race(machine_100, cluster, seed):
    run(machine_100, (1, 1, 8), seed, (cluster, 1, 1), checks=("race", "undefined"))


def test_an_answer_read_before_its_phase_is_a_race(machine_100):
    text = KERNEL.format(meet="", own="", ask=REQUEST.format("") + "ld.shared.b32 %i, [%a];", look=CANCELED)
    with pytest.raises(
        emulator.Fault,
        match=r"RACE\n    reads smem\+0x0, which the answer of the request .*still writes: nobody has waited",
    ):
        machine_100.run(text, grid=2, block=1, checks=("race",), out=np.zeros(2, np.uint32), by=np.zeros(2, np.uint32))


def test_an_answer_overwritten_without_a_proxy_fence_is_a_race(machine_100):
    """The generic load of the last answer, and the asynchronous write of the next one."""
    text = KERNEL.format(
        meet="", own="", ask="st.shared.b32 [%a], 0;" + REQUEST.format(""), look=CANCELED + "@!%p ret; " + FIRST
    )
    with pytest.raises(emulator.Fault, match=r"RACE\n    writes smem\+0x0, .*: no fence.proxy.async between"):
        machine_100.run(text, grid=2, block=1, checks=("race",), out=np.zeros(2, np.uint32), by=np.zeros(2, np.uint32))


def test_misaligned_addresses(machine_100):
    with pytest.raises(emulator.Fault, match="MISALIGNED"):
        run(machine_100, (1, 1, 2), ask=REQUEST.format("").replace("[%a]", "[%a+8]"))


def asks(block: Block, address: int = 128) -> int:
    """A request of thread 3 at instruction 4, whose answer is for the block itself."""
    return block.try_cancel(3, 4, address, 8, 0)


@pytest.mark.parametrize("seed", [0, 5])
def test_a_seed_refuses_some_requests_while_there_are_clusters(seed):
    block = Block(smem_bytes=256, grid=Grid(blocks=100))
    block.ctx.order = seed
    assert Mbarriers(block).init(offset=8)
    answers = []
    for _ in range(100):
        assert asks(block) == 1
        block.bulk_arrive()
        answers.append(int.from_bytes(bytes_at(block.ctx.smem + 136, 8), "little"))
    assert {*answers} <= {answer.GRANTED, answer.REFUSED}
    assert 5 < answers.count(answer.REFUSED) < 25 if seed else answer.REFUSED not in answers


def test_the_answer_to_one_block_is_not_for_the_first_one_of_its_cluster():
    blocks = cluster_of(2)
    for block in blocks:
        assert Mbarriers(block).init(offset=8)
    before = bytes_at(blocks[0].ctx.smem, 256)
    assert asks(blocks[1]) == 1
    blocks[0].bulk_arrive()
    assert int.from_bytes(bytes_at(blocks[1].ctx.smem + 136, 8), "little") == answer.GRANTED
    assert bytes_at(blocks[0].ctx.smem, 256) == before


def test_a_thread_whose_request_is_wrong_does_not_go_on():
    block = Block(smem_bytes=256)
    assert Mbarriers(block).init(offset=8)
    assert asks(block, address=136) == 0
    assert block.record == (context.MISALIGNED, 4, 3, 136, 16, context.CLUSTER)
