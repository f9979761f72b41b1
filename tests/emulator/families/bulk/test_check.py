"""Bulk copies and TMA in pairs: a kernel with a mistake, and the same kernel put right.

Modules tested here: dsl/emulator/families/bulk/checked.py, dsl/emulator/families/tensor_map/check.py.
"""

import re
import warnings

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.file 1 "tma_kernel.py"
.visible .entry k(.param .u64 x, .param .align 64 .b8 form[128], .param .u64 map)
{
  .reg .b32 %t, %s, %m, %n, %w, %r<9>, %z; .reg .b64 %g, %gt, %q<4>, %f, %mp; .reg .pred %p, %lead, %second, %warp0;
  .shared .align 1024 .b8 smem[2048]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
  ld.param.u64 %g, [x]; ld.param.u64 %mp, [map]; mov.b64 %f, form; cvta.param.u64 %f, %f; mov.u32 %t, %tid.x;
  mov.u32 %s, smem; mad.lo.u32 %m, %t, 4, %s; xor.b32 %n, %t, 32; mad.lo.u32 %n, %n, 4, %s; shr.u32 %w, %t, 5;
  mul.wide.u32 %gt, %t, 4; add.u64 %gt, %g, %gt; mov.b32 %z, 0;
  setp.eq.u32 %lead, %t, 0; setp.eq.u32 %second, %t, 32; setp.eq.u32 %warp0, %w, 0;
  @!%lead bra BEGIN; mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [empty], 64; fence.mbarrier_init.release.cluster; BEGIN: bar.sync 0;
"""
EXPECT = "@%lead mbarrier.arrive.expect_tx.shared.b64 %q0, [full], 256;"
TARGET = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
LOAD = f"{EXPECT}\n@%lead {TARGET} [%s], [%g], 256, [full];"
BOX = (f"{EXPECT}\n@%lead cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [MAP, {{%z}}],"
       " [full];")  # fmt: skip
MINE = "mov.u32 %r1, %cluster_ctarank; mapa.shared::cluster.u32 %r1, %s, %r1;"
STORE = "@%lead cp.async.bulk.global.shared::cta.bulk_group [%g+1024], [%s], 256;"
STORE_BOX = "@%lead cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%f, {%z}], [%s];"
ADD = "@%lead cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%g], [%s], 256;"
COMMIT, READ = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 0;"
WRITTEN, PROXY_OF_ALL = "cp.async.bulk.wait_group 0;", "fence.proxy.async;"
WRITE, USE, PROXY, SYNC = (
    "st.shared.b32 [%m], %t;",
    "ld.shared.b32 %r0, [%m];",
    "fence.proxy.async.shared::cta;",
    "bar.sync 0;",
)
MEET, WRITE_BY_ALL = "bar.warp.sync 0xffffffff;", f"@%warp0 {WRITE}"
GIVE = "mbarrier.arrive.shared.b64 %q1, [empty];"
ONE_LANE = "and.b32 %r2, %t, 31; setp.eq.u32 %p, %r2, 0; @%p mbarrier.arrive.shared.b64 %q1, [empty], 32;"
KEEP = "st.global.b32 [%gt+1024], %r0;"


def wait(barrier: str, parity: int, name: str, who: str = "") -> str:
    """`who`: a predicate of those that wait."""
    test = f"{name}: mbarrier.try_wait.parity.shared.b64 %p, [{barrier}], {parity}; @!%p bra {name};"
    return f"@!{who} bra {name}_END; {test} {name}_END:" if who else test


FULL = wait("full", 0, "W")
STORES = f"{LOAD} {FULL}\n{STORE.replace('%lead', '%warp0')} {COMMIT}\n{GIVE} {wait('empty', 0, 'E')}"
STORES += " @%lead mbarrier.arrive.shared.b64 %q2, [full];"  # its lane's label is then the latest
CHANGE = ("@%lead tensormap.replace.tile.global_address.global.b1024.b64 [%mp], %g;"
          " fence.proxy.tensormap::generic.release.gpu;")  # fmt: skip
COPY_MAP = (
    "@%lead ld.global.b64 %q3, [%mp]; @%lead st.global.b64 [%mp], %q3; fence.proxy.tensormap::generic.release.gpu;"
)
ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%mp], 128;"
# name: (kernel with {fix}, wrong | right, words of the report on the wrong one)
PAIRS = {
    "a load is read before its phase": (
        f"{LOAD}\n{SYNC} {{fix}}\n{USE}\n{KEEP}", f"|{FULL}", "which the bulk copy at line 2 still writes"),
    "a box is read before its phase": (
        f"{BOX.replace('MAP', '%f')}\n{SYNC} {{fix}}\n{USE}\n{KEEP}", f"|{FULL}",
        "which the bulk copy at line 2 still writes"),
    "only the leader waits": (
        f"{LOAD}\n{wait('full', 0, 'V', '%lead')} {{fix}}\n{USE}\n{KEEP}", f"|{FULL}", "this thread has not waited for it"),
    "only a warp waits": (
        f"{LOAD}\n{wait('full', 0, 'V', '%warp0')} {{fix}}\n{USE}\n{KEEP}", f"|{SYNC}",
        "this thread has not waited for it"),
    "a load to the own block by its rank": (
        f"{MINE} {LOAD.replace('[%s]', '[%r1]')}\n{SYNC} {{fix}}\n{USE}\n{KEEP}", f"|{FULL}",
        "which the bulk copy at line 2 still writes"),
    "a look for an earlier phase, which it may still find": (
        f"{LOAD}\nmbarrier.try_wait.parity.shared.b64 %p, [full], {{fix}}; @%p bra SEEN; {FULL} SEEN:\n{USE}\n{KEEP}",
        "1|0", "which the bulk copy at line 2 still writes"),
    "a relaxed wait, and a barrier of the block": (
        f"{LOAD}\n{FULL.replace('.parity.', '.parity.relaxed.cta.')} {SYNC} {{fix}}\n{USE}\n{KEEP}", "|fence.acq_rel.cta;",
        "smem+0x"),
    "a load is overwritten before its phase": (
        f"{LOAD}\n{SYNC} {{fix}}\n{WRITE}", f"|{FULL}", "which the bulk copy at line 2 still writes"),
    "a slot is loaded again, not given back": (
        f"{LOAD}\n{FULL} {SYNC} {USE}\n{{fix}}\n{LOAD}\n{wait('full', 1, 'U')} {USE} {KEEP}",
        f"|{GIVE} {wait('empty', 0, 'E', '%lead')}",
        "the slot was not given back|this thread has not waited for it"),
    "a slot is given back before it is read": (
        f"{LOAD}\n{FULL} {{fix}}\n{wait('empty', 0, 'E', '%lead')}\n{LOAD}\n{wait('full', 1, 'U')} {KEEP}",
        f"{GIVE} {USE}|{USE} {GIVE}", "the slot was not given back"),
    "the phase before is waited for again": (
        f"{LOAD}\n{FULL} {SYNC} {USE}\n{GIVE} {wait('empty', 0, 'E', '%lead')}\n{LOAD}\n{{fix}}\n{USE} {KEEP}",
        f"{wait('full', 0, 'U')}|{wait('full', 1, 'U')}", "smem+0x"),
    "a lane gives the slot back before its warp has read": (
        f"{LOAD}\n{FULL} {USE}\n{{fix}} {ONE_LANE}\n{wait('empty', 0, 'E', '%lead')}\n{LOAD}\n{wait('full', 1, 'U')} {KEEP}",
        "|bar.warp.sync -1;", "the slot was not given back"),
    "a slot is loaded where others wrote": (
        f"{WRITE} {{fix}}\n{LOAD}\n{FULL}", f"|{PROXY} {SYNC}",
        "no barrier between|this thread has not waited for it|no fence.proxy.async between"),
    "a load over a store without a proxy fence": (
        f"{WRITE} {{fix}} {SYNC}\n{LOAD}\n{FULL}", f"|{PROXY}",
        "which this thread wrote at line 1: no fence.proxy.async between"),
    "a store without a proxy fence": (
        f"{WRITE}\n{{fix}} {SYNC}\n{STORE} {COMMIT} {READ}", f"|{PROXY}", "no fence.proxy.async between"),
    "a proxy fence before the write": (
        f"{{fix}} {SYNC}\n{STORE} {COMMIT} {READ}", f"{PROXY} {WRITE}|{WRITE} {PROXY}", "no fence.proxy.async between"),
    "the leader's fence comes before the barrier": (
        f"{WRITE}\n{{fix}}\n{STORE} {COMMIT} {READ}", f"@%lead {PROXY} {SYNC}|{SYNC} @%lead {PROXY}",
        "no fence.proxy.async between"),
    "a box is stored without a proxy fence": (
        f"{WRITE}\n{{fix}} {SYNC}\n{STORE_BOX} {COMMIT} {READ}", f"|{PROXY}", "no fence.proxy.async between"),
    "a reduction without a proxy fence": (
        f"{WRITE}\n{{fix}} {SYNC}\n{ADD} {COMMIT} {READ}", f"|{PROXY}", "no fence.proxy.async between"),
    "a store without a barrier": (
        f"{WRITE}\n{PROXY} {{fix}}\n{STORE} {COMMIT} {READ}", f"|{SYNC}", "no barrier between"),
    "a stored buffer is written again": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT}\n{{fix}} {SYNC}\n{WRITE}", f"|{READ}",
        "which the bulk store at line 2 still reads: it was not waited for"),
    "the wait is not followed by a barrier": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT}\n{READ} {{fix}}\n{WRITE}", f"|{SYNC}", "no barrier between"),
    "each lane stores, and the lanes do not meet": (
        f"{STORES}\n{READ} {{fix}}\n{WRITE_BY_ALL}", f"|{MEET}", "which the bulk store at line"),
    "each lane stores, and one of them waits": (
        f"{STORES}\n{{fix}}\n{WRITE_BY_ALL}", f"@!%lead bra NEXT; {READ} NEXT: {MEET}|{READ} {MEET}",
        "it was not waited for"),
    "a wait that leaves the group": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT}\n{{fix}} {SYNC}\n{WRITE}", f"cp.async.bulk.wait_group.read 1;|{READ}",
        "it was not waited for"),
    "a group that was not committed": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE}\n{{fix}} {READ} {SYNC}\n{WRITE}", f"|{COMMIT}", "it was not waited for"),
    "a stored buffer is loaded into": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT}\n{{fix}}\n{LOAD}\n{FULL}", f"|{READ}", "which the bulk store at line 2"),
    "what a bulk store writes is read": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT} {{fix}}\n@%lead ld.global.b32 %r0, [%g+1024];", f"{READ}|{WRITTEN}",
        "which the bulk store at line 2 still writes: nobody has waited for its writes"),
    "what a second bulk store to one place writes is read": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT} {WRITTEN}\n{STORE} {COMMIT} {{fix}}\n@%lead ld.global.b32 %r0, [%g+1024];",
        f"cp.async.bulk.wait_group 1;|{WRITTEN}",
        "which the bulk store at line 3 still writes: nobody has waited for its writes"),
    "what a bulk store writes is read by others": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT} {{fix}}\nld.global.b32 %r0, [%gt+1024];",
        f"{READ} {SYNC}|{WRITTEN} {SYNC}", "which the bulk store at line 2 still writes: nobody has waited"),
    "what a bulk store has written is read without a barrier": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT} {WRITTEN}\n{{fix}} ld.global.b32 %r0, [%gt+1024];", f"|{SYNC}",
        "nothing orders the two"),
    "a store of a box is read": (
        f"{WRITE} {PROXY} {SYNC}\n{STORE_BOX} {COMMIT} {{fix}}\n@%lead ld.global.b32 %r0, [%g+64];", f"{READ}|{WRITTEN}",
        "which the bulk store at line 2 still writes"),
    "a reduction and a plain store": (
        f"{WRITE} {PROXY} {SYNC}\n{ADD} {COMMIT} {{fix}} {SYNC}\nst.global.b32 [%gt], %r0;", f"{READ}|{WRITTEN}",
        "which the bulk store at line 2 still writes"),
    "a generic store is loaded without a fence": (
        f"st.global.b32 [%gt], %t;\n{{fix}} {SYNC}\n{LOAD}\n{FULL}", f"|{PROXY_OF_ALL}", "no fence.proxy.async between"),
    "a generic store is loaded with the fence of another space": (
        f"st.global.b32 [%gt], %t;\n{{fix}} {SYNC}\n{LOAD}\n{FULL}", f"{PROXY}|fence.proxy.async.global;",
        "no fence.proxy.async between"),
    "a generic store is loaded as a box": (
        f"st.global.b32 [%gt], %t;\n{{fix}} {SYNC}\n{BOX.replace('MAP', '%f')}\n{FULL}", f"|{PROXY_OF_ALL}",
        "no fence.proxy.async between"),
    "a generic store is added to without a fence": (
        f"st.global.b32 [%gt], %t; {WRITE} {PROXY}\n{{fix}} {SYNC}\n{ADD} {COMMIT} {WRITTEN}", f"|{PROXY_OF_ALL}",
        "which this thread wrote at line 1: no fence.proxy.async between"),
    "a generic store is loaded without a barrier": (
        f"st.global.b32 [%gt], %t; {PROXY_OF_ALL}\n{{fix}}\n{LOAD}\n{FULL}", f"|{SYNC}", "nothing orders the two"),
    "a bulk store reads what the fence of another space left": (
        f"{WRITE} {{fix}} {SYNC}\n{STORE} {COMMIT} {WRITTEN}", f"fence.proxy.async.global;|{PROXY}",
        "no fence.proxy.async between"),
    "a changed map without its fence": (
        f"{CHANGE}\n{{fix}}\n{BOX.replace('MAP', '%mp')}\n{FULL}", f"|{ACQUIRE}", "no fence.proxy.tensormap between"),
    "a map is fenced before it is changed": (
        f"{{fix}}\n{BOX.replace('MAP', '%mp')}\n{FULL}", f"{ACQUIRE} {CHANGE}|{CHANGE} {ACQUIRE}",
        "no fence.proxy.tensormap between"),
    "a map is stored without its fence": (
        f"{COPY_MAP}\n{{fix}}\n{BOX.replace('MAP', '%mp')}\n{FULL}", f"|{ACQUIRE}", "no fence.proxy.tensormap between"),
    "a map is fenced before it is stored": (
        f"{{fix}}\n{BOX.replace('MAP', '%mp')}\n{FULL}", f"{ACQUIRE} {COPY_MAP}|{COPY_MAP} {ACQUIRE}",
        "no fence.proxy.tensormap between"),
}  # fmt: skip


def outcome(body: str, seed: int = 0, checks=("race",), known=None):
    """The fault of a launch of 64 threads, or None. Lines of tma_kernel.py are the lines of `body`. `known`: which bytes
    of `x` are written."""
    lines = [f".loc 1 {i + 1} 1\n{line}" for i, line in enumerate(body.split("\n"))]
    program = emulator.load(HEAD + "\n".join(lines) + "\n ret;\n}")
    raw = np.zeros(1024, np.uint32)
    x = raw[-raw.ctypes.data % 128 // 4 :][:768]
    form = Tiled(2, x.ctypes.data, (64,), (), (64,), (1,)).encode()
    x[512:544] = np.frombuffer(form, np.uint32)
    memory = emulator.Memory()
    if known is not None:
        memory.follow(x.ctypes.data, known.ctypes.data)
    memory.register(x.ctypes.data, x.nbytes, "x")
    params = [x.ctypes.data.to_bytes(8, "little"), form, (x.ctypes.data + 2048).to_bytes(8, "little")]
    try:
        emulator.launch(program, "k", (1, 1, 1), (64, 1, 1), params, memory, checks=checks, seed=seed)
    except emulator.Fault as fault:
        return fault
    return None


def both(name: str) -> tuple[str, str]:
    kernel, fixes, _ = PAIRS[name]
    return tuple(kernel.replace("{fix}", fix) for fix in fixes.split("|"))  # type: ignore[return-value]


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_found(name):
    wrong, message = both(name)[0], PAIRS[name][2]
    for seed in (0, 1, 2):
        fault = outcome(wrong, seed)
        assert fault is not None and fault.kind == "race", str(fault)
        assert any(each in str(fault) for each in message.split("|")), str(fault)
        assert re.search(r"^tma_kernel\.py:\d+:1: RACE\n", str(fault))
        assert "\nfix: " in str(fault) and "put a barrier of the block" not in str(fault)
    unchecked = outcome(wrong, checks=())
    assert unchecked is None or unchecked.kind == "deadlock"


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent(name):
    for seed in (0, 1, 2):
        fault = outcome(both(name)[1], seed)
        assert fault is None, str(fault)


@pytest.mark.parametrize(
    "body",
    [
        f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT} {WRITTEN}\n{LOAD.replace('[%g]', '[%g+1024]')}\n{FULL}",
        f"{WRITE} {PROXY} {SYNC}\nred.global.add.u32 [%gt], %t;\n{ADD.replace('%lead', '%second')} {COMMIT} {WRITTEN}",
    ],
    ids=["a load of what a bulk store wrote", "a reduction while threads add too"],
)
def test_copies_that_meet_no_generic_store_need_no_fence(body):
    for seed in (0, 1, 2):
        fault = outcome(body, seed)
        assert fault is None, str(fault)


@pytest.mark.parametrize("first, second", [(BOX.replace("MAP", "%f"), LOAD), (LOAD, BOX.replace("MAP", "%f"))])
def test_the_first_finding_ends_a_thread(first, second):
    """A second one would name another store."""
    second = second.replace("[%s]", "[%s+256]").replace("[%g]", "[%g+256]").replace("{%z}", "{%r1}")
    fault = outcome(
        f"st.global.b32 [%gt], %t;\nst.global.b32 [%gt+256], %t; {SYNC} mov.b32 %r1, 32;\n{first}\n{second}"
    )
    assert "which this thread wrote at line 1: no fence.proxy.async between" in str(fault)


def test_a_race_ends_a_copy_before_another_store_that_was_not_fenced_is_named():
    fault = outcome(
        f"@%second st.global.b32 [%g], %t;\n@%lead st.global.b32 [%g+128], %t;\n{LOAD.replace('%lead', '%second')}"
    )
    assert "which another thread wrote at line 2: nothing orders the two" in str(fault)


def test_a_store_takes_its_bytes_before_the_wait_for_its_reads_ends():
    """Its writes are waited for later: the bytes are then as they were."""
    text = f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT} {READ}\n@%lead st.shared.b32 [%s], 7; {WRITTEN}\n@!%lead bra END;"
    fault = outcome(text + "ld.global.b32 %r0, [%g+1024]; setp.ne.b32 %p, %r0, 0; @%p trap; END:")
    assert fault is None, str(fault)


@pytest.mark.parametrize("wait, names", [("", ["BULK_STORE_NOT_AWAITED"]), (READ, []), (WRITTEN, [])])
def test_a_store_that_its_thread_does_not_wait_for_is_noted(wait, names):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fault = outcome(f"{WRITE} {PROXY} {SYNC}\n{STORE} {COMMIT} {wait}")
    assert fault is None and [str(each.message).partition(":")[0] for each in told] == names, str(fault)


@pytest.mark.parametrize("copy, written", [(f"{STORE} {COMMIT} {WRITTEN}", range(1024, 1280)), (f"{LOAD} {FULL}", ())])
def test_a_store_writes_global_memory_and_a_load_does_not(copy, written):
    known = np.zeros(3072, np.uint8)
    fault = outcome(f"{WRITE} {PROXY} {SYNC}\n{copy}", checks=("undefined",), known=known)
    assert fault is None and np.flatnonzero(known).tolist() == list(written), str(fault)
