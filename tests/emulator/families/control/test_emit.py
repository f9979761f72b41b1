"""Branches, tables, calls, exits, traps and the stop flag. PTX ISA 9.7.12.

Modules tested here: dsl/emulator/families/control/words.py, dsl/emulator/machine/interrupts.cc.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import use
from tests.slow import rest_slow

ROOT = str(Path(emulator.__file__).parents[2])


def test_a_loop_and_a_guarded_instruction(machine):
    a = np.array([0, 1, 5, 27, 97], np.uint32)
    body = """
  mov.u32 %d, 0; mov.u32 %t, %a;
LOOP: setp.le.u32 %p, %t, 1; @%p bra END;
  and.b32 %u, %t, 1; setp.eq.u32 %q, %u, 0;
  @%q shr.u32 %t, %t, 1;
  @!%q mad.lo.u32 %t, %t, 3, 1;
  add.u32 %d, %d, 1; bra.uni LOOP;
END:"""

    def collatz(n):
        steps = 0
        while n > 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    assert machine.each(body, a, out=np.uint32).tolist() == [collatz(int(v)) for v in a]


TABLE = """
  {
  $targets: .branchtargets ZERO, ONE, TWO;
  and.b32 %t, %a, 3;
  setp.eq.u32 %p, %t, 3; @%p bra.uni OTHER;
  brx.idx %t, $targets;
ZERO: mov.u32 %d, 100; bra.uni END;
ONE: mov.u32 %d, 101; bra.uni END;
TWO: mov.u32 %d, 102; bra.uni END;
OTHER: mov.u32 %d, 7;
END:
  }"""


def test_brx_idx(machine):
    a = np.arange(12, dtype=np.uint32)
    assert machine.each(TABLE, a, out=np.uint32).tolist() == [100, 101, 102, 7] * 3


def test_an_index_past_the_table_is_a_fault(machine):
    with pytest.raises(emulator.Fault, match="the branch index is past the end of its list of targets"):
        machine.each(
            TABLE.replace("setp.eq.u32 %p, %t, 3", "setp.eq.u32 %p, %t, 9"),
            np.arange(4, dtype=np.uint32),
            out=np.uint32,
        )


def test_inner_scopes_shadow_registers_and_labels(machine):
    a = np.arange(5, dtype=np.uint32)
    body = """
  mov.u32 %t, 0;
  { .reg .b32 %t; mov.u32 %t, 50; bra.uni L; mov.u32 %t, 60; L: add.u32 %d, %a, %t; }
  { .reg .b32 %t; mov.u32 %t, 500; bra.uni L; mov.u32 %t, 60; L: add.u32 %d, %d, %t; }
  add.u32 %d, %d, %t;"""
    assert machine.each(body, a, out=np.uint32).tolist() == [v + 550 for v in range(5)]


CALLS = """
.func (.param .b32 result) twice(.param .b32 x)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret;
}
.func (.reg .b32 %result) plus(.reg .b32 %x, .reg .b32 %y)
{
  .reg .pred %p;
  setp.gt.u32 %p, %x, 10; @%p bra BIG;
  add.u32 %result, %x, %y; ret;
BIG: mov.u32 %result, 1; ret;
}
.func (.param .align 4 .b8 out[8]) swap(.param .align 4 .b8 pair[8])
{
  .reg .b32 %a, %b; .local .align 4 .b8 depot[4];
  ld.param.b32 %a, [pair]; ld.param.b32 %b, [pair+4];
  bar.sync 0;
  st.local.b32 [depot], %a; ld.local.b32 %a, [depot];
  st.param.b32 [out], %b; st.param.b32 [out+4], %a; ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %t, %v, %w; .reg .b64 %o, %off;
  mov.u32 %t, %tid.x;
  { .param .b32 p0; st.param.b32 [p0], %t; .param .b32 r0; call.uni (r0), twice, (p0); ld.param.b32 %v, [r0]; }
  call (%w), plus, (%v, 3);
  { .param .align 4 .b8 p0[8]; st.param.b32 [p0], %v; st.param.b32 [p0+4], %w; .param .align 4 .b8 r0[8];
    call.uni (r0), swap, (p0); ld.param.v2.b32 {%v, %w}, [r0]; }
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 8; add.s64 %o, %o, %off; st.global.v2.u32 [%o], {%v, %w};
  ret;
}
"""


def test_device_functions(machine, ptxas):
    ptxas(CALLS)
    out = np.zeros((16, 2), np.uint32)
    machine.run(CALLS, block=16, out=out, entry="k")
    assert out.tolist() == [[2 * t + 3 if 2 * t <= 10 else 1, 2 * t] for t in range(16)]


@pytest.mark.parametrize("call, why", [
    ("call cudaGetParameterBufferV2, ();", "a kernel that launches kernels is not emulated"),
    ("call outside, ();", "`outside` has no body in this PTX"),
])  # fmt: skip
def test_calls_that_are_refused(call, why):
    text = f".extern .func outside(); .extern .func cudaGetParameterBufferV2();\n.func f() {{ {call} ret; }}\n.visible .entry k() {{ call f, (); ret; }}"
    with pytest.raises(emulator.Unsupported) as caught:
        use(".version 8.0\n.target sm_90a\n.address_size 64\n" + text)
    assert why in str(caught.value)


TRAP = """.file 1 "checks.py"
.visible .entry k(.param .u32 limit) { .reg .b32 %t, %l; .reg .pred %p;
  mov.u32 %t, %tid.y; ld.param.u32 %l, [limit]; setp.eq.u32 %p, %t, %l;
  .loc 1 30 1
  @%p trap;
  ret; }"""


def test_trap(machine):
    machine.run(TRAP, block=(4, 12, 1), limit=12)
    with pytest.raises(emulator.Fault) as caught:
        machine.run(TRAP, grid=(1, 2, 1), block=(4, 12, 1), limit=9)
    assert str(caught.value) == "\n".join([
        "checks.py:30:1: TRAP",
        "    the kernel executed a trap",
        "    in `k`, block (0, 0, 0), thread (0, 9, 0) = warp 1, lane 4",
        "    PTX line 8: @%p trap;",
    ])  # fmt: skip
    assert caught.value.repro_outcome["outcome"] == "trap"
    assert (caught.value.block, caught.value.thread) == ((0, 0, 0), (0, 9, 0))


FOREVER = {
    "loop": "L: bra L;",
    "work": "L: add.u32 %r, %r, 1; setp.ne.u32 %p, %r, -1; @%p bra L; bra L;",
    "barrier": "L: bar.sync 0; bra L;",
    "shuffle": "L: shfl.sync.idx.b32 %r, %r, 0, 31, -1; bra L;",
    "spin": "L: ld.volatile.shared.u32 %r, [cell]; setp.ne.u32 %p, %r, 7; @%p bra L;",
    "table": "T: .branchtargets L; L: brx.idx %r, T;",
}


@pytest.mark.parametrize("name", rest_slow(FOREVER, 2))
def test_ctrl_c_stops_a_kernel_that_never_ends(name):
    script = textwrap.dedent(f"""
        from dsl import emulator
        text = '''.version 8.0
        .target sm_90a
        .address_size 64
        .visible .entry k() {{ .reg .b32 %r; .reg .pred %p; .shared .align 4 .b8 cell[4]; mov.u32 %r, 0;
        {FOREVER[name]} ret; }}'''
        program = emulator.load(text)
        program.code("k", 1)
        print("ready", flush=True)
        try:
            emulator.launch(program, "k", (100, 1, 1), (64, 1, 1), [], emulator.Memory())
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                             env={**os.environ, "PYTHONPATH": ROOT})  # fmt: skip
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=600)
    finally:
        child.kill()
    assert output == "stopped\n" and child.returncode == 0
