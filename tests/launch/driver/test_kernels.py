"""Modules, kernels, occupancy and launches."""

import textwrap

import pytest

KERNEL = '''
ptx = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b32 g[2] = {5, 6};
.visible .entry k(.param .u64 p, .param .u32 v)
{ .reg .b64 %a, %o; .reg .b32 %r, %v;
 ld.param.u64 %a, [p]; ld.param.u32 %v, [v]; mov.u32 %r, %tid.x; mul.wide.u32 %o, %r, 4; add.s64 %a, %a, %o;
 add.u32 %v, %v, %r; st.global.u32 [%a], %v; ret; }
"""
good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
a = good(d.cuMemAlloc(256))
host = np.zeros(64, np.int32)

def read():
    good(d.cuMemcpyDtoH(host.ctypes.data, a, 256))
    return [int(host[0]), int(host[63])]
'''


def test_modules_load_and_kernels_run(program):
    body = """
        module = good(d.cuModuleLoadData(ptx))
        f = good(d.cuModuleGetFunction(module, b"k"))
        kinds = ctypes.c_void_p, ctypes.c_int
        args = (int(a), 100), kinds
        good(d.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, args, 0)); print(read())
        config = d.CUlaunchConfig()
        config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
        config.blockDimX = 64
        good(d.cuLaunchKernelEx(config, f, ((int(a), 200), kinds), 0)); print(read())
        address, size = good(d.cuModuleGetGlobal(module, b"g"))
        good(d.cuMemcpyDtoH(host.ctypes.data, address, size)); print(size, host[:2])
        print(code(d.cuModuleGetFunction(module, b"none")), code(d.cuModuleLoadData(b"no code")),
              code(d.cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, 0, args, 0)),
              code(d.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 50000, 0, args, 0)))
        most = d.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        good(d.cuFuncSetAttribute(f, most, 232448))
        good(d.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 232448, 0, args, 0))
        print(good(d.cuFuncGetAttribute(most, f)), code(d.cuFuncSetAttribute(f, most, 232449)))
        blocks = d.cuOccupancyMaxActiveBlocksPerMultiprocessor
        print([good(blocks(f, *each)) for each in ((64, 0), (1024, 0), (64, 100000))],
              good(d.cuOccupancyMaxPotentialClusterSize(f, config)), good(d.cuOccupancyMaxActiveClusters(f, config)))
        library = good(d.cuLibraryLoadData(ptx, None, None, 0, None, None, 0))
        kernel = good(d.cuLibraryEnumerateKernels(good(d.cuLibraryGetKernelCount(library)), library))[0]
        print(good(d.cuKernelGetName(kernel)), int(good(d.cuKernelGetFunction(kernel))) == int(kernel))
    """
    assert program(KERNEL + textwrap.dedent(body)) == (
        "[100, 163]\n[200, 263]\n8 [5 6]\nNOT_FOUND INVALID_IMAGE INVALID_VALUE INVALID_VALUE\n"
        "232448 INVALID_VALUE\n[32, 2, 2] 8 4224\nb'k' True\n"
        "CUDA_ERROR_INVALID_VALUE: launch of `k`: block=(2048, 1, 1) is outside (1, 1, 1) to (1024, 1024, 64)\n"
        "CUDA_ERROR_INVALID_VALUE: launch of `k`: dynamic shared memory, unless the function's attribute allows more, "
        "must be at most 49152, got 50000\n"
    )


def test_a_fault_is_the_drivers_code_and_the_emulators_report(program):
    text = program(
        KERNEL
        + textwrap.dedent("""
        f = good(d.cuModuleGetFunction(good(d.cuModuleLoadData(ptx)), b"k"))
        print(code(d.cuLaunchKernel(f, 1, 1, 1, 96, 1, 1, 0, 0, ((int(a), 1), (ctypes.c_void_p, ctypes.c_int)), 0)))
    """)
    )
    assert text.startswith("ILLEGAL_ADDRESS\nOUT_OF_BOUNDS\n    write of 4 bytes at 0x")
    assert "just past the end of `memory allocated through the CUDA driver` (256 bytes)" in text


def test_a_kernel_that_is_not_supported_is_refused_at_its_launch(program):
    text = program(
        KERNEL
        + textwrap.dedent("""
        other = b".visible .entry other() { frobnicate.u32; ret; }"
        module = good(d.cuModuleLoadData(ptx[:-1] + other))
        f, g = (good(d.cuModuleGetFunction(module, name)) for name in (b"k", b"other"))
        print(code(d.cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, 0, ((), ()), 0)))
        args = (int(a), 100), (ctypes.c_void_p, ctypes.c_int)
        good(d.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, args, 0)); print(read())
    """)
    )
    assert text.startswith("NOT_SUPPORTED\n[100, 163]\nUNSUPPORTED_PTX `frobnicate.u32`: the emulator does not support")
    assert "    PTX line 9: frobnicate.u32;" in text


def test_a_signal_ends_a_launch_and_is_the_authors(program):
    body = """
        import signal

        def ring(*_):
            raise InterruptedError

        module = good(d.cuModuleLoadData(ptx.replace(b"mov.u32 %r, %tid.x;", b"mov.u32 %r, 0; .reg .pred %q;"
            b"L: red.global.add.u32 [%a], 3; add.u32 %r, %r, 1; setp.ne.u32 %q, %r, 0; @%q bra L;")))
        f = good(d.cuModuleGetFunction(module, b"k"))
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            print(d.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ((int(a), 1), (ctypes.c_void_p, ctypes.c_int)), 0))
        except InterruptedError:
            print("rang", code(d.cuMemAlloc(64)))
    """
    assert program(KERNEL + textwrap.dedent(body)) == "rang CUDA_SUCCESS\n"


def test_an_interrupted_launch_shows_where_its_warps_were(program):
    """Ctrl-C comes while the kernel runs: the program's thread knows by a word that the kernel has written. Functions
    that the libraries call before Python's own code goes on must not lose it."""
    body = """
        import os, signal, threading

        def ring():
            while ctypes.c_int32.from_address(int(a)).value != 7: pass
            os.kill(os.getpid(), signal.SIGINT)

        module = good(d.cuModuleLoadData(ptx.replace(b"mov.u32 %r, %tid.x;", b"st.global.u32 [%a], 7; mov.u32 %r, 0;"
            b".reg .pred %q; L: add.u32 %r, %r, 2; setp.ne.u32 %q, %r, 1; @%q bra L;")))
        f = good(d.cuModuleGetFunction(module, b"k"))
        threading.Thread(target=ring).start()
        good(d.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, ((int(a), 1), (ctypes.c_void_p, ctypes.c_int)), 0))
    """
    text = program(KERNEL + textwrap.dedent(body))
    assert text.startswith("`k` was stopped: 1 block of 32 threads\n    block (0, 0, 0):\n")
    assert "in the loop at PTX line " in text and text.endswith("\ndsl: stopped\n")


@pytest.mark.parametrize("end", ["", "try: good(launched)\nexcept AssertionError: pass", "good(launched)"])
def test_a_program_whose_kernel_failed_ends_in_failure(program, end):
    """Whether it looks at the error, lets it through or not."""
    body = """
        f = good(d.cuModuleGetFunction(good(d.cuModuleLoadData(ptx)), b"k"))
        launched = d.cuLaunchKernel(f, 1, 1, 1, 96, 1, 1, 0, 0, ((int(a), 1), (ctypes.c_void_p, ctypes.c_int)), 0)
    """
    text = program(KERNEL + textwrap.dedent(body) + end)
    assert text.count("OUT_OF_BOUNDS\n") == 1
    last = (
        "AssertionError: <CUresult.CUDA_ERROR_ILLEGAL_ADDRESS: 700>"
        if end == "good(launched)"
        else "dsl: a kernel failed; its report is above"
    )
    assert text.endswith(last + "\n")


AGAIN = """
from dsl.launch import session
from dsl.launch.driver.in_process import InProcess

by_python, launch = [], InProcess.launch

def counted(self, program, name, *rest):
    by_python.append(name)
    launch(self, program, name, *rest)

InProcess.launch = counted
session.current().look_for("none")
f = good(d.cuModuleGetFunction(good(d.cuModuleLoadData(ptx)), b"k"))

def run(threads, address, value):
    kinds = ctypes.c_void_p, ctypes.c_int
    return d.cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, 0, ((int(address), value), kinds), 0)
"""


def test_machine_code_makes_launches_again_and_the_session_hears_of_them_in_their_order(program):
    body = """
        for value in range(100):
            good(run(64, a, value))
        print(read())
        for value in range(100):
            good(run(32 + value % 2, a, value))
        print(read(), len(by_python) < 12)
        blocks = [row["block"][0] for row in session.current().kernels[-1].launches]
        print(blocks == [64] * 100 + [32, 33] * 50)
        for _ in range(1000):
            good(run(64, a, 0))
        print(len(by_python) < 20, len(session.current().kernels[-1].launches))
    """
    assert program(KERNEL + AGAIN + textwrap.dedent(body)) == ("[99, 162]\n[99, 162] True\nTrue\nTrue 1200\n")


def test_a_fault_of_a_launch_by_machine_code_is_reported_as_of_the_first(program):
    body = """
        for value in range(5):
            good(run(64, a, value))
        first = len(by_python)
        print(code(run(64, int(a) + 128, 1)), len(by_python) - first)
        print(code(run(64, a, 7)), read(), len(session.current().kernels[-1].launches))
    """
    text = program(KERNEL + AGAIN + textwrap.dedent(body))
    assert text.startswith("ILLEGAL_ADDRESS 0\nCUDA_SUCCESS [7, 70] 7\nOUT_OF_BOUNDS\n    write of 4 bytes at 0x")
    assert "just past the end of `memory allocated through the CUDA driver` (256 bytes)" in text


def test_machine_code_makes_no_launch_while_host_memory_is_looked_for(program):
    """The program makes a tensor of the host after the kernel was launched, and passes it."""
    body = """
        import torch

        for value in range(5):
            good(run(64, a, value))
        first, tensor = len(by_python), torch.zeros(64, dtype=torch.int32)
        print(code(run(64, tensor.data_ptr(), 1)), len(by_python) - first)
    """
    text = program(KERNEL + AGAIN + textwrap.dedent(body))
    assert "ILLEGAL_ADDRESS 1\n" in text
    assert "HOST_MEMORY: this tensor is pageable memory of the host, and `k` gets it" in text


def test_a_module_of_a_device_that_has_gone_is_refused_also_after_launches_by_machine_code(program):
    body = """
        for value in range(5):
            good(run(64, a, value))
        session.start("emulator")
        good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
        print(code(run(64, good(d.cuMemAlloc(256)), 1)))
    """
    assert program(KERNEL + AGAIN + textwrap.dedent(body)).startswith("INVALID_HANDLE\n")


def test_a_preferred_cluster_is_a_hint(program):
    """Blocks run in clusters of the other attribute, the least that the launch allows."""
    body = """
        ptx = ptx.replace(b"%tid.x", b"%ctaid.x").replace(b"%r, 4;", b"%r, 4; mov.u32 %r, %cluster_nctaid.x;")
        f = good(d.cuModuleGetFunction(good(d.cuModuleLoadData(ptx)), b"k"))
        config, cluster, preferred = d.CUlaunchConfig(), d.CUlaunchAttribute(), d.CUlaunchAttribute()
        config.gridDimX, config.blockDimX = 8, 1
        config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
        kinds = d.CUlaunchAttributeID
        cluster.id, preferred.id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, kinds(11)
        cluster.value.clusterDim.x, preferred.value.clusterDim.x = 2, 4
        for each in (cluster, preferred):
            each.value.clusterDim.y = each.value.clusterDim.z = 1
        config.attrs, config.numAttrs = [cluster, preferred], 2
        good(d.cuLaunchKernelEx(config, f, ((int(a), 100), (ctypes.c_void_p, ctypes.c_int)), 0)); print(read()[0])
    """
    assert program(KERNEL + textwrap.dedent(body)) == "102\n"
