"""st.bulk: zeros in shared memory. PTX ISA 9.7.9.13.

Modules tested here: dsl/emulator/families/memory/fill.cc.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

KERNEL = """
.visible .entry k(.param .u64 out, .param .u64 size)
{
  .shared .align 16 .b8 buffer[512];
  .reg .b32 %a, %s, %x, %v; .reg .b64 %o, %n, %g; .reg .pred %p;
  mov.u32 %x, %tid.x; mov.u32 %s, buffer; mad.lo.u32 %a, %x, 4, %s; ld.param.u64 %o, [out]; ld.param.u64 %n, [size];
  mad.wide.u32 %o, %x, 4, %o; cvt.u64.u32 %g, %s; cvta.shared.u64 %g, %g; setp.eq.u32 %p, %x, 4;
  st.shared.u32 [%a], -1; bar.sync 0;
  @%p FILL
  bar.sync 0;
  ld.shared.u32 %v, [%a]; st.global.u32 [%o], %v; ret;
}
"""
FILLS = ["st.bulk.shared::cta [%s+16], %n, 0;", "st.bulk.weak.shared::cta [%s+16], %n, 0;", "st.bulk [%g+16], %n, 0;"]


def run(machine, fill: str, size: int, checks=(), text: str = KERNEL) -> np.ndarray:
    out = np.zeros(128, np.uint32)
    machine.run(text.replace("FILL", fill), block=128, out=out, size=np.int64(size), checks=checks)
    return out


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("size", [0, 8, 64, 496])
def test_zeros(machine_100, fill, size):
    wanted = np.full(128, 0xFFFFFFFF, np.uint32)
    wanted[4 : 4 + size // 4] = 0
    np.testing.assert_array_equal(run(machine_100, fill, size), wanted)


def test_a_constant_size(machine_100):
    assert run(machine_100, "st.bulk.weak.shared::cta [%s], 512, 0;", 0).tolist() == [0] * 128


@pytest.mark.parametrize("fill, size, kind, text", [
    (FILLS[0], 12, "illegal", "size of `st.bulk.shared::cta` must be a multiple of 8 bytes, got 12\n"),
    (FILLS[0], 504, "out_of_bounds", "504 bytes"),
    (FILLS[0].replace("+16", "+20"), 8, "misaligned", "8 bytes"),
    (FILLS[2].replace("%g+16", "%o"), 8, "out_of_bounds", "8 bytes"),
])  # fmt: skip
def test_faults(machine_100, fill, size, kind, text):
    with pytest.raises(emulator.Fault) as caught:
        run(machine_100, fill, size)
    assert caught.value.kind == kind and text in str(caught.value)


def test_it_is_a_store_to_the_checkers(machine_100):
    run(machine_100, FILLS[1], 64, checks=("race", "undefined"))
    first, *middle, last = KERNEL.split("bar.sync 0;")
    for text in (first + "".join(middle) + "bar.sync 0;" + last, first + "bar.sync 0;" + "".join(middle) + last):
        with pytest.raises(emulator.Fault, match="RACE"):
            run(machine_100, FILLS[1], 64, checks=("race",), text=text)


def test_filled_memory_is_defined(machine_100):
    text = KERNEL.replace("st.shared.u32 [%a], -1; bar.sync 0;", "")
    run(machine_100, "st.bulk.weak.shared::cta [%s], 512, 0;", 0, checks=("undefined",), text=text)
    with pytest.raises(emulator.Fault, match="UNDEFINED_READ"):
        run(machine_100, "st.bulk.weak.shared::cta [%s], 504, 0;", 0, checks=("undefined",), text=text)
