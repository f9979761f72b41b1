"""A compiled program as bytes: another process runs them without parsing or compiling; bad bytes are refused.

Modules tested here: dsl/emulator/machine/native.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.execute import object_code
from dsl.emulator.machine import native

PTX = """.version 8.0
.target sm_90a
.address_size 64
.file 1 "author.py"
.global .align 4 .u32 step = 5;
.const .align 4 .b8 words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.global .align 8 .u64 where[1] = {words};
.visible .entry loops(.param .u64 out, .param .u32 n)
{
  .reg .b32 %t, %v, %w, %n; .reg .f32 %f; .reg .b64 %o, %off, %p; .reg .pred %past;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off;
  ld.global.u32 %v, [step]; mul.lo.u32 %v, %v, %t;
  ld.global.u64 %p, [where]; ld.u32 %w, [%p+4]; and.b32 %w, %w, 255; add.u32 %v, %v, %w;
  cvt.rn.f32.u32 %f, %v; add.rz.f32 %f, %f, 0f3F000000; cvt.rzi.u32.f32 %v, %f;
  setp.ge.u32 %past, %t, %n;
  .loc 1 7 3
  @!%past st.global.u32 [%o], %v;
  ret;
}
.visible .entry meets(.param .u64 out) .reqntid 32
{
  .shared .align 4 .b8 tile[128];
  .reg .b32 %t, %v, %a; .reg .b64 %o, %off;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off;
  mov.u32 %a, tile; mad.lo.u32 %a, %t, 4, %a;
  add.s64 %off, %off, %o; cp.async.ca.shared.global [%a], [%o], 4; cp.async.wait_all; bar.sync 0;
  xor.b32 %a, %a, 4; ld.shared.u32 %v, [%a]; shfl.sync.bfly.b32 %v, %v, 2, 31, -1;
  st.global.u32 [%o], %v;
  ret;
}
"""
ELSEWHERE = """
import json, sys
import numpy as np
from dsl import emulator
from dsl.emulator.machine import native
from dsl.emulator.execute import program as programs

def never(*arguments):
    raise AssertionError("it was made again")

programs.parse = native.object_code = never
program = emulator.Program.from_object(sys.stdin.buffer.read())
memory = emulator.Memory()
out = np.zeros(32, np.uint32)
memory.register(out.ctypes.data, out.nbytes, "out")
address = out.ctypes.data.to_bytes(8, "little")
emulator.launch(program, "loops", (1, 1, 1), (32, 1, 1), [address, (32).to_bytes(4, "little")], memory)
emulator.launch(program, "meets", (1, 1, 1), (32, 1, 1), [address], memory)
met = out.tolist()
try:
    emulator.launch(program, "loops", (1, 1, 1), (33, 1, 1), [address, (99).to_bytes(4, "little")], memory)
except emulator.Fault as fault:
    text = str(fault).replace(hex(out.ctypes.data + 128), "ADDRESS")
entries = [[e.name, [[p.name, p.size_bytes, p.align_bytes] for p in e.params], e.static_smem_bytes, e.reqntid]
           for e in program.entries.values()]
print(json.dumps([met, text, entries]))
"""


def launched_here(program: emulator.Program, threads: int = 32) -> np.ndarray:
    out, memory = np.zeros(threads, np.uint32), emulator.Memory()
    memory.register(out.ctypes.data, out.nbytes, "out")
    params = [out.ctypes.data.to_bytes(8, "little"), threads.to_bytes(4, "little")]
    emulator.launch(program, "loops", (1, 1, 1), (threads, 1, 1), params, memory)
    return out


@pytest.mark.parametrize("quick", [True, False])
def test_another_process_runs_it_as_it_is(quick):
    program = emulator.Program(PTX)
    if quick:
        launched_here(program)
    data = program.object_bytes()
    run = subprocess.run([sys.executable, "-c", ELSEWHERE], input=data, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    out, text, entries = json.loads(run.stdout)
    first = 5 * np.arange(32) + 5
    assert out == [int(first[t ^ 1 ^ 2]) for t in range(32)]
    assert text.startswith("author.py:7:3: OUT_OF_BOUNDS") and "write of 4 bytes at ADDRESS" in text
    assert "PTX line 17: @!%past st.global.u32 [%o], %v;" in text and "just past the end of `out` (128 bytes)" in text
    assert entries == [["loops", [["out", 8, 8], ["n", 4, 4]], 0, None], ["meets", [["out", 8, 8]], 128, [32, 1, 1]]]


def test_a_program_from_bytes_can_be_optimised_and_stored_again():
    program = emulator.Program(PTX)
    expected = launched_here(program)
    again = emulator.Program.from_object(program.object_bytes())
    assert again.code("loops", 1 << 20) is again.code("loops", 1)  # compiled here, from the text
    np.testing.assert_array_equal(launched_here(again), expected)
    assert again.llvm_ir("loops") == program.llvm_ir("loops")
    third = emulator.Program.from_object(again.object_bytes())
    np.testing.assert_array_equal(launched_here(third), expected)


def test_variables_start_afresh():
    text = PTX.replace("ld.global.u32 %v, [step];", "atom.global.add.u32 %v, [step], 1;")
    program = emulator.Program(text)
    before = launched_here(program)
    data = program.object_bytes()
    np.testing.assert_array_equal(launched_here(emulator.Program.from_object(data)), before)
    assert launched_here(program)[0] == before[0] and launched_here(program)[1] > before[1]


def test_damaged_bytes_are_refused():
    data = emulator.Program(PTX).object_bytes()
    for end in (0, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(emulator.BadObject):
            emulator.Program.from_object(data[:end])
    for position in (3, 20, 42, 60, len(data) // 2, len(data) - 1):
        altered = bytearray(data)
        altered[position] ^= 1
        with pytest.raises(emulator.BadObject):
            emulator.Program.from_object(bytes(altered))


def test_bytes_of_another_emulator_are_refused(monkeypatch):
    data, name = emulator.Program(PTX).object_bytes(), emulator.object_key(PTX)
    monkeypatch.setattr(object_code, "host_key", lambda: "another")
    with pytest.raises(emulator.BadObject, match="another emulator, LLVM or type of machine made it"):
        emulator.Program.from_object(data)
    assert emulator.object_key(PTX) != name


def test_the_key_is_the_texts_own():
    assert emulator.object_key(PTX) == emulator.object_key(PTX) != emulator.object_key(PTX + " ")
    assert len(emulator.object_key(PTX)) == 64


def test_quick_code_that_ran_long_is_optimised():
    program = emulator.Program(PTX)
    launched_here(program)
    quick = program.code("loops", 1)
    assert program.code("loops", 1) is quick and quick.ran_s > 0
    quick.ran_s = 1e6 * quick.compile_s
    optimised = program.code("loops", 1)
    assert optimised is not quick and optimised is program.code("loops", 1 << 20)


def test_the_page_shows_it_as_it_is():
    page = (Path(__file__).parents[3] / "docs" / "emulator.md").read_text()
    texts = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (text,) = (each for each in texts if "object_bytes" in each)
    names: dict = {}
    exec(text, names)
    assert list(names["program"].entries) == ["nothing"]


def test_machine_code_is_found_where_lines_have_moved(monkeypatch):
    class Kept(dict):
        put = dict.__setitem__

    kept, compiled = Kept(), []
    made = native._compiled
    monkeypatch.setattr(native, "_compiled", lambda *args: compiled.append(args) or made(*args))
    monkeypatch.setattr(native, "KEEP_S", 0)
    monkeypatch.setattr(native, "_kept", lambda: kept)
    for line in (7, 9):
        emulator.Program(PTX.replace(".loc 1 7 3", f".loc 1 {line} 3")).code("loops", 32)
    assert len(compiled) == len(kept) > 0
    emulator.Program(PTX.replace("0f3F000000", "0f40000000")).code("loops", 32)
    assert len(compiled) == len(kept) > 1
