"""MLIR text as Python objects: ops, values, attributes, regions and places as the text has them."""

import pytest

from dsl.analysis.mlir_reader import read

TEXT = """
module {
  llvm.mlir.global internal constant @text("hi\\00") {addr_space = 4 : i32}
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  llvm.func @k(%a: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32 loc("k.py":12:5)
    %r = scf.for %i = %zero to %n step %one iter_args(%x = %t) -> (i32) : i32 {
      %y = arith.addi %x, %i overflow<nsw> : i32
      scf.yield %y : i32
    }
    llvm.store %r, %a {alignment = 4 : i64} : i32, !llvm.ptr<1>
    llvm.br ^last
  ^last:
    llvm.return
  }
}
"""


@pytest.fixture(scope="module")
def module():
    return read(TEXT)


def test_the_contents_of_a_module(module):
    assert [kernel.attributes["sym_name"] for kernel in module.kernels] == ["k"]
    assert list(module.globals) == ["text"] and list(module.declared) == ["vprintf"]


def test_blocks_that_follow_each_other_are_one(module):
    (body,) = module.kernels[0].blocks
    assert [op.name for op in body.ops] == [
        *("arith.constant", "arith.constant", "llvm.call_intrinsic", "scf.for", "llvm.store", "llvm.return")
    ]
    assert [value.type for value in body.arguments] == ["!llvm.ptr<1>", "i32"]


def test_operands_are_the_values_themselves(module):
    zero, one, thread, loop, store, _ = module.kernels[0].blocks[0].ops
    a, n = module.kernels[0].blocks[0].arguments
    assert loop.operands == [zero.result, n, one.result, thread.result] and store.operands == [loop.result, a]
    add, last = loop.blocks[0].ops
    index, carried = loop.blocks[0].arguments
    assert add.operands == [carried, index] and last.operands == [add.result]
    assert carried.op is None and carried.owner is loop.blocks[0] and loop.blocks[0].owner is loop
    assert add.result.defining_op is add and add.block is loop.blocks[0]


def test_attributes_are_python_values_and_places_spans(module):
    zero, _, thread, loop, store, _ = module.kernels[0].blocks[0].ops
    assert zero.attributes == {"value": 0} and store.attributes["alignment"] == 4
    assert loop.blocks[0].ops[0].attributes == {}  # overflow flags mean nothing here
    assert thread.callee == "nvvm.read.ptx.sreg.tid.x" and zero.callee == ""
    assert (thread.place.file, thread.place.line, thread.place.column) == ("k.py", 12, 5)
    assert (zero.place.file, zero.place.line) == ("-", 6)  # the text itself


def test_walking_goes_into_regions_in_order(module):
    assert [op.name for op in module.kernels[0].walk()][4:7] == ["scf.for", "arith.addi", "scf.yield"]


def test_text_that_is_not_mlir_is_refused():
    with pytest.raises(Exception, match="Unable to parse"):
        read("llvm.func @k(")
