"""Compiled functions as object files, called from Python and from C where nothing is compiled.

Modules tested here: dsl/launch/export/object_file.py, dsl/lower/exported.py.
"""

import pickle
import subprocess

import pytest

from dsl.core.errors import DSLUserCodeValueError
from dsl.launch.export.object_file import FORMAT, read_about
from tests import fork_server

EXPORT = """
import cutlass, cutlass.cute as cute
import cuda.bindings.driver as cuda
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream

@cute.kernel
def kernel(out: cute.Tensor, a: cute.Tensor, x: cutlass.Float32):
    i = cute.arch.thread_idx()[0]
    if i < cute.size(a):
        out[i] = a[i] + x

@cute.jit
def add(out: cute.Tensor, a: cute.Tensor, x: cutlass.Float32, stream: cuda.CUstream):
    if cute.size(a) > 32:
        raise ValueError("too many")
    kernel(out, a, x).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)

n = cute.sym_int(divisibility=2)
vector = make_fake_compact_tensor(cutlass.Float32, (n,))
compiled = cute.compile(add, vector, vector, 1.0, make_fake_stream())
compiled.export_to_c("built", "add_file", "add")
"""
C = """
#include "built/add_file.h"
static add_Kernel_Module_t module;
int open_it(void) { return add_Kernel_Module_Load(&module); }
int run(float *out, float *a, int n, float x) {
    add_Tensor_out_t to = {out, {n}};
    add_Tensor_a_t from = {a, {n}};
    return cute_dsl_add_wrapper(&module, &to, &from, x, NULL);
}
int close_it(void) { return add_Kernel_Module_Unload(&module); }
int main(void) { return open_it(); }
"""
HEAD = """
import numpy as np, cuda.bindings.driver as cuda
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from dsl.core import trace
from dsl.launch.call.compiling import compiler
trace.trace_host = compiler.compile_modules = None  # whoever traces or compiles fails
out, a = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
def t(array):
    return from_dlpack(array).mark_layout_dynamic()
def error_of(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(' when')[0].partition(chr(10))[0]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, needs):
    needs("cc", "build-essential")
    folder = tmp_path_factory.mktemp("exported")
    run(folder, EXPORT)
    (folder / "program.c").write_text(C)
    strict = ["cc", "-std=c99", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror"]
    cc(folder, "cc", "-shared", "-o", "libadd.so", "built/add_file.o")
    cc(folder, *strict, "-shared", "-fPIC", "-o", "caller.so", "program.c", "built/add_file.o")
    cc(folder, "c++", "-Wall", "-Werror", "-x", "c++", "program.c", "-x", "none", "built/add_file.o", "-o", "alone")
    return folder


def cc(folder, *command):
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def run(folder, program: str) -> str:
    (folder / "author.py").write_text(program)
    done = fork_server.run(["-m", "dsl", "--device", "emulator", "author.py"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("file", ["built/add_file.o", "libadd.so"])
def test_an_object_and_a_library_run_without_compiling(folder, file):
    body = f"""
module = cute.runtime.load_module({file!r})
module.add(t(out), t(a), 1.5, cuda.CUstream(0))
module["add"](out, a, x=2.5, stream=0)
print(out.tolist())
"""
    assert run(folder, HEAD + body) == f"{[i + 2.5 for i in range(8)]}\n"


def test_a_call_that_does_not_fit_is_refused(folder):
    body = """
add = cute.runtime.load_module("built/add_file.o").add
print(error_of(lambda: add(t(out), t(a.astype(np.float64)), 1.0, 0)))
print(error_of(lambda: add(t(out), t(a[:4]), 1.0, 0)))
print(error_of(lambda: add(*[t(np.zeros(34, np.float32))] * 2, 1.0, 0)))
"""
    assert run(folder, HEAD + body).splitlines() == [
        "ValueError: Mismatched a.dtype on argument #1",
        "ValueError: Mismatched a.shape[0] on argument #1",
        "ValueError: author.py:15:9: ValueError",
    ]


def test_an_object_of_another_release_or_python_is_refused():
    line = b"compiled function, format 1, python 3.1\n"
    with pytest.raises(DSLUserCodeValueError) as refused:
        read_about(line + b"data", "the function `add` of built/add.o")
    assert refused.value.id == "EXPORT_OTHER_FORMAT"
    message = (
        f"the function `add` of built/add.o was exported by another release ({line.decode().strip()}), this one reads "
    )
    assert message + FORMAT.decode().strip() in str(refused.value)
    assert read_about(FORMAT + pickle.dumps({"a": 1}), "it") == {"a": 1}


def test_files_and_names_that_are_not_there_are_refused(folder):
    body = """
open("no.o", "w").write("text")
print(error_of(lambda: cute.runtime.load_module("nowhere.o")))
print(error_of(lambda: cute.runtime.load_module("no.o")))
print(error_of(lambda: cute.runtime.load_module("libadd.so").sub))
"""
    assert [line.partition(": ")[0] for line in run(folder, HEAD + body).splitlines()] == [
        "DSLUserCodeValueError",
        "DSLUserCodeValueError",
        "DSLUserCodeAttributeError",
    ]


def test_c_runs_it_on_the_emulator(folder):
    body = """
import ctypes
library = ctypes.CDLL("./caller.so")
def call(n):
    out = cuda.cuMemAlloc(4 * n)[1]
    given = np.arange(n, dtype=np.float32)
    a = cuda.cuMemAlloc(4 * n)[1]
    cuda.cuMemcpyHtoD(a, given.ctypes.data, 4 * n)
    code = library.run(*(ctypes.c_void_p(int(each)) for each in (out, a)), n, ctypes.c_float(2))
    cuda.cuMemcpyDtoH(given.ctypes.data, out, 4 * n)
    return code, float(given[-1])
print(library.open_it(), call(8), call(40)[0], library.close_it())
"""
    assert run(folder, "import numpy as np, cuda.bindings.driver as cuda\n" + body) == "0 (0, 9.0) -1 0\n"


def test_a_process_without_a_driver_prints_the_name_of_the_library(folder):
    done = subprocess.run(["./alone"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (35, "exported kernels need the CUDA driver: no cuInit in libcuda.so.1\n")


def test_functions_that_cannot_be_exported_are_refused(folder):
    program = (
        EXPORT
        + """
@cute.jit
def number(x: cutlass.Int32):
    return x + 1

def error_of(call):
    try:
        call()
    except Exception as error:
        return f"{error.id}: {error.message}"
print(error_of(lambda: cute.compile(number, 1).export_to_c("built", "number")))
print(error_of(lambda: compiled.export_to_c("built", "no-name")))
"""
    )
    assert run(folder, program).splitlines() == [
        "EXPORT_UNSUPPORTED: `number` returns numbers, which an exported function cannot",
        "EXPORT_BAD_NAME: function_prefix must be a C identifier, got 'no-name'",
    ]


@pytest.mark.slow
def test_tvm_ffi_finds_a_function_exported_for_python(tmp_path, needs):
    pytest.importorskip("tvm_ffi")
    needs("cc", "build-essential")
    program = (
        EXPORT.replace('"built", "add_file", "add"', '"built/add.o", function_name="add"').replace(
            "make_fake_stream())", "make_fake_stream(), options='--enable-tvm-ffi')"
        )
        + """
import subprocess, torch, tvm_ffi
subprocess.run(["cc", "-shared", "-o", "add.so", "built/add.o", *cute.runtime.find_runtime_libraries()], check=True)
a, out = torch.arange(4.), torch.zeros(4)
for file in ("add.so", "built/add.o"):
    add = cute.runtime.load_module(file, enable_tvm_ffi=True).add
    assert isinstance(add, tvm_ffi.Function)
    add(out, a, 3.0, 0)
    print(out.tolist())
try:
    tvm_ffi.load_module("./add.so").add(out)
except RuntimeError as error:
    print(str(error).partition(":")[0])
"""
    )
    values = "[3.0, 4.0, 5.0, 6.0]\n"
    assert run(tmp_path, program) == values * 2 + "this function was exported for Python\n"
