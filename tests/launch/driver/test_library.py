"""The libraries that cuda.bindings find in place of NVIDIA's libraries."""

import subprocess
import sys

from dsl.launch.driver import driver, tables
from tests.launch.driver.conftest import HEAD


def test_each_function_of_the_driver_is_exported():
    assert driver.functions().keys() - set(tables.symbols()) == set()


def test_functions_are_made_at_the_first_call_of_one(program):
    body = """
        import sys
        from dsl.launch.driver import library
        print("dsl.launch.driver.driver" in sys.modules, code(held(0)), "dsl.launch.driver.driver" in sys.modules)
    """
    head = "from cuda.bindings.driver import cuInit as held\n"
    assert program(body, head + HEAD) == "False CUDA_SUCCESS True\n"


def test_missing_functions_are_named(program):
    """The runtime looks the driver's functions up by their symbols."""
    text = program("print(code(r.cudaGraphCreate(0)))")
    assert text.startswith("NotSupported\n") and "RuntimeWarning: the embedded device has no cuGraphCreate" in text


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
    """The library stays in the process; its driver goes with the device."""
    assert (
        program("""
        from dsl.launch.driver import current
        before = current.current()
        current.use(None)
        print(code(d.cuInit(0)), code(d.cuDeviceGetCount()), good(d.cuDriverGetVersion()), code(r.cudaMalloc(8)))
        current.use(before)
        print(good(r.cudaGetDeviceCount()))
    """)
        == "NO_DEVICE NO_DEVICE 13090 NoDevice\n1\n"
    )


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
