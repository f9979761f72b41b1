"""Kernels that get pageable memory of the host: the error names where the tensor was made, and the fix cures it."""

import ctypes
import sys
import warnings

import numpy as np
import pytest
import torch

from dsl.core.errors import PortabilityWarning
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.launch.devices.host_memory import PageableMemory
from dsl.launch.devices.protocol import Launch

COPY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 7; ret; }"""


@cute.kernel
def add_one(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    x[t] = x[t] + 1


@cute.jit
def host(x: cute.Tensor):
    add_one(x).launch(grid=(1, 1, 1), block=(4, 1, 1))


@cute.jit
def host_that_reads(x: cute.Tensor, counts: cute.Tensor):
    if counts[0] > 0:
        add_one(x).launch(grid=(1, 1, 1), block=(4, 1, 1))


@pytest.fixture
def running():
    yield session.start("emulator")
    session.stop()


def on_gpu():
    return torch.zeros(4, dtype=torch.int32, device="cuda")


PAGEABLE = {
    "zeros": lambda: torch.zeros(4, dtype=torch.int32),
    "a list": lambda: torch.tensor([0, 0, 0, 0], dtype=torch.int32),
    "a sum": lambda: torch.zeros(4, dtype=torch.int32) + 0,
    "a view": lambda: torch.zeros(8, dtype=torch.int32)[4:],
    "a copy to the host": lambda: on_gpu().cpu(),
    "to the CPU": lambda: on_gpu().to("cpu"),
}
FINE = {
    "on the GPU": on_gpu,
    "moved there": lambda: torch.zeros(4, dtype=torch.int32).cuda(),
    "made by a sum there": lambda: on_gpu() + 0,
    "pinned": lambda: torch.zeros(4, dtype=torch.int32).pin_memory(),
    "made pinned": lambda: torch.zeros(4, dtype=torch.int32, pin_memory=True),
}


@pytest.mark.parametrize("name", PAGEABLE)
@pytest.mark.parametrize("passed", [from_dlpack, lambda tensor: tensor], ids=["from_dlpack", "as it is"])
def test_pageable_memory_is_a_finding_where_it_was_made(running, name, passed):
    running.refuse_host_memory()
    x = PAGEABLE[name]()
    with pytest.raises(PageableMemory) as caught:
        host(passed(x))
    fault = caught.value
    assert fault.repro_outcome["outcome"] == "fault" and fault.kind == "out_of_bounds"
    assert fault.place.file == __file__ and fault.place.line == PAGEABLE[name].__code__.co_firstlineno
    assert "this tensor is pageable memory of the host" in str(fault) and "it is passed here" in str(fault)
    assert str(fault).endswith('\nfix: make it with device="cuda", or move it with .cuda()')
    assert x.tolist() == [0] * 4
    host(passed(x.cuda()))  # the fix


@pytest.mark.parametrize("name", FINE)
def test_memory_that_the_device_knows_is_fine(running, name):
    running.refuse_host_memory()
    x = FINE[name]()
    assert x.is_pinned() == ("pinned" in name) and x.is_cuda == ("pinned" not in name)
    for _ in range(4):  # later launches are made without Python
        host(from_dlpack(x))
    assert x.tolist() == [4] * 4


def test_a_program_without_torch_gets_a_fix_without_it(running, monkeypatch):
    running.refuse_host_memory()
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(PageableMemory) as caught:
        host(from_dlpack(np.zeros(4, np.int32)))
    assert str(caught.value).endswith(
        "fix: copy it into memory of cudaMallocManaged (cuda.bindings.runtime), as `repro new --numpy` shows"
    )


@pytest.mark.parametrize("wrap", [lambda array: array, torch.from_numpy], ids=["numpy", "from_numpy"])
def test_an_array_of_numpy_is_named_by_its_parameter(running, wrap):
    """Also where it has the memory of a tensor that is gone."""
    running.refuse_host_memory()
    gone = [torch.zeros(4, dtype=torch.int32) for _ in range(100)]
    del gone
    array = np.zeros(4, np.int32)
    with pytest.raises(PageableMemory) as caught:
        host(from_dlpack(wrap(array)))
    head, line, carets, fix = str(caught.value).splitlines()
    assert line == "    host(from_dlpack(wrap(array)))" and head.endswith("HOST_MEMORY")
    assert "parameter `x` of this call is pageable memory of the host, and `" in carets
    assert fix == "fix: copy it to the GPU: torch.from_numpy(array).cuda()"
    moved = torch.from_numpy(array).cuda()
    host(from_dlpack(moved))
    assert moved.tolist() == [1] * 4


def test_registered_memory_is_fine(running):
    running.refuse_host_memory()
    array = np.zeros(4, np.int32)
    running.device.register(array.ctypes.data, array.nbytes, "registered")
    host(from_dlpack(array))
    running.device.unregister(array.ctypes.data)
    address = running.device.alloc(64, "managed")  # a view of it, in its middle
    view = np.frombuffer((ctypes.c_int32 * 4).from_address(address + 16), np.int32)
    host(from_dlpack(view))
    assert array.tolist() == view.tolist() == [1] * 4


def test_memory_that_only_the_host_reads_is_fine(running):
    running.refuse_host_memory()
    x = on_gpu()
    host_that_reads(x, torch.ones(1, dtype=torch.int32))
    assert x.tolist() == [1] * 4


def test_a_pointer_that_the_program_took_of_a_tensor(running):
    running.refuse_host_memory()
    program = running.device.load(COPY)
    x = torch.zeros(4, dtype=torch.int32)
    with pytest.raises(PageableMemory, match="this tensor is pageable memory of the host, and `k` gets it"):
        running.device.launch(program, "k", Launch((1, 1, 1), (1, 1, 1)), [x.data_ptr().to_bytes(8, "little")])
    gpu = on_gpu()
    running.device.launch(program, "k", Launch((1, 1, 1), (1, 1, 1)), [gpu.data_ptr().to_bytes(8, "little")])
    assert gpu.tolist() == [7, 0, 0, 0]


def test_a_warning_comes_once_and_the_launch_goes_on(running):
    running.warn_of_host_memory()
    x = torch.zeros(4, dtype=torch.int32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", PortabilityWarning)
        for _ in range(3):
            host(from_dlpack(x))
    (warning,) = caught
    assert str(warning.message).startswith("HOST_MEMORY: this tensor is pageable memory of the host, and `")
    assert (warning.filename, warning.lineno) == (
        __file__,
        test_a_warning_comes_once_and_the_launch_goes_on.__code__.co_firstlineno + 2,
    )
    assert x.tolist() == [3] * 4
    with warnings.catch_warnings(), pytest.raises(PageableMemory):
        warnings.simplefilter("error", PortabilityWarning)  # --portable
        host(from_dlpack(torch.zeros(4, dtype=torch.int32)))


def test_tests_that_start_their_own_session_get_no_warning(running):
    x = torch.zeros(4, dtype=torch.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        host(from_dlpack(x))
    assert x.tolist() == [1] * 4
