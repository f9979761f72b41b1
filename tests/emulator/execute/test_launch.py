"""A launch: shapes, parameters, predefined registers, shared memory, what it refuses.

Modules tested here: dsl/emulator/machine/context.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

NUMBERS = """
.visible .entry numbers(.param .u64 out)
{
  .reg .b32 %x<3>, %c<3>, %n<3>, %g<3>, %i, %v, %w; .reg .b64 %o, %off;
""" + "".join(f"  mov.u32 %{r}{i}, %{s}.{a};\n" for r, s in zip("xcng", ("tid", "ctaid", "ntid", "nctaid")) for i, a in
              enumerate("xyz")) + """
  mad.lo.u32 %v, %x2, %n1, %x1; mad.lo.u32 %v, %v, %n0, %x0;
  mad.lo.u32 %w, %c2, %g1, %c1; mad.lo.u32 %w, %w, %g0, %c0;
  mul.lo.u32 %i, %n0, %n1; mul.lo.u32 %i, %i, %n2; mad.lo.u32 %i, %i, %w, %v;
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %i, 16; add.s64 %o, %o, %off;
  mov.u32 %x0, %laneid; mov.u32 %x1, %warpid; mov.u32 %x2, %lanemask_lt;
  st.global.v4.u32 [%o], {%i, %x0, %x1, %x2};
  MEET
  ret;
}
"""  # fmt: skip


@pytest.mark.parametrize("meet", ["", "bar.sync 0;"])
@pytest.mark.parametrize("grid, block", [((3, 2, 2), (5, 4, 3)), ((2, 1, 1), (1024, 1, 1)), ((1, 3, 1), (1, 1, 33))])
def test_every_thread_of_every_block_runs_once_with_its_numbers(machine, meet, grid, block):
    threads = int(np.prod(block))
    count = threads * int(np.prod(grid))
    buffer = np.zeros(count * 4 + 4, np.uint32)
    out = buffer[(-buffer.ctypes.data % 16) // 4 :][: count * 4].reshape(count, 4)
    machine.run(NUMBERS.replace("MEET", meet), grid=grid, block=block, out=out)
    linear = np.arange(count) % threads
    np.testing.assert_array_equal(out[:, 0], np.arange(count))
    np.testing.assert_array_equal(out[:, 1], linear % 32)
    np.testing.assert_array_equal(out[:, 2], linear // 32)
    np.testing.assert_array_equal(out[:, 3], (1 << (linear % 32)) - 1)


CLUSTERS = """
.visible .entry k(.param .u64 out)
{
  .reg .b32 %v, %i, %c<3>, %n<2>; .reg .b64 %o, %off; .reg .pred %p;
  mov.u32 %c0, %ctaid.x; mov.u32 %c1, %ctaid.y; mov.u32 %c2, %ctaid.z; mov.u32 %n0, %nctaid.x; mov.u32 %n1, %nctaid.y;
  mad.lo.u32 %i, %c2, %n1, %c1; mad.lo.u32 %i, %i, %n0, %c0;
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %i, 60; add.s64 %o, %o, %off;
""" + "".join(f"  mov.u32 %v, %{register}; st.global.u32 [%o+{4 * place}], %v;\n" for place, register in enumerate(
    [f"{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"]
    + ["cluster_ctarank", "cluster_nctarank"])) + """
  mov.pred %p, %is_explicit_cluster; selp.u32 %v, 1, 0, %p; st.global.u32 [%o+56], %v; ret;
}
"""  # fmt: skip


@pytest.mark.parametrize("grid, cluster", [((6, 4, 2), (3, 2, 2)), ((4, 1, 1), (2, 1, 1)), ((2, 3, 1), (1, 1, 1))])
def test_blocks_know_their_place_in_their_cluster(machine, grid, cluster):
    out = np.zeros((int(np.prod(grid)), 15), np.uint32)
    machine.run(CLUSTERS, grid=grid, cluster=cluster, out=out)
    z, y, x = np.indices(grid[::-1]).reshape(3, -1)
    block = np.stack([x, y, z], 1)
    place = block % cluster
    blocks = int(np.prod(cluster))
    np.testing.assert_array_equal(out[:, 0:3], block // cluster)
    np.testing.assert_array_equal(out[:, 3:6], np.broadcast_to(np.array(grid) // cluster, block.shape))
    np.testing.assert_array_equal(out[:, 6:9], place)
    np.testing.assert_array_equal(out[:, 9:12], np.broadcast_to(cluster, block.shape))
    np.testing.assert_array_equal(out[:, 12], place @ [1, cluster[0], cluster[0] * cluster[1]])
    np.testing.assert_array_equal(out[:, 13:], [[blocks, blocks > 1]] * len(out))


MULTIPROCESSORS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %c<3>, %n<2>, %i, %v, %w; .reg .b64 %o;
  mov.u32 %c0, %ctaid.x; mov.u32 %c1, %ctaid.y; mov.u32 %c2, %ctaid.z; mov.u32 %n0, %nctaid.x; mov.u32 %n1, %nctaid.y;
  mad.lo.u32 %i, %c2, %n1, %c1; mad.lo.u32 %i, %i, %n0, %c0; ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, 8, %o;
  mov.u32 %v, %smid; mov.u32 %w, %nsmid; st.global.v2.u32 [%o], {%v, %w}; ret;
}
"""


@pytest.mark.parametrize("model, multiprocessors", [("h100", 132), ("b200", 148), ("rtx5090", 170)])
def test_blocks_take_one_multiprocessor_after_another(machine, model, multiprocessors):
    machine.gpu_model = model
    out = np.zeros((150, 2), np.uint32)
    machine.run(MULTIPROCESSORS, grid=(5, 10, 3), out=out)
    np.testing.assert_array_equal(out, [[block % multiprocessors, multiprocessors] for block in range(150)])


SMEM = """
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 out)
{
  .shared .align 4 .b8 fixed[20];
  .reg .b32 %a, %b, %c, %d, %e; .reg .b64 %o;
  mov.u32 %a, fixed; mov.u32 %b, dynamic; mov.u32 %c, %dynamic_smem_size; mov.u32 %d, %total_smem_size;
  ld.shared.u32 %e, [dynamic+96];
  ld.param.u64 %o, [out]; st.global.u32 [%o], %a; st.global.u32 [%o+4], %b; st.global.u32 [%o+8], %c;
  st.global.u32 [%o+12], %d; st.global.u32 [%o+16], %e; ret;
}
"""


def test_dynamic_shared_memory_follows_the_static(machine):
    out = np.zeros(5, np.uint32)
    machine.run(SMEM, smem_bytes=100, out=out)
    fixed, dynamic, size, total, garbage = out.tolist()
    assert fixed % 4 == 0 and dynamic % 16 == 0 and dynamic >= fixed + 20
    assert (size, total, garbage) == (100, dynamic + 100, 0xFFFFFFFF)
    with pytest.raises(emulator.Fault, match="is outside shared memory"):
        machine.run(SMEM, smem_bytes=96, out=out)


def test_entries_describe_what_a_launch_needs():
    program = emulator.load(
        ".version 8.0\n.target sm_90a\n.address_size 64\n" + SMEM.replace(".u64 out)", ".u64 out) .reqntid 8")
    )
    entry = program.entries["k"]
    assert entry == emulator.Entry("k", (emulator.Param("out", 8, 8),), 32, (8, 1, 1))


@pytest.mark.parametrize("directive", [".maxntid 16, 2", ".reqntid 8"])
def test_entries_are_kept_with_a_program(directive):
    text = ".version 8.0\n.target sm_90a\n.address_size 64\n" + SMEM.replace(".u64 out)", f".u64 out) {directive}")
    program = emulator.load(text)
    assert program.entries["k"].maxntid == ((16, 2, 1) if "maxntid" in directive else None)
    assert emulator.Program.from_object(program.object_bytes()).entries == program.entries


@pytest.mark.parametrize("change, message", [
    ({"grid": (0, 1, 1)}, "grid=(0, 1, 1) is outside (1, 1, 1) to (2147483647, 65535, 65535)"),
    ({"block": (32, 64, 1)}, "block=(32, 64, 1) has 2048 threads; a block has at most 1024"),
    ({"block": (1, 1, 65)}, "block=(1, 1, 65) is outside (1, 1, 1) to (1024, 1024, 64)"),
    ({"entry": "x"}, "the PTX has no entry `x`; it has k"),
    ({"smem_bytes": 300000}, "32 static + 300000 dynamic bytes of shared memory; a block has at most 232448"),
    ({"params": [b"1234"]}, "`k` takes parameters of [8] bytes, got [4]"),
    ({"params": []}, "`k` takes parameters of [8] bytes, got []"),
    ({"cluster": (2, 1, 1)}, "cluster=(2, 1, 1) does not divide grid=(1, 1, 1)"),
    ({"grid": (32, 1, 1), "cluster": (32, 1, 1)}, "cluster=(32, 1, 1): a cluster has 1 to 16 blocks"),
])  # fmt: skip
def test_launches_no_gpu_would_accept(change, message):
    program = emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + SMEM)
    call = {
        "entry": "k",
        "grid": (1, 1, 1),
        "block": (1, 1, 1),
        "params": [b"\0" * 8],
        "smem_bytes": 0,
        "cluster": (1, 1, 1),
    }
    call |= change
    with pytest.raises(ValueError) as caught:
        emulator.launch(program, call["entry"], call["grid"], call["block"], call["params"], emulator.Memory(),
                        call["smem_bytes"], call["cluster"])  # fmt: skip
    assert str(caught.value) == message


def test_a_program_is_loaded_once():
    text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry once() { ret; }"
    assert emulator.load(text) is emulator.load(text)
