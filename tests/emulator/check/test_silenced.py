"""A race at a line that allows it is not found; at any other line it is."""

import linecache

import numpy as np
import pytest

from dsl import emulator

KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{{
  .reg .b32 %t; .reg .b64 %g;
  .loc 1 1 1
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x;
  .loc 1 2 1
  st.global.u32 [%g], %t;
  .loc 1 {line} 1
  ld.global.u32 %t, [%g]; st.global.u32 [%g+4], %t;
  ret;
}}
.file 1 "{file}"
"""


def races(machine, tmp_path, second, third, line=3):
    file = tmp_path / "program.py"
    file.write_text(f"first\n{second}\n{third}\n")
    linecache.clearcache()
    try:
        machine.run(KERNEL.format(file=file, line=line), block=64, checks=("race",), x=np.zeros(2, np.uint32))
    except emulator.Fault as fault:
        return str(fault).split("\n")[0].rsplit(" ", 1)[1]
    return None


def test_one_of_the_two_lines_is_enough(machine, tmp_path):
    assert races(machine, tmp_path, "store", "load") == "RACE"
    allowed = "# repro: allow RACE the last one counts"
    assert races(machine, tmp_path, f"store {allowed}", "load", line=2) is None
    assert races(machine, tmp_path, f"store {allowed}", "load") == "RACE"  # line 3 stores too
    assert races(machine, tmp_path, f"store {allowed}", f"load // {allowed[2:]}") is None


@pytest.mark.parametrize("comment", ["# repro: allow RACE", "# repro: allow DEADLOCK why", "# allow RACE why"])
def test_a_comment_without_a_reason_or_for_another_finding_allows_nothing(machine, tmp_path, comment):
    assert races(machine, tmp_path, f"store {comment}", f"load {comment}") == "RACE"
