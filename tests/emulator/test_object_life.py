"""Objects with a life: used before they are made, after their end, or by who must not. The wrong program of each row is
found in two schedules; its right twin is silent. Mbarriers have their own sweep: diagnosis/test_mbarrier_life.py."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled

HEAD = """
.version 8.3
.target sm_90a
.address_size 64
.global .align 128 .b8 made[128]; .extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .align 64 .b8 pmap[128], .param .u64 map, .param .u64 tensor, .param .u64 out)
{
  .shared .align 128 .b8 copy[128]; .shared .align 128 .b32 box[32]; .shared .align 8 .b64 bar; .local .align 128 .b8 own[128];
  .reg .b32 %t, %s, %v, %x, %y, %i, %b, %d; .reg .b64 %p, %m, %g, %o, %a, %u, %f, %w; .reg .pred %done, %first;
  ld.param.u64 %m, [map]; ld.param.u64 %g, [tensor]; ld.param.u64 %o, [out]; mov.b64 %p, pmap; cvta.param.u64 %p, %p;
  mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0; shl.b32 %i, %t, 2; cvt.u64.u32 %a, %i; mov.u32 %s, copy; mov.u32 %b, bar;
  mov.u32 %x, box; add.u32 %y, %x, %i; mov.u32 %d, dynamic; add.u64 %f, %g, %a;
"""
MEET = "bar.sync 0;"
# ** tensor maps
READY = "@%first mbarrier.init.shared.b64 [%b], 1; fence.mbarrier_init.release.cluster; bar.sync 0;"
LOAD = (
    READY
    + """@%first mbarrier.arrive.expect_tx.shared.b64 %w, [%b], 128;
  @%first cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%x], [MAP, {0}], [%b];
W: mbarrier.try_wait.parity.shared.b64 %done, [%b], 0; @!%done bra W;"""
)
HAND = "mov.u64 %u, made; add.u64 %w, %u, %a; add.u64 %f, %p, %a; ld.b32 %v, [%f]; st.global.b32 [%w], %v;"  # by ordinary stores
IN_SMEM = (
    "add.u32 %y, %s, %i; add.u64 %f, %p, %a; ld.b32 %v, [%f]; st.shared.b32 [%y], %v; fence.proxy.async.shared::cta;"
    + MEET
)
IN_LOCAL = "mov.u64 %u, own; cvta.local.u64 %u, %u;" + "".join(
    f"ld.b64 %w, [%p+{i}]; st.b64 [%u+{i}], %w;" for i in range(0, 128, 8)
)
SEEN = "fence.proxy.tensormap::generic.acquire.gpu [%u], 128;"
CHANGE = "mov.u64 %u, %m; @%first tensormap.replace.tile.global_address.global.b1024.b64 [%m], %g;" + MEET
# ** copies and stores
COPY = "cp.async.ca.shared.global [%y], [%f], 4;"
COMMIT = "cp.async.commit_group;"
READ = "ld.shared.u32 %v, [%y]; add.u64 %w, %o, %a; st.global.u32 [%w], %v;"
FILL = "st.shared.u32 [%y], %t; fence.proxy.async.shared::cta;" + MEET
STORE = "@%first cp.async.bulk.global.shared::cta.bulk_group [%o], [%x], 128;"
CLOSE, READ_WAIT = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 0;"
CHECKED, ALWAYS = (("race",),), ((), ("race",))


def load(of: str) -> str:
    return LOAD.replace("MAP", of)


# name, the wrong program, the right one, in which launches the wrong one is found, the kind, what its text has
ROWS = [
    ("a map that nobody encoded", "mov.u64 %u, made;" + load("%u"), load("%p"), ALWAYS, "illegal", "there is no tensor map"),
    ("a null map", "mov.u64 %u, 0;" + load("%u"), load("%m"), ALWAYS, "out_of_bounds", "is a null pointer"),
    ("a map 32 bytes off", "add.u64 %u, %m, 32;" + load("%u"), load("%m"), ALWAYS, "illegal",
     "the address of the tensor map must be a multiple of 64, got 0x"),
    ("a map in shared memory", IN_SMEM + "cvt.u64.u32 %u, %s; cvta.shared.u64 %u, %u;" + load("%u"),
     IN_SMEM + "mov.u64 %u, made; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
     " [%u], [%s], 128;" + SEEN + load("%u"), ALWAYS, "illegal", "the tensor map is in shared memory; it must be in global"),
    ("a map in local memory", IN_LOCAL + load("%u"), load("%p"), ALWAYS, "illegal", "as `const __grid_constant__ CUtensorMap`"),
    ("a map that stores made", HAND + MEET + load("%u"), HAND + MEET + SEEN + load("%u"), CHECKED, "race",
     "uses a tensor map that this thread changed at PTX line 13: no fence.proxy.tensormap between"),
    ("a map fenced before others have stored", HAND + "@%first " + SEEN + MEET + load("%u"), HAND + MEET + SEEN + load("%u"), CHECKED,
     "race", "no fence.proxy.tensormap between"),
    ("a map that was replaced", CHANGE + load("%u"), CHANGE + SEEN + load("%u"), CHECKED, "race", "fix: put fence.proxy.tensormap"),
    ("a group that was never committed", COPY + "cp.async.wait_group 0;" + READ,
     COPY + COMMIT + "cp.async.wait_group 0;" + READ, CHECKED, "race", "a copy that was not waited for"),
    ("a group that was never waited for", COPY + COMMIT + READ, COPY + "cp.async.wait_all;" + READ, CHECKED, "race",
     "fix: "),
    ("a wait that leaves the group", COPY + COMMIT + "cp.async.wait_group 1;" + READ,
     COPY + COMMIT + COMMIT + "cp.async.wait_group 1;" + READ, CHECKED, "race", "which a copy that was not waited for"),
    ("a wait of another thread", "@%first " + COPY + COMMIT + "@!%first cp.async.wait_group 0;" + MEET + "@%first " + READ,
     "@%first " + COPY + COMMIT + "cp.async.wait_group 0;" + MEET + "@%first " + READ, CHECKED, "race", "not waited for"),
    ("a bulk group that was never committed", FILL + STORE + READ_WAIT + MEET + "st.shared.u32 [%y], %t;",
     FILL + STORE + CLOSE + READ_WAIT + MEET + "st.shared.u32 [%y], %t;", CHECKED, "race", "it was not waited for"),
    ("a bulk group of another thread", FILL + STORE + CLOSE + "@!%first " + READ_WAIT + MEET + "st.shared.u32 [%y], %t;",
     FILL + STORE + CLOSE + READ_WAIT + MEET + "st.shared.u32 [%y], %t;", CHECKED, "race", "let the thread of the store wait"),
    ("past the dynamic memory", "add.u32 %y, %d, %i; st.shared.u32 [%y+4], %t;", "add.u32 %y, %d, %i; st.shared.u32 [%y], %t;",
     ALWAYS, "out_of_bounds", "static + 128 dynamic"),
]  # fmt: skip
EMPTY = {
    "a wait with no group": "cp.async.wait_group 0; cp.async.wait_all; cp.async.bulk.wait_group 0;",
    "a group with no copy": "cp.async.commit_group; cp.async.bulk.commit_group; wgmma.commit_group.sync.aligned;",
    "a copy that is never used": COPY + COMMIT,
}


def launch(body: str, checks=(), seed: int = 0, smem_bytes: int = 128) -> emulator.Fault | None:
    raw = np.zeros(384, np.uint8)
    form = raw[-raw.ctypes.data % 128 :][:128]
    tensor = np.zeros(64, np.int32)
    tensor = tensor[-tensor.ctypes.data // 4 % 4 :][:32]
    tensor[:], out = range(32), np.zeros(32, np.int32)
    encoded = Tiled(3, tensor.ctypes.data, (32,), (), (32,), (1,)).encode()
    form[:] = np.frombuffer(encoded, np.uint8)
    memory = emulator.Memory()
    for name, array in (("maps", raw), ("tensor", tensor), ("out", out)):
        memory.register(array.ctypes.data, array.nbytes, name)
    params = [encoded, *(each.ctypes.data.to_bytes(8, "little") for each in (form, tensor, out))]
    program = emulator.load(f"{HEAD}{body}\nret;\n}}\n")
    threads = 1 if "own" in body else 32
    try:
        emulator.launch(program, "k", (1, 1, 1), (threads, 1, 1), params, memory, smem_bytes, checks=checks, seed=seed)
    except emulator.Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("name, wrong, right, where, kind, text", ROWS, ids=[row[0] for row in ROWS])
def test_pairs(name, wrong, right, where, kind, text):
    for checks in where:
        for seed in (0, 3):
            fault = launch(wrong, checks, seed)
            assert fault is not None and fault.kind == kind and text in str(fault), str(fault)
    assert [launch(right, checks) for checks in ALWAYS] == [None, None]


@pytest.mark.parametrize("body", EMPTY.values(), ids=EMPTY)
def test_habits_that_do_no_harm_are_silent(body):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [launch(body, checks) for checks in ALWAYS] == [None, None]


@pytest.mark.parametrize("end, notes", [
    ("", 1), (CLOSE, 1), (READ_WAIT, 1), (CLOSE + READ_WAIT, 0), (CLOSE + "cp.async.bulk.wait_group 0;", 0),
])  # fmt: skip
def test_a_bulk_store_is_waited_for_before_its_thread_ends(end, notes):
    """A note: GPUs seem to keep the memory, and DeepGEMM's kernels end so."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert launch(FILL + STORE + end, ("race",)) is None
    texts = [str(each.message) for each in seen]
    assert all(each.category is emulator.KernelNote for each in seen) and len(texts) == notes
    assert all("exits without a wait for this bulk store" in text for text in texts)


def test_static_shared_memory_has_its_own_limit(machine):
    """More must be dynamic: NVIDIA's assembler refuses it."""
    kernel = ".visible .entry k(.param .u64 out) {{ .shared .b8 big[{}]; ret; }}"
    machine.run(kernel.format(48 << 10), smem_bytes=100 << 10, out=np.zeros(4, np.uint32))
    with pytest.raises(ValueError, match="static shared memory of a block must be at most 49152 bytes, got 49153"):
        machine.run(kernel.format((48 << 10) + 1), out=np.zeros(4, np.uint32))
