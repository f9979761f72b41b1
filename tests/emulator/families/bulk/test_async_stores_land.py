"""red.async against numpy: every reduction, of numbers at the ends of their ranges, from all blocks of a cluster at once.
PTX ISA 9.7.13.7."""

from __future__ import annotations

import numpy as np
import pytest

PTX = """
.visible .entry k(.param .u64 start, .param .u64 values, .param .u64 out)
{{
  .shared .align 8 .b64 box[32]; .shared .align 8 .b64 bar;
  .reg .b32 %t, %s, %b, %r, %n, %i; .reg .b{bits} %v; .reg .b64 %o; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; mov.u32 %b, bar; mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; setp.eq.u32 %q, %t, 0;
  mad.lo.u32 %i, %r, 32, %t; mov.u32 %s, box; mad.lo.u32 %s, %t, 8, %s;
  ld.param.u64 %o, [start]; mad.wide.u32 %o, %t, {size}, %o; ld.global.b{bits} %v, [%o]; st.shared.b{bits} [%s], %v;
  mul.lo.u32 %n, %n, {phase}; @%q mbarrier.init.shared.b64 [%b], 1; @%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], %n;
  @%q fence.mbarrier_init.release.cluster; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ld.param.u64 %o, [values]; mad.wide.u32 %o, %i, {size}, %o; ld.global.b{bits} %v, [%o];
  mapa.shared::cluster.u32 %s, %s, 0; mapa.shared::cluster.u32 %i, %b, 0;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{name} [%s], %v, [%i];
  setp.ne.u32 %p, %r, 0; @%p bra end;
wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%b], 0; @!%p bra wait;
  mov.u32 %s, box; mad.lo.u32 %s, %t, 8, %s; ld.shared.b{bits} %v, [%s];
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, {size}, %o; st.global.b{bits} [%o], %v;
end: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;
}}
"""
STEPS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "inc": lambda old, new: np.where(old >= new, np.uint32(0), old + np.uint32(1)),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - np.uint32(1)),
}  # fmt: skip
NAMES = ["add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32",
         "inc.u32", "dec.u32"]  # fmt: skip


@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_a_reduction_is_numpys(machine, name, blocks):
    operation, kind = name.split(".")
    dtype = np.dtype({"u32": np.uint32, "s32": np.int32, "u64": np.uint64, "b32": np.uint32}[kind])
    random = np.random.default_rng(7)
    limits = np.iinfo(dtype)
    edges = np.array([limits.min, limits.max, 0, 1, limits.max // 2], dtype)
    start, values = random.choice(edges, 32), random.choice(edges, (blocks, 32))
    values[:, ::3] = random.integers(limits.min, limits.max, (blocks, 11), dtype)
    out = np.zeros(32, dtype)
    text = PTX.format(bits=8 * dtype.itemsize, size=dtype.itemsize, phase=32 * dtype.itemsize, name=name)
    machine.run(text, grid=blocks, block=32, cluster=(blocks, 1, 1), start=start, values=values, out=out)
    expected = start
    for row in values:
        expected = STEPS[operation](expected, row)
    if operation in ("inc", "dec") and blocks > 1:  # these depend on the order
        assert np.any([each == out for each in _orders(start, values, STEPS[operation])], axis=0).all()
        return
    np.testing.assert_array_equal(out, expected)


def _orders(start, values, step):
    from itertools import permutations

    for order in permutations(values):
        result = start
        for row in order:
            result = step(result, row)
        yield result


def test_ptxas_accepts_what_is_tested_here(ptxas):
    for name in NAMES:
        bits = 64 if "64" in name else 32
        text = PTX.format(bits=bits, size=bits // 8, phase=bits * 4, name=name)
        ptxas(".version 8.1\n.target sm_90a\n.address_size 64\n" + text)
