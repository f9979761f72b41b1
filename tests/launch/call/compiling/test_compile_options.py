"""Options of `cute.compile` as objects, names of kernels, and `cute.testing`.

Modules tested here: dsl/cutlass/cute/decorators.py, dsl/launch/call/compiling/artifacts.py.
"""

import subprocess
from pathlib import Path

import pytest

from tests import fork_server

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
    quietly = ["-W", "ignore:HOST_MEMORY"]
    return fork_server.run([*quietly, "-m", "dsl", "--device", "emulator", "author.py"], cwd=folder)


def test_options_as_objects_are_the_options_as_text(tmp_path, ptxas_path):
    done = run(
        tmp_path,
        """\
from cutlass.base_dsl.compiler import DumpDir
chosen = cute.KeepPTX, cute.KeepCUBIN(), cute.GPUArch("sm_80"), cute.OptLevel(2), DumpDir("kept")
made = cute.compile[chosen](host, from_dlpack(out))
made(from_dlpack(out))
print(out[0], ".target sm_80" in made.__ptx__)
cute.compile[cute.KeepPTX(False)](host, from_dlpack(out), options="--gpu-arch sm_90a")
""",
    )
    assert (done.returncode, done.stdout) == (0, "1 True\n"), done.stderr
    assert sorted(file.name for file in (tmp_path / "kept").iterdir()) == ["host.sm_80.cubin", "host.sm_80.ptx"]
    assert (tmp_path / "kept" / "host.sm_80.cubin").read_bytes()[:4] == b"\x7fELF"


def test_values_that_are_not_options_are_refused(tmp_path):
    done = run(tmp_path, "cute.compile[cute.KeepPTX, 3](host, from_dlpack(out))\n")
    assert (
        done.returncode == 1
        and done.stderr.rstrip()
        == """\
author.py:18:1: CONFIG_MALFORMED_COMPILE_OPTIONS
    cute.compile[cute.KeepPTX, 3](host, from_dlpack(out))
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ cute.compile[...] takes compile options, got 3
fix: write `cute.compile[cute.KeepPTX, cute.GPUArch("sm_90a")](f, ...)`"""
    )


def test_a_name_prefix_begins_the_kernels_symbol(tmp_path):
    done = run(
        tmp_path,
        """\
kernel.set_name_prefix("mine")
host.set_name_prefix("ours")
made = cute.compile(host, from_dlpack(out), options="--keep-ptx")
print(made.__ptx__)
""",
    )
    assert done.returncode == 0 and ".entry kernel_mine_kernel_0(" in done.stdout, done.stderr
    assert [file.name.partition(".")[0] for file in tmp_path.glob("*.ptx")] == ["ours_host"]


def test_benchmark_makes_the_given_number_of_calls(tmp_path):
    done = run(
        tmp_path,
        """\
from cutlass.cute.testing import JitArguments, benchmark
made = cute.compile(host, from_dlpack(out))
print(benchmark(made, kernel_arguments=JitArguments(from_dlpack(out)), warmup_iterations=2, iterations=3) > 0, out[0])
sets = []


def generate():
    sets.append(np.zeros(1, np.int32))
    return JitArguments(from_dlpack(sets[-1]))


benchmark(made, workspace_generator=generate, workspace_count=2, warmup_iterations=1, iterations=4)
print([int(each[0]) for each in sets])
""",
    )
    assert (done.returncode, done.stdout) == (0, "True 5\n[3, 2]\n"), done.stderr


def test_benchmark_refuses_what_it_does_not_do(tmp_path):
    done = run(tmp_path, "cute.testing.benchmark(host, use_cuda_graphs=True)\n")
    assert done.returncode == 1 and "leave out use_cuda_graphs and use_cupti" in done.stderr


@pytest.mark.slow
def test_the_tools_options_reach_them(tmp_path, ptxas_path):
    done = run(
        tmp_path,
        """\
import os
def made(**given):
    compiled = cute.compile(host, from_dlpack(out), options="--gpu-arch sm_90a " + " ".join(given.values()))
    compiled(from_dlpack(out))
    return compiled
plain, verbose = made(a="--keep-sass"), made(a="--keep-sass", b="--nvdisasm-options '-c -hex'")
print("EXIT" in plain.__sass__, "/* 0x" in plain.__sass__, "/* 0x" in verbose.__sass__, plain.__cubin__[:4])
slow = cute.compile[cute.KeepSASS, cute.PtxasOptions("--opt-level=0")](host, from_dlpack(out))
print(slow.__sass__.count("\\n") > plain.__sass__.count("\\n"), made(a="--keep-ptx").__sass__, out[0])
print(sorted(file for file in os.listdir(".") if file.startswith("host")))
made(a="--ptxas-options '--nonsense'")
""",
    )
    assert done.stdout.splitlines() == [
        "True False True b'\\x7fELF'",
        "True None 3",
        "['host.sm_90a.ptx', 'host.sm_90a.sass']",
    ], done.stderr
    place, source, caret, fix = done.stderr.splitlines()[:4]
    assert place == "author.py:20:16: CONFIG_MALFORMED_COMPILE_OPTIONS" and source.startswith(
        "    compiled = cute.compile("
    )
    assert caret.partition("^ ")[2] == "options: ptxas refuses --ptxas-options '--nonsense': Unknown option '-nonsense'"
    assert fix == "fix: `ptxas --help` lists its options"


def test_options_without_meaning_are_refused_with_the_reason(monkeypatch):
    """Every option that upstream's page documents is taken or refused by name."""
    from dsl.core.errors import DSLUserCodeError
    from dsl.cutlass import cute
    from dsl.launch.call.compiling.compiler import Options

    wanted = {
        "--rdc": "relocatable code is not supported: kernels are whole programs",
        "--link-libraries a.bc": "bitcode of other compilers is not linked here; write it as inline PTX",
        "--host-target linux-aarch64": "host functions are compiled for this machine, which runs them",
        "--frontend-next": "there is one front end here, with the meaning of upstream's default one",
        "--remark-filter=.*": "remarks of passes are not supported",
    }
    for text, reason in wanted.items():
        with pytest.raises(DSLUserCodeError) as error:
            Options.from_text(text)
        flag = text.replace("=", " ").split()[0]
        assert (error.value.message, error.value.fix) == (
            f"options: {flag} is not supported here: {reason}",
            f"leave {flag} out",
        )
    for chosen in (cute.RDC, cute.FrontendNext, cute.LinkLibraries("a.bc")):
        with pytest.raises(DSLUserCodeError, match=f"options: {chosen.flag} is not supported here"):
            cute.compile[chosen](None)
    assert Options.from_text("--link-libraries '' --ptxas-options --maxrregcount=32") == Options(
        ptxas_options="--maxrregcount=32"
    )
    monkeypatch.setenv("CUTE_DSL_ENABLE_TVM_FFI", "1")
    assert Options.from_text("--opt-level=1") == Options(opt_level=1, enable_tvm_ffi=True)


@pytest.mark.slow
def test_the_environment_keeps_what_it_names(tmp_path, ptxas_path, monkeypatch):
    monkeypatch.setenv("CUTE_DSL_KEEP", "ir, ptx,cubin")
    monkeypatch.setenv("CUTE_DSL_DUMP_DIR", str(tmp_path / "kept"))
    done = run(tmp_path, "host(from_dlpack(out))\n")
    assert done.returncode == 0, done.stderr
    found = {file.name.rpartition(".")[2]: file for file in (tmp_path / "kept").iterdir()}
    assert sorted(found) == ["cubin", "mlir", "ptx"]
    assert "llvm.func @kernel_kernel_0" in found["mlir"].read_text() and ".entry" in found["ptx"].read_text()
    monkeypatch.setenv("CUTE_DSL_KEEP", "ptx,sas")
    done = run(tmp_path, "host(from_dlpack(out))\n")
    assert done.returncode == 1 and "CUTE_DSL_KEEP does not support sas" in done.stderr
