import ctypes

import pytest

from dsl.lower import host
from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.passes import convert_to_llvm
from dsl.lower.rewrites.failed_calls import return_after_failed_call

# Launches 0 and 1 follow each other; 2 is in a branch and in a loop.
LAUNCHES = """
llvm.func @dsl_launch(i64, i32, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @other(i32) -> i32
llvm.func @host(%args: !llvm.ptr) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %run = llvm.load %args : !llvm.ptr -> i64
  %0 = llvm.call @dsl_launch(%run, %zero, %args, %args) : (i64, i32, !llvm.ptr, !llvm.ptr) -> i32
  %1 = llvm.call @dsl_launch(%run, %one, %args, %args) : (i64, i32, !llvm.ptr, !llvm.ptr) -> i32
  %any = llvm.call @other(%two) : (i32) -> i32
  scf.for %i = %zero to %two step %one : i32 {
    %first = arith.cmpi eq, %i, %zero : i32
    scf.if %first {
      %2 = llvm.call @dsl_launch(%run, %two, %args, %args) : (i64, i32, !llvm.ptr, !llvm.ptr) -> i32
    }
    %3 = llvm.call @dsl_launch(%run, %i, %args, %args) : (i64, i32, !llvm.ptr, !llvm.ptr) -> i32
  }
  llvm.return %zero : i32
}"""


@pytest.mark.parametrize("failing", range(6))
def test_the_first_launch_that_fails_ends_the_function(failing):
    launched = []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    def launch(run, index, record, params):
        launched.append(index)
        return 7 if len(launched) == failing + 1 else 0

    other = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(lambda number: number)
    symbols = {"dsl_launch": launch, "other": other}
    code = host.native(
        to_llvm_ir(convert_to_llvm(LAUNCHES, debug_lines=False, after=(return_after_failed_call,))),
        {name: ctypes.cast(function, ctypes.c_void_p).value for name, function in symbols.items()},
    )
    returned = code.function("host", ctypes.c_int32, ctypes.c_void_p)(ctypes.addressof(ctypes.c_int64(0)))
    assert launched == [0, 1, 2, 0, 1][: failing + 1]
    assert returned == (7 if failing < 5 else 0)
