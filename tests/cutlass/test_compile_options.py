"""Options of `cute.compile` as objects, names of kernels, and `cute.testing`."""

import subprocess
import sys
from pathlib import Path

HEAD = """\
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    out[0] = out[0] + 1


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=1, block=1)


out = np.zeros(1, np.int32)
"""


def run(folder: Path, program: str) -> subprocess.CompletedProcess:
    (folder / "author.py").write_text(HEAD + program)
    return subprocess.run([sys.executable, "-m", "dsl", "--device", "emulator", "author.py"], cwd=folder,
                          capture_output=True, text=True, timeout=120)


def test_options_as_objects_are_the_options_as_text(tmp_path, ptxas_path):
    done = run(tmp_path, """\
made = cute.compile[cute.KeepPTX, cute.KeepCUBIN(), cute.GPUArch("sm_80"), cute.OptLevel(2)](host, from_dlpack(out))
made(from_dlpack(out))
print(out[0], ".target sm_80" in made.__ptx__)
cute.compile[cute.KeepPTX(False)](host, from_dlpack(out), options="--gpu-arch sm_90a")
""")
    assert (done.returncode, done.stdout) == (0, "1 True\n"), done.stderr
    assert sorted(file.name for file in tmp_path.glob("host.*")) == ["host.sm_80.cubin", "host.sm_80.ptx"]
    assert (tmp_path / "host.sm_80.cubin").read_bytes()[:4] == b"\x7fELF"


def test_what_is_no_option_is_refused(tmp_path):
    done = run(tmp_path, "cute.compile[cute.KeepPTX, 3](host, from_dlpack(out))\n")
    assert done.returncode == 1 and done.stderr.rstrip() == """\
author.py:18:1: CONFIG_MALFORMED_COMPILE_OPTIONS
    cute.compile[cute.KeepPTX, 3](host, from_dlpack(out))
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ cute.compile[...] takes compile options, and got 3
fix: write `cute.compile[cute.KeepPTX, cute.GPUArch("sm_90a")](f, ...)`"""


def test_a_name_prefix_begins_the_kernels_symbol(tmp_path):
    done = run(tmp_path, """\
kernel.set_name_prefix("mine")
host.set_name_prefix("ours")
made = cute.compile(host, from_dlpack(out), options="--keep-ptx")
print(made.__ptx__)
""")
    assert done.returncode == 0 and ".entry kernel_mine_kernel_0(" in done.stdout, done.stderr
    assert [file.name.partition(".")[0] for file in tmp_path.glob("*.ptx")] == ["ours_host"]


def test_benchmark_calls_as_often_as_it_says(tmp_path):
    done = run(tmp_path, """\
from cutlass.cute.testing import JitArguments, benchmark
made = cute.compile(host, from_dlpack(out))
print(benchmark(made, kernel_arguments=JitArguments(from_dlpack(out)), warmup_iterations=2, iterations=3) > 0, out[0])
sets = []


def generate():
    sets.append(np.zeros(1, np.int32))
    return JitArguments(from_dlpack(sets[-1]))


benchmark(made, workspace_generator=generate, workspace_count=2, warmup_iterations=1, iterations=4)
print([int(each[0]) for each in sets])
""")
    assert (done.returncode, done.stdout) == (0, "True 5\n[3, 2]\n"), done.stderr


def test_benchmark_refuses_what_it_does_not_do(tmp_path):
    done = run(tmp_path, "cute.testing.benchmark(host, use_cuda_graphs=True)\n")
    assert done.returncode == 1 and "leave out use_cuda_graphs and use_cupti" in done.stderr
