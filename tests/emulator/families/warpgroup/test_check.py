"""wgmma as the asynchronous proxy it is, in pairs: a kernel with a mistake, and the same kernel put right.

Modules tested here: dsl/emulator/families/warpgroup/async_registers.py,
dsl/emulator/families/warpgroup/register_flight.py, dsl/emulator/families/warpgroup/words.py.
"""

import re

import numpy as np
import pytest

from dsl import emulator

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.file 1 "gemm.py"
.visible .entry k(.param .u64 x)
{
  .reg .b32 %d<4>, %e<4>, %a<4>, %t, %w, %s, %m, %r<9>; .reg .b64 %g, %gt, %da, %db, %dn, %q0; .reg .f32 %f0;
  .reg .b16 %h0, %h1; .reg .pred %p, %group0, %group1, %warp0, %lead, %lead1;
  .shared .align 1024 .b8 smem[8192]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x; mov.u32 %s, smem; mad.lo.u32 %m, %t, 16, %s; shr.u32 %w, %t, 5;
  mul.wide.u32 %gt, %t, 16; add.u64 %gt, %g, %gt;
  setp.lt.u32 %group0, %t, 128; setp.ge.u32 %group1, %t, 128; setp.eq.u32 %warp0, %w, 0; setp.eq.u32 %lead, %t, 0;
  setp.eq.u32 %lead1, %t, 128;
  mov.u64 %da, 0x4000004000010000; mov.u64 %db, 0x4000004000010100; add.u64 %dn, %da, 128;
  @!%lead bra BEGIN; mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [empty], 1; fence.mbarrier_init.release.cluster; BEGIN:
  mov.b32 %r0, 0; mov.f32 %f0, 0f40000000;
"""
D, E, A = ("{" + ", ".join(f"%{name}{i}" for i in range(4)) + "}" for name in "dea")
FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"
FORM = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
PROXY = "fence.proxy.async.shared::cta;"
WRITE = "st.shared.v4.b32 [%m], {%r0, %r0, %r0, %r0};"
USE = "st.global.b32 [%gt], %d0;"
SETS = "".join(f"mov.b32 %{name}{i}, 0;" for name in "dea" for i in range(4))
READY = f"{WRITE} {PROXY} bar.sync 0; {SETS} {FENCE}\n"  # 128 threads write 2 KiB
TWO = f"@%group0 {WRITE} {PROXY} bar.sync 0; {SETS}\n@!%group0 bra OTHER; {FENCE}\n"  # the first warpgroup computes


def wait(n: int) -> str:
    return f"wgmma.wait_group.sync.aligned {n};"


def multiply(d: str = D, a: str = "%da", b: str = "%db") -> str:
    return f"{FORM} {d}, {a}, {b}, 1, 1, 1, {'0, ' if a[0] == '%' else ''}0;"


BULK = "@%lead cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 1024, [full];"
LOOP = f"mov.u32 %r1, 0;\nL: {FENCE}\n{multiply()}\n{COMMIT} {wait(1)} add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 3; @%p bra L;\n"
PIPELINE = (
    f"{TWO}{multiply()}\n{COMMIT} {{fix}} bra END;\n"
    "OTHER: mbarrier.try_wait.parity.shared.b64 %p, [empty], 0; @!%p bra OTHER;\n@%lead1 st.shared.b32 [%s], %r0;\nEND:"
)
ARRIVE = "@%lead mbarrier.arrive.shared.b64 %q0, [empty];"
EXPECT = "@%lead mbarrier.arrive.expect_tx.shared.b64 %q0, [full], 1024;"
FILL = f"bar.sync 0; {EXPECT}\n{BULK}\n{{fix}} {SETS} {FENCE}\n{multiply()}\n{COMMIT} {wait(0)} bar.sync 0;"
FILLED = "W: mbarrier.try_wait.parity.shared.b64 %p, [full], {0}; @!%p bra W;"
# name: (kernel with {fix}, wrong | right, threads, words of the report on the wrong one)
PAIRS = {
    "D is read before the wait": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\n{USE}", f"|{wait(0)}", 128, "reads a register of D, which the wgmma at"),
    "a wait that leaves the group": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\n{USE}", f"{wait(1)}|{wait(0)}", 128, "reads a register of D"),
    "a group that was not committed": (
        f"{READY}{multiply()}\n{{fix}} {wait(0)}\n{USE}", f"|{COMMIT}", 128, "reads a register of D"),
    "D is scaled before the wait": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\nmul.f32 %d0, %f0, %f0;", f"|{wait(0)}", 128,
        "writes a register of D, which the wgmma at"),
    "D is cleared before the wait": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\nmov.b32 %d0, 0;", f"|{wait(0)}", 128, "writes a register of D"),
    "a copy of D is read before the wait": (
        f"{READY}{multiply()}\n{COMMIT} mov.b32 %e0, %d0; {{fix}}\nst.global.b32 [%gt], %e0;", f"|{wait(0)}", 128,
        "reads a register of D"),
    "halves of a copy of D are read before the wait": (
        f"{READY}{multiply()}\n{COMMIT} mov.b32 {{{{%h0, %h1}}}}, %d0; mov.b32 %e0, {{{{%h1, %h0}}}}; {{fix}}\n"
        "st.global.b32 [%gt], %e0;", f"|{wait(0)}", 128, "reads a register of D"),
    "the first of two groups": (
        f"{READY}{multiply()}\n{COMMIT}\n{multiply(E)}\n{COMMIT} {{fix}}\n{USE}", f"{wait(2)}|{wait(1)}", 128,
        "reads a register of D"),
    "the second of two groups": (
        f"{READY}{multiply()}\n{COMMIT}\n{multiply(E)}\n{COMMIT} {{fix}}\nst.global.b32 [%gt], %e3;",
        f"{wait(1)}|{wait(0)}", 128, "reads a register of D"),
    "the last round of a pipelined loop": (f"{READY}{LOOP}{{fix}}\n{USE}", f"|{wait(0)}", 128, "reads a register of D"),
    "A in registers is overwritten": (
        f"{READY}{multiply(D, A)}\n{COMMIT} {{fix}}\nadd.u32 %a1, %r0, 1;", f"|{wait(0)}", 128,
        "writes a register of A, which the wgmma at"),
    "D as the next A, before the wait": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\n{multiply(E, D)}", f"|{wait(0)} {FENCE}", 128, "reads a register of D"),
    "D is scaled and no fence follows": (
        f"{READY}{multiply()}\n{COMMIT} {wait(0)}\nmul.f32 %d0, %d0, %f0;\n{{fix}} {multiply()}", f"|{FENCE}", 128,
        "uses a register that was written at"),
    "A is loaded after the fence": (
        f"{READY}ld.shared.b32 %a2, [%s];\n{{fix}}\n{multiply(D, A)}", f"|{FENCE}", 128, "uses a register that was written"),
    "no fence at all": (
        f"{WRITE} {PROXY} bar.sync 0; {SETS}\n{{fix}}\n{multiply()}", f"|{FENCE}", 128,
        "is the first wgmma, with no wgmma.fence before it"),
    "a buffer that is written again": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\nbar.sync 0;\n{WRITE}", f"|{wait(0)}", 128,
        "which the wgmma at"),
    "a buffer that a later group still reads": (
        f"{READY}{multiply()}\n{COMMIT}\n{multiply(E)}\n{COMMIT} {{fix}}\nbar.sync 0;\n{WRITE}", f"{wait(1)}|{wait(0)}", 128,
        "which the wgmma at"),
    "another warpgroup writes the buffer": (
        f"{TWO}{multiply()}\n{COMMIT} {wait(0)}\nOTHER: {{fix}}\n@%lead1 st.shared.b32 [%s], %r0;", "|bar.sync 0;", 256,
        "smem+0x0, which "),
    "an empty slot that is released before the wait": (
        PIPELINE, f"{ARRIVE} {wait(0)}|{wait(0)} {ARRIVE}", 256, "which the wgmma at"),
    "a bulk copy into the buffer": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\nbar.sync 0; {EXPECT}\n{BULK}\n{FILLED.format(0)}", f"|{wait(0)}", 128,
        "which the wgmma at"),
    "cp.async into the buffer": (
        f"{READY}{multiply()}\n{COMMIT} {{fix}}\nbar.sync 0;\ncp.async.cg.shared.global [%m], [%gt], 16; "
        "cp.async.wait_all;", f"|{wait(0)}", 128, "which the wgmma at"),
    "a copy that is not waited for": (FILL, f"bar.sync 0;|{FILLED.format(0)}", 128, "smem+0x0, which the bulk copy at line 2"),
    "a copy and the phase before it": (
        FILL, f"mbarrier.test_wait.parity.shared.b64 %p, [full], 1;|{FILLED.format(0)}", 128, "smem+0x0, which the bulk copy at line 2"),
    "a copy that one warp waits for": (
        FILL, f"@!%warp0 bra S; {FILLED.format(0)} S:|{FILLED.format(0)} S:", 128, "smem+0x0, which the bulk copy at line 2"),
    "a copy that one warp waits for after the barrier": (
        FILL, f"bar.sync 0; @!%warp0 bra S; {FILLED.format(0)} S:|@!%warp0 bra S; {FILLED.format(0)} S: bar.sync 0;",
        128, "smem+0x0, which the bulk copy at line 2"),
    "no proxy fence": (
        f"{WRITE}\n{{fix}} bar.sync 0; {SETS} {FENCE}\n{multiply()}", f"|{PROXY}", 128, "no fence.proxy.async between"),
    "a proxy fence before the writes": (
        f"{{fix}} bar.sync 0; {SETS} {FENCE}\n{multiply()}", f"{PROXY} {WRITE}\n|{WRITE}\n{PROXY}", 128,
        "no fence.proxy.async between"),
    "a proxy fence of one warp": (
        f"{WRITE}\n{{fix}}{PROXY} bar.sync 0; {SETS} {FENCE}\n{multiply()}", "@%warp0 |", 128,
        "no fence.proxy.async between"),
    "a proxy fence of another kind": (
        f"{WRITE}\nfence.proxy.{{fix}}; bar.sync 0; {SETS} {FENCE}\n{multiply()}", "alias|async", 128,
        "no fence.proxy.async between"),
    "no barrier after the stores": (
        f"{WRITE} {PROXY}\n{{fix}} {SETS} {FENCE}\n{multiply()}", "bar.warp.sync -1;|bar.sync 0;", 128,
        "no barrier between"),
    "cp.async that was not waited for": (
        f"cp.async.cg.shared.global [%m], [%gt], 16; {{fix}} {PROXY} bar.sync 0; {SETS} {FENCE}\n{multiply()}",
        "|cp.async.wait_all;", 128, "which a copy that was not waited for writes"),
}  # fmt: skip


def outcome(body: str, threads: int, seed: int = 0, checks=("race",), cluster: int = 1):
    """The fault of a launch, or None. Lines of gemm.py are the lines of `body`."""
    lines = [f".loc 1 {i + 1} 1\n{line}" for i, line in enumerate(body.split("\n"))]
    program = emulator.load(HEAD + "\n".join(lines) + "\n ret;\n}")
    raw, memory = np.zeros(1056, np.uint32), emulator.Memory()
    x = raw[-raw.ctypes.data % 128 // 4 :][:1024]
    memory.register(x.ctypes.data, x.nbytes, "x")
    params = [x.ctypes.data.to_bytes(8, "little")]
    try:
        shape = (cluster, 1, 1)
        emulator.launch(program, "k", shape, (threads, 1, 1), params, memory, cluster=shape, checks=checks, seed=seed)
    except emulator.Fault as fault:
        return fault
    return None


def both(name: str) -> tuple[str, str]:
    kernel, fixes, *_ = PAIRS[name]
    return tuple(kernel.replace("{fix}", fix).replace("{{", "{").replace("}}", "}") for fix in fixes.split("|"))  # type: ignore[return-value]


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_found(name):
    _, _, threads, message = PAIRS[name]
    wrong, _ = both(name)
    for seed in (0, 1):
        fault = outcome(wrong, threads, seed)
        assert fault is not None and fault.kind == "race"
        assert message in str(fault), str(fault)
        assert re.search(r"^gemm\.py:\d+:1: (RACE|IN_FLIGHT|NO_WGMMA_FENCE)\n", str(fault))
        assert "\nfix: " in str(fault) and "put a barrier of the block" not in str(fault)
    assert outcome(wrong, threads, checks=()) is None


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent(name):
    for seed in (0, 1, 2):
        fault = outcome(both(name)[1], PAIRS[name][2], seed)
        assert fault is None, str(fault)


TEXTS = {
    "D is read before the wait": f"""\
gemm.py:4:1: IN_FLIGHT
    reads a register of D, which the wgmma at line 2 still writes
    in `k`, thread (96, 0, 0) = warp 3, lane 0 of block (0, 0, 0)
    PTX line 24: {USE}
    PTX line 20: {multiply()}
fix: put wgmma.wait_group 0 (`cute.nvgpu.warpgroup.wait_group`) before line 4""",
    "D is scaled and no fence follows": f"""\
gemm.py:5:1: NO_WGMMA_FENCE
    uses a register that was written at line 4: no wgmma.fence between
    in `k`, thread (96, 0, 0) = warp 3, lane 0 of block (0, 0, 0)
    PTX line 26: {multiply()}
    PTX line 24: mul.f32 %d0, %d0, %f0;
fix: put wgmma.fence (`cute.nvgpu.warpgroup.fence`) before line 5, after the last write to its registers""",
    "no proxy fence": f"""\
gemm.py:3:1: RACE
    reads smem+0x0, which this thread wrote at line 1: no fence.proxy.async between
    in `k`, 16 bytes of smem+0x0
    reads    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): gemm.py:3, PTX line 22: {multiply()}
    wrote    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): gemm.py:1, PTX line 18: {WRITE}
fix: put fence.proxy.async (`cute.arch.fence_proxy`) after the writes at line 1, before the barrier that line 3 comes after""",
    "a buffer that is written again": f"""\
gemm.py:5:1: RACE
    writes smem+0x0, which the wgmma at line 2 still reads: it was not waited for
    in `k`, 16 bytes of smem+0x0
    writes   thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): gemm.py:5, PTX line 26: {WRITE}
    read     thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): gemm.py:2, PTX line 20: {multiply()}
fix: wait for it before its buffer is released: wgmma.wait_group (`cute.nvgpu.warpgroup.wait_group`), then the arrival at \
the empty mbarrier (or the barrier) that line 5 comes after""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_finding(name):
    fault = outcome(both(name)[0], PAIRS[name][2])
    assert str(fault) == TEXTS[name]


# In a cluster of two blocks: the first one copies to both.
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
BOTH = (
    "and.pred %p, %lead, %group1; "  # of rank 0, see CLUSTER
    "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%g], 1024, [full], 3;"
)
CLUSTER = (
    f"mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %group1, %r2, 0; @%lead fence.mbarrier_init.release.cluster; {MEET}\n"
    f"{EXPECT}\n{BOTH}\n"
)
LAST = f"{EXPECT}\n{BOTH}\n{FILLED.format(1).replace('W', 'V')} {MEET}"
ACROSS = {
    "a multicast of the other block is not waited for": (
        f"{CLUSTER}@%group1 bra OWN; {{fix}} bra ALL; OWN: {FILLED.format(0).replace('W', 'U')} ALL: {SETS} {FENCE}\n"
        f"{multiply()}\n{COMMIT} {wait(0)} {FILLED.format(0).replace('W', 'V')} {MEET}",
        f"|{FILLED.format(0)}", "which the bulk copy at line 3 still writes: nobody has waited for it"),
    "a multicast into what the other block's wgmma reads": (
        f"{CLUSTER}{FILLED.format(0)} {SETS} {FENCE}\n{multiply()}\n{COMMIT}\n@%group1 bra OWN; {{fix}} bra ALL; OWN: "
        f"{wait(0)} ALL: {MEET}\n{LAST}", f"|{wait(0)}", "of block (1, 0, 0), which the wgmma at line 5 still reads"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACROSS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_copies_of_other_blocks(name, seed):
    kernel, fixes, text = ACROSS[name]
    wrong, right = (kernel.replace("{fix}", fix) for fix in fixes.split("|"))
    fault = outcome(wrong, 128, seed, cluster=2)
    assert fault is not None and fault.kind == "race" and text in str(fault), str(fault)
    assert outcome(right, 128, seed, cluster=2) is None


@pytest.mark.parametrize(("b", "is_found"), [("%db", True), ("%da", False)], ids=["B", "some rows of A"])
def test_an_operand_that_nobody_wrote(b, is_found):
    """Rows past the last may be unwritten: READY writes 16 of A's 64 rows, and no row of B where %db has it."""
    fault = outcome(f"{READY}{multiply(b=b)}\n{COMMIT} {wait(0)}\n{USE}", 128, checks=("undefined",))
    assert (fault is not None) == is_found
    words = "which nobody wrote; the value goes into every element of the product here"
    assert fault is None or (fault.kind == "undefined_read" and words in str(fault))
