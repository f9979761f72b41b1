"""Programs of the driver API in Python, which know nothing of this project."""

import sys

import pytest

from dsl.driver import library_folder

PTX = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 4 .b8 tile[256];
.visible .entry reverse(.param .u64 x)
{
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  mov.u32 %r3, tile; shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], %r2;
  BARRIER
  sub.u32 %r6, %r5, %r4; sub.u32 %r6, %r6, %r4; ld.shared.u32 %r7, [%r6+252];
  st.global.u32 [%rd3], %r7;
  ret;
}
"""
PROGRAM = """import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    if status:
        sys.exit(f"{name} answered {status}")
context, module, kernel, memory = (ctypes.c_void_p() for _ in range(4))
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), PTX.encode())
call("cuModuleGetFunction", ctypes.byref(kernel), module, b"reverse")
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(256))
numbers = (ctypes.c_int * 64)(*range(64))
call("cuMemcpyHtoD_v2", memory, numbers, ctypes.c_size_t(256))
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(memory), ctypes.c_void_p))
call("cuLaunchKernel", kernel, 1, 1, 1, 64, 1, 1, 0, None, arguments, None)
call("cuMemcpyDtoH_v2", numbers, memory, ctypes.c_size_t(256))
print(list(numbers)[:3])
"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """The command lines of a right and a wrong program, in the working folder."""
    library_folder()  # building it prints a line
    monkeypatch.chdir(tmp_path)
    for name, barrier in (("right", "bar.sync 0;"), ("wrong", "")):
        text = PROGRAM.replace("PTX.", repr(PTX.replace("BARRIER", barrier)) + ".")
        (tmp_path / f"{name}.py").write_text(text)
    return {name: [sys.executable, f"{name}.py"] for name in ("right", "wrong")}
