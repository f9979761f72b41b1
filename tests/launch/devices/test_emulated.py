"""Whole programs on the emulator: torch's cuda tensors, numpy arrays, faults, host printf in order.

Modules tested here: dsl/launch/devices/warm_up.py.
"""

import numpy as np
import pytest
import torch

from dsl import alias, emulator
from dsl.core.number.pointer import AddressSpace
from dsl.core.trace import COOPERATIVE, PROGRAMMATIC
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import DeviceError, Launch


@pytest.fixture
def cute():
    session = alias.install("emulator")
    import cutlass.cute as cute

    yield cute
    assert session.device.memory.allocations() is not None
    alias.uninstall()


@pytest.fixture
def saxpy(cute):
    import cutlass

    @cute.kernel
    def kernel(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32, n: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        bid, _, _ = cute.arch.block_idx()
        i = bid * 64 + tid
        if i < n:
            y[i] = a * x[i] + y[i]

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32, n: cutlass.Int32):
        kernel(x, y, a, n).launch(grid=((n + 63) // 64, 1, 1), block=(64, 1, 1))

    return host


def test_cuda_tensors_of_torch(saxpy):
    x, y = torch.arange(200, dtype=torch.float32, device="cuda"), torch.ones(200, device="cuda")
    saxpy(x, y, 2.0, 200)
    torch.cuda.synchronize()
    assert y.is_cuda and torch.equal(y.cpu(), 2 * torch.arange(200, dtype=torch.float32) + 1)


def test_numpy_arrays(saxpy):
    x, y = np.arange(200, dtype=np.float32), np.ones(200, np.float32)
    saxpy(x, y, 2.0, 200)
    assert (y == 2 * np.arange(200) + 1).all()


def test_a_compiled_function_takes_other_sizes(cute, saxpy):
    import cutlass
    from cutlass.cute.runtime import make_fake_compact_tensor

    n = cute.sym_int()
    fakes = [make_fake_compact_tensor(cutlass.Float32, (n,)) for _ in range(2)]
    compiled = cute.compile(saxpy, *fakes, cutlass.Float32(0), cutlass.Int32(0), options="--enable-tvm-ffi")
    for size in (1, 64, 1000):
        x, y = torch.rand(size), torch.rand(size)
        wanted = torch.addcmul(y.double(), x.double(), torch.full_like(x, 3).double()).float()
        compiled(x.cuda(), out := y.cuda(), 3.0, size)
        assert torch.equal(out.cpu(), wanted)
    with pytest.raises(ValueError, match=r"Mismatched y.shape\[0\] on argument #1"):
        compiled(torch.ones(4), torch.ones(5), 1.0, 4)


def test_fault_names_the_parameter_and_the_line(saxpy):
    x, y = torch.ones(64, device="cuda"), torch.ones(64, device="cuda")
    with pytest.raises(emulator.Fault) as fault:
        saxpy(x, y, 2.0, 100_000)
    assert fault.value.kind == "out_of_bounds"
    assert fault.value.repro_outcome["file"] == __file__
    assert "y[i] = a * x[i] + y[i]" in str(fault.value)


def test_pointer_into_a_cuda_tensor(cute):
    import cutlass
    from cutlass.cute.runtime import make_ptr

    @cute.kernel
    def kernel(p: cute.Pointer):
        tid, _, _ = cute.arch.thread_idx()
        (p + tid).store(cutlass.Int32(tid * tid))

    @cute.jit
    def host(p: cute.Pointer):
        kernel(p).launch(grid=(1, 1, 1), block=(32, 1, 1))

    out = torch.zeros(32, dtype=torch.int32, device="cuda")
    host(make_ptr(cutlass.Int32, out.data_ptr(), AddressSpace.gmem))
    assert out.tolist() == [i * i for i in range(32)]


def test_host_and_kernel_print_in_order(cute, capfd):
    import cutlass

    @cute.kernel
    def kernel(n: cutlass.Int32):
        cute.printf("kernel {}", n)

    @cute.jit
    def host(n: cutlass.Int32):
        cute.printf("before {}", n)
        kernel(n).launch(grid=(1, 1, 1), block=(1, 1, 1))
        cute.printf("after {}", n)

    print("first")
    host(5)
    print("last", flush=True)
    assert capfd.readouterr().out == "first\nbefore 5\nkernel 5\nafter 5\nlast\n"


MEET = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry meet(.param .u64 out)
{
  .reg .b32 %v, %n; .reg .b64 %o; .reg .pred %p;
  mov.u32 %n, %nctaid.x; ld.param.u64 %o, [out];
  red.release.gpu.global.add.u32 [%o], 1;
WAIT:
  ld.acquire.gpu.global.u32 %v, [%o]; setp.lt.u32 %p, %v, %n; @%p bra WAIT;
  red.global.add.u32 [%o+4], 1;
  ret;
}
"""


def test_blocks_of_a_cooperative_launch_meet_and_too_many_are_refused():
    device = Emulated()
    out = np.zeros(2, np.uint32)
    device.register(out.ctypes.data, out.nbytes, "out")
    program, params = device.load(MEET), [out.ctypes.data.to_bytes(8, "little")]
    device.launch(program, "meet", Launch((200, 1, 1), (1, 1, 1), flags=COOPERATIVE), params)
    assert out.tolist() == [200, 200]
    with pytest.raises(DeviceError) as caught:
        device.launch(program, "meet", Launch((265, 1, 1), (1024, 1, 1), flags=COOPERATIVE), params)
    assert str(caught.value) == (
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: launch of `meet`: 265 blocks are to run at "
        "once; of this shape the device holds 264"
    )
    assert caught.value.error_code.name == "cudaErrorCooperativeLaunchTooLarge" and caught.value.error_code.value == 720


_OVERLAPPING = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .b64 %x; .reg .b32 %v;
  ld.param.u64 %x, [x]; BODY
  ret;
}
"""


@pytest.mark.parametrize("trigger, flags, stream, wait, is_race", [
    (True, PROGRAMMATIC, 0, False, True),
    (True, PROGRAMMATIC, 0, True, False),
    (True, 0, 0, False, False),
    (False, PROGRAMMATIC, 0, False, False),
    (True, PROGRAMMATIC, 7, False, False),
])  # fmt: skip
def test_a_launch_that_may_overlap_the_one_before_has_to_wait_for_it(trigger, flags, stream, wait, is_race):
    device, x = Emulated(), np.zeros(1, np.uint32)
    device.look_for("race")
    device.register(x.ctypes.data, x.nbytes, "x")
    params, shape = [x.ctypes.data.to_bytes(8, "little")], ((1, 1, 1), (1, 1, 1))
    first = "griddepcontrol.launch_dependents; " * trigger + "st.global.u32 [%x], 5;"
    second = "griddepcontrol.wait; " * wait + "ld.global.u32 %v, [%x];"
    device.launch(device.load(_OVERLAPPING.replace("BODY", first)), "k", Launch(*shape), params)
    program = device.load(_OVERLAPPING.replace("BODY", second))
    launch = Launch(*shape, flags=flags, stream=stream)
    if not is_race:
        return device.launch(program, "k", launch, params)
    with pytest.raises(emulator.Fault, match="the launch before"):
        device.launch(program, "k", launch, params)


def test_a_launch_does_not_overlap_a_kernel_without_a_trigger_of_a_module_with_one():
    """PTX ISA 9.7.13.13: griddepcontrol.wait is needed if the grid before uses launch_dependents."""
    device, x = Emulated(), np.zeros(1, np.uint32)
    device.look_for("race")
    device.register(x.ctypes.data, x.nbytes, "x")
    params, shape = [x.ctypes.data.to_bytes(8, "little")], ((1, 1, 1), (1, 1, 1))
    quiet = _OVERLAPPING.replace("BODY", "st.global.u32 [%x], 5;")
    loud = _OVERLAPPING.replace("BODY", "griddepcontrol.launch_dependents; st.global.u32 [%x], 5;")
    head, both = quiet.partition(".visible")[0], quiet + ".visible" + loud.partition(".visible")[2].replace("k(", "t(")
    assert both.startswith(head) and both.count(".visible") == 2
    reader = device.load(_OVERLAPPING.replace("BODY", "ld.global.u32 %v, [%x];"))
    program = device.load(both)
    device.launch(program, "k", Launch(*shape), params)
    device.launch(reader, "k", Launch(*shape, flags=PROGRAMMATIC), params)
    device.launch(program, "t", Launch(*shape), params)
    with pytest.raises(emulator.Fault, match="the launch before"):
        device.launch(reader, "k", Launch(*shape, flags=PROGRAMMATIC), params)
