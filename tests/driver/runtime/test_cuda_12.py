"""Functions that CUDA 12 and CUDA 13 declare differently, called as CUDA 12 does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dsl import driver

HEAD = """
import ctypes as c
cuda = c.CDLL("libcudart.so.12")
def call(name, *arguments):
    error = getattr(cuda, name)(*arguments)
    assert error == 0, (name, error)
def number(kind=c.c_int): return kind(-1)
"""
PROGRAMS = {
    "versions": """
version = number()
call("cudaRuntimeGetVersion", c.byref(version))
assert version.value == 12090
""",
    "properties": """
memory = (c.c_ubyte * 1040)(*[0xAA] * 1040)
clock = number()
call("cudaGetDeviceProperties_v2", memory, 0)
call("cudaDeviceGetAttribute", c.byref(clock), 13, 0)
assert int.from_bytes(memory[348:352], "little") == clock.value > 0
assert memory[1031] == 0 and memory[1032] == 0xAA, "1032 bytes"
""",
    "properties of CUDA 11": """
memory = (c.c_ubyte * 1040)(*[0xAA] * 1040)
call("cudaGetDeviceProperties", memory, 0)
assert int.from_bytes(memory[308:312], "little") == 32
assert memory[728] == 0xAA, "the structure ends there"
""",
    "managed memory": """
memory, device = c.c_void_p(), 0
call("cudaMallocManaged", c.byref(memory), c.c_size_t(4096), 1)
call("cudaMemPrefetchAsync", memory, c.c_size_t(4096), device, None)
call("cudaMemAdvise", memory, c.c_size_t(4096), 1, device)
call("cudaDeviceSynchronize")
""",
    "capture": """
stream, graph, memory, status, identity = c.c_void_p(), c.c_void_p(), c.c_void_p(), number(), c.c_ulonglong()
call("cudaStreamCreate", c.byref(stream))
call("cudaMalloc", c.byref(memory), c.c_size_t(64))
call("cudaStreamBeginCapture", stream, 0)
call("cudaMemsetAsync", memory, 5, c.c_size_t(64), stream)
call("cudaMemsetAsync", memory, 6, c.c_size_t(32), stream)
call("cudaStreamGetCaptureInfo", stream, c.byref(status), c.byref(identity))
assert status.value == 1
call("cudaStreamEndCapture", stream, c.byref(graph))
count = c.c_size_t()
call("cudaGraphGetEdges", graph, None, None, c.byref(count))
assert count.value == 1
nodes = (c.c_void_p * 2)()
count.value = 2
call("cudaGraphGetNodes", graph, nodes, c.byref(count))
call("cudaGraphRemoveDependencies", graph, c.byref(nodes, 0), c.byref(nodes, 8), c.c_size_t(1))
call("cudaGraphGetEdges", graph, None, None, c.byref(count))
assert count.value == 0
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver.library_folder())}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + PROGRAMS[name]], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
