"""A kernel as regions and thread by thread: equal bits, equal reports."""

from __future__ import annotations

import numpy as np

from dsl import emulator
from dsl.emulator.translate.region_code import RegionCode
from tests.emulator.conftest import HEADER, pack

LARGE = 1 << 40  # threads of a launch that is compiled with care


class Pair:
    """One kernel in both shapes; `regions`: whether it has the second, None where it may."""

    def __init__(self, body: str, regions: bool | None = True):
        params = ".param .u64 out, .param .u64 data, .param .u32 n"
        self.ptx = f"{HEADER}.visible .entry k({params})\n{{\n{REGISTERS}{body}\n}}\n"
        self.programs = emulator.Program(self.ptx), emulator.Program(self.ptx)
        self.programs[0].code("k", 1)
        self.programs[1].code("k", LARGE)
        self.has_regions = isinstance(self.programs[1]._compiler.source("k", False)[0], RegionCode)
        assert regions in (None, self.has_regions)

    def run(self, grid=1, block=32, words=4096, n=0, cut=None):
        """`out` and `data` (one buffer) and the report of each program; `cut`: the byte that splits `data` in two."""
        answers = []
        buffer = np.empty(2 * words + 256, np.uint32)
        base = (-buffer.ctypes.data % 256) // 4
        out, data = buffer[base : base + words], buffer[base + words + 64 : base + 2 * words + 64]
        shape = block if isinstance(block, tuple) else (block, 1, 1)
        for program in self.programs:
            out[:], data[:] = 0, np.arange(words, dtype=np.uint32) * 2654435761
            memory, split = emulator.Memory(), words * 4 if cut is None else cut
            memory.register(out.ctypes.data, words * 4, "out")
            memory.register(data.ctypes.data, split, "data")
            if cut is not None:
                memory.register(data.ctypes.data + cut, words * 4 - cut, "more")
            report = None
            try:
                emulator.launch(program, "k", (grid, 1, 1), shape, [pack(out), pack(data), pack(np.uint32(n))], memory)
            except emulator.Fault as fault:
                report = fault
            answers.append((out.copy(), data.copy(), report))
        return answers

    def same(self, **shape):
        """The bits of `out`, after both agreed on everything."""
        (out, data, report), (out2, data2, report2) = self.run(**shape)
        assert report is None and report2 is None
        np.testing.assert_array_equal(out, out2)
        np.testing.assert_array_equal(data, data2)
        return out

    def faults(self, **shape):
        """The report of both."""
        first, second = (row[2] for row in self.run(**shape))
        assert str(first) == str(second) != "None"
        return second


REGISTERS = """
  .shared .align 16 .b8 smem[4096];
  .reg .b32 %t, %tx, %ty, %tz, %nx, %ny, %n, %i, %j, %k, %r, %s, %u; .reg .b64 %out, %data, %o, %p64, %h, %g;
  .reg .f32 %x, %y, %z; .reg .pred %p, %q; .reg .b16 %w; .reg .f64 %d; .reg .b32 %v<4>;
  ld.param.u64 %out, [out]; ld.param.u64 %data, [data]; ld.param.u32 %n, [n];
  mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %tz, %tid.z; mov.u32 %nx, %ntid.x; mov.u32 %ny, %ntid.y;
  mad.lo.u32 %t, %tz, %ny, %ty; mad.lo.u32 %t, %t, %nx, %tx;
  mul.wide.u32 %o, %t, 4; add.s64 %g, %data, %o; add.s64 %o, %out, %o;
"""
SHAPES = [1, 7, 32, 256, 1000, (8, 5, 1), (16, 16, 1), (5, 3, 4), (1, 64, 1)]
