from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.upstream import cuda_samples

CMAKE = """
# add_executable of a comment has no closing text
set(CUDA_FATBIN_FILE "${CMAKE_CURRENT_BINARY_DIR}/two_kernel64.fatbin")
set(CUDA_KERNEL_SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/two_kernel.cu")
add_executable(two
    two.cu
    more.cpp
    two.h
)
"""
PROGRAM = """
#include <cstdio>
__global__ void store(int *p) { *p = 7; }
int main() {
  int *p, value = 0;
  cudaMalloc(&p, 4);
  store<<<1, 1>>>(p);
  cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
  printf("Result = %s\\n", value == EXPECTED ? "PASS" : "FAIL");
}
"""


def checkout(folder: Path, name: str = "two", cmake: str = CMAKE, **files: str) -> Path:
    home = folder / "Samples" / "0_Introduction" / name
    home.mkdir(parents=True)
    (folder / "Common").mkdir(exist_ok=True)
    (home / "CMakeLists.txt").write_text(cmake)
    for stem, text in files.items():
        (home / f"{stem}.cu").write_text(text)
    return folder


def test_samples_and_their_sources(tmp_path):
    (sample,) = cuda_samples.samples(checkout(tmp_path))
    assert sample.name == "0/two"
    assert [path.name for path in sample.sources] == ["two.cu", "more.cpp"]
    assert list(cuda_samples.samples(tmp_path, ["three"])) == []


def test_images_that_a_sample_loads(tmp_path):
    (sample,) = cuda_samples.samples(checkout(tmp_path))
    assert list(cuda_samples.images(sample)) == [("fatbin", "two_kernel64.fatbin", sample.folder / "two_kernel.cu")]


@pytest.mark.parametrize(
    ("status", "text", "result"),
    [
        (0, "Result = PASS\n", ("right", "")),
        (0, "Result = FAIL\n", ("wrong", "Result = FAIL")),
        (1, "Test FAILED!\n", ("wrong", "Test FAILED!")),
        (0, "0 errors found\n", ("right", "")),
        (2, "no peers\n", ("waived", "no peers")),
        (-11, "begins\n", ("wrong", "ended by signal 11: begins")),
        (
            1,
            "CUDA error code=801\ngpu-repro: this CUDA runtime does not have cudaIpcGetMemHandle\n",
            ("refused", "`cudaIpcGetMemHandle` is missing"),
        ),
        (
            1,
            "gpu-repro: the emulator does not have: cuA; cuB. The calls answered CUDA_ERROR_NOT_SUPPORTED (801)\n",
            ("refused", "`cuA; cuB` is missing"),
        ),
    ],
)
def test_judged(status, text, result):
    assert cuda_samples.judged(status, text) == result


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.cpp:1:10: fatal error: nvrtc.h: No such file or directory", "nvrtc.h is not installed"),
        ("/usr/bin/ld: cannot find -lcublas: No such file", "libcublas is not installed"),
        ("a.o: undefined reference to `glGetString'", "OpenGL is not installed"),
        ("a.o: undefined reference to `nvvmVersion'", "nvvmVersion is not linked"),
    ],
)
def test_unbuilt_because(text, reason):
    assert cuda_samples.unbuilt_because(text) == reason


def test_table(tmp_path):
    (sample,) = cuda_samples.samples(checkout(tmp_path))
    outcomes = [cuda_samples.Outcome(sample, "right", ""), cuda_samples.Outcome(sample, "refused", "`f` is missing")]
    assert cuda_samples.table(outcomes).splitlines() == [
        "2 samples: 1 right, 1 refused.",
        "",
        "| sample | result | cause |",
        "|---|---|---|",
        "| 0/two | right |  |",
        "| 0/two | refused | `f` is missing |",
    ]


@pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
def test_a_right_and_a_wrong_sample(tmp_path, monkeypatch, capsys):
    for name, value in (("good", 7), ("bad", 8)):
        text = PROGRAM.replace("EXPECTED", str(value))
        checkout(tmp_path, name, f"add_executable({name} main.cu)", main=text)
    monkeypatch.setattr("sys.argv", ["cuda_samples.py", str(tmp_path)])
    assert cuda_samples.main() == 1
    rows = capsys.readouterr().out.splitlines()[-2:]
    assert rows == ["| 0/bad | wrong | Result = FAIL |", "| 0/good | right |  |"]
