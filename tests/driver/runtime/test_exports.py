"""The CUDA runtime exports every function of the runtime by NVIDIA, under the version that programs ask for."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dsl import driver

THEIRS = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "lib", "libcudart.so.13")
# Functions of CUDA 12 whose names CUDA 13 gave up.
ONLY_IN_12 = """
cudaEventElapsedTime_v2 cudaGetDeviceProperties_v2 cudaGraphAddDependencies_v2 cudaGraphAddNode_v2 cudaGraphGetEdges_v2
cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependentNodes_v2 cudaGraphRemoveDependencies_v2
cudaLaunchCooperativeKernelMultiDevice cudaMemAdvise_v2 cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz
cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v3 cudaStreamUpdateCaptureDependencies_v2 cudaThreadExit
cudaThreadSynchronize
""".split()

pytestmark = pytest.mark.skipif(not shutil.which("nm"), reason="needs nm of binutils")


def exports(library: Path) -> set[str]:
    """The functions of a library, each as NAME@@VERSION."""
    lines = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    return {name for name in re.findall(r" [TWi] (\S+)$", lines.stdout, re.M)}


def test_all_of_cuda_13():
    if not THEIRS.exists():
        pytest.skip("NVIDIA's runtime is not installed")
    assert exports(driver.library_folder() / "libcudart.so.13") >= exports(THEIRS)


@pytest.mark.parametrize("major", [12, 13])
def test_each_release_has_its_names_and_version(major):
    names = exports(driver.library_folder() / f"libcudart.so.{major}")
    assert {name.partition("@@")[2] for name in names} == {f"libcudart.so.{major}"}
    old = {f"{name}@@libcudart.so.{major}" for name in ONLY_IN_12}
    assert names & old == (old if major == 12 else set())


@pytest.mark.parametrize("major", [12, 13])
def test_the_library_needs_only_libc(major):
    text = subprocess.run(
        ["readelf", "-d", str(driver.library_folder() / f"libcudart.so.{major}")], capture_output=True, text=True
    ).stdout
    assert f"soname: [libcudart.so.{major}]" in text
    assert set(re.findall(r"NEEDED.*\[(\w+)", text)) <= {"libc", "libdl", "libpthread", "ld"}
