"""Wrong kernels of wrong.cu: each is found at the author's line, with the name of the memory; each right form is silent."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from dsl import driver

SOURCE = Path(__file__).with_name("wrong.cu")
FOUND = {  # what a report has: its id, then texts
    "missing_sync": ("RACE", "of `tile`, which another thread read", "fix: put a barrier of the block (`__syncthreads()`)"),
    "missing_second_sync": ("RACE", "element 0 of `tile`, which another thread wrote", "(`__syncthreads()`)", "the next round"),
    "warp_tail": ("RACE", "element 16 of `sums`, which another thread read", "fix: put a barrier", "the next round"),
    "wrong_mask": ("ILLEGAL", "lane 0 executes", "member mask 0xffff0000", "fix: every executing lane must be in its own mask"),
    "absent_lanes": ("UNDEFINED_READ", "reads lane 20, which takes no part in the shuffle", "fix: read a lane that the mask names"),
    "past_the_end": ("OUT_OF_BOUNDS", "just past the end of `in` (4096 bytes)", "thread (127, 0, 0)"),
    "before_the_start": ("OUT_OF_BOUNDS", "4 bytes before the start of `in` (4096 bytes)", "thread (0, 0, 0)"),
    "past_a_table": ("OUT_OF_BOUNDS", "just past the end of `table` (400 bytes)", "thread (100, 0, 0)"),
    "past_an_array": ("OUT_OF_BOUNDS", "outside the thread's local memory (32 bytes)", "thread (8, 0, 0)"),
    "past_dynamic": ("OUT_OF_BOUNDS", "outside shared memory (512 bytes, 0 static + 512 dynamic)", "thread (127, 0, 0)"),
    "not_cleared": ("UNDEFINED_READ", "of `bins`, which nobody wrote", "fix: write it first"),
    "misaligned": ("MISALIGNED", "read of 16 bytes", "fix: keep the address a multiple of 16"),
    "null_pointer": ("OUT_OF_BOUNDS", "a null pointer"),
    "twice_freed": ("ILLEGAL", "which is free already", "fix: free each block once"),
    "plain_sum": ("RACE", "reads `out[0]`, which another thread wrote", "fix: use an atomic"),
    "other_block": ("RACE", "writes `out[128]`, which a thread of another block read", "fix: read it in a kernel launched later"),
    "relaxed_flag": ("RACE", "reads `out[0]`", "fix: make the write of the flag", "`cuda::memory_order_release`"),
    "copy_not_waited": ("RACE", "of `tile`, which a copy that was not waited for writes", "fix: wait for the copy (`__pipeline_wait_prior(0)`)"),
    "no_init": ("MBARRIER_NOT_INITIALIZED", "the mbarrier at `bar`, which is not initialized", "fix: let one thread initialize it"),
    "too_few_arrive": ("DEADLOCK", "warp 3 lanes 4-31", "fix: init the mbarrier `bar` with 100 arrivals"),
    "bytes_never_come": ("DEADLOCK", "the mbarrier at `bar`", "fix: expect 512 bytes"),
    "no_proxy_fence": ("RACE", "element 0 of `tile`", "fix: put `cuda::ptx::fence_proxy_async` after the writes"),
    "cluster_not_synced": ("RACE", "element 0 of `tile`, which a thread of another block read", "`cluster.sync()`"),
    "grid_without_launch": ("TRAP", "needs a cooperative launch", "cudaLaunchCooperativeKernel"),
    "failed_assert": ("TRAP", "assertion failed: in[threadIdx.x] =="),
    "too_deep": ("ILLEGAL", "need more than the 32768 bytes of stack", "fix: make the recursion end sooner"),
    "used_after_free": ("OUT_OF_BOUNDS", "`in` (4096 bytes) was there and is freed", "fix: keep this memory until the kernel has run"),
    "memory_of_the_host": ("OUT_OF_BOUNDS", "in no memory of the device", "fix: give the kernel an address of device memory"),
    "never_written": ("UNDEFINED_READ", "reads `in[0]`, which nobody wrote; the value is stored for others", "fix: write it first"),
    "partly_written": ("UNDEFINED_READ", "reads `in[127]`, which nobody wrote; the value decides what runs"),
    "sum_not_cleared": ("UNDEFINED_READ", "`out[0]`, which nobody wrote", "fix: write it first (`cudaMemset`, `cudaMemcpy`, a kernel)"),
    "copied_unwritten": ("UNDEFINED_READ", "reads `in[0]`, which nobody wrote; the value is an address"),
    "two_streams": ("RACE", "reads element 0 of `in`, which `cudaMemcpyAsync` in stream 1 writes", "`cudaStreamSynchronize(stream1)`"),
}  # fmt: skip

pytestmark = [pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc"), pytest.mark.slow]


@functools.cache
def program() -> Path:
    """All of them, built once in a process."""
    made = Path(tempfile.mkdtemp()) / "wrong"
    how = ["-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90", "-std=c++17", "-lineinfo", "-w"]
    done = subprocess.run(["nvcc", *how, "-o", str(made), str(SOURCE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"LD_LIBRARY_PATH": str(driver.library_folder()), "GPU_REPRO_CHECK": "all"}
    return subprocess.run([program(), *arguments], env=os.environ | environment, capture_output=True, text=True)


def test_each_kernel_of_the_file_is_expected():
    kernels = re.findall(r"// (\w+)$", SOURCE.read_text(), re.M)
    assert sorted(kernels) == sorted(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_found_at_its_line(name):
    done = run(name)
    lines = SOURCE.read_text().splitlines()
    line = 1 + next(at for at, text in enumerate(lines) if text.endswith(f"// {name}"))
    kind, *texts = FOUND[name]
    assert re.search(rf"^\S*wrong\.cu:{line}:\d+: {kind}$", done.stderr, re.M), done.stderr
    assert [text for text in texts if text not in done.stderr] == [], done.stderr
    assert "cudaSuccess" not in done.stdout


@pytest.mark.parametrize("name", FOUND)
def test_the_right_form_is_silent(name):
    done = run(name, "right")
    assert (done.returncode, done.stdout, done.stderr) == (0, "cudaSuccess\n", "")
