"""--enable-tvm-ffi: a real tvm_ffi.Function, called by Python and by whoever has only its handle.

Modules tested here: dsl/launch/call/packed_call.py.
"""

import os
from pathlib import Path

import pytest

from tests import fork_server

pytest.importorskip("tvm_ffi")

START = """
import gc, threading
from dsl import alias
alias.install("emulator")
import cutlass, cutlass.cute as cute
import torch, tvm_ffi
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor

def error_of(function, *arguments):
    try:
        function(*arguments)
    except (TypeError, ValueError) as error:
        return type(error).__name__ + ": " + str(error).partition(" when calling: ")[0] + \\
            " ..." + str(error).partition("`, ")[2]
    return "no error"

def handle_of(function):
    "The function as C++ has it: a handle, and nothing of Python."
    tvm_ffi.register_global_func("test.handle", function, override=True)
    return tvm_ffi.get_global_func("test.handle")
"""

PUT = (
    START
    + """
@cute.jit
def put(a: cute.Tensor, b: cute.Tensor, i: cutlass.Int32, f: cutlass.Float32, flag: cutlass.Boolean, u: cutlass.Uint8):
    for k, value in enumerate((i, f, flag, u, cute.size(a, mode=[0]), a[1, 2])):
        b[k] = cutlass.Float32(value)

n = cute.sym_int(divisibility=2)
rows = make_fake_compact_tensor(cutlass.Float32, (n, 8), stride_order=(1, 0), assumed_align=16)
put = cute.compile(put, rows, from_dlpack(torch.zeros(6)), 1, 2.0, True, cutlass.Uint8(3), options="--enable-tvm-ffi")
a, b = torch.arange(32.).view(4, 8), torch.zeros(6)
assert isinstance(put, tvm_ffi.Function) and put._quick is None
put(a, b, 7, 1.5, True, 200)
assert put._quick is not None and b.tolist() == [7, 1.5, 1, 200, 4, 10]
"""
)


@pytest.fixture
def run(tmp_path):
    """`run(program)`: what it prints."""

    def run(program: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(program)
        done = fork_server.run(
            ["-W", "ignore", path], warm="dsl", env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    return run


def test_arguments_are_read_by_machine_code(run):
    """Python's careful way is taken away; what machine code refuses stays refused."""
    run(
        PUT
        + """
put.arguments.bind = lambda *_: 1 / 0
quick = put._machine_call
for values in ((-7, 1.5, False, 0), (2**31 - 1, 3, True, 255), (-2**31, -3.3e38, True, 1)):
    quick(a, b, *values)
    assert b[:4].tolist() == torch.tensor([float(value) for value in values]).tolist(), b
quick(tvm_ffi.from_dlpack(a[:2]), b.numpy(), 1, 1.0, True, 1)
assert b[4:].tolist() == [2, 10]
b.zero_()
for wrong in ((a, b, 1, 1.0, True), (a, b, 2**31, 1.0, True, 1), (a, b, True, 1.0, True, 1), (a, b, 1.0, 1.0, True, 1),
              (a, b, 1, 1e39, True, 1), (a, b, 1, float("nan"), True, 1), (a, b, 1, 2**60, True, 1), \
(a, b, 1, 1.0, 1, 1),
              (a, b, 1, 1.0, True, 256), (a, b, 1, 1.0, True, -1), (a.double(), b, 1, 1.0, True, 1), \
(a, 3, 1, 1.0, True, 1),
              (a[:3], b, 1, 1.0, True, 1), (a[:, :7], b, 1, 1.0, True, 1), (torch.zeros(8, 4).t(), b, 1, 1.0, True, 1),
              (torch.zeros(33)[1:].view(4, 8), b, 1, 1.0, True, 1), (a[0], b, 1, 1.0, True, 1), \
(a, None, 1, 1.0, True, 1),
              (torch.zeros(0, 8), b, 1, 1.0, True, 1), (a, b, 1, "x", True, 1), (a, b[:5], 1, 1.0, True, 1)):
    try:
        quick(*wrong)
    except RuntimeError as error:
        assert str(error) == "refused"
    else:
        raise AssertionError(wrong[1:])
assert not b.any()
"""
    )


@pytest.mark.slow
def test_errors_have_the_words_of_every_call(run):
    said = run(
        PUT
        + """
for function in (put, handle_of(put)):
    print(error_of(function, a, b, 1, 1.0, True))
    print(error_of(function, a.double(), b, 1, 1.0, True, 1))
    print(error_of(function, a[:3], b, 1, 1.0, True, 1))
    print(error_of(function, a, b, "x", 1.0, True, 1))
    print(error_of(function, a, b, [1], 1.0, True, 1).replace("Array", "list"))
    assert error_of(function, a, b, cutlass.Int32(12), 1, 1, 1) == "no error" and b[0] == 12
    assert error_of(function, from_dlpack(a, assumed_align=16), from_dlpack(b), 13, 1, 1, 1) == "no error" \
and b[0] == 13
    assert error_of(function, a.numpy(), b.numpy(), 14, 1, 1, 1) == "no error" and b[0] == 14
put(a, b, 15, f=1.0, flag=True, u=5)
assert b[0] == 15
"""
    ).splitlines()
    assert said[:5] == said[5:] and len(said) == 10
    assert said[:4] == [
        "TypeError: Expects 6 arguments ...got 5, u missing; static ones are part of the code",
        "ValueError: Mismatched a.dtype on argument #0 ...expected to be Float32, got Float64",
        "ValueError: Mismatched a.shape[0] on argument #0 ...expected to be a multiple of 2, got 3",
        "TypeError: Mismatched i on argument #2 ...expected to be Int32, got str",
    ]


def test_the_handle_outlives_the_function_and_threads_may_call_it(run):
    run(
        PUT
        + """
handle = handle_of(put)
del put
gc.collect()
outs = [torch.zeros(6) for _ in range(4)]
def many(out):
    for number in range(300):
        handle(a, out, number, 1.0, True, 1)
        assert out[0] == number
threads = [threading.Thread(target=many, args=(out,)) for out in outs]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
assert [out[0] for out in outs] == [299] * 4
"""
    )


@pytest.mark.slow
def test_on_the_emulator_kernels_run_and_fault_as_always(run):
    said = run(
        START
        + """
@cute.kernel
def kernel(x: cute.Tensor, n: cutlass.Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        x[i] = x[i] + 1.0

@cute.jit
def add(x: cute.Tensor, n: cutlass.Int32):
    kernel(x, n).launch(grid=(1, 1, 1), block=(64, 1, 1))

@cute.jit
def nine(n: cutlass.Int32):
    return n + 9

x = torch.zeros(40, device="cuda")
add = cute.compile(add, x, 40, options="--enable-tvm-ffi")
for function in (add, handle_of(add)):
    function(x, 40)
    function(x, 3)
    try:
        function(x, 50)
    except Exception as error:
        print(type(error).__name__, "OUT_OF_BOUNDS" in str(error) and "x[i] = x[i] + 1.0" in str(error))
assert x.tolist() == [6] * 3 + [4] * 37, x
nine = cute.compile(nine, 1, options="--enable-tvm-ffi")
assert nine(4) == handle_of(nine)(4) == 13
"""
    )
    assert said.split() == ["Fault", "True", "RuntimeError", "True"]


@pytest.mark.slow
def test_on_a_gpu_launches_are_made_by_machine_code_and_told_when_asked(on_gpu):
    said = on_gpu("""
import ctypes
from dsl import alias
alias.install("cuda")
import cutlass, cutlass.cute as cute
import tvm_ffi
from cuda.bindings import driver
from cutlass.cute.runtime import make_ptr
from dsl.launch import session

@cute.kernel
def kernel(x: cute.Pointer, n: cutlass.Int32, by: cutlass.Float32):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        (x + i).store((x + i).load() * by)

@cute.jit
def scale(x: cute.Pointer, n: cutlass.Int32, by: cutlass.Float32, stream: driver.CUstream):
    kernel(x, n, by).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)

running = session.current()
device = running.device
memory = device.alloc(256, "memory")
values = (ctypes.c_float * 64)(*range(64))
device.copy(memory, ctypes.addressof(values), 256)
x = make_ptr(cutlass.Float32, memory, cute.AddressSpace.gmem)
scale = cute.compile(scale, x, 60, 2.0, driver.CUstream(0), options="--enable-tvm-ffi")
scale(x, 60, 2.0, driver.CUstream(0))
through = []
launch, run = type(device).launch, type(scale.compiled).call
type(device).launch = lambda self, *arguments: (through.append(1), launch(self, *arguments))
type(scale.compiled).call = lambda self, *arguments: (through.append(2), run(self, *arguments))[1]
tvm_ffi.register_global_func("test.scale", scale)
for function in (scale, tvm_ffi.get_global_func("test.scale")):
    function(memory, 60, 2.0, 0)
    function(memory, 50, 0.5, 0x5000)
assert not through, through
record, = running.kernels
assert len(record.launches) == 5 and not device._running, record.launches
device.copy(ctypes.addressof(values), memory, 256)
print([values[i] / i for i in (1, 49, 50, 59, 60)])
try:
    scale(0x10, 60, 2.0, 0)
except Exception as error:
    print(type(error).__name__, str(error).replace(chr(10), " | "))
print(len(record.launches))
""")
    values, fault, count, *_ = said.splitlines()
    assert values == "[2.0, 2.0, 8.0, 8.0, 1.0]" and count == "6"
    assert fault.startswith("DeviceError CUDA_ERROR_ILLEGAL_ADDRESS: ") and "in kernel `kernel" in fault


@pytest.mark.slow
def test_tensors_that_require_a_gradient_are_taken_as_by_tvm_ffi(run):
    """The real tvm_ffi takes them, so NVIDIA's compiled functions do; every other way is torch's own, which refuses."""
    assert run(
        START
        + """
f = tvm_ffi.convert(lambda t: t.shape)
@cute.jit
def put(a: cute.Tensor):
    for i in range(cute.size(a)):
        a[i] = a[i] + 1
fake = make_fake_compact_tensor(cutlass.Float32, (4,), assumed_align=4)
by_ffi, plain = cute.compile(put, fake, options="--enable-tvm-ffi"), cute.compile(put, fake)
for device in ("cpu", "cuda"):
    given = torch.ones(4, device=device)
    leaf = torch.ones(4, device=device, requires_grad=True)
    for tensor in (given, leaf, leaf * 2, torch.nn.Parameter(torch.ones(4, device=device))):
        assert f(tensor) == (4,)
        before = tensor.tolist()
        by_ffi(tensor), by_ffi(tensor)
        from_dlpack(tensor, enable_tvm_ffi=True)
        handle_of(by_ffi)(tensor)
        assert tensor.tolist() == [x + 3 for x in before]
        for way in (plain, from_dlpack):
            try:
                way(tensor)
                assert tensor is given
            except TypeError as error:
                assert str(error).endswith("a torch tensor cannot be passed: Can't export tensors that require "
                                           "gradient, use tensor.detach()\\nfix: pass `t.detach()`"), str(error)
    try:
        by_ffi(leaf.double())
    except ValueError as error:
        print(str(error).partition(" when")[0])
"""
    ) == "\n".join(["Mismatched a.dtype on argument #0"] * 2)
