"""A loaded module: loaded once a text, and its machine code is all that another process needs."""

import subprocess
import sys

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.execute.program import Program

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
STORES_7 = (
    HEADER
    + """.file 1 "kernel.py"
.visible .entry k(.param .u64 out) {
  .reg .b64 %a; ld.param.u64 %a, [out];
  .loc 1 12 5
  st.global.b32 [%a], 7; ret; }"""
)
LAUNCH = """
import ctypes, sys
from dsl import emulator
from pathlib import Path

program = emulator.{loaded}
buffer = ctypes.create_string_buffer(16)
address = ctypes.addressof(buffer)
memory = emulator.Memory()
memory.register(address, 16, "out")
emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), [address.to_bytes(8, "little")], memory)
print(buffer.raw[0], sorted(name for name in sys.modules if name.startswith({unwanted})))
"""
COMPILER = "dsl.emulator.translate", "dsl.emulator.families.table", "dsl.emulator.ir."
# Of large and of checked launches.
UNUSUAL = (
    "dsl.emulator.dependence", "dsl.emulator.translate.checked", "dsl.emulator.translate.region",
    "dsl.emulator.translate.traced", "dsl.emulator.translate.uniform_branches", "dsl.emulator.check.clocks", "numpy",
)  # fmt: skip


def test_a_text_is_loaded_once_unless_it_has_variables():
    assert emulator.load(STORES_7) is emulator.load(STORES_7)
    with_variable = STORES_7.replace(".visible", ".global .b32 v = 1;\n.visible", 1)
    assert emulator.load(with_variable) is not emulator.load(with_variable)


def test_the_place_of_a_loc():
    program = emulator.load(STORES_7)
    place = program.place_of((1, 12, 5))
    assert (place.file, place.line, place.column) == ("kernel.py", 12, 5)
    assert program.place_of((2, 12, 5)) is program.place_of((1, 0, 0)) is program.place_of(None) is None


def test_the_lines_of_a_temporary_source_are_known_after_its_end(tmp_path):
    source = tmp_path / "kernel.cu"
    ptx = STORES_7.replace("kernel.py", str(source))
    for text in ("x[0] = 7;", "out[0] = 7;"):  # of a source that takes the place of another one
        source.write_text(text)
        program = Program(ptx)
        source.unlink()
        assert program.place_of((1, 1, 1)).source_line() == text


def test_a_process_with_machine_code_imports_no_compiler(tmp_path):
    path = tmp_path / "object"
    path.write_bytes(emulator.load(STORES_7).object_bytes())
    program = LAUNCH.format(loaded="Program.from_object(Path(sys.argv[1]).read_bytes())", unwanted=COMPILER)
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert run.stdout == "7 ['dsl.emulator.ir.places']\n", run.stderr


def test_a_small_first_launch_imports_neither_regions_nor_checks(tmp_path):
    path = tmp_path / "kernel.ptx"
    path.write_text(STORES_7.replace("st.global", "fence.sc.sys; st.global"))
    program = LAUNCH.format(loaded="load(Path(sys.argv[1]).read_text())", unwanted=UNUSUAL)
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert run.stdout == "7 []\n", run.stderr


# Entries of which some have, or call, an instruction that is not supported.
SOME_REFUSED = (
    HEADER
    + """.file 1 "kernel.py"
.func helper() { .loc 1 30 3
  suq.width.b32 [0], 0; ret; }
.func outer() { call helper, (); ret; }
.func unused() { frobnicate.u32; ret; }
.visible .entry direct() { .loc 1 9 4
  txq.width.b32 [0], 0; ret; }
.visible .entry calls() { call outer, (); ret; }
"""
    + STORES_7.removeprefix(HEADER).replace('.file 1 "kernel.py"', "")
)


def run(program: emulator.Program, entry: str) -> int:
    buffer = np.zeros(4, np.uint32)
    memory = emulator.Memory()
    memory.register(buffer.ctypes.data, 16, "out")
    params = [buffer.ctypes.data.to_bytes(8, "little")] * len(program.entries[entry].params)
    emulator.launch(program, entry, (1, 1, 1), (1, 1, 1), params, memory)
    return int(buffer[0])


@pytest.mark.parametrize("from_object", [False, True])
@pytest.mark.parametrize("entry, place, opcode, ptx_line", [
    ("direct", "kernel.py:9:4", "txq.width.b32", 10),
    ("calls", "kernel.py:30:3", "suq.width.b32", 6),
])  # fmt: skip
def test_an_instruction_that_is_not_supported_refuses_its_entry_alone(from_object, entry, place, opcode, ptx_line):
    program = emulator.load(SOME_REFUSED)
    if from_object:
        program = emulator.Program.from_object(program.object_bytes())
    assert program.refused == {"direct", "calls"} and set(program.entries) == {"direct", "calls", "k"}
    for checks in ((), ("race", "undefined")):
        with pytest.raises(emulator.Unsupported) as caught:
            emulator.launch(program, entry, (1, 1, 1), (1, 1, 1), [], emulator.Memory(), checks=checks)
        assert str(caught.value).startswith(f"{place}: UNSUPPORTED_PTX `{opcode}`: the emulator does not support this")
        assert f"PTX line {ptx_line}: {opcode}" in str(caught.value)
    assert run(program, "k") == 7


@pytest.mark.parametrize("wrong", ["add.s32 %r, 1;", "bra NOWHERE;", "mov.b32 %r, 08;", "ld.global.b32 %r, 5;", "5;"])
def test_text_that_is_not_ptx_refuses_the_module(wrong):
    text = STORES_7 + f".visible .entry other() {{ .reg .b32 %r;\n{wrong}\nret; }}"
    with pytest.raises(emulator.PtxError, match="PTX line 9: "):
        emulator.load(text)
