"""Whole reports of faults: the author's line, what happened, who, the PTX line."""

import re

import numpy as np
import pytest

from dsl.emulator.faults import Fault
from harness.run import reply
from tests.emulator.diagnosis.one_line_kernel import KERNEL

WHO = "    in `k`, block (0, 0, 0), thread "


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "st.global.b32 [%o], %t;",
            "OUT_OF_BOUNDS\n    write of 4 bytes at 0x... is just past the end of `out` (16 bytes)\n"
            f"{WHO}(4, 0, 0) = warp 0, lane 4\n    PTX line 9: st.global.b32 [%o], %t;",
        ),
        (
            "st.global.b32 [%a+2], %t;",
            "MISALIGNED\n    write of 4 bytes at 0x... is not aligned to 4 bytes (it is 2 past)\n"
            f"{WHO}(0, 0, 0) = warp 0, lane 0\n    PTX line 9: st.global.b32 [%a+2], %t;\n"
            "fix: keep the address a multiple of 4, or use narrower accesses",
        ),
        ("trap;", f"TRAP\n    the kernel executed a trap\n{WHO}(0, 0, 0) = warp 0, lane 0\n    PTX line 9: trap;"),
        (
            "setp.eq.u32 %p, %t, 0; @%p bra E; bar.sync 0, 64; E:",
            "DEADLOCK\n    no thread can continue in block (0, 0, 0) of `k`\n"
            "    warp 0 lanes 1-31 wait at `bar.sync 0, 64;` (kernel.py:3), PTX line 9\n"
            "        for 32 more threads of the 64 that barrier 0 counts\n    exited: warp 0 lane 0\n"
            "fix: let barrier 0 at kernel.py:3 count the 32 threads that come, not 64",
        ),
    ],
)
def test_texts(machine, body, text):
    with pytest.raises(Fault) as caught:
        machine.run(KERNEL.replace("BODY", body), block=32, out=np.zeros(4, np.int32))
    assert re.sub("0x[0-9a-f]+", "0x...", str(caught.value)) == f"kernel.py:3:7: {text}"
    told = reply.read(reply.Finding, caught.value.finding)
    assert text.startswith(told.id) and re.sub("0x[0-9a-f]+", "0x...", told.message) in text and told.fix in text
    assert [(one.does, one.awaited) for one in told.related] == (
        [("waits", "for 32 more threads of the 64 that barrier 0 counts")] if told.id == "DEADLOCK" else []
    )
