"""Native host functions: called through ctypes, calling back, libc, refusals."""

import ctypes
import gc

import pytest

from dsl.lower import host
from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.passes import LoweringError, convert_to_llvm

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int32)
PROGRAM = r"""
llvm.mlir.global internal constant @format("n=%d\0A\00")
llvm.func @dprintf(i32, !llvm.ptr, ...) -> i32
llvm.func @report(i64, i32) -> i32
llvm.func @host(%block: !llvm.ptr) -> i32 {
  %handle = llvm.load %block : !llvm.ptr -> i64
  %address = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %n = llvm.load %address : !llvm.ptr -> i32
  %stdout = arith.constant 1 : i32
  %format = llvm.mlir.addressof @format : !llvm.ptr
  %printed = llvm.call @dprintf(%stdout, %format, %n) vararg(!llvm.func<i32 (i32, ptr, ...)>)
      : (i32, !llvm.ptr, i32) -> i32
  %twice = arith.addi %n, %n : i32
  %status = llvm.call @report(%handle, %twice) : (i64, i32) -> i32
  llvm.return %status : i32
}
"""


def compiled(program: str) -> str:
    return to_llvm_ir(convert_to_llvm(program, debug_lines=False))


def address_of(callback) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value


def test_host_function_prints_and_calls_back(capfd):
    seen = []
    callback = CALLBACK(lambda handle, value: seen.append((handle, value)) or 7)
    native = host.native(compiled(PROGRAM), {"report": address_of(callback)}, keep_alive=(callback,))
    function = native.function("host", ctypes.c_int32, ctypes.c_void_p)
    del native, callback
    gc.collect()
    block = (ctypes.c_int64 * 2)(1 << 40, 21)
    assert function(ctypes.addressof(block)) == 7
    assert seen == [(1 << 40, 42)]
    assert capfd.readouterr().out == "n=21\n"


def test_two_modules_with_the_same_names_live_side_by_side():
    text = "llvm.func @host(%x: i32) -> i32 {{ %0 = arith.constant {0} : i32\n llvm.return %0 : i32 }}"
    natives = [host.native(compiled(text.format(value)), {}) for value in (1, 2)]
    functions = [native.function("host", ctypes.c_int32, ctypes.c_int32) for native in natives]
    assert [function(0) for function in functions] == [1, 2]


def test_host_arithmetic_rounds_after_each_operation():
    text = """llvm.func @host(%x: f32, %y: f32, %z: f32) -> f32 {
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %m, %z : f32
      llvm.return %s : f32 }"""
    function = host.native(compiled(text), {}).function("host", ctypes.c_float, *[ctypes.c_float] * 3)
    assert function(1.0000001, 1.0000001, -1.0000002) == 0.0


def test_bad_input_is_refused_by_name():
    with pytest.raises(LoweringError, match="host linking: nobody defines no_such_function"):
        host.native(compiled("llvm.func @no_such_function()\nllvm.func @host() {\n"
                             "llvm.call @no_such_function() : () -> ()\n llvm.return }"), {})
    with pytest.raises(LoweringError, match="parsing error"):
        host.native("nonsense", {})
