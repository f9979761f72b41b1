"""A launch that is stopped shows where every warp was, by line."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dsl import emulator
from tests.slow import rest_slow

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.file 1 "k.py"
.visible .entry k(.param .u64 x)
{
  .reg .b32 %t, %r<4>; .reg .b64 %x; .reg .pred %p;
  ld.param.u64 %x, [x]; mov.u32 %t, %tid.x; mov.u32 %r1, 1;
"""
SPIN = "L: .loc 1 7 3\n add.u32 %r1, %r1, 2; .loc 1 8 3\n setp.ne.u32 %p, %r1, 0; @%p bra L;\n"
IN_LOOP = "in the loop at k.py:8, PTX line 11: @%p bra L;"
# name: (body, threads, the lines about block 0)
KERNELS = {
    "every thread": (SPIN, 64, [f"warp 0 lane 0: {IN_LOOP}"]),
    "one thread while others wait": (
        "setp.ne.u32 %p, %t, 33; @%p bra W;" + SPIN + "W: .loc 1 9 3\n bar.sync 0;", 64,
        [f"warp 1 lane 1: {IN_LOOP}", "warp 0, warp 1 lane 0: waiting at k.py:9, PTX line 13: bar.sync 0;",
         "warp 1 lanes 2-31: ready to run"]),
    "one thread after others ended": (
        "setp.lt.u32 %p, %t, 32; @%p ret; setp.ne.u32 %p, %t, 32; @%p bra W;" + SPIN + "W: .loc 1 9 3\n bar.warp.sync -1;",
        64, [f"warp 1 lane 0: {IN_LOOP}", "warp 1 lanes 1-31: ready to run", "warp 0: ended"]),
}  # fmt: skip


class Stop(KeyboardInterrupt):
    pass


def stopped(body: str, threads: int, blocks: int = 1, **options) -> str:
    """The notes of the exception of a launch that a signal stopped."""

    def stop(*_):
        raise Stop

    x = np.zeros(64, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    program = emulator.load(HEAD + body + "\nret;\n}\n")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 0.4)  # compiling comes first, on a busy machine too
    try:
        with pytest.raises(Stop) as error:
            emulator.launch(
                program, "k", (blocks, 1, 1), (threads, 1, 1), [x.ctypes.data.to_bytes(8, "little")], memory, **options
            )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return "\n".join(error.value.__notes__)


@pytest.mark.parametrize("name", KERNELS)
def test_each_warp_is_named_with_its_line(name):
    body, threads, expected = KERNELS[name]
    lines = stopped(body, threads).splitlines()
    start = lines.index("    block (0, 0, 0):")
    assert lines[0] == "k.py:8:3: STOPPED"
    assert f"`k` was stopped: 1 block of {threads} threads" in "\n".join(lines[:start])
    assert [line.strip() for line in lines[start + 1 :]] == expected


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"seed": 3}, {"checks": ("race", "undefined")}])
def test_the_loop_is_named_whatever_the_kernel_became(options):
    """Regions, a loop over threads, coroutines; several blocks."""
    assert IN_LOOP in stopped(SPIN, 32, blocks=5, **options)
    assert IN_LOOP in stopped("and.b32 %r3, %t, 1; setp.eq.u32 %p, %r3, 7; @%p ret;" + SPIN, 32, blocks=5, **options)


PROGRAM = """\
import cutlass
import cutlass.cute as cute
from cutlass import Int32


@cute.kernel
def spins(end: Int32):
    x = Int32(1)
    while x != end:
        x = x * 2 + 1


@cute.jit
def host(end: Int32):
    spins(end).launch(grid=1, block=32)


host(3)
print("compiled", flush=True)
host(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "by, status, last",
    rest_slow(
        [
            (signal.SIGINT, 130, "dsl: stopped"),
            (signal.SIGALRM, 124, "dsl: stopped: it ran longer than --timeout allows"),
        ],
        1,
    ),
)
def test_a_program_that_hangs_shows_where(by, status, last, tmp_path):
    (tmp_path / "hangs.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, "-m", "dsl", "--timeout", "1000", "hangs.py"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout.readline() == "compiled\n"
        time.sleep(1)  # it has nothing left to do but to launch
        program.send_signal(by)
        _, said = program.communicate(timeout=600)
    assert program.returncode == status
    assert "hangs.py:9:11: STOPPED\n    while x != end:\n" in said
    assert "warp 0 lane 0: in the loop at hangs.py:9, " in said
    assert said.endswith(last + "\n")


def test_the_other_blocks_of_a_cluster_are_listed():
    """Block 0 runs for ever; block 1, which it has met, is ready to go on."""
    meet = "barrier.cluster.arrive; barrier.cluster.wait;"
    text = stopped(
        f"mov.u32 %r3, %cluster_ctarank; {meet} setp.eq.u32 %p, %r3, 1; @%p ret;" + SPIN, 64, 2, cluster=(2, 1, 1)
    )
    lines = text.splitlines()
    assert lines[lines.index("    block (1, 0, 0):") + 1 :] == ["        warps 0-1: ready to run"]
    assert IN_LOOP in text
