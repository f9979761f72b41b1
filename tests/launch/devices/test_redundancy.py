"""Notes about synchronisation that a run does not need: each is checked by a text without it, under all checks and other
seeds; and kernels that need all they have get none.

Modules tested here: dsl/launch/devices/forked.py, dsl/emulator/families/removal.py.
"""

import re
import warnings

import numpy as np
import pytest

from dsl.core.trace import PROGRAMMATIC
from dsl.emulator.faults import Fault, KernelNote
from dsl.launch.devices import redundancy
from dsl.launch.devices.emulated import CHECKS, Emulated
from dsl.launch.devices.protocol import Device, Launch
from dsl.perturbation.statements import statements
from tests.emulator.conftest import Machine
from tests.emulator.diagnosis.cured_programs import Program
from tests.emulator.pairs.test_pairs import PAIRS

SEEDS = range(5)
EXCHANGE = "st.shared.u32 [%mine], %t;\nbar.sync 0;\nld.shared.u32 %r1, [%next]; st.global.u32 [%gt], %r1;\n"
INIT = "@%first mbarrier.init.shared.b64 [full], 64;\nbar.sync 0;\n"
WAIT = "L{n}: mbarrier.try_wait.parity.shared.b64 %q, [full], {parity}; @!%q bra L{n};\n"
LOAD = "cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group;\n"
CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;\n"
PEER = "xor.b32 %r9, %b, 1; mapa.shared::cluster.u32 %r8, %mine, %r9;\n"
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d1, 1, 1, 1, 0, 0;"
FILL = """.reg .f32 %f<4>; mul.wide.u32 %d1, %t, 16; mov.u64 %d2, smem; add.u64 %d1, %d1, %d2; st.shared.v4.u32 [%d1], {0, 0, 0, 0};
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.u64 %d1, 0x4000000010000;
"""  # 8 KiB from the begin of shared memory: the whole descriptor of small matrices without a swizzle

# The body of a kernel of 64 threads, and the lines, from 1, that have something that nothing needs.
REDUNDANT = {
    "a barrier before the first access": ("bar.sync 0;\n" + EXCHANGE, [1]),
    "a barrier at the end": (EXCHANGE + "bar.sync 0;", [4]),
    "two barriers": (EXCHANGE.replace("bar.sync 0;\n", "bar.sync 0;\nbar.sync 0;\n"), [2]),
    "each thread reads its own word": ("st.shared.u32 [%mine], %t;\nbar.sync 0;\nld.shared.u32 %r1, [%mine];", [2]),
    "two loads": ("ld.global.u32 %r1, [%gn];\nbar.sync 0;\nld.global.u32 %r2, [%gt];", [2]),
    "a barrier of the warp before one of the block": (
        EXCHANGE.replace("bar.sync 0;", "bar.warp.sync -1;\nbar.sync 0;"), [2]),
    "a named barrier of all": (EXCHANGE.replace("bar.sync 0;\n", "bar.sync 1, 64;\nbar.sync 0;\n"), [2]),
    "a fence and no flag": (EXCHANGE + "membar.gl;\nst.global.u32 [%gt+4096], %t;", [4]),
    "a fence of the proxy and no bulk copy": ("fence.proxy.async.shared::cta;\n" + EXCHANGE, [1]),
    "a second wait for copies": (
        LOAD + "cp.async.wait_group 0;\ncp.async.wait_all;\nbar.sync 0;\nld.shared.u32 %r1, [%next];", [1, 2]),
    "a group of copies without copies": (
        LOAD + "cp.async.commit_group;\ncp.async.wait_all;\nbar.sync 0;\nld.shared.u32 %r1, [%next];", [1, 2]),
    "a barrier after the wait for a phase": (
        f"{INIT}st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];\n{WAIT.format(n=1, parity=0)}"
        "bar.sync 0;\nld.shared.u32 %r1, [%next];", [4]),
    "a wait for the phase before the first": (
        f"{INIT}{WAIT.format(n=1, parity=1)}st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];\n"
        f"{WAIT.format(n=2, parity=0)}ld.shared.u32 %r1, [%next];", [3]),
    "a barrier in a loop over the own word": (
        "mov.u32 %i, 0;\nL: st.shared.u32 [%mine], %i;\nbar.sync 0;\nld.shared.u32 %r1, [%mine];\n"
        "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;", [3]),
}  # fmt: skip
NEEDED = {
    "exchange": EXCHANGE,
    "exchange in the warp": EXCHANGE.replace("bar.sync 0;", "bar.warp.sync -1;").replace("%next", "%other").replace(
        "st.shared", "xor.b32 %r2, %t, 1; .reg .b32 %other; mad.lo.u32 %other, %r2, 4, %s; st.shared", 1),
    "a slot that is written again": EXCHANGE + "bar.sync 0;\n" + "st.shared.u32 [%mine], 7;",
    "a loop with two barriers": "mov.u32 %i, 0;\nL: st.shared.u32 [%mine], %i;\nbar.sync 0;\nld.shared.u32 %r1, [%next];\n"
        "bar.sync 0;\nadd.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;",
    "global memory": "st.global.u32 [%gt], %t;\nbar.sync 0;\nld.global.u32 %r1, [%gn]; st.global.u32 [%gt+4096], %r1;",
    "copies": LOAD + "cp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 %r1, [%next];",
    "a copy that its own thread reads": LOAD + "cp.async.wait_group 0;\nld.shared.u32 %r1, [%mine];",
    "a phase": f"{INIT}st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];\n{WAIT.format(n=1, parity=0)}"
        "ld.shared.u32 %r1, [%next];",
    "named barriers": "@%warp0 bra P; st.shared.u32 [%mine], %t; bar.arrive 1, 64; bra E;\n"
        "P: bar.sync 1, 64;\nld.shared.u32 %r1, [%mine+128];",
    "a bulk store": "st.shared.u32 [%mine], %t;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
        "@%first cp.async.bulk.global.shared::cta.bulk_group [%g], [smem], 256; @%first cp.async.bulk.commit_group;\n"
        "@%first cp.async.bulk.wait_group.read 0;\n",
    "the source of a bulk store is written again": "st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta;\nbar.sync 0;\n"
        "@%first cp.async.bulk.global.shared::cta.bulk_group [%g], [smem], 256; @%first cp.async.bulk.commit_group;\n"
        "@%first cp.async.bulk.wait_group.read 0;\nbar.sync 0;\nst.shared.u32 [%mine], 7;",
    "a word that one thread writes for all": "@%first st.shared.u32 [%s], 9;\nbar.sync 0;\nld.shared.u32 %r1, [%s];",
}  # fmt: skip
# Kernels that need what the checkers do not ask for, or whose order shows: never a note.
NOT_TRIED = {
    "a fence of the proxy after cp.async": (
        LOAD + "cp.async.wait_group 0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
        "@%first cp.async.bulk.global.shared::cta.bulk_group [%g+4096], [smem], 256; @%first cp.async.bulk.commit_group;\n"
        "@%first cp.async.bulk.wait_group.read 0;", [], ""),
    "a ticket": ("bar.sync 0;\natom.global.add.u32 %r1, [%g], 1; st.global.u32 [%gt+4096], %r1;", [1], "came before"),
    "strong stores": ("st.volatile.global.u32 [%g], 7;\nbar.sync 0;\n@%first st.volatile.global.u32 [%g], 8;", [2],
                      "which thread comes last"),
    "a race": ("bar.sync 0;\nst.shared.u32 [%mine], %t;\nld.shared.u32 %r1, [%next];", [1], "it has a finding, race"),
    "what no thread reaches": ("setp.gt.u32 %p, %t, 99; @!%p bra E;\nbar.sync 0;\nst.global.u32 [%g], 1;", [], ""),
}  # fmt: skip


def notes(ptx, grid=1, block=64, cluster=1, launches=1, flags=0):
    """The notes about a kernel: (line, message)."""
    device, x = Emulated(), np.zeros(4096, np.int32)
    device.look_for("none")
    device.seek_redundancy()
    device.register(x.ctypes.data, x.nbytes, "x")
    launch = Launch((grid, 1, 1), (block, 1, 1), (cluster, 1, 1), flags=flags)
    for _ in range(launches):
        device.launch(device.load(ptx), "k", launch, [x.ctypes.data.to_bytes(8, "little")])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        device.report_redundancy()
    assert all(each.category is KernelNote for each in told)
    device.report_redundancy()  # once
    return [(each.lineno, str(each.message)) for each in told]


def text_of(body: str) -> str:
    return Program("", "", "", body.rstrip("\n").replace("\n-", "\n -")).ptx(cured=True)


def without(ptx: str, line: int, message: str) -> str:
    """The text without the instruction of a note, removed from the text as an author would."""
    name = re.search("`(.*?)`", message)[1]
    half = {"barrier.cluster.arrive": "barrier.cluster.wait", "barrier.cluster.wait": "barrier.cluster.arrive"}
    gone = [each for each in statements(ptx) if each.line == line and each.opcode in (name, half.get(name))]
    assert gone
    for each in reversed(gone):
        wait = re.search(r"(%\w+), \[", each.text)
        text = f"setp.eq.u32 {wait[1]}, 0, 0;" if "_wait" in name and wait else ""
        ptx = ptx[: each.start] + text + ptx[each.end :]
    return ptx


def results(ptx, grid, block, cluster):
    """Memory after the kernel by each seed; a finding or a warning raises."""
    found = []
    for seed in SEEDS:
        x = np.zeros(4096, np.int32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Machine().run(ptx, grid=grid, block=block, cluster=(cluster, 1, 1), seed=seed, checks=CHECKS, x=x)
        found.append(x.tobytes())
    return found


def assert_hold(ptx, told, grid=1, block=64, cluster=1):
    """Without the instruction of each note nothing is found, and memory is the same."""
    usual = results(ptx, grid, block, cluster)
    for line, message in told:
        assert results(without(ptx, line, message), grid, block, cluster) == usual, message


@pytest.mark.parametrize("name", REDUNDANT)
def test_needless_synchronisation_has_a_note_that_holds(name):
    body, lines = REDUNDANT[name]
    ptx = text_of(body)
    told = notes(ptx)
    assert [line for line, _ in told] == lines, told
    assert all("3 orders, complete, no finding, the same memory)" in text for _, text in told)
    assert_hold(ptx, told)


@pytest.mark.parametrize("name", NEEDED)
def test_needed_synchronisation_has_no_note(name):
    assert notes(text_of(NEEDED[name])) == []


@pytest.mark.parametrize("name", NOT_TRIED)
def test_kernels_that_cannot_be_tried_have_no_note(name):
    body, lines, why = NOT_TRIED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = notes(text_of(body))
    assert [line for line, _ in told] == lines
    assert all(text.startswith("SYNC_NOT_TRIED: whether `k` needs all") and why in text for _, text in told), told


@pytest.mark.parametrize(
    "pair",
    [pytest.param(each, id=each.name, marks=[pytest.mark.slow] if at % 12 else []) for at, each in enumerate(PAIRS)],
)
def test_each_note_about_a_right_kernel_holds(pair):
    shape = pair.grid, pair.block, pair.cluster
    ptx = Program(pair.name, pair.kind, "", pair.edit, pair.block, pair.grid, pair.cluster).ptx(cured=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = notes(ptx, *shape)
    told = [each for each in told if each[1].startswith("REDUNDANT_SYNC: ")]
    if told:
        assert_hold(ptx, told, *shape)


def test_a_note_names_the_line_of_which_one_is_enough():
    ((_, text),) = notes(text_of(REDUNDANT["two barriers"][0]))
    assert text == (
        "REDUNDANT_SYNC: `bar.sync` is not needed in this run (1 block of 64 threads): what it separates is ordered by "
        "the `bar.sync` of line 3 too, or touches other memory (left out: 3 orders, complete, no finding, the same memory)"
    )


def test_a_barrier_that_one_launch_of_two_needs_has_no_note():
    """The second launch finds other numbers in memory, and goes another way."""
    body = (
        "ld.global.u32 %r5, [%g+8192]; setp.eq.u32 %p, %r5, 0;\nst.shared.u32 [%mine], %t;\nbar.sync 0;\n"
        "@%p bra D; ld.shared.u32 %r1, [%next];\nD: bar.sync 0;\n@%first st.global.u32 [%g+8192], 1;"
    )
    assert [line for line, _ in notes(text_of(body))] == [3]
    assert notes(text_of(body), launches=2) == []


def test_a_barrier_of_the_cluster_goes_with_its_other_half():
    body = PEER + CLUSTER + CLUSTER + "ld.shared::cluster.u32 %r1, [%r8];\n" + CLUSTER
    ptx = text_of(body.replace("xor", "st.shared.u32 [%mine], %t; xor", 1))
    told = notes(ptx, 2, 64, 2)
    assert len(told) == 1 and told[0][0] in (2, 3) and "`barrier.cluster.arrive`" in told[0][1]
    assert_hold(ptx, told, 2, 64, 2)


def test_a_fence_of_wgmma_counts_only_if_it_is_repeated():
    """The checkers let constants in accumulators pass, which need a fence by the PTX ISA."""
    once = FILL + "fence.proxy.async.shared::cta; bar.sync 0;\nwgmma.fence.sync.aligned;\n"
    rest = f"{PRODUCT}\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nst.global.f32 [%gt], %f0;"
    lines = [line for line, text in notes(text_of(once + rest), 1, 128) if "wgmma" in text]
    assert lines == []
    twice = once + "wgmma.fence.sync.aligned;\n" + rest
    ptx = text_of(twice)
    told = [each for each in notes(ptx, 1, 128) if "wgmma" in each[1]]
    assert [line for line, _ in told] == [5]
    assert_hold(ptx, told, 1, 128)


def test_a_search_without_time_reports_it(monkeypatch):
    monkeypatch.setattr(redundancy, "BUDGET_S", 0.0)
    device = Emulated()
    device.redundancy = redundancy.Redundancy(0.0, lambda: None)
    x = np.zeros(4096, np.int32)
    device.register(x.ctypes.data, x.nbytes, "x")
    launch = Launch((1, 1, 1), (64, 1, 1))
    device.launch(device.load(text_of(EXCHANGE)), "k", launch, [x.ctypes.data.to_bytes(8, "little")])
    with pytest.warns(KernelNote, match="SYNC_NOT_TRIED: .*: the 0 s for it were over after 0 runs"):
        device.report_redundancy()


def test_a_note_changes_neither_memory_nor_findings():
    x = np.zeros(4096, np.int32)
    Machine().run(text_of(REDUNDANT["two barriers"][0]), block=64, x=x)
    device, y = Emulated(), np.zeros(4096, np.int32)
    device.seek_redundancy()
    device.register(y.ctypes.data, y.nbytes, "x")
    params = [y.ctypes.data.to_bytes(8, "little")]
    device.launch(device.load(text_of(REDUNDANT["two barriers"][0])), "k", Launch((1, 1, 1), (64, 1, 1)), params)
    assert (x == y).all()
    device.look_for("all")
    with pytest.raises(Fault, match="RACE"):
        device.launch(device.load(text_of(EXCHANGE.replace("bar.sync 0;", ""))), "k",
                      Launch((1, 1, 1), (64, 1, 1)), params)  # fmt: skip


def test_a_launch_that_may_overlap_the_one_before_is_not_tried():
    told = notes(text_of("griddepcontrol.wait;\nbar.sync 0;"), flags=PROGRAMMATIC)
    assert [text.startswith("SYNC_NOT_TRIED") for _, text in told] == [True]


def test_only_the_emulator_can():
    with pytest.raises(
        ValueError, match="only the emulator can leave synchronisation out: leave out --notes or --device"
    ):
        Device().seek_redundancy()
