"""A loaded module: loaded once a text, and its machine code is all that another process needs."""

import subprocess
import sys

from dsl import emulator

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
STORES_7 = (
    HEADER
    + """.file 1 "kernel.py"
.visible .entry k(.param .u64 out) {
  .reg .b64 %a; ld.param.u64 %a, [out];
  .loc 1 12 5
  st.global.b32 [%a], 7; ret; }"""
)
RUN = """
import ctypes, sys
from dsl import emulator
from pathlib import Path

program = emulator.Program.from_object(Path(sys.argv[1]).read_bytes())
buffer = ctypes.create_string_buffer(16)
address = ctypes.addressof(buffer)
memory = emulator.Memory()
memory.register(address, 16, "out")
emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), [address.to_bytes(8, "little")], memory)
compiler = "dsl.emulator.translate", "dsl.emulator.emit."
print(buffer.raw[0], sorted(name for name in sys.modules if name.startswith(compiler)))
"""


def test_a_text_is_loaded_once_unless_it_has_variables():
    assert emulator.load(STORES_7) is emulator.load(STORES_7)
    with_variable = STORES_7.replace(".visible", ".global .b32 v = 1;\n.visible", 1)
    assert emulator.load(with_variable) is not emulator.load(with_variable)


def test_the_place_of_a_loc():
    program = emulator.load(STORES_7)
    place = program.place_of((1, 12, 5))
    assert (place.file, place.line, place.column) == ("kernel.py", 12, 5)
    assert program.place_of((2, 12, 5)) is program.place_of((1, 0, 0)) is program.place_of(None) is None


def test_a_process_with_machine_code_imports_no_compiler(tmp_path):
    path = tmp_path / "object"
    path.write_bytes(emulator.load(STORES_7).object_bytes())
    run = subprocess.run([sys.executable, "-c", RUN, str(path)], capture_output=True, text=True)
    assert run.stdout == "7 ['dsl.emulator.emit.places']\n", run.stderr
