"""The libraries that cuda.bindings find in place of NVIDIA's libraries.

Modules tested here: dsl/launch/driver/answers.py, dsl/launch/driver/in_process.py, dsl/launch/driver/messages.py.
"""

import subprocess
import sys

from tests.launch.driver.conftest import HEAD


def test_missing_functions_are_named_when_the_program_ends(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD + "print(code(d.cuInit(0)), code(d.cuMemCreate(64, d.CUmemAllocationProp(), 0)))\n")
    command = [sys.executable, "-m", "dsl", "--device", "emulator", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stdout == "CUDA_SUCCESS NOT_SUPPORTED\n"
    assert "the emulator does not have: cuMemCreate" in done.stderr


def test_graphs_of_streams(program):
    body = """
        good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
        stream = good(d.cuStreamCreate(1))
        a = good(d.cuMemAlloc(16))
        good(d.cuStreamBeginCapture(stream, d.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
        good(d.cuMemsetD32Async(a, 7, 4, stream))
        graph = good(d.cuGraphInstantiate(good(d.cuStreamEndCapture(stream)), 0))
        host = np.zeros(4, np.int32)
        good(d.cuMemcpyDtoH(host.ctypes.data, a, 16)); print(host.sum())
        good(d.cuGraphLaunch(graph, stream))
        good(d.cuMemcpyDtoH(host.ctypes.data, a, 16)); print(host.sum())
    """
    assert program(body) == "0\n28\n"


def test_a_device_begins_without_the_errors_of_the_one_before(program):
    """The runtime keeps the error of a kernel until the device is reset."""
    body = """
        from dsl.launch.devices.emulated import Emulated
        from dsl.launch.driver import library
        ptx = b".version 8.0 .target sm_90 .address_size 64 .visible .entry k() { trap; }"
        for _ in range(2):
            end = library.install(Emulated())
            good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
            print(code(r.cudaGetLastError()), good(r.cudaGetDeviceCount()))
            get = library.runtime()
            library_, kernel = ctypes.c_void_p(), ctypes.c_void_p()
            assert get.cudaLibraryLoadData(ctypes.byref(library_), ptx, None, None, 0, None, None, 0) == 0
            assert get.cudaLibraryGetKernel(ctypes.byref(kernel), library_, b"k") == 0
            config = (ctypes.c_uint32 * 16)(1, 1, 1, 32, 1, 1)
            print(get.cudaLaunchKernelExC(config, kernel, None), code(r.cudaGetLastError()), code(r.cudaPeekAtLastError()))
            end()
    """
    text = program(body)
    assert text.startswith("cudaSuccess 1\n715 IllegalInstruction IllegalInstruction\n" * 2)


def test_a_process_without_the_device_reports_no_device(program):
    """The library stays in the process; its device goes."""
    assert (
        program("""
        from dsl.launch.driver import library
        end = library.load().use(None)
        print(code(d.cuInit(0)), code(d.cuDeviceGetCount()), good(d.cuDriverGetVersion()), code(r.cudaMalloc(8)))
        end()
        print(good(r.cudaGetDeviceCount()))
    """)
        == "NO_DEVICE NO_DEVICE 13090 NoDevice\n1\n"
    )


def test_threads_that_hold_the_lock_of_python_wait_for_those_that_do_not(program):
    """ctypes.PyDLL calls without giving the lock up, as compiled code may; the driver calls Python with its lock."""
    body = """
        import threading
        from dsl.launch.driver import library
        good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
        holding = ctypes.PyDLL(library.load().library._name)
        primary = good(d.cuDevicePrimaryCtxRetain(0))
        done = []

        def work(free, alloc):
            good(d.cuCtxSetCurrent(primary))
            for _ in range(300):
                at = ctypes.c_uint64()
                assert alloc(ctypes.byref(at), ctypes.c_uint64(64)) == 0
                assert free(at) == 0
            done.append(1)

        kinds = [(each.cuMemFree_v2, each.cuMemAlloc_v2) for each in (holding, library.load().library)]
        threads = [threading.Thread(target=work, args=kinds[i % 2]) for i in range(4)]
        [each.start() for each in threads]; [each.join() for each in threads]
        print(len(done))
    """
    assert program(body) == "4\n"


def test_other_threads_use_the_driver_while_a_kernel_runs(program):
    """The kernel waits for a word that another thread copies."""
    body = """
        import threading, time
        ptx = b".version 8.0 .target sm_90 .address_size 64 .visible .entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %v;"
        ptx += b".reg .b32 %n; .reg .pred %q; ld.param.u64 %a, [p]; st.relaxed.sys.global.u32 [%a+4], 1; mov.u32 %n, 0;"
        ptx += b"L: add.u32 %n, %n, 1; st.relaxed.sys.global.u32 [%a+8], %n;"  # not a poll alone, which may not last long
        ptx += b"ld.relaxed.sys.global.u32 %v, [%a]; setp.eq.u32 %q, %v, 0; @%q bra L; ret; }"
        good(d.cuInit(0)); primary = good(d.cuDevicePrimaryCtxRetain(0)); good(d.cuCtxSetCurrent(primary))
        a = good(d.cuMemAlloc(12)); good(d.cuMemsetD32(a, 0, 3))
        f = good(d.cuModuleGetFunction(good(d.cuModuleLoadData(ptx)), b"k"))
        one = np.ones(1, np.int32)

        def send():
            good(d.cuCtxSetCurrent(primary))
            while ctypes.c_uint32.from_address(int(a) + 4).value != 1: time.sleep(0.001)
            good(d.cuMemcpyHtoD(a, one.ctypes.data, 4))

        sender = threading.Thread(target=send); sender.start()
        print(code(d.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ((int(a),), (ctypes.c_void_p,)), 0)))
        sender.join()
    """
    assert program(body) == "CUDA_SUCCESS\n"


def test_children_of_a_fork_have_the_device_and_its_memory(program):
    body = """
        import os
        good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
        a = good(d.cuMemAlloc(4)); good(d.cuMemsetD32(a, 5, 1))
        host = np.zeros(1, np.int32)
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        else:
            good(d.cuMemsetD32(good(d.cuMemAlloc(4)), 6, 1))
        good(d.cuMemcpyDtoH(host.ctypes.data, a, 4)); print(host[0], flush=True)
        if not child: os._exit(0)
    """
    assert program(body) == "5\n5\n"


# Ways in which a program ends: what it prints then, and its exit status.
ENDS = {
    "objects": ("event = stream.record(); memory = pool.allocate(64, stream=stream); keep = [event, memory]", "", 0),
    "a cycle": ("class Owner: stream = stream\none, other = Owner(), Owner(); one.of, other.of = other, one", "", 0),
    "sys.exit": ("other = Device().create_stream(); sys.exit(3)", "", 3),
    "os._exit": ("other = Device().create_stream(); os._exit(4)", "", 4),
    "an exception": ("other = Device().create_stream(); raise SystemExit('sorry')", "sorry\n", 1),
    "atexit": (
        "at = good(d.cuMemAlloc(4))\n"
        "def late():\n"
        "    out = np.zeros(1, np.int32)\n"
        "    print(good(d.cuMemsetD32(at, 41, 1)), good(d.cuMemcpyDtoH(out.ctypes.data, at, 4)), out, flush=True)\n"
        "atexit.register(late)",
        "[] [] [41]\n",
        0,
    ),
    "a finalizer": (
        "class Owner: pass\n"
        "owner = Owner()\n"
        "weakref.finalize(owner, lambda at: print(d.cuMemFree(at)[0].name, flush=True), good(d.cuMemAlloc(4)))",
        "CUDA_SUCCESS\n",
        0,
    ),
    "a destructor": (
        "class Owner:\n"
        "    at = good(r.cudaMalloc(4))\n"
        "    def __del__(self):\n"
        "        codes = d.cuMemFree(self.at)[0], d.cuCtxSynchronize()[0], r.cudaDeviceSynchronize()[0]\n"
        "        print(*[int(each) for each in codes], int(d.cuMemAlloc(4)[0]), r.cudaGetErrorName(1)[1], flush=True)\n"
        "owner = Owner()",
        "0 0 0 4 b'cudaErrorInvalidValue'\n",
        0,
    ),
    "a thread": (
        "threading.Thread(target=lambda: print(code(r.cudaDeviceSynchronize()), flush=True)).start()",
        "cudaSuccess\n",
        0,
    ),
    "a daemon thread": (
        "def forever():\n"
        "    Device().set_current()\n"
        "    while True:\n"
        "        pool.allocate(64, stream=stream).close()\n"
        "        begun.set()\n"
        "begun = threading.Event()\n"
        "threading.Thread(target=forever, daemon=True).start(); begun.wait()",
        "",
        0,
    ),
    "a child": (
        "child = os.fork()\n"
        "if child: print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)\n"
        "else: sys.exit(5)",
        "5\n",
        0,
    ),
}


def test_a_program_ends_as_it_ends_on_a_gpu(tmp_path):
    """Destructors of cuda.core call the driver after the end of Python. Each way is a child of one program."""
    path = tmp_path / "program.py"
    path.write_text(f"""{HEAD}
import atexit, os, sys, threading, weakref
from cuda.core import Device, LegacyPinnedMemoryResource
Device().set_current()
stream, pool = Device().create_stream(), LegacyPinnedMemoryResource()
for name, (body, *_) in {ENDS!r}.items():
    child = os.fork()
    if not child:
        exec(body, globals())
        break
    print(f"{{name}}: {{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}}", flush=True)
""")
    command = [sys.executable, "-m", "dsl", "--device", "emulator", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    assert done.stdout == "".join(f"{printed}{name}: {status}\n" for name, (_, printed, status) in ENDS.items())
    assert done.returncode == 0
