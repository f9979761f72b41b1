"""Modules that end MLIR or LLVM are reports and the next one compiles; plain ones need no guard."""

import ctypes
import os
import random
import re
import subprocess
import warnings

import pytest

from dsl.core.diagnosis.author_traceback import CompilerFault
from dsl.core.ir import mlir
from dsl.cutlass import Float32, cute
from dsl.cutlass.cute.runtime import make_fake_compact_tensor
from dsl.lower import guard, host, machine_code, nvptx
from dsl.lower.guard import LoweringCrash, guarded
from dsl.lower.machine_code import compile_modules, is_plain
from dsl.lower.passes import LoweringError

HOST = """module {
  llvm.func @host(%arg0: !llvm.ptr) -> i32 {
    %c1 = arith.constant 1 : i32
    %0 = llvm.alloca %c1 x i32 {alignment = 8 : i64} : (i32) -> !llvm.ptr
    %1 = llvm.load %arg0 {alignment = 8 : i64} : !llvm.ptr -> i64
    %2 = arith.trunci %1 : i64 to i32
    %3 = scf.for %i = %c1 to %2 step %c1 iter_args(%s = %c1) -> (i32) : i32 {
      %5 = arith.addi %s, %i : i32
      scf.yield %5 : i32
    }
    llvm.store %3, %0 {alignment = 4 : i64} : i32, !llvm.ptr
    %4 = llvm.call @dsl_launch(%1, %3, %0, %arg0) : (i64, i32, !llvm.ptr, !llvm.ptr) -> i32
    llvm.return %4 : i32
  }
  llvm.func @dsl_launch(i64, i32, !llvm.ptr, !llvm.ptr) -> i32
}
"""
PLAIN = """#loc1 = loc("k.py":1:2)
module {
  llvm.func @k(%arg0: !llvm.ptr<1> loc("k.py":1:2), %arg1: i32 loc("k.py":1:2), %arg2: f32 loc(unknown)) \
attributes {dsl.names = "a,n,x", nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>} {
    %0 = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32 loc(#loc1)
    %1 = arith.cmpi slt, %0, %arg1 : i32 loc(#loc1)
    %2 = scf.if %1 -> (f32) {
      %3 = arith.extsi %0 : i32 to i64 loc(#loc1)
      %4 = llvm.getelementptr %arg0[%3] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32 loc(#loc1)
      %5 = llvm.load %4 {alignment = 4 : i64} : !llvm.ptr<1> -> f32 loc(#loc1)
      %6 = arith.mulf %5, %arg2 : f32 loc(#loc1)
      %7 = arith.cmpf olt, %6, %5 : f32 loc(#loc1)
      %8 = arith.select %7, %5, %6 : f32 loc(#loc1)
      %9 = arith.fptosi %8 : f32 to i16 loc(#loc1)
      %10 = arith.constant 7 : i32 loc(#loc1)
      %11 = arith.divsi %0, %10 : i32 loc(#loc1)
      %12 = arith.shli %11, %0 : i32 loc(#loc1)
      %13 = arith.sitofp %12 : i32 to f64 loc(#loc1)
      llvm.store %8, %4 {alignment = 4 : i64} : f32, !llvm.ptr<1> loc(#loc1)
      scf.yield %8 : f32 loc(#loc1)
    } else {
      scf.yield %arg2 : f32 loc(#loc1)
    } loc(#loc1)
    %14 = llvm.getelementptr %arg0[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8 loc(#loc1)
    llvm.store %2, %14 {alignment = 4 : i64} : f32, !llvm.ptr<1> loc(#loc1)
    llvm.return loc(#loc1)
  } loc(#loc1)
} loc(#loc1)
"""


# --- what ends MLIR or LLVM -----------------------------------------------------------------------------------------


def module(body, arguments="%a: !llvm.ptr<1>, %i: i32, %f: f32", before="", attributes=""):
    return (
        f"module {{\n{before}\nllvm.func @k({arguments}) attributes {{nvvm.kernel{attributes}}} {{\n{body}\n"
        "llvm.return }\n}"
    )


# text -> the last line of the child, "" if it ends without a word
ENDS = {
    # diagnosed by MLIR's translation, which then reads through a null pointer
    module(
        'llvm.call_intrinsic "llvm.nvvm.no.such"(%i) : (i32) -> ()'
    ): 'could not find LLVM intrinsic: "llvm.nvvm.no.such"',
    module('%0 = llvm.call_intrinsic "llvm.sqrt"(%i) : (i32) -> i32'): "expected any fp or fp vector, but got i32",
    module('%0 = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"(%i) : (i32) -> i32'): "expects 0",
    module('llvm.call_intrinsic "llvm.memcpy"(%a) : (!llvm.ptr<1>) -> ()'): "incorrect number of args",
    module("gpu.barrier"): "unsupported GPU operation: gpu.barrier",
    module("%0 = memref.alloca() : memref<4xf32>"): "missing `LLVMTranslationDialectInterface` registration",
    module("", attributes=', passthrough = [["noinline", "5"]]'): "LLVM attribute 'noinline' does not expect a value",
    module(
        "", before='llvm.mlir.global @g() : i32 {\n%1 = llvm.inline_asm "x", "=r" : () -> i32\nllvm.return %1 : i32 }'
    ): "unemittable constant value",
    # found by LLVM's verifier after the translation, whose module is then null as well
    module('llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%i) : (i32) -> ()'): "immarg operand",
    module("%0 = llvm.bitcast %i : i32 to f64"): "Invalid bitcast",
    module("%0 = llvm.trunc %i : i32 to i64"): "DestTy too big for Trunc",
    module("%0 = llvm.sitofp %i : i32 to vector<4xf32>"): "must both be vector or scalar",
    module("%0 = llvm.load %a {alignment = 4611686018427387904 : i64} : !llvm.ptr<1> -> i32"): "huge alignment",
    module('%0 = llvm.alloca %i x !llvm.struct<"x", opaque> : (i32) -> !llvm.ptr'): "Cannot allocate unsized type",
    module("%0 = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.void"): "unsized type",
    module("", before="llvm.mlir.global @g(dense<[1, 2]> : tensor<2xi32>) : !llvm.array<3 x f32>"): "does not match",
    module("", arguments="%a: !llvm.ptr {llvm.sret = i32}, %b: !llvm.ptr {llvm.sret = i32}"): "multiple 'sret'",
    module("", arguments="%a: !llvm.metadata"): "takes metadata",
    module("", arguments="%a: i32 {llvm.range = #llvm.constant_range<i64, 0, 5>}"): "incompatible type",
    module("", before="llvm.func @llvm.nvvm.read.ptx.sreg.tid.x(i32) -> f32"): "return type expected i32",
    module("llvm.switch %i : i32, ^b [ 1: ^b, 1: ^b ]\n^b:"): "Duplicate integer",
    module(
        'llvm.intr.dbg.value #llvm.di_local_variable<scope = #llvm.di_file<"x" in "y">, name = "x"> = %i : i32'
    ): "local variable requires a valid scope",
    # the passes or the parser themselves
    "module attributes {dlti.dl_spec = #dlti.dl_spec<i32 = dense<5> : vector<2xi64>>} { llvm.func @k() "
    "{ llvm.return } }": "LLVM ERROR: ABI alignment must be non-zero",
    "module { llvm.mlir.ifunc @i : !llvm.func<void ()>, !llvm.ptr @k }": "",
    "module attributes {x.y = " + "[" * 100_000 + "]" * 100_000 + "} {}": "",
    # LLVM's code generation
    module(
        '%0 = llvm.call_intrinsic "llvm.nvvm.tcgen05.relinq.alloc.permit.cg1"() : () -> ()'.partition("= ")[2]
    ): "Cannot select",
}


@pytest.mark.slow
def test_a_module_that_ends_the_compiler_is_a_report():
    """Each as a kernel and, as long as the text makes one, as a host function; the next compiles."""
    for text, words in ENDS.items():
        kernels = "k for sm_90a" if "nvvm.kernel" in text else "a host function"
        assert not is_plain(text) and not is_plain(text, on_host=True), text
        with pytest.raises(LoweringCrash) as crash:
            compile_modules(HOST, text, "sm_90a")
        first, _, said = str(crash.value).partition("\n")
        assert re.fullmatch(f"the compiler died of SIG(SEGV|ABRT) while compiling {kernels}", first), text
        assert words in said and bool(words) == bool(said), (text, said)
        if not re.search("Cannot select|valid scope", words):  # of NVPTX, of a module with debug lines
            on_host = text.replace("@k(", "@host(").replace("nvvm.kernel", 'dsl.names = ""')
            assert not is_plain(on_host, on_host=True)
            with pytest.raises(LoweringCrash, match="while compiling a host function"):
                compile_modules(on_host, "", "sm_90a")
    assert ".entry k(" in compile_modules(HOST, PLAIN.replace("olt", "ueq").replace("0[8]", "0[9]"), "sm_90a")[1]
    assert guarded(len, "abc", subject="text") == 3


def test_a_module_that_a_stage_refuses_is_the_same_error_with_a_guard_and_without():
    for old, new in (
        ("arith.mulf", "arith.muli"),
        ("%3 = arith.extsi", "%3 = no.such"),
        ("i32 to i64", "i64 to i32"),
        ("%5, %arg2", "%99, %arg2"),
    ):
        wrong, errors = PLAIN.replace(old, new), []
        for text in (wrong, wrong + "// vector"):
            with pytest.raises(LoweringError) as refused:
                compile_modules(HOST, text, "sm_90a")
            errors.append((refused.value.stage, refused.value.text))
        assert errors[0] == errors[1] and errors[0][0] == "MLIR passes"
    with pytest.raises(LoweringError, match="unknown GPU arch 'sm_1'; known: "):
        compile_modules(HOST, PLAIN, "sm_1")
    unknown = HOST.replace("dsl_launch", "no_such_function")
    for text in (unknown, unknown + "// vector"):
        with pytest.raises(LoweringError, match="^host linking: nobody defines no_such_function$"):
            compile_modules(text, PLAIN, "sm_90a")


def test_a_library_that_is_loaded_after_the_child_began_is_known(needs, tmp_path):
    guarded(len, "abc", subject="text")
    source, library = tmp_path / "late.c", tmp_path / "late.so"
    source.write_text("int loaded_late(void) { return 5; }")
    subprocess.run([needs("cc", "gcc"), "-shared", "-fPIC", "-o", library, source], check=True)
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    text = """llvm.func @loaded_late() -> i32
        llvm.func @host(%a: !llvm.ptr) -> i32 {
          %v = llvm.mlir.undef : vector<2xi8>
          %0 = llvm.call @loaded_late() : () -> i32
          llvm.return %0 : i32 }"""
    assert not is_plain(text, on_host=True)
    made = host.link(compile_modules(text, "", "sm_90a")[2], {})
    assert made.function("host", ctypes.c_int32, ctypes.c_void_p)(None) == 5


@cute.kernel
def calls_an_unknown_intrinsic(a: cute.Tensor):
    a[0] = 1.0
    mlir.intrinsic("llvm.nvvm.no.such", None)


def test_an_author_sees_the_expression_that_ends_the_compiler():
    @cute.jit
    def run(a: cute.Tensor):
        calls_an_unknown_intrinsic(a).launch(grid=1, block=32)

    line = calls_an_unknown_intrinsic.__wrapped__.__code__.co_firstlineno + 3
    with pytest.raises(CompilerFault) as fault, warnings.catch_warnings():
        warnings.simplefilter("error")
        cute.compile(run, make_fake_compact_tensor(Float32, (4,)), options="--gpu-arch sm_90a")
    assert (
        str(fault.value)
        == f"""{os.path.relpath(__file__)}:{line}:5: INTERNAL
    mlir.intrinsic("llvm.nvvm.no.such", None)
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ compiling this ends LLVM with SIGSEGV, by a fault of the compiler
fix: look at the types of its arguments; where they are right, report it with what GPU_REPRO_FULL_TRACEBACK=1 shows"""
    )


# --- plain modules --------------------------------------------------------------------------------------------------


def test_plain_modules_need_no_guard_and_become_the_same(monkeypatch):
    there = guarded(machine_code._compile, HOST, PLAIN, "sm_90a", 3, None, nvptx.to_ptx, subject="k")
    monkeypatch.setattr(machine_code, "guarded", None)
    monkeypatch.setattr(nvptx, "guarded", None)
    assert is_plain(PLAIN) and is_plain(HOST, on_host=True)
    assert compile_modules(HOST, PLAIN, "sm_90a") == there[:3]


def test_a_kernel_that_calls_a_function_of_the_author_is_plain():
    here, there = '#loc1 = loc("k.py":3:5)', '#loc2 = loc("k.py":9:1)'
    assert is_plain(f"{PLAIN}\n{here}\n{there}\n#loc3 = loc(callsite(#loc1 at #loc2))\n")


def test_other_modules_are_guarded():
    changes = [
        ("scf.if %1", "scf.while %1"),
        ("!llvm.ptr<1>", "!llvm.ptr<3>"),
        ("!llvm.ptr<1>", "!llvm.ptr"),
        ("arith.mulf", "arith.remf"),
        ("arith.mulf", "math.powf"),
        (".tid.x", ".laneid"),
        ("f32", "f16"),
        ("f32", "f128"),
        ("%arg1: i32", "%arg1: i128"),
        ("f32", "vector<2xf32>"),
        ("llvm.return", "llvm.unreachable"),
        ("{alignment = 4 : i64}", "{alignment = 4096 : i64}"),
        ("llvm.load", "llvm.load volatile"),
        ("%arg0: !llvm.ptr<1>", "%arg0: !llvm.ptr<1> {llvm.byval = i32}"),
        ("%arg0[8]", "inbounds|%arg0[8]"),
        ("%1 = arith.cmpi", "%b = arith.addi %arg1, %arg1 : i1\n %1 = arith.cmpi"),
        ("nvvm.kernel", "nvvm.maxnreg"),
        ("module {", "module { llvm.mlir.global @g() : i32"),
        ("module {", "module { llvm.func @llvm.abs.i32() -> i32"),
        ("%1 = arith.cmpi", '%x = llvm.inline_asm "", "=r" : () -> i32\n %1 = arith.cmpi'),
        ("  llvm.return", "  %x = arith.addi %0, %0 : i32\n" * 400 + "  llvm.return"),
    ]
    for old, new in changes:
        assert old in PLAIN and not is_plain(PLAIN.replace(old, new)), (old, new)
    for old, new in [
        ("arith.addi", "arith.remf"),
        ("llvm.call", "llvm.invoke"),
        ("i32", "i128"),
        ("module {", "module { llvm.func @llvm.abs.i32() -> i32"),
        ("%1 = llvm", "%x = llvm.mlir.undef : vector<4xi32>\n%1 = llvm"),
    ]:
        assert old in HOST and not is_plain(HOST.replace(old, new), on_host=True), (old, new)


_MUTABLE = re.compile(
    r"!llvm\.ptr<1>|\b(?:i1|i8|i16|i32|i64|f32|f64)\b|arith\.\w+|\bslt\b|\bolt\b|%\w+|"
    r"(?<=constant )\S+|(?<=alignment = )\d+|(?<=\[)\d+(?=\])|256"
)
_TYPES = "i1 i8 i16 i32 i64 f32 f64 !llvm.ptr<1>".split()
_PREDICATES = "eq ne ugt ule slt sge oeq ogt one ord ueq uno true false".split()
_NUMBERS = "0 1 2 3 4 8 16 -1 31 64 99999999999 -2147483649 1.5 0x7FC00001 0xFFFFFFFFFFFFFFFF true 1e400".split()


def mutated(dice, text):
    names, share = re.findall(r"%\w+", text), dice.choice((0.01, 0.02, 0.04))
    ops = sorted(word for word in machine_code._WORDS if word.startswith("arith."))

    def other(token):
        if dice.random() > share:
            return token[0]
        kinds = (
            _TYPES
            if token[0] in _TYPES
            else ops
            if token[0].startswith("arith.")
            else names
            if token[0][0] == "%"
            else _PREDICATES
            if token[0] in _PREDICATES
            else _NUMBERS
        )
        return dice.choice(kinds)

    if dice.random() < 0.6:
        text = re.sub(rf"\b{dice.choice(_TYPES[:7])}\b", dice.choice(_TYPES[:7]), text)
    return _MUTABLE.sub(other, text)


@pytest.mark.slow
def test_no_plain_module_ends_the_compiler():
    """Whatever is wrong in it: an error, or PTX. It runs in the child, so that this test would see it."""
    dice, compiled, refused = random.Random(int(os.environ.get("PLAIN_SEED", "1"))), 0, 0
    for _ in range(int(os.environ.get("PLAIN_COUNT", "80"))):
        on_host = dice.random() < 0.4
        text = mutated(dice, HOST if on_host else PLAIN)
        if is_plain(text, on_host):
            modules = (text, "") if on_host else (HOST, text)
            try:
                guarded(machine_code._compile, *modules, "sm_80", 3, None, nvptx.plain_to_ptx, subject=text)
                compiled += 1
            except LoweringError:
                refused += 1
    assert compiled > 10 and refused > 10


@pytest.mark.slow
def test_a_long_kernel_is_the_last_work_of_its_child():
    """LLVM cannot take the option back that it was compiled with."""
    loads = "\n".join(
        f"%p{k} = llvm.getelementptr %a[{k}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
        f"%v{k} = llvm.load volatile %p{k} {{alignment = 4 : i64}} : !llvm.ptr<1> -> i32"
        for k in range(nvptx.LONG_LINES // 2)
    )
    first = guarded(os.getpid, subject="pid")
    compile_modules(HOST, module("nvvm.barrier"), "sm_90a")
    assert guarded(os.getpid, subject="pid") == first
    compile_modules(HOST, module(loads), "sm_90a")
    assert guard._child is None
    second = guarded(os.getpid, subject="pid")
    compile_modules(HOST, module("nvvm.barrier"), "sm_90a")
    assert guarded(os.getpid, subject="pid") == second != first
