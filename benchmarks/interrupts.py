"""Ctrl-C to KeyboardInterrupt, in milliseconds, in each kind of work that can run long.

An empty launch and a hand-over to a thread and back tell what it would cost to run all launches in another thread.

    uv run python benchmarks/interrupts.py [--runs 5]

Each sample is a fresh process on the emulator, which SIGINT reaches when it has worked for a while. The limit is 50 ms.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

START = """
import sys, time
import numpy as np
from dsl import alias
alias.install("emulator")
import cutlass
from cutlass import Int32, cute
from cutlass.cute.runtime import from_dlpack

array = from_dlpack(np.zeros(32, np.int32))


def interrupted(work):
    print("begins", flush=True)
    try:
        while True:
            work()
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)


def launching(kernel):
    @cute.jit
    def call(a: cute.Tensor):
        kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))
    compiled = cute.compile(call, array)
    return lambda: compiled(array)

"""
WORK = {
    "loop of a host function": """
@cute.jit
def endless(n: Int32):
    while True:
        n = n * 3 + 1
compiled = cute.compile(endless, 1)
interrupted(lambda: compiled(1))
""",
    "vectorised loops of a host function": """
@cute.jit
def scaled(a: cute.Tensor, n: Int32):
    for _ in range(2_000_000_000):
        for i in range(n):
            a[i] = a[i] * 2 + 1
many = from_dlpack(np.zeros(1_000_000, np.int32))
compiled = cute.compile(scaled, many, 3)
interrupted(lambda: compiled(many, 1_000_000))
""",
    "loop of a kernel": """
@cute.kernel
def kernel(a: cute.Tensor):
    n = Int32(1)
    while n != 0:
        n = n * 3 + 2 * a[0] + 2 - n % 2
interrupted(launching(kernel))
""",
    "threads of a kernel that wait for another": """
@cute.kernel
def kernel(a: cute.Tensor):
    n, thread = Int32(1), cute.arch.thread_idx()[0]
    while cute.arch.load(a.iterator, Int32, sem="relaxed", scope="gpu") == 0:
        if thread == 0:
            while n != 0:
                n = n * 3 + 2 * a[0] + 2 - n % 2
interrupted(launching(kernel))
""",
    "launches one after another": """
@cute.kernel
def kernel(a: cute.Tensor):
    a[0] = 1
@cute.jit
def call(a: cute.Tensor):
    for _ in range(2_000_000_000):
        kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))
compiled = cute.compile(call, array)
interrupted(lambda: compiled(array))
""",
    "tracing": """
@cute.jit
def call(a: cute.Tensor):
    for i in cutlass.range_constexpr(60_000):
        a[i % 32] = i
interrupted(lambda: cute.compile(call, array))
""",
    "compiling in LLVM": """
from dsl.lower import machine_code
whole = machine_code.compile_modules
def compile_modules(*arguments):
    print("begins", flush=True)
    return whole(*arguments)
from dsl.launch.call.compiling import compiler
compiler.compile_modules = compile_modules
@cute.kernel
def kernel(a: cute.Tensor):
    for i in cutlass.range_constexpr(12_000):
        a[i % 32] = a[(i + 1) % 32] * i
@cute.jit
def call(a: cute.Tensor):
    kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))
try:
    cute.compile(call, array, options="--no-cache")
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
""",
}
EMPTY = """
@cute.kernel
def kernel(a: cute.Tensor):
    pass
import threading
go, done = threading.Lock(), threading.Lock()
go.acquire(), done.acquire()


def other():
    while True:
        go.acquire(), done.release()


def hand_over():
    go.release(), done.acquire()


threading.Thread(target=other, daemon=True).start()
for work in (launching(kernel), hand_over):
    least = 1.0
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(200):
            work()
        least = min(least, (time.perf_counter() - start) / 200)
    print(least * 1e6)
"""


def program(folder: str, work: str) -> list[str]:
    file = Path(folder, "work.py")
    file.write_text(START + work)
    return [sys.executable, str(file)]


def latency_ms(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    return (float(process.communicate(timeout=120)[0]) - sent) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="processes for each kind of work")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        for name, work in WORK.items():
            command = program(folder, work)
            found = [latency_ms(command) for _ in range(runs)]
            print(f"{name:42}{statistics.median(found):8.1f} ms, at most {max(found):.1f}", flush=True)
        command = program(folder, EMPTY)
        outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(runs)]
    for name, times in zip(("empty launch", "hand-over to a thread and back"), zip(*map(str.split, outputs))):
        print(f"{name:42}{min(map(float, times)):8.1f} us, the least")


if __name__ == "__main__":
    main()
