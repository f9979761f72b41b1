"""Threads of a warp meeting: shfl, vote, match, redux, elect, activemask, bar.warp. PTX ISA 9.7.9.6, 9.7.13.

Modules tested here: dsl/emulator/families/warp/words.py, dsl/emulator/ir/special.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import use

LANES = np.arange(32, dtype=np.uint32)


def warp_kernel(body: str, registers: str = "") -> str:
    """`body` sees the lane in %lane and its input in %x; it leaves results in %d and %e (both b32)."""
    return f"""
.visible .entry warp(.param .u64 out, .param .u64 x)
{{
  .reg .b32 %lane, %x, %d, %e, %t; .reg .b64 %o, %i, %off; .reg .pred %p, %q; {registers}
  mov.u32 %lane, %tid.x;
  ld.param.u64 %i, [x];
  ld.param.u64 %o, [out];
  mul.wide.u32 %off, %lane, 4;
  add.s64 %i, %i, %off;
  ld.global.b32 %x, [%i];
  mov.u32 %e, 0;
  mov.u32 %d, 0;
{body}
  mul.wide.u32 %off, %lane, 8;
  add.s64 %o, %o, %off;
  st.global.v2.b32 [%o], {{%d, %e}};
  ret;
}}
"""


def run(machine, body: str, x: np.ndarray = LANES * 3 + 7, block=32, registers="") -> tuple[np.ndarray, np.ndarray]:
    count = int(np.prod(block))
    out = np.zeros((count, 2), np.uint32)
    machine.run(warp_kernel(body, registers), block=block, out=out, x=np.resize(x.astype(np.uint32), count))
    return out[:, 0], out[:, 1]


def shuffle_source(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The pseudo-code of shfl.sync, for all lanes active."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    max_lane, min_lane = lane & mask | cval & ~mask & 31, lane & mask
    j = {"up": lane - bval, "down": lane + bval, "bfly": lane ^ bval, "idx": min_lane | bval & ~mask & 31}[mode]
    pval = j >= max_lane if mode == "up" else j <= max_lane
    return (j if pval else lane), pval


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("b", [0, 1, 3, 7, 8, 17, 31, 33])
def test_shfl_reads_the_lane_of_the_formula(machine, mode, width, b):
    c = (32 - width) << 8 | (0 if mode == "up" else 31)
    x = LANES * 3 + 7
    body = f"shfl.sync.{mode}.b32 %d|%p, %x, {b}, {c}, -1; selp.b32 %e, 1, 0, %p;"
    got, flag = run(machine, body, x)
    expected = [shuffle_source(mode, lane, b, c) for lane in range(32)]
    assert got.tolist() == [int(x[j]) for j, _ in expected]
    assert flag.tolist() == [int(p) for _, p in expected]


@pytest.mark.parametrize("clamp", [0, 15, 31, 0x1F00 | 3, 0x0F07, 0x181F])
def test_shfl_operands_differ_by_lane(machine, clamp):
    body = f"and.b32 %t, %lane, 5; shfl.sync.idx.b32 %d|%p, %x, %t, {clamp}, 0xffffffff; selp.b32 %e, 1, 0, %p;"
    got, flag = run(machine, body)
    expected = [shuffle_source("idx", lane, lane & 5, clamp) for lane in range(32)]
    assert got.tolist() == [j * 3 + 7 for j, _ in expected] and flag.tolist() == [int(p) for _, p in expected]


def test_shfl_in_halves_with_their_own_masks(machine):
    body = """
  setp.lt.u32 %p, %lane, 16;
  @%p bra LOW;
  shfl.sync.bfly.b32 %d, %x, 1, 31, 0xffff0000;
  bra.uni JOIN;
LOW:
  shfl.sync.bfly.b32 %d, %x, 2, 31, 0x0000ffff;
JOIN:"""
    got, _ = run(machine, body)
    assert got.tolist() == [(lane ^ (2 if lane < 16 else 1)) * 3 + 7 for lane in range(32)]


def test_one_shfl_may_be_reached_from_two_places(machine):
    body = """
  setp.lt.u32 %p, %lane, 16;
  @%p bra LOW;
  shfl.sync.bfly.b32 %d, %x, 16, 31, -1;
  bra.uni JOIN;
LOW:
  shfl.sync.bfly.b32 %d, %x, 16, 31, -1;
JOIN:"""
    got, _ = run(machine, body)
    assert got.tolist() == [(lane ^ 16) * 3 + 7 for lane in range(32)]


def test_exited_lanes_are_not_waited_for_and_give_the_reader_its_own_value(machine):
    out = np.zeros((32, 2), np.uint32)
    body = "setp.ge.u32 %p, %lane, 8; @%p exit; shfl.sync.down.b32 %d|%q, %x, 4, 31, -1; selp.b32 %e, 1, 0, %q;"
    machine.run(warp_kernel(body), block=32, out=out, x=LANES * 3 + 7)
    assert out[:8, 0].tolist() == [(lane + 4 if lane < 4 else lane) * 3 + 7 for lane in range(8)]
    assert out[:8, 1].tolist() == [1] * 8 and not out[8:].any()


def test_votes(machine):
    body = """
  and.b32 %t, %x, 1; setp.eq.u32 %p, %t, 1;
  vote.sync.ballot.b32 %d, %p, -1;
  vote.sync.any.pred %q, %p, -1; selp.b32 %e, 1, 0, %q;
  vote.sync.all.pred %q, %p, -1; @%q add.u32 %e, %e, 2;
  vote.sync.uni.pred %q, %p, -1; @%q add.u32 %e, %e, 4;
  vote.sync.all.pred %q, !%p, -1; @%q add.u32 %e, %e, 8;"""
    for x, flags in ((LANES, 1), (LANES * 0, 12), (LANES * 0 + 1, 7)):
        ballot, got = run(machine, body, x)
        assert set(ballot.tolist()) == {sum(int(v & 1) << i for i, v in enumerate(x))} and set(got.tolist()) == {flags}


def test_ballot_counts_only_lanes_of_the_mask(machine):
    body = """
  setp.lt.u32 %p, %lane, 5; @!%p bra SKIP;
  vote.sync.ballot.b32 %d, 1, 0x1f;
SKIP:"""
    ballot, _ = run(machine, body)
    assert ballot.tolist() == [0x1F] * 5 + [0] * 27


def test_match_any_and_all(machine):
    x = LANES // 5
    got, _ = run(machine, "match.any.sync.b32 %d, %x, -1;", x)
    assert got.tolist() == [sum(1 << j for j in range(32) if x[j] == x[i]) for i in range(32)]
    for values, mask, flag in ((LANES * 0 + 9, 0xFFFFFFFF, 1), (x, 0, 0)):
        got, flags = run(machine, "match.all.sync.b32 %d|%p, %x, -1; selp.b32 %e, 1, 0, %p;", values)
        assert set(got.tolist()) == {mask} and set(flags.tolist()) == {flag}
    wide = "{ .reg .b64 %w; mov.b64 %w, {%t, %x}; match.any.sync.b64 %d, %w, -1; }"
    got, _ = run(machine, "mov.u32 %t, 5;" + wide, x)
    assert got.tolist() == [sum(1 << j for j in range(32) if x[j] == x[i]) for i in range(32)]


REDUX = {"add.u32": lambda v: int(v.sum()), "min.u32": lambda v: int(v.min()), "max.u32": lambda v: int(v.max()),
         "min.s32": lambda v: int(v.view(np.int32).min()), "max.s32": lambda v: int(v.view(np.int32).max()),
         "and.b32": np.bitwise_and.reduce, "or.b32": np.bitwise_or.reduce,
         "xor.b32": np.bitwise_xor.reduce}  # fmt: skip


@pytest.mark.parametrize("name", REDUX)
def test_redux(machine, name):
    x = np.random.default_rng(1).integers(0, 2**32, 32, dtype=np.uint32) | np.uint32(0x10)
    got, _ = run(machine, f"redux.sync.{name} %d, %x, -1;", x)
    assert set(got.tolist()) == {int(REDUX[name](x)) & 0xFFFFFFFF}


def float_redux(x: np.ndarray, name: str) -> int:
    """PTX ISA 9.7.13.12: numpy's fmin and fmax ignore a NaN, its minimum and maximum give one."""
    values = np.abs(x.view(np.float32)) if "abs" in name else x.view(np.float32)
    how = {"min": (np.fmin, np.minimum), "max": (np.fmax, np.maximum)}[name[:3]]["NaN" in name]
    best = how.reduce(values)
    if np.isnan(best):
        return 0x7FFFFFFF
    signs = np.signbit(values[values == best])  # of zeros, both may be there
    negative = signs.any() if name[:3] == "min" else signs.all()
    return int(np.copysign(best, -1.0 if negative else 1.0).view(np.uint32))


NAN, ZERO, MINUS_ZERO, INFINITY, TINY = 0x7FC12345, 0, 0x80000000, 0x7F800000, 1
LANES_OF_FLOATS = [
    [MINUS_ZERO, ZERO] * 16,
    [ZERO] * 31 + [MINUS_ZERO],
    [NAN, NAN | 1 << 31] * 16,
    [NAN] * 31 + [0xC0000000],
    [0xFFFFFFFF, INFINITY, INFINITY | 1 << 31, TINY] * 8,
    [TINY, TINY | 1 << 31, 2, 3] * 8,
    [int(bits) for bits in np.random.default_rng(3).integers(0, 2**32, 32)],
    [int(bits) for bits in np.random.default_rng(4).normal(size=32).astype(np.float32).view(np.uint32)],
]


@pytest.mark.parametrize("block", [32, 40, 7])
@pytest.mark.parametrize("name", [a + b + c for a in ("min", "max") for b in ("", ".abs") for c in ("", ".NaN")])
def test_redux_of_floats(machine_100, name, block):
    """Whole warps, a warp of 8 and one of 7 lanes."""
    for lanes in LANES_OF_FLOATS:
        x = np.resize(np.array(lanes, np.uint32), block)
        got, _ = run(machine_100, f"redux.sync.{name}.f32 %d, %x, -1;", x, block=block)
        for start in range(0, block, 32):
            assert set(got[start : start + 32].tolist()) == {float_redux(x[start : start + 32], name)}, lanes


def test_redux_of_floats_of_some_lanes(machine_100):
    x = np.arange(32, dtype=np.float32).view(np.uint32)
    body = "setp.ge.u32 %p, %lane, 12; @!%p bra SKIP; redux.sync.min.f32 %d, %x, 0xfffff000;\nSKIP:"
    got, _ = run(machine_100, body, x)
    assert got.view(np.float32).tolist() == [0] * 12 + [12] * 20


def test_elect_has_one_leader_in_the_mask(machine):
    body = """
  setp.ge.u32 %p, %lane, 12; @!%p bra SKIP;
  elect.sync %d|%q, 0xfffff000; selp.b32 %e, 1, 0, %q;
SKIP:"""
    leader, flags = run(machine, body)
    assert set(leader[12:].tolist()) == {12} and flags.tolist() == [0] * 12 + [1] + [0] * 19


def test_activemask_is_what_came_together(machine):
    body = "setp.lt.u32 %p, %lane, 10; @!%p bra SKIP; activemask.b32 %d; SKIP: activemask.b32 %e;"
    inside, after = run(machine, body)
    assert inside.tolist() == [0x3FF] * 10 + [0] * 22
    assert set(after.tolist()) <= {0xFFFFFFFF, 0x3FF, 0xFFFFFC00}


def test_a_short_warp_has_only_its_lanes(machine):
    ballot, _ = run(machine, "vote.sync.ballot.b32 %d, 1, -1;", block=40)
    assert ballot.tolist() == [0xFFFFFFFF] * 32 + [0xFF] * 8


def test_lanes_follow_the_linear_thread_number(machine):
    out = np.zeros((8, 8), np.uint32)
    machine.run(""".visible .entry k(.param .u64 out) {
  .reg .b32 %x, %y, %l, %n, %i; .reg .b64 %o, %off;
  mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %y, %n, %x;
  shfl.sync.idx.b32 %l, %i, 31, 31, -1;
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %i, 4; add.s64 %o, %o, %off; st.global.u32 [%o], %l; ret; }""",
                block=(8, 8, 1), out=out)  # fmt: skip
    assert out.ravel().tolist() == [31] * 32 + [63] * 32


@pytest.mark.parametrize("mask, bad", [("0xffffffff", False), ("0x0000ffff", True)])
def test_a_lane_outside_its_own_mask_is_a_fault(machine, mask, bad):
    body = f"shfl.sync.idx.b32 %d, %x, 0, 31, {mask};"
    if not bad:
        run(machine, body)
        return
    with pytest.raises(emulator.Fault) as caught:
        run(machine, body)
    assert str(caught.value) == "\n".join([
        "ILLEGAL",
        "    lane 16 executes `shfl.sync.idx.b32` with a member mask 0x0000ffff that does not name it",
        "    in `warp`, block (0, 0, 0), thread (16, 0, 0) = warp 0, lane 16",
        "    PTX line 16: shfl.sync.idx.b32 %d, %x, 0, 31, 0x0000ffff;",
        "fix: every executing lane must be in its own mask",
    ])  # fmt: skip


def test_the_old_shfl_without_sync_is_refused_by_name():
    with pytest.raises(emulator.Unsupported, match="`shfl.idx.b32`: the emulator has no such form, `.sync` is missing"):
        use(".version 6.0\n.target sm_60\n.address_size 64\n" + warp_kernel("shfl.idx.b32 %d, %x, 0, 31;"))


def test_ptxas_accepts_what_is_tested_here(ptxas):
    ptxas(
        warp_kernel("""
  shfl.sync.up.b32 %d|%p, %x, 1, 0, -1; vote.sync.ballot.b32 %d, 1, 0x1f; vote.sync.all.pred %q, !%p, -1;
  match.any.sync.b32 %d, %x, -1; match.all.sync.b32 %d|%p, %x, -1; redux.sync.add.u32 %d, %x, -1;
  redux.sync.xor.b32 %d, %x, -1; elect.sync %d|%q, 0xfffff000; activemask.b32 %d; bar.warp.sync -1;""")
    )
