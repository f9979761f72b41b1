"""The emulator's libcuda.so.1: what calls of a program cost that knows nothing of this project, and in its process.

    uv run python benchmarks/driver.py [--samples 5]

A program in C has a helper process, which runs its kernels; its times are wall clock, because two processes work. The
same loops run by ctypes in a process that has this project; their times are CPU. The least of the samples counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dsl import driver

LOOPS = r"""
#include <stdint.h>
#include <stdio.h>
#include <time.h>
typedef void *handle;
#define PTX ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n) { ret; }"
int cuInit(unsigned), cuDeviceGet(int *, int), cuDevicePrimaryCtxRetain(handle *, int), cuCtxSetCurrent(handle);
int cuModuleLoadData(handle *, const void *), cuModuleGetFunction(handle *, handle, const char *), cuCtxSynchronize();
int cuMemAlloc_v2(uint64_t *, size_t), cuMemFree_v2(uint64_t);
typedef unsigned u;
int cuLaunchKernel(handle, u, u, u, u, u, u, u, handle, void **, void **);

int launches(handle kernel, int count) {
  unsigned number = 5;
  void *parameters[] = {&number};
  int bad = 0;
  while (count--) bad |= cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, parameters, 0);
  return bad | cuCtxSynchronize();
}
int allocations(handle kernel, int count) {
  uint64_t address;
  int bad = 0;
  while (count--) bad |= cuMemAlloc_v2(&address, 4096) | cuMemFree_v2(address);
  return bad;
}
int prepare(handle *kernel) {
  int device;
  handle context, module;
  return cuInit(0) | cuDeviceGet(&device, 0) | cuDevicePrimaryCtxRetain(&context, device) | cuCtxSetCurrent(context) |
    cuModuleLoadData(&module, PTX) |
    cuModuleGetFunction(kernel, module, "k");
}
static double now() {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}
int main(int count) {
  if (count > 1) return 0;
  uint64_t address;
  handle kernel;
  double begun = now();
  int bad = cuInit(0) | cuDevicePrimaryCtxRetain(&kernel, 0) | cuCtxSetCurrent(kernel) | cuMemAlloc_v2(&address, 4096);
  printf("%g\n", now() - begun);
  bad |= prepare(&kernel) | launches(kernel, 1000);
  int (*loops[])(handle, int) = {launches, allocations};
  for (int each = 0; each < 2; ++each) {
    double least = 1;
    for (int i = 0; i < 20; ++i) {
      begun = now(), bad |= loops[each](kernel, 1000);
      least = now() - begun < least ? now() - begun : least;
    }
    printf("%g\n", least / 1000);
  }
  return bad;
}
"""
IN_PROCESS = """
import ctypes, json, sys, time
from dsl import alias
session = alias.install("emulator")
from cuda.bindings import driver
driver.cuInit(0)
loops, kernel = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
assert not loops.prepare(ctypes.byref(kernel)) and not loops.launches(kernel, 1000)
found = []
for checks in "none", "all":
    session.look_for(checks)
    for name in "launches", "allocations":
        rows = []
        for _ in range(20):
            begun = time.process_time()
            assert not loops[name](kernel, 500)
            rows.append((time.process_time() - begun) / 500)
        found.append(min(rows))
print(*found, sep="\\n")
"""


def output(*command: str, environment: dict[str, str]) -> list[float]:
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5, help="fresh processes of each, besides the one dropped")
    options = parser.parse_args()
    folder = driver.library_folder()
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    rows: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        source, program, library = (str(Path(temporary, name)) for name in ("loops.c", "loops", "loops.so"))
        Path(source).write_text(LOOPS)
        build = ["gcc", "-O2", "-w", source, f"-L{folder}"]
        subprocess.run([*build, "-lcuda", "-o", program], check=True)
        subprocess.run([*build, "-shared", "-fPIC", "-o", library], check=True)
        names = "first allocation", "launch", "allocate and free"
        inside = "launch", "allocate and free", "launch, checked", "allocate and free, checked"
        for _ in range(options.samples + 1):
            begun = time.perf_counter()
            output(program, "nothing", environment=environment)
            rows.setdefault("a program that does nothing", []).append(time.perf_counter() - begun)
            for name, value in zip(names, output(program, environment=environment)):
                rows.setdefault(f"{name}, with the helper process", []).append(value)
            for name, value in zip(inside, output(sys.executable, "-c", IN_PROCESS, library, environment=environment)):
                rows.setdefault(f"{name}, in the process", []).append(value)
    for name, values in rows.items():
        print(f"{name:50}{1e6 * min(values[1:]):12.2f} µs")


if __name__ == "__main__":
    main()
