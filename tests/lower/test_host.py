"""Native host functions: called through ctypes, calling back, libc, refusals.

Modules tested here: dsl/lower/cpu_builtins.py.
"""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

from dsl.lower import host, llvm
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
        host.native(
            compiled(
                "llvm.func @no_such_function()\nllvm.func @host() {\n"
                "llvm.call @no_such_function() : () -> ()\n llvm.return }"
            ),
            {},
        )
    with pytest.raises(LoweringError, match="parsing error"):
        host.native("nonsense", {})


_SEVEN = "define i32 @host(ptr %block) {\n  ret i32 7\n}\n"


def test_a_fork_waits_for_the_linker():
    """Its child would wait for good for the locks of another thread's link."""
    code, linking, forked = host.object_code(_SEVEN), threading.Event(), threading.Event()

    def link_for_long():
        with llvm._linking:
            linking.set()
            forked.wait(0.3)

    thread = threading.Thread(target=link_for_long)
    thread.start()
    linking.wait()
    child = os.fork()
    if child == 0:
        answer = 1
        try:
            signal.alarm(60)
            answer = host.link(code, {}).function("host", ctypes.c_int32, ctypes.c_void_p)(None)
        finally:
            os._exit(answer)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_linkers_in_threads_while_code_dies():
    codes = [host.object_code(_SEVEN.replace("7", str(number))) for number in range(4)]
    wrong = []

    def link_many(first: int):
        held = []
        for turn in range(60):
            number = (first + turn) % 4
            held.append(host.link(codes[number], {}).function("host", ctypes.c_int32, ctypes.c_void_p))
            wrong.extend([number] * (held[-1](None) != number))
            del held[turn % 5 :: 7]

    threads = [threading.Thread(target=link_many, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("work", ("host.link(code, {})", "host.object_code(text)"))
def test_without_memory_llvm_is_not_asked(work):
    """LLVM would end the process."""
    program = f"""
import resource
from dsl.lower import host, llvm
text = {_SEVEN!r}
code = host.object_code(text)
host.link(code, {{}})
used_bytes = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used_bytes + (8 << 20), resource.RLIM_INFINITY))
try:
    {work}
except MemoryError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "LLVM needs up to 32 MiB, but this process can allocate no more\n"), (
        run.stderr
    )


def test_code_and_its_constants_stay_together_in_a_fragmented_process():
    """One-page holes above 5 GiB that are taken: code of two pages fits below only, its constants fit the holes."""
    program = r"""
import ctypes
from dsl.lower import host
terms = "\n".join(f" %a{i} = call double @floor(double %x{i})\n %x{i + 1} = fadd double %a{i}, {i % 7 + 1.5}"
                  for i in range(600))
code = host.object_code(f"declare double @floor(double)\ndefine double @host(double %x0) {{\n{terms}\n"
                        " ret double %x600\n}\n")
kept = [host.link(code, {})]
libc, page_bytes, gib = ctypes.CDLL(None), 4096, 1 << 30
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
libc.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t

def take(size_bytes):
    return libc.mmap(None, size_bytes, 0, 0x22, -1, 0)
for size_bytes in (1 << 20, 1 << 16, 1 << 14, page_bytes):
    for _ in range(10000):
        take(size_bytes)
holes, taken = take(900 * page_bytes), take(5 * gib)
while take(2 * page_bytes) > taken:
    continue
for number in range(450):
    libc.munmap(holes + 2 * number * page_bytes, page_bytes)
for _ in range(20):
    kept.append(host.link(code, {}))
    print(kept[-1].function("host", ctypes.c_double, ctypes.c_double)(1.0))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    expected = 1.0
    for number in range(600):
        expected = expected // 1 + number % 7 + 1.5
    assert run.stdout.split() == [str(expected)] * 20, run.stderr
