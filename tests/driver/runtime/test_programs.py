"""CUDA C++ programs, built by nvcc for the shared runtime, run on this project's runtime and driver; each checks its own
values."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dsl import driver

PROGRAMS = Path(__file__).with_name("programs")
QUICK = {"errors", "graphs", "launch", "managed", "symbols"}  # that run every time
# These run under all checks too, in other orders.
CHECKED = {
    "atomics_std", "between_blocks", "callbacks", "clusters", "conditions", "cub_block", "events_time", "formats",
    "globals", "graph_memory", "half_exact", "heap", "integers", "math_bounds", "multicast", "phases", "pools", "ptx_inline",
    "stages", "std_library", "tiles", "tiny_floats", "unified", "video_simd", "virtual_memory", "wmma_shapes", "written",
}  # fmt: skip

pytestmark = pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")


def built(name: str, folder: Path, *flags: str) -> Path:
    source = PROGRAMS / f"{name}.cu"
    own = re.findall(r"^// flags: (.*)$", source.read_text(), re.M)
    program = folder / name
    how = ["-arch=sm_90", "-std=c++17", *(flags or ("-cudart", "shared")), *" ".join(own).split()]
    done = subprocess.run(["nvcc", *how, "-o", str(program), str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = {"LD_LIBRARY_PATH": str(driver.library_folder())}
    return subprocess.run(
        [str(program), *arguments], env={**os.environ, **paths, **environment}, capture_output=True, text=True
    )


def names() -> list[object]:
    found = sorted(path.stem for path in PROGRAMS.glob("*.cu"))
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in found]


@pytest.mark.parametrize("name", names())
def test_program(name, tmp_path):
    program = built(name, tmp_path)
    done = run(program)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["right"]), done.stdout + done.stderr
    for seed in ("0", "7") if name in CHECKED else ():
        done = run(program, GPU_REPRO_CHECK="all", GPU_REPRO_SEED=seed)
        assert (done.returncode, done.stdout.splitlines()[-1:], done.stderr) == (0, ["right"], "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["barriers", "boxes", "cooperative", "graphs", "launch", "overlap", "streams"])
@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_finding_in_a_right_program(name, seed, tmp_path):
    done = run(built(name, tmp_path), GPU_REPRO_CHECK="all", GPU_REPRO_SEED=seed)
    assert (done.returncode, done.stdout.splitlines()[-1:], done.stderr) == (0, ["right"], "")


@pytest.mark.slow
def test_multicast_objects_that_are_refused_are_named(tmp_path):
    done = run(built("multicast", tmp_path), "refusals")
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["right"]), done.stdout + done.stderr
    assert (
        "memory is bound to a multicast object before cuMulticastAddDevice: CUDA waits here for the device"
        in done.stderr
    )
    assert "cuMulticastCreate for several devices: there is one" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    ["broadcast", "lanes grid spread exchange", "split stages piped group_copies", "bulk gate messages for_its_warp"],
)
def test_no_finding_in_idioms_of_libraries(names, tmp_path):
    """Each runs alone."""
    program = built("library_idioms", tmp_path)
    for name in names.split():
        done = run(program, name, GPU_REPRO_CHECK="all")
        assert (done.returncode, done.stdout.splitlines()[-1:], findings(done)) == (0, ["right"], [])


def findings(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if " has run for " not in line]


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "2"])
def test_no_finding_in_idioms(seed, tmp_path):
    done = run(built("idioms", tmp_path), GPU_REPRO_CHECK="all", GPU_REPRO_SEED=seed)
    assert (done.returncode, done.stdout.splitlines()[-1:], findings(done)) == (0, ["right"], [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "7"])
def test_no_finding_in_algorithms_of_cub(seed, tmp_path):
    done = run(built("cub_device", tmp_path), GPU_REPRO_CHECK="all", GPU_REPRO_SEED=seed)
    assert (done.returncode, done.stdout.splitlines()[-1:], findings(done)) == (0, ["right"], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["big_tiles", "library_idioms"])
def test_tiles_of_several_warps_have_no_race(name, tmp_path):
    """All lanes store what their warp has reduced, which is a warning; the rest is in order."""
    program = built(name, tmp_path)
    for arguments in [[f"big_tiles_{n}"] for n in (64, 128, 256)] if name == "library_idioms" else [[]]:
        done = run(program, *arguments, GPU_REPRO_CHECK="all")
        assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["right"]), done.stderr
        assert all(line.startswith("RACE_SAME_VALUE: ") for line in findings(done))


@pytest.mark.slow
def test_a_race_between_streams_names_functions_of_the_runtime(tmp_path):
    program = built("overlap", tmp_path)
    done = run(program, "wrong", GPU_REPRO_CHECK="race")
    assert done.returncode == 2 and "cudaErrorLaunchFailure" in done.stdout
    lines = done.stderr.splitlines()
    assert re.fullmatch(r".*overlap\.cu:7:\d+: RACE", lines[0])
    assert "which `_Z7consumePKiPi` in stream 2 reads at" in done.stderr and "overlap.cu:10" in done.stderr
    assert "`cudaEventRecord(event, stream2)` after `_Z7consume" in lines[-1]
    assert "`cudaStreamWaitEvent(stream1, event)` before `_Z7produce" in lines[-1]


@pytest.mark.parametrize("name", ["launch", "symbols", "streams"])
def test_program_on_the_runtime_of_cuda_12(name, tmp_path):
    """These call functions that CUDA 12 and 13 have in common."""
    folder = driver.library_folder()
    program = built(name, tmp_path, "-cudart", "none", "-L", str(folder), "-l:libcudart.so.12")
    done = run(program)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["right"]), done.stdout + done.stderr


def test_printing_comes_in_order(tmp_path):
    lines = run(built("printing", tmp_path)).stdout.splitlines()
    assert lines == ["before", "hello 7 from 0, 1.75 text", "hello 7 from 1, 1.75 text", "after", "right"]


def test_missing_functions_are_named_once(tmp_path):
    done = run(built("unsupported", tmp_path))
    assert done.stderr.count("gpu-repro: this CUDA runtime does not have cudaIpcGetMemHandle\n") == 1


def test_a_program_without_a_driver_gets_an_error(tmp_path):
    shutil.copy(driver.library_folder() / "libcudart.so.13", tmp_path)
    done = run(built("printing", tmp_path), LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 2
    assert "cudaErrorInsufficientDriver" in done.stdout
