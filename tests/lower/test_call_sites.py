"""The calls that lead to a place, from MLIR's locations to `.loc ... inlined_at` of PTX."""

import re

import pytest

from dsl.core.ir import mlir
from dsl.emulator.ptx.parse import parse
from dsl.lower import sass
from dsl.lower.call_sites import into_file_names, into_inlined_at
from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.nvptx import to_ptx
from dsl.lower.passes import convert_to_llvm
from tests.emulator.diagnosis.test_frames import CUDA

KERNEL = """module {
 llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %0 = llvm.load volatile %a : !llvm.ptr<1> -> i32 loc("k.py":2:3)
  %1 = llvm.load volatile %a : !llvm.ptr<1> -> i32 loc(callsite("h.py":31:5 at callsite("h.py":22:7 at "k.py":3:9)))
  llvm.store volatile %0, %a : i32, !llvm.ptr<1> loc(callsite("h.py":31:5 at "other.py":9:1))
  llvm.store volatile %1, %a : i32, !llvm.ptr<1> loc(callsite("h.py":31:5 at callsite("h.py":22:7 at "k.py":4:9)))
  llvm.return loc("k.py":5:3)
 } loc("k.py":1:1)
}"""
CHAINS = [  # of the loads and stores: file, line, and the calls
    ("k.py", 2, []),
    ("h.py", 31, [("h.py", 22, 7), ("k.py", 3, 9)]),
    ("h.py", 31, [("other.py", 9, 1)]),
    ("h.py", 31, [("h.py", 22, 7), ("k.py", 4, 9)]),
]


def ptx_of(arch: str = "sm_90a") -> str:
    text = mlir.ir.Module.parse(KERNEL, mlir.context).operation.get_asm(enable_debug_info=True)
    return to_ptx(to_llvm_ir(convert_to_llvm(text)), arch)


def test_calls_come_through_all_stages():
    module = parse(ptx_of())
    rows = []
    for item in module.functions["k"].items:
        if getattr(item, "opcode", "") in ("ld", "st") and "global" in item.mods:
            callers = [(module.files[file], line, column) for file, line, column in item.callers]
            rows.append((module.files[item.loc[0]], item.loc[1], callers))
    assert rows == CHAINS


@pytest.mark.parametrize("arch", ["sm_90a", "sm_89"])
def test_ptxas_takes_it_and_makes_the_same_code(arch):
    ptx = ptx_of(arch)
    plain = re.sub(r", function_name .*$", "", ptx, flags=re.MULTILINE).partition("\t.section")[0]
    assert "inlined_at" in ptx and sass.disassemble(sass.assemble(ptx)) == sass.disassemble(sass.assemble(plain))


def test_ptx_that_is_older_than_inlined_at_has_the_places_alone():
    ptx = ptx_of("sm_80")
    assert ".version 7.0" in ptx and "inlined_at" not in ptx and " <- " not in ptx
    assert re.findall(r"\.file\t\d+ \"(.*)\"", ptx).count("h.py") == 1


def test_a_call_is_named_after_its_own_place():
    """Each inlined_at is the place of a .loc before it: PTX ISA 11.5.3."""
    seen = set()
    for line in re.findall(r"\.loc\t(.*)", ptx_of()):
        place, _, caller = line.partition(", function_name $L__inlined, inlined_at ")
        assert not caller or caller in seen
        seen.add(place)


def test_texts_without_calls_stay_as_they_are():
    ptx = '\t.loc\t1 2 3\n\tret;\n\t.file\t1 "k.py"\n'
    assert into_inlined_at(ptx) is ptx and into_file_names("module {}") == "module {}"


def test_names_of_files_with_blanks_and_colons():
    name = "C: my <kernels>/k.py"
    text = f'#loc1 = loc("{name}":2:3)\n#loc2 = loc("{CUDA}":7:1)\n#loc3 = loc(callsite(#loc1 at #loc2))\n'
    assert into_file_names(text).splitlines()[2] == f'#loc3 = loc("{name} <- {CUDA}:7:1":2:3)'
    ptx = f'.version 8.0\n\t.loc\t1 2 3\n\tret;\n\t.file\t1 "{name} <- {CUDA}:7:1"\n'
    assert into_inlined_at(ptx).splitlines()[1:6] == [
        "\t.loc\t3 7 1", "\t.loc\t2 2 3, function_name $L__inlined, inlined_at 3 7 1", "\tret;",
        f'\t.file\t2 "{name}"', f'\t.file\t3 "{CUDA}"',
    ]  # fmt: skip
