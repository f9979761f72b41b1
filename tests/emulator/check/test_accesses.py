"""The accesses of a launch that other launches may race with."""

import numpy as np
import pytest

from dsl import emulator

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 sums) {
.reg .b32 %r<6>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [sums];
mov.u32 %r4, %tid.x; mul.wide.u32 %rd4, %r4, 8; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;
ld.global.u32 %r1, [%rd5]; st.global.u32 [%rd6], %r1; st.global.u32 [%rd6+4], %r1;
red.global.add.u32 [%rd3], %r1; red.cta.global.add.u32 [%rd3+8], %r1; ret; }
"""


@pytest.fixture(scope="module")
def runs():
    """The runs by kind: the parameter, where they begin, how many bytes they have, the instruction."""
    arrays = [np.zeros(1 << 24, np.uint32), np.zeros(64, np.uint32), np.zeros(4, np.uint32)]  # mostly untouched
    memory, program, found = emulator.Memory(), emulator.load(PTX), []
    for array in arrays:
        memory.register(array.ctypes.data, array.nbytes, "array")
    starts = [arrays[0].ctypes.data + 40_000, arrays[1].ctypes.data, arrays[2].ctypes.data]
    params = [start.to_bytes(8, "little") for start in starts]
    emulator.launch(program, "k", (1, 1, 1), (8, 1, 1), params, memory, checks=("race",), accessed=found.append)

    def told(row):
        number = max(range(3), key=lambda each: (starts[each] <= row["lo"], starts[each]))
        return number, int(row["lo"]) - starts[number], int(row["hi"] - row["lo"]), sites[row["site"]].text.split()[0]

    (one,) = found
    sites = one.sites
    return {kind: [told(row) for row in rows] for kind, rows in one.runs.items()}


READ, WRITE, STRONG_WRITE = 0, 1, 3


def test_bytes_between_reads_are_not_read(runs):
    assert runs[READ] == [(0, 8 * thread, 4, "ld.global.u32") for thread in range(8)]


def test_writes_by_two_instructions_are_two_runs(runs):
    rows = [row for row in runs[WRITE] if row[0] == 1]
    assert [row[1:3] for row in rows] == [(4 * word, 4) for word in range(16)]


def test_an_atomic_is_strong_unless_it_is_for_its_block_alone(runs):
    assert runs[STRONG_WRITE] == [(2, 0, 4, "red.global.add.u32")]
    assert [row for row in runs[WRITE] if row[0] == 2] == [(2, 8, 4, "red.cta.global.add.u32")]


HEAP = """
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.visible .entry k() { .reg .b64 %p;
{ .param .b64 n0; .param .b64 r0; st.param.b64 [n0], 8; call (r0), malloc, (n0); ld.param.b64 %p, [r0]; }
st.u64 [%p], %p; ret; }
"""


def test_the_heap_of_device_code_does_not_belong_to_the_program():
    found = []
    emulator.launch(
        emulator.load(HEAP), "k", (1, 1, 1), (1, 1, 1), [], emulator.Memory(), checks=("race",), accessed=found.append
    )
    assert found[0].runs == {}
