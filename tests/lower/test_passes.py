"""MLIR to the llvm dialect: every dialect of the tracer goes, locations stay."""

import re

import pytest

from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.passes import LoweringError, convert_to_llvm

LOOP = """
#outer = loc("author.py":3:1)
#inner = loc("author.py":5:9)
llvm.func @k(%n: i32, %p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %zero) -> (i32) : i32 {
    %next = arith.addi %acc, %i : i32 loc(#inner)
    scf.yield %next : i32
  } loc(#inner)
  llvm.store %sum, %p : i32, !llvm.ptr<1> loc(#inner)
  llvm.return
} loc(#outer)
"""


def test_loop_becomes_branches_with_places(filecheck):
    filecheck(
        convert_to_llvm(LOOP),
        """
        // CHECK: llvm.func @k
        // CHECK-SAME: nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>
        // CHECK: llvm.br ^[[HEAD:bb[0-9]+]]
        // CHECK: ^[[HEAD]]
        // CHECK: llvm.icmp "slt"
        // CHECK: llvm.cond_br
        // CHECK: llvm.add {{.*}} loc([[PLACE:#.*]])
        // CHECK: [[PLACE]] = loc("author.py":5:9)
        // CHECK: #llvm.di_subprogram<{{.*}}name = "k"{{.*}}line = 3""",
    )


@pytest.mark.parametrize(
    "hint, metadata",
    [("disable = true", '!"llvm.loop.unroll.disable"'), ("count = 4 : i32", '!"llvm.loop.unroll.count", i32 4')],
)
def test_how_to_unroll_reaches_llvm_at_the_end_of_the_body(hint, metadata):
    annotation = f"llvm.loop_annotation = #llvm.loop_annotation<unroll = <{hint}>>"
    llvm_ir = to_llvm_ir(convert_to_llvm(LOOP.replace("  } loc(#inner)", f"  }} {{{annotation}}} loc(#inner)")))
    assert len(re.findall(r"(?m)^  br label .*, !llvm\.loop !\d+$", llvm_ir)) == 1
    assert metadata in llvm_ir


def test_without_debug_lines_there_is_no_scope():
    assert "di_subprogram" not in convert_to_llvm(LOOP, debug_lines=False)


def test_every_dialect_of_the_tracer_is_converted(filecheck):
    text = convert_to_llvm("""
        llvm.func @k(%v: vector<4xf32>, %x: f32, %b: i1, %p: !llvm.ptr) attributes {nvvm.kernel} {
          %t = nvvm.read.ptx.sreg.tid.x : i32
          %w = arith.addf %v, %v fastmath<contract> : vector<4xf32>
          %e = vector.extract %w[2] : f32 from vector<4xf32>
          %r = math.sqrt %x : f32
          %u = ub.poison : f32
          cf.cond_br %b, ^bb1(%e : f32), ^bb2(%u : f32)
        ^bb1(%y: f32):
          llvm.store %y, %p : f32, !llvm.ptr
          llvm.store %t, %p : i32, !llvm.ptr
          cf.br ^bb2(%r : f32)
        ^bb2(%z: f32):
          llvm.store %z, %p : f32, !llvm.ptr
          llvm.return
        }""")
    filecheck(
        text,
        """
        // CHECK-NOT: {{(arith|vector|math|cf|ub)\\.}}
        // CHECK-DAG: llvm.fadd {{.*}}contract{{.*}} : vector<4xf32>
        // CHECK-DAG: llvm.extractelement
        // CHECK-DAG: llvm.intr.sqrt
        // CHECK-DAG: llvm.mlir.poison : f32""",
    )


def test_syntax_error_is_a_lowering_error():
    with pytest.raises(LoweringError, match="(?s)MLIR passes: .*no_such_op"):
        convert_to_llvm("llvm.func @k() { llvm.no_such_op }")


def test_text_that_names_an_op_is_not_an_op():
    convert_to_llvm('llvm.mlir.global internal constant @format("y = math.erf(x) = %f\\0A")')


def test_an_op_without_a_conversion_is_named():
    with pytest.raises(LoweringError, match="no conversion to the llvm dialect for math.erf"):
        convert_to_llvm("llvm.func @k(%a: f32) -> f32 { %0 = math.erf %a : f32\n llvm.return %0 : f32 }")
