"""Mbarriers used before their life, after it, or while it goes on: the wrong program is found with and without checks,
in several schedules; its right twin is silent. PTX ISA 9.7.13.15.3 (lifecycle), .9 (init), .10 (inval)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dsl import emulator

HEAD = """
.visible .entry k(.param .u64 out, .param .u64 from)
{
  .shared .align 16 .b32 box[64]; .shared .align 8 .b64 bar; .shared .align 8 .b64 bar2;
  .reg .b32 %t, %a, %b, %c, %v, %m, %r; .reg .b64 %g, %x, %s; .reg .pred %q, %first, %done;
  mov.u32 %t, %tid.x; mov.u32 %a, box; mov.u32 %b, bar; mov.u32 %c, bar2; setp.eq.u32 %first, %t, 0;
  ld.param.u64 %g, [out]; ld.param.u64 %x, [from]; mov.u32 %v, 7;
"""
MEET = "bar.sync 0;"
INIT = "@%first mbarrier.init.shared.b64 [%b], 64;"
FENCE = "@%first fence.mbarrier_init.release.cluster;"
READY = INIT + FENCE + MEET
ARRIVE = "mbarrier.arrive.shared.b64 %s, [%b];"
WAIT = "W0: mbarrier.try_wait.parity.shared.b64 %done, [%b], 0; @!%done bra W0;"
END = "@%first mbarrier.inval.shared.b64 [%b];"
ONCE = READY + ARRIVE + WAIT + MEET  # a phase, and all have seen its end
AGAIN = READY + ARRIVE + WAIT.replace("W0", "W1") + MEET
EXPECT = "@%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256;"
COPY = "@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%x], 256, [%b];"
ONE = READY.replace("64;", "1;")
USES = {
    "an arrival": ARRIVE,
    "an arrival that leaves": "mbarrier.arrive_drop.shared.b64 %s, [%b];",
    "an arrival with bytes": "@%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], 16;"
                             "@%first mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 16;",
    "bytes to expect": "@%first mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%b], 16;"
                       "@%first mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 16;",
    "bytes that are complete": "@%first mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 16;"
                               "@%first mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%b], 16;",
    "a test for the first phase": "mbarrier.test_wait.parity.shared.b64 %done, [%b], 0;",
    "a wait that a new one passes": "mbarrier.try_wait.parity.shared.b64 %done, [%b], 1;",
    "an arrival of cp.async": "cp.async.mbarrier.arrive.noinc.shared.b64 [%b];",
    "a copy of cp.async": "cp.async.mbarrier.arrive.shared.b64 [%b];",
    "an end": END,
    "a generic address": "cvt.u64.u32 %s, %b; cvta.shared.u64 %s, %s; mbarrier.arrive.b64 %s, [%s];",
}  # fmt: skip


def outcome(machine, body: str, seed: int = 0, checks=(), **shape) -> emulator.Fault | None:
    out, source = np.zeros(64, np.uint32), np.arange(64, dtype=np.uint32)
    shape = {"grid": 1, "block": 64, **shape}
    try:
        machine.run(f"{HEAD}{body}\nret;\n}}\n", seed=seed, checks=checks, out=out, source=source, **shape)
    except emulator.Fault as fault:
        return fault
    return None


def everywhere(machine, body: str, **shape) -> list[emulator.Fault | None]:
    """With and without checks, in two schedules."""
    ways = ((0, ()), (0, ("race", "undefined")), (3, ("race",)))
    return [outcome(machine, body, seed, checks, **shape) for seed, checks in ways]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_use_needs_an_initialized_mbarrier(machine, use):
    for fault in everywhere(machine, use):
        assert fault is not None and fault.kind == "mbarrier_not_initialized", str(fault)
        assert " the mbarrier at smem+0x100, which is not initialized" in str(fault) and "fix: let one thread" in str(
            fault
        )
    assert everywhere(machine, READY + use) == [None] * 3


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_no_use_comes_after_its_end(machine, use):
    """Nor a second end. A new mbarrier.init begins a new life."""
    for fault in everywhere(machine, READY + MEET + END + MEET + use):
        assert fault is not None and fault.kind == "mbarrier_not_initialized", str(fault)
        assert "which mbarrier.inval at PTX line 11 has ended" in str(fault)
    assert everywhere(machine, READY + END + MEET + READY + use) == [None] * 3


# name, the wrong program, the right one, the kind, what its text has
PAIRS = [
    ("the neighbour is initialized", READY + ARRIVE.replace("%b", "%c") + WAIT, ONCE, "mbarrier_not_initialized",
     "at smem+0x108, which is not initialized; initialized are those at smem+0x100"),
    ("no thread has the number that initializes", READY.replace("%first", "%q") + ARRIVE + WAIT, ONCE,
     "mbarrier_not_initialized", "arrives at the mbarrier at smem+0x100"),
    ("data in the place of an init", "@%first st.shared.u32 [%b], %v;" + MEET + ARRIVE, ONCE, "mbarrier_not_initialized",
     "is not initialized"),
    ("a copy signals none", COPY, ONE + EXPECT + COPY + WAIT, "mbarrier_not_initialized", "signals the mbarrier at smem+0x100"),
    ("initialized twice", INIT + READY + ARRIVE + WAIT, ONCE, "mbarrier_in_use",
     "initializes the mbarrier at smem+0x100 again, which PTX line 11 has initialized"),
    ("initialized again after its use", ONCE + AGAIN, ONCE + END + MEET + AGAIN, "mbarrier_in_use", "mbarrier.inval by one thread"),
    ("initialized by all threads", READY.replace("@%first mbarrier", "mbarrier") + ARRIVE + WAIT, ONCE, "mbarrier_in_use",
     "has initialized at PTX line 11"),
    ("initialized in a loop", "mov.u32 %r, 0; L:" + INIT + "add.u32 %r, %r, 1; setp.lt.u32 %q, %r, 2; @%q bra L;" + MEET,
     "mov.u32 %r, 0; L:" + INIT + MEET + END + MEET + "add.u32 %r, %r, 1; setp.lt.u32 %q, %r, 2; @%q bra L;" + MEET,
     "mbarrier_in_use", "again"),
    ("a count of 0", READY.replace(", 64", ", 0"), READY.replace(", 64", ", 1"), "illegal",
     "count of an mbarrier must be 1 to 1048575, got 0"),
    ("too large a count", READY.replace(", 64", ", 1048576"), READY.replace(", 64", ", 1048575"), "illegal", "got 1048576"),
    ("in global memory", "@%first mbarrier.init.b64 [%g], 64;", READY, "illegal", "which is not in shared memory"),
    ("half a word off", READY.replace("[%b]", "[%b+4]"), READY.replace("[%b]", "[%b+8]"), "misaligned", "not aligned to 8 bytes"),
]  # fmt: skip


@pytest.mark.parametrize("name, wrong, right, kind, text", PAIRS, ids=[row[0] for row in PAIRS])
def test_pairs(machine, name, wrong, right, kind, text):
    for fault in everywhere(machine, wrong.replace("\n", "")):
        assert fault is not None and fault.kind == kind and text in str(fault), str(fault)
    assert everywhere(machine, right) == [None] * 3


def test_lanes_of_a_warp_initialize_together(machine):
    """NVIDIA's pipelines let all lanes of one warp run the same mbarrier.init, and some the same mbarrier.inval."""
    warp = "setp.lt.u32 %q, %t, 32;"
    right = warp + INIT.replace("%first", "%q") + FENCE + MEET + ARRIVE + WAIT + MEET + END.replace("%first", "%q")
    assert everywhere(machine, right) == [None] * 3
    late = warp + INIT.replace("%first", "%q") + ARRIVE  # some arrive before others initialize
    assert outcome(machine, late, seed=1).kind == "mbarrier_in_use"


PEER = ".reg .b32 %o; mov.u32 %r, %cluster_ctarank; xor.b32 %o, %r, 1; mapa.shared::cluster.u32 %m, %b, %o;"
BOTH = "barrier.cluster.arrive; barrier.cluster.wait;"
THERE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%m];"


@pytest.mark.parametrize("use", [
    THERE, "@%first st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%m+-256], %t, [%m];",
    "@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%a], [%x], 256, [%b], 3;",
], ids=["an arrival", "a store", "a multicast"])  # fmt: skip
def test_another_blocks_mbarrier(machine, use):
    """Block 1 initializes its own alone."""
    only = "setp.eq.u32 %q, %r, 1; and.pred %q, %q, %first; @%q mbarrier.init.shared.b64 [%b], 64;"
    faults = everywhere(machine, PEER + only + FENCE + BOTH + use + BOTH, grid=2, cluster=(2, 1, 1))
    assert all(f and f.kind in ("mbarrier_not_initialized", "mbarrier_not_visible") for f in faults), faults
    where = (
        "smem+0x100, which is not initialized" if "multicast" in use else "smem+0x100 of block (0, 0, 0), which is not"
    )
    assert where in str(faults[0])


def test_another_blocks_mbarrier_that_is_initialized_is_silent(machine):
    right = PEER + INIT + FENCE + BOTH + THERE + WAIT + BOTH
    assert everywhere(machine, right, grid=2, cluster=(2, 1, 1)) == [None] * 3


def test_a_block_inherits_no_mbarrier(machine):
    """Blocks run one after another in the same memory: each initializes its own."""
    first = "mov.u32 %r, %ctaid.x; setp.eq.u32 %q, %r, 0; and.pred %q, %q, %first;"
    fault = outcome(machine, first + READY.replace("%first", "%q") + ARRIVE, grid=2)
    assert fault.kind == "mbarrier_not_initialized" and fault.block == (1, 0, 0)
    assert outcome(machine, ONCE, grid=3) is None


CHECKED = [  # found with --check race alone
    ("data over an mbarrier", READY + "@%first st.shared.u32 [%b], %v;", "@%first st.shared.u32 [%b], %v;" + MEET + ONCE,
     "mbarrier_in_use", "writes over the mbarrier at smem+0x100, which PTX line 11 has initialized"),
    ("a vector across an mbarrier", READY + "@%first st.shared.v4.u32 [%b], {%v, %v, %v, %v};",
     READY + "@%first st.shared.v4.u32 [%a], {%v, %v, %v, %v};", "mbarrier_in_use", "give the mbarrier 8 bytes"),
    ("an atomic on an mbarrier", READY + "atom.shared.add.u32 %r, [%b], %v;",
     "@%first st.shared.u32 [%b], 0;" + MEET + "red.shared.add.u32 [%b], %v;" + MEET + INIT, "mbarrier_in_use", "writes over the mbarrier at smem+0x100"),
    ("a copy of cp.async over an mbarrier", READY + "@%first cp.async.ca.shared.global [%b], [%x], 8; cp.async.wait_all;",
     READY + "@%first cp.async.ca.shared.global [%a], [%x], 8; cp.async.wait_all;", "mbarrier_in_use", "writes over the mbarrier at smem+0x100"),
    ("a bulk copy over its mbarrier", ONE + EXPECT + COPY.replace("[%a]", "[%a+16]") + WAIT,
     ONE + EXPECT + COPY + WAIT, "mbarrier_in_use", "writes over the mbarrier at smem+0x100"),
    ("data after the last phase", ONCE + "@%first st.shared.u32 [%b], %v;", ONCE + END + "@%first st.shared.u32 [%b], %v;",
     "mbarrier_in_use", "invalidate it (mbarrier.inval)"),
    ("an init over data that others read", "@%first st.shared.u32 [%b], %v;" + MEET + "ld.shared.u32 %r, [%b];" + INIT,
     "@%first st.shared.u32 [%b], %v;" + MEET + "ld.shared.u32 %r, [%b];" + MEET + INIT, "race", "smem+0x100"),
    ("data of others after an end", ONCE + END + "setp.eq.u32 %q, %t, 40; @%q st.shared.u32 [%b], %v;",
     ONCE + END + MEET + "setp.eq.u32 %q, %t, 40; @%q st.shared.u32 [%b], %v;", "race", "smem+0x100"),
    ("an end while others wait", READY + ARRIVE + WAIT + END, ONCE + END, "mbarrier_in_use",
     "the mbarrier at smem+0x100, wh"),
    ("an end that some have not arrived for", READY + "mbarrier.arrive.noComplete.shared.b64 %s, [%b], 1;" + END,
     READY + "mbarrier.arrive.noComplete.shared.b64 %s, [%b], 1;" + MEET + END, "mbarrier_in_use", "the mbarrier at smem+0x100, wh"),
    ("an end with a copy on its way", ONE + EXPECT + COPY + END, ONE + EXPECT + COPY + WAIT + MEET + END, "mbarrier_in_use",
     "while the copy at PTX line 11 may still signal it"),
]  # fmt: skip


@pytest.mark.parametrize("name, wrong, right, kind, text", CHECKED, ids=[row[0] for row in CHECKED])
def test_pairs_of_the_race_checker(machine, name, wrong, right, kind, text):
    for seed in (0, 3):
        fault = outcome(machine, wrong, seed, ("race",))
        life = ("mbarrier_in_use", "mbarrier_not_initialized")  # what comes first is chance if nothing orders it
        assert fault is not None and fault.kind in (kind, *life) and text in str(fault), str(fault)
    assert everywhere(machine, right) == [None] * 3


def test_texts_of_an_early_end(machine):
    text = str(outcome(machine, READY + ARRIVE + WAIT + END, checks=("race",)))
    assert "while another thread may still use it at PTX line 11: no barrier between" in text
    assert "fix: put a barrier of the block (bar.sync, cute.arch.sync_threads) between PTX line 11 and the mbar" in text


PROXY = "fence.proxy.async.shared::cta;"


@pytest.mark.parametrize("fence", ["", FENCE, PROXY, "@%first " + PROXY, MEET + PROXY], ids=range(5))
def test_a_copy_needs_a_fence_after_the_init(machine, fence):
    """A warning: Triton's kernels have no fence there, and work."""
    body = ONE.replace(FENCE, fence) + EXPECT + COPY + WAIT
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert everywhere(machine, body) == [None] * 3
    texts = [str(each.message) for each in seen if issubclass(each.category, emulator.KernelWarning)]
    assert len(texts) == (0 if fence else 2), texts  # of the checked launches
    wanted = (
        "signals the mbarrier at smem+0x100, with no fence after the mbarrier.init at PTX line 11. PTX asks for one"
    )
    assert all(text.startswith("MBARRIER_NOT_FENCED: in `k` thread") and wanted in text for text in texts)


@pytest.mark.parametrize("line, count", [("mbarrier_init(full, 1)", 1), ("for i in range(8):", 0)])
def test_mbarriers_of_a_compiler_get_no_warning(machine, tmp_path, line, count):
    """Triton's mbarrier.init has the line of the author's loop or load."""
    file = tmp_path / "kernel.py"
    file.write_text(f"\n{line}\n    x = a.load([i])\n")
    body = "\n.loc 1 2 1\n" + ONE.replace(FENCE, "") + "\n.loc 1 3 5\n" + EXPECT + COPY + WAIT
    text = f'.version 8.0\n.target sm_90a\n.address_size 64\n.file 1 "{file}"\n{HEAD}{body}\nret;\n}}\n'
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        arrays = {"out": np.zeros(64, np.uint32), "source": np.arange(64, dtype=np.uint32)}
        machine.run(text, grid=1, block=64, checks=("race",), **arrays)
    assert len(seen) == count


@pytest.mark.parametrize(
    "order, after", [(".acquire.cta", ""), (".relaxed.cta", ""), (".relaxed.cta", "fence.acq_rel.cta;")]
)
def test_a_relaxed_wait_needs_a_fence_after_it(machine, order, after):
    store = "mad.lo.u32 %a, %t, 4, %a; st.shared.u32 [%a], %t;"
    other = "xor.b32 %c, %t, 32; mov.u32 %a, box; mad.lo.u32 %a, %c, 4, %a; ld.shared.u32 %r, [%a];"
    wait = WAIT.replace(".parity", f".parity{order}") + after
    keep = "cvt.u64.u32 %s, %t; shl.b64 %s, %s, 2; add.u64 %g, %g, %s; st.global.u32 [%g], %r;"
    body = "\n".join([READY, store, ARRIVE, wait, other, keep])
    text = f".version 8.7\n.target sm_90a\n.address_size 64\n{HEAD}{body}\nret;\n}}\n"
    arrays = {"out": np.zeros(64, np.uint32), "source": np.zeros(64, np.uint32)}
    if "relaxed" not in order or after:
        machine.run(text, grid=1, block=64, checks=("race",), **arrays)
        return
    with pytest.raises(emulator.Fault) as caught:
        machine.run(text, grid=1, block=64, checks=("race",), **arrays)
    said = str(caught.value)
    assert "at PTX line 12: the wait at PTX line 14 is relaxed" in said, said
    assert said.endswith(
        "\nfix: drop .relaxed from the wait at PTX line 14, or put a fence (fence.acq_rel.cluster) between it and this "
        "instruction: .relaxed orders no memory"
    )
