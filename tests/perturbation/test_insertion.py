"""Delays in PTX: who sleeps, and that nothing else changes."""

import numpy as np
import pytest

from dsl import emulator
from dsl.lower import sass
from dsl.perturbation.delays import BadDelays, Delay
from dsl.perturbation.insertion import insertions, with_insertions
from dsl.perturbation.perturbation import Perturbation
from dsl.perturbation.sites import sites
from tests.perturbation.racy import RACY, ptx

KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  st.global.u32 [%rd1+8000], 0;
  ret; }
"""
# In the place of a sleep: each thread that would sleep writes 1 at its own place.
MARK = (
    "{{.reg .b32 %m<8>; .reg .b64 %md; mov.u32 %m0, %ctaid.x; mov.u32 %m1, %ctaid.y; mov.u32 %m2, %nctaid.x; "
    "mad.lo.u32 %m0, %m1, %m2, %m0; mov.u32 %m1, %ntid.x; mov.u32 %m2, %ntid.y; mul.lo.u32 %m3, %m1, %m2; "
    "mul.lo.u32 %m0, %m0, %m3; mov.u32 %m4, %tid.y; mov.u32 %m5, %tid.x; mad.lo.u32 %m4, %m4, %m1, %m5; "
    "add.u32 %m0, %m0, %m4; mul.wide.u32 %md, %m0, 4; add.s64 %md, %rd1, %md; {guard} st.global.u32 [%md], 1;}}"
)


@pytest.mark.parametrize(
    "delay",
    [
        *(Delay("k", 1, "before", 64, group, groups) for groups in (2, 4, 8) for group in range(groups)),
        Delay("k", 1, "before", 64, warp=2),
        Delay("k", 1, "before", 64, block=3),
        Delay("k", 1, "before", 64, warp=1, block=2),
        Delay("k", 1, "before", 64),
    ],
    ids=str,
)
def test_the_warps_of_a_delay_sleep_and_no_other(delay):
    ((at, text),) = insertions(KERNEL, sites(KERNEL), [delay])
    for guard in ("@%delay_p ", ""):
        text = text.replace(f"{guard}nanosleep.u32 64;", MARK.format(guard=guard))
    memory = emulator.Memory()
    slept = np.zeros(2048, np.int32)
    memory.register(slept.ctypes.data, slept.nbytes, "slept")
    program = emulator.load(with_insertions(KERNEL, [(at, text)]))
    emulator.launch(program, "k", (3, 2, 1), (24, 8, 1), [slept.ctypes.data.to_bytes(8, "little")], memory)
    for block in range(6):
        for thread in range(192):
            assert slept[192 * block + thread] == delay.is_for(thread // 32, block), (block, thread)


def test_each_insertion_is_independent():
    """Any of them can be left out: what is left of the text is as it was."""
    text = ptx("sum")
    places = sites(text)
    items = [Delay("k", site.number, when, 100, 1, 4) for site in places for when in ("before", "after")]
    found = insertions(text, places, items)
    changed = with_insertions(text, found)
    for _, put in found:
        changed = changed.replace(put, "", 1)
    assert changed == text
    for one in found:
        sass.assemble(with_insertions(text, [one]), "sm_90")


@pytest.mark.parametrize("name", RACY)
def test_ptxas_takes_every_kernel_with_delays_at_every_site(name):
    text = ptx(name)
    places = sites(text)
    every = [
        Delay("k", site.number, when, 100, **who)
        for site in places
        for when in ("before", "after")
        for who in ({"group": 1, "groups": 2}, {"warp": 1}, {"block": 0}, {"warp": 0, "block": 1}, {})
    ]
    assert sass.disassemble(sass.assemble(with_insertions(text, insertions(text, places, every)), "sm_90")).count(
        "NANOSLEEP"
    ) == len(every)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("sm_90", "sm_60"), "delays need sm_70 or later (nanosleep), got sm_60"),
        (("8.0", "6.2"), "delays need PTX 6.3 or later (nanosleep), got PTX 6.2"),
    ],
)
def test_older_ptx_is_refused(change, message):
    with pytest.raises(BadDelays) as caught:
        Perturbation(1).applied(KERNEL.replace(*change))
    assert str(caught.value) == message


def test_a_list_for_other_ptx_is_refused():
    with pytest.raises(BadDelays) as caught:
        insertions(KERNEL, sites(KERNEL), [Delay("k", 2, "after", 9)])
    assert str(caught.value) == "the site of a delay in `k` must be 1 to 1, got 2: the list is for other PTX"
    assert insertions(KERNEL, sites(KERNEL), [Delay("other", 2, "after", 9)]) == []
