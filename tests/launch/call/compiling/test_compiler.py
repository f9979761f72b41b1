"""Compiled functions: options, argument blocks, launches, errors that cross the native function."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from dsl import alias
from dsl.core.errors import DSLUserCodeError
from dsl.launch import session
from dsl.launch.call.compiling import compiler as compilation
from dsl.launch.call.compiling.compiler import Options
from dsl.launch.devices.choice import choose
from dsl.launch.devices.protocol import Device, DeviceMissing, Launch


class Recorder(Device):
    """A device that records its calls, and fails if a test wants it."""

    kind, arch = "emulator", "sm_90a"

    def __init__(self):
        self.loaded, self.launches, self.live, self.syncs, self.failure = [], [], {}, 0, None

    def facts(self):
        return {"kind": self.kind, "name": "recorder", "driver": None, "arch": self.arch}

    def register(self, address, nbytes, label):
        self.live[address] = (nbytes, label)

    def unregister(self, address):
        self.live.pop(address, None)

    def load(self, ptx):
        self.loaded.append(ptx)
        return ptx

    def launch(self, program, entry, launch, params):
        self.launches.append((entry, launch, [bytes(param) for param in params], dict(self.live)))
        if self.failure:
            raise self.failure

    def sync(self):
        self.syncs += 1


@pytest.fixture
def recorder(monkeypatch):
    made = Recorder()
    monkeypatch.setattr(session, "choose", lambda kind=None: made)
    made.session = alias.install("emulator")
    yield made
    alias.uninstall()


@pytest.fixture
def scale(recorder):
    """`a[i] *= x` on n threads, twice when `twice`."""
    import cutlass
    import cutlass.cute as cute

    @cute.kernel
    def kernel(a: cute.Tensor, x: cutlass.Float32, n: cutlass.Int32):
        i, _, _ = cute.arch.thread_idx()
        if i < n:
            a[i] = a[i] * x

    @cute.jit
    def host(a: cute.Tensor, x: cutlass.Float32, n: cutlass.Int32):
        kernel(a, x, n).launch(grid=((n + 31) // 32, 1, 1), block=(32, 1, 1), smem=16 * n)
        kernel(a, x, n).launch(grid=(1, 2, 1), block=(32, 1, 1), stream=7)

    return host


def test_launches_arrive_in_order_with_their_parameters(recorder, scale):
    a = torch.ones(70)
    scale(a, 2.0, 70)
    (first, launch, params, live), (second, other, _, _) = recorder.launches
    assert (first, second) == ("kernel_kernel_0", "kernel_kernel_1")
    assert launch == Launch((3, 1, 1), (32, 1, 1), (1, 1, 1), 1120, 0)
    assert other == Launch((1, 2, 1), (32, 1, 1), (1, 1, 1), 0, 7)
    pointer, extent, x, n = params
    assert int.from_bytes(pointer, "little") == a.data_ptr() and int.from_bytes(extent, "little") == 70
    assert np.frombuffer(x, np.float32) == 2 and int.from_bytes(n, "little") == 70
    assert live == {a.data_ptr(): (280, "a")} and recorder.live == {} and recorder.syncs == 1


def test_same_text_is_compiled_and_loaded_once(recorder, scale):
    compilation._codes.clear()
    import cutlass.cute as cute

    a = torch.ones(70)
    compiled = cute.compile(scale, a, 2.0, 70)
    compiled(a, 3.0, 40)
    compiled(torch.ones(10), 4.0, 10)
    scale(a, 2.0, 70)
    assert len(compilation._codes) == 1
    assert len(recorder.launches) == 6 and [record.name for record in recorder.session.kernels] == [
        "kernel_kernel_0",
        "kernel_kernel_1",
    ]
    assert recorder.session.kernels[0].launches[0] == {"grid": [2, 1, 1], "block": [32, 1, 1], "smem_bytes": 640}


def test_error_of_a_launch_is_raised_and_nothing_is_launched_after_it(recorder, scale):
    recorder.failure = KeyError("from the device")
    a = torch.ones(70)
    with pytest.raises(KeyError, match="from the device"):
        scale(a, 2.0, 70)
    assert len(recorder.launches) == 1 and recorder.live == {}


def test_the_host_function_ends_with_the_launch_that_failed(recorder, capfd):
    import cutlass
    import cutlass.cute as cute

    @cute.kernel
    def kernel(n: cutlass.Int32):
        cute.arch.sync_threads()

    @cute.jit
    def host(n: cutlass.Int32):
        for i in range(n):
            if i == 2:
                kernel(i).launch(grid=(1, 1, 1), block=(1, 1, 1))
                cute.printf("launched {}", i)
            cute.printf("trip {}", i)
        cute.printf("done {}", n)
        return n

    assert host(4) == 4
    assert capfd.readouterr().out == "trip 0\ntrip 1\nlaunched 2\ntrip 2\ntrip 3\ndone 4\n"
    recorder.failure = KeyError("from the device")
    with pytest.raises(KeyError):
        host(4)
    assert capfd.readouterr().out == "trip 0\ntrip 1\n"


def test_interrupt_crosses_the_native_function(recorder, scale):
    recorder.failure = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        scale(torch.ones(70), 2.0, 70)


def test_host_only_function_needs_no_device(monkeypatch, capfd):
    def no_device(kind=None):
        raise AssertionError("asked for a device")

    monkeypatch.setattr(session, "choose", no_device)
    from dsl.cutlass import Int32, cute

    @cute.jit
    def hello(n: Int32):
        cute.printf("n = {}", n + 1)

    hello(4)
    assert capfd.readouterr().out == "n = 5\n"


def test_options_of_upstream():
    options = Options.from_text("--gpu-arch sm_80 --keep-ptx --enable-tvm-ffi --opt-level=2")
    assert options == Options("sm_80", 2, keep_ptx=True, enable_tvm_ffi=True)
    assert Options.from_text("") == Options()
    with pytest.raises(DSLUserCodeError) as error:
        Options.from_text("--gpu-arch sm_80 --nonsense")
    assert error.value.id == "CONFIG_MALFORMED_COMPILE_OPTIONS" and "--nonsense" in error.value.message


def test_kept_ptx_is_a_file_too(recorder, scale, tmp_path):
    import cutlass.cute as cute

    compiled = cute.compile(scale, torch.ones(4), 2.0, 4, options=f"--gpu-arch sm_80 --keep-ptx --dump-dir {tmp_path}")
    assert (tmp_path / "host.sm_80.ptx").read_text() == compiled.__ptx__
    assert ".target sm_80\n" in compiled.__ptx__


def test_cuda_without_a_driver_is_an_error():
    from dsl.launch.devices import cuda

    if cuda.present():
        pytest.skip("this machine has a GPU")
    with pytest.raises(DeviceMissing, match="no CUDA (driver|GPU) on this machine: "):
        choose("cuda")
    with pytest.raises(ValueError, match="unknown device 'tpu'; known: emulator, cuda"):
        choose("tpu")


def test_facts_of_a_session(recorder, scale):
    scale(torch.ones(70), 2.0, 70)
    facts = session.current().facts()
    assert facts["device"]["kind"] == "emulator" and len(facts["kernels"]) == 2
    assert ".visible .entry kernel_kernel_1(" in facts["kernels"][1]["ptx"]


@pytest.mark.slow
def test_importing_brings_nothing_that_only_compiling_needs():
    """Modules that cost most of an import are not in a process that has not compiled anything yet."""
    heavy = ["numpy", "llvmlite.binding", "dsl.emulator", "importlib.metadata", "argparse", "torch"]
    program = (
        "import sys; from dsl import alias; alias.install('emulator'); import cutlass, cutlass.cute as cute\n"
        f"print([name for name in {heavy} if name in sys.modules]); import numpy; print(numpy.ones(2).sum())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("[]\n2.0\n", "")


def test_a_device_need_not_do_what_is_optional(recorder, scale):
    """It has no order of threads, no checks, nothing to announce and no machine code that launches."""
    running = recorder.session
    running.schedule(1)
    running.look_for("all")
    running.announce(print)
    scale(torch.ones(4), 2.0, 4)
    scale(torch.ones(4), 2.0, 4)
    assert [entry for entry, *_ in recorder.launches] == ["kernel_kernel_0", "kernel_kernel_1"] * 2
    assert recorder.launch_entry is recorder.native_calls is None
