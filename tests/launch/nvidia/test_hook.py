"""NVIDIA's compiler on the emulator: programs give the same results as under ours, or state why not.

Modules tested here: dsl/launch/nvidia/tensors.py.
"""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dsl.launch.nvidia import hook
from tests import fork_server

ROOT = Path(__file__).parents[3]
HEAD = """
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
"""


@pytest.fixture
def program(tmp_path):
    def write(text: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.write_text(HEAD + text)
        return path

    return write


def dsl(*arguments, env=None, cwd=None, **options) -> subprocess.CompletedProcess:
    return fork_server.run(
        ["-m", "dsl", *map(str, arguments)], cwd=cwd or ROOT, env={**os.environ, **(env or {})}, **options
    )


# ** programs


def same(both, path, *arguments):
    """Both ended well with one text, which is returned."""
    ours, theirs = both(path, arguments)
    assert (ours.status, theirs.status) == (0, 0), ours.errors + theirs.errors
    assert theirs.output == ours.output
    return ours.output


LOOPS = """
@cute.kernel
def add(x: cute.Tensor, n: cutlass.Int32, c: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    i = b * 32 + t
    if i < n:
        x[i] = x[i] * c + i
    if i == 0:
        cute.printf("kernel %d", n)

@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32, c: cutlass.Constexpr):
    for r in range(n // 35):
        cute.printf("host %d", r)
        add(x, n, c).launch(grid=(cute.ceil_div(n, 32), 1, 1), block=(32, 1, 1))
        if r == 1:
            add(x, n - r, c).launch(grid=(2, 1, 1), block=(32, 1, 1))

x = torch.ones(70, device="cuda")
print("before")
host(from_dlpack(x), 70, 3)
print(x[:3].tolist(), x[69].item())
compiled = cute.compile(host, from_dlpack(x), 70, 5)
other = cute.compile(host, from_dlpack(x), 70, 7)
for n in (35, 70):
    compiled(from_dlpack(x), n)
    other(from_dlpack(x), n)
print(x[:3].tolist(), x[69].item())
"""


def test_direct_calls_compiled_functions_loops_and_prints_in_order(both, program):
    text = same(both, program(LOOPS))
    assert text.startswith("before\nhost 0\nkernel 70\nhost 1\nkernel 70\nkernel 69\n")


PRINTS = """
@cute.jit
def host(n: cutlass.Int32):
    for r in range(n):
        cute.printf("host %d", r)

print("before")
host(2)
print("after")
"""


def test_prints_keep_their_order_if_python_buffers_its_output(program):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    words = [sys.executable, "-m", "dsl", "--compiler", "nvidia", str(program(PRINTS))]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "before\nhost 0\nhost 1\nafter\n"), done.stderr


ARRAYS = """
import numpy as np

@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    out[t] = a[t, 1] * 2

@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=1, block=8)

every = np.arange(48, dtype=np.int32).reshape(8, 6)
for array in (every, every[::-1, 2:], np.asfortranarray(every), torch.from_numpy(every)):
    out = np.zeros(8, np.int64)
    host(from_dlpack(array), from_dlpack(out))
    print(from_dlpack(out).memspace, out.tolist())
compiled = cute.compile(host, from_dlpack(every), from_dlpack(out))
every += 1
compiled(from_dlpack(every), from_dlpack(out))
print(out.tolist())
"""


@pytest.mark.slow
def test_arrays_on_the_cpu_are_device_memory(both, program):
    runs = both(program(ARRAYS))
    assert runs[0].output == runs[1].output and runs[0].output.endswith("\n[4, 16, 28, 40, 52, 64, 76, 88]\n")


SAME_NAMES = """
def make(c):
    @cute.kernel
    def kernel(x: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        x[t] = x[t] * 10 + c
    @cute.jit
    def host(x: cute.Tensor):
        kernel(x).launch(grid=(1, 1, 1), block=(4, 1, 1))
    return host

x = torch.zeros(4, dtype=torch.int32, device="cuda")
functions = [cute.compile(make(c), from_dlpack(x)) for c in (1, 2, 3)]
for function in functions:
    function(from_dlpack(x))
make(4)(from_dlpack(x))
functions[0](from_dlpack(x))
print(x.tolist())
"""


@pytest.mark.slow
def test_programs_of_one_name_are_kept_apart(both, program):
    assert same(both, program(SAME_NAMES)) == "[12341, 12341, 12341, 12341]\n"


HOST_ONLY = """
from cutlass._mlir.dialects import arith

@cute.jit
def host(n: cutlass.Int32):
    rows = arith.addi(n.ir_value(), n.ir_value())
    cute.printf("{}", cute.make_layout((rows, 4), stride=(4, 1)))

cute.compile(host, cutlass.Int32(3))(3)
"""


def test_a_compiled_function_without_kernels_and_extents_that_are_ssa_values(both, program):
    assert same(both, program(HOST_ONLY)) == "(6,4):(4,1)\n"


TVM_FFI = """
@cute.kernel
def kernel(x: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    x[t + n] = 1.0

@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    kernel(x, n).launch(grid=(1, 1, 1), block=(32, 1, 1))

import sys
x = torch.zeros(64, device="cuda")
if sys.argv[1] == "ffi":
    call = cute.compile(host, from_dlpack(x, enable_tvm_ffi=True), 3, options="--enable-tvm-ffi")
    view = x
else:
    call, view = host, from_dlpack(x)
call(view, 3)
print(x.sum().item())
try:
    call(view, 1000)
except Exception:
    if len(sys.argv) == 2:
        raise
call(view, 32)
print(x.sum().item())
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["ffi", "direct"])
def test_a_fault_is_the_emulators_report_of_the_authors_line(both, program, way):
    ours, theirs = both(program(TVM_FFI), [way])
    assert (ours.status, theirs.status, theirs.output) == (1, 1, "32.0\n")
    for run, name in ((ours, "x"), (theirs, "torch float32 tensor of shape (64,)")):
        assert "program.py:10:5:" in run.errors and ": OUT_OF_BOUNDS\n    x[t + n] = 1.0\n" in run.errors
        assert f"3744 bytes past the end of `{name}` (256 bytes)" in run.errors


@pytest.mark.slow
@pytest.mark.parametrize("way", ["ffi", "direct"])
def test_a_fault_that_the_program_catches_leaves_it_running(both, program, way):
    assert same(both, program(TVM_FFI), way, "catch") == "32.0\n61.0\n"


DEADLOCK = """
@cute.kernel
def kernel():
    t, _, _ = cute.arch.thread_idx()
    if t < 32:
        cute.arch.sync_threads()
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)

@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(64, 1, 1))

host()
"""


@pytest.mark.slow
def test_a_deadlock_ends(installed, program):
    run = dsl("--compiler", "nvidia", program(DEADLOCK))
    assert run.returncode == 1
    assert "DEADLOCK" in run.stderr and "warp 0" in run.stderr


CONTEXT = """
import cuda.bindings.driver as cuda
cutlass.cuda.initialize_cuda_context()

@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    x[t] = x[t] + 1.0

@cute.jit
def host(x: cute.Tensor, stream: cuda.CUstream):
    kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1), smem=1024, stream=stream)

x = torch.ones(32, device="cuda")
for stream in (cuda.CUstream(torch.cuda.current_stream().cuda_stream), cutlass.cuda.default_stream()):
    host(from_dlpack(x, assumed_align=16), stream)
    cutlass.cuda.stream_sync(stream)
print(x.sum().item())
"""


@pytest.mark.slow
def test_streams_and_contexts(installed, program):
    run = dsl("--compiler", "nvidia", program(CONTEXT))
    assert (run.stdout, run.stderr) == ("96.0\n", "")


EVENTS = """
from cutlass._mlir.dialects import cuda

@cute.jit
def host():
    stream = cuda.stream_create()[1]
    start, end = cuda.event_create()[1], cuda.event_create()[1]
    cuda.event_record(start, stream=stream)
    cuda.event_record(end, stream=stream)
    cute.printf("%d", cutlass.Int32(cutlass.Float32(cuda.event_elapsed_time(start, end)[1]) < 1000.0))
    cuda.event_destroy(start)
    cuda.stream_synchronize(stream)
    cuda.stream_destroy(stream)
    cuda.device_sync()

@cute.jit
def captures():
    cuda.stream_begin_capture(cuda.stream_create()[1], cuda.StreamCaptureModeEnum.Global)

host()
try:
    captures()
except Exception:
    pass
print("goes on")
"""


def test_events_work_and_what_is_missing_tells_its_name_though_the_program_catches_it(installed, program):
    run = dsl("--compiler", "nvidia", program(EVENTS))
    assert (run.returncode, run.stdout) == (1, "1\ngoes on\n")
    assert run.stderr.strip().endswith(
        "Missing: the compiled host function calls `_cudaStreamBeginCapture`, which the emulator does not have"
    )


@pytest.mark.slow
def test_shows_ptx_and_sass_and_no_stage_of_ours(installed, program, tmp_path):
    path = program(SAME_NAMES)
    shown = dsl("--compiler", "nvidia", "--show", "ptx", "--show", "sass", path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count(".visible .entry kernel_cutlass_kernel_") == 4
    assert "program.py" in shown.stdout and ".loc" in shown.stdout
    assert shown.stdout.count(".text.kernel_cutlass_kernel_") >= 4
    refused = dsl("--compiler", "nvidia", "--show", "mlir", path)
    assert refused.returncode == 2
    assert "--show mlir: NVIDIA's compiler shows ptx and sass" in refused.stderr


@pytest.mark.slow
def test_nothing_is_left_in_the_working_folder(installed, program, tmp_path):
    (tmp_path / "here").mkdir()
    run = dsl("--compiler", "nvidia", program(SAME_NAMES), cwd=tmp_path / "here", env={"PYTHONPATH": str(ROOT)})
    assert run.returncode == 0, run.stderr
    assert list((tmp_path / "here").iterdir()) == []


# ** what is missing


def test_without_the_package_the_error_shows_how_to_install_it(monkeypatch, capsys, program):
    from dsl.__main__ import main

    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["--compiler", "nvidia", str(program(""))]) == 2
    assert capsys.readouterr().err == (
        "dsl: --compiler nvidia needs the package nvidia-cutlass-dsl, which is not installed\n"
        "fix: uv sync --group nvidia    (or: pip install nvidia-cutlass-dsl)\n"
    )
    groups = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text())["dependency-groups"]
    assert any(need.startswith(hook.PACKAGE) for need in groups["nvidia"])


@pytest.mark.parametrize("name", ["DSLCudaRuntimeError", "DSLRuntimeError"])
def test_the_error_of_a_launch_is_the_cause_in_any_release(name):
    from dsl.launch.nvidia.hook import NvidiaSession

    run, failure, error = NvidiaSession(None), ValueError("out of bounds"), type(name, (Exception,), {})("it failed")
    assert run.cause(error) is error  # no launch failed
    run.failure = failure
    assert run.cause(error) is failure
    assert run.cause(KeyError("x")) is not failure  # the program's own
