"""Threads that wait many times: the values are as in numpy, and the time to compile them grows with their number."""

import time

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.translate import coroutine
from tests.emulator.conftest import HEADER

LANES = np.arange(32)


def kernel(waits: int) -> str:
    """Each lane shuffles and sums, `waits` times in a row; then a branch that one thread takes makes coroutines."""
    lines = [
        ".visible .entry k(.param .u64 out, .param .u32 rounds) {",
        ".reg .b32 %t, %a, %b, %c, %x, %y, %k, %n; .reg .b64 %o, %f, %w; .reg .b128 %q; .reg .pred %p, %s;",
        "ld.param.u64 %o, [out]; ld.param.u32 %n, [rounds]; mov.u32 %t, %tid.x; mul.wide.u32 %f, %t, 8;",
        "add.s64 %o, %o, %f; mov.u32 %a, %t; mul.lo.u32 %b, %t, %t; mov.u32 %c, 1; mov.u32 %k, 0;",
        "mov.b128 %q, {%o, %f}; setp.gt.u32 %s, %t, 40;\nNEXT:",
    ]
    for i in range(waits):
        lines += [
            f"shfl.sync.bfly.b32 %x, %a, {1 << i % 5}, 31, -1; add.u32 %b, %b, %x; xor.b32 %y, %b, %c;",
            "setp.lt.u32 %p, %y, %b; selp.b32 %c, %y, %c, %p; add.u32 %a, %a, %c;",
            *(["@%s bar.sync 0; @!%s vote.sync.ballot.b32 %x, %p, -1; add.u32 %a, %a, %x;"] if i % 8 == 7 else []),
        ]
    lines += [
        "add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %n; @%p bra NEXT;",
        "setp.ne.u32 %p, %t, 3; @%p bra DONE; add.u32 %a, %a, 7;\nDONE:",
        "mov.b128 {%w, %f}, %q; st.global.v2.u32 [%w], {%a, %b}; ret; }",
    ]
    return HEADER.replace("8.0", "8.3") + "\n".join(lines)


def expected(waits: int, rounds: int) -> np.ndarray:
    a, b, c = LANES.astype(np.uint32), (LANES * LANES).astype(np.uint32), np.ones(32, np.uint32)
    for i in (i for _ in range(rounds) for i in range(waits)):
        b = b + a[LANES ^ (1 << i % 5)]
        y = b ^ c
        c = np.where(y < b, y, c)
        a = a + c
        if i % 8 == 7:
            a = a + np.uint32(sum(1 << lane for lane in range(32) if (y < b)[lane]))
    a[3] += 7
    return np.stack([a, b], axis=1)


@pytest.mark.parametrize("waits", [coroutine.MOST_SUSPENSIONS // 2, 2 * coroutine.MOST_SUSPENSIONS])
def test_registers_live_on(machine, waits):
    out = np.zeros((32, 2), np.uint32)
    machine.run(kernel(waits), block=32, out=out, rounds=3)
    assert np.array_equal(out, expected(waits, 3))


@pytest.mark.slow
def test_the_time_to_compile_grows_with_the_number_of_waits():
    def seconds(waits: int) -> float:
        program = emulator.load(kernel(waits))
        start = time.process_time()
        program.code("k", 0)
        return time.process_time() - start

    for _ in range(3):  # others use the machine too
        few, many = seconds(64), seconds(512)  # 8 times as many: 64 times as long if LLVM computes all again
        if many < 16 * few:
            return
    pytest.fail(f"64 waits take {few:.2f} s, 512 waits {many:.2f} s")
