"""The author's frames in reports: calls down from the kernel, without a library's headers."""

import re

import numpy as np
import pytest

from dsl.emulator.diagnosis.frames import is_library
from dsl.emulator.faults import Fault
from tests.emulator.diagnosis.one_line_kernel import KERNEL

CUDA = "/usr/local/cuda-99.0/targets/x86_64-linux/include/cooperative_groups/details/sync.h"
HELPER = (
    ".func put(.param .b32 v) { .reg .b32 %r, %a; ld.param.b32 %r, [v]; mov.u32 %a, 0; st.shared.b32 [%a], %r; ret; }\n"
)
CALL = "{ .param .b32 q; st.param.b32 [q], %t; call put, (q); }"


def report_of(machine, body, head="", checks=("race",)):
    ptx = KERNEL.replace(".visible", f'.file 2 "{CUDA}"\n.file 3 "helper.py"\n{head}.visible', 1)
    with pytest.raises(Fault) as caught:
        machine.run(ptx.replace("BODY", body), block=32, checks=checks, out=np.zeros(4, np.int32))
    return caught.value


@pytest.mark.parametrize(
    ("body", "head", "place", "rows"),
    [
        ("st.shared.b32 [s], %t;", "", "kernel.py:3", []),
        (".loc 2 88 3, inlined_at 1 3 7\nst.shared.b32 [s], %t;", "", "kernel.py:3", [f"inside {CUDA}:88"]),
        (".loc 3 5 2, inlined_at 1 3 7\nst.shared.b32 [s], %t;", "", "helper.py:5", ["called at kernel.py:3"]),
        (
            ".loc 3 5 2, inlined_at 1 3 7\n.loc 2 8 2, inlined_at 3 5 2\nst.shared.b32 [s], %t;",
            "",
            "helper.py:5",
            [f"inside {CUDA}:8", "called at kernel.py:3"],
        ),
        (CALL, HELPER.replace("st.", ".loc 2 7 1\nst."), "kernel.py:3", [f"inside {CUDA}:7"]),
        (CALL, HELPER.replace("st.", ".loc 3 7 1\nst."), "helper.py:7", ["called at kernel.py:3"]),
        (f".loc 2 90 1\n{CALL}", HELPER.replace("st.", ".loc 2 7 1\nst."), f"{CUDA}:7", ["called at " + CUDA + ":90"]),
    ],
)
def test_the_place_is_the_authors_and_the_calls_are_shown(machine, body, head, place, rows):
    """A helper that PTX inlines, one that it calls, and a library below either."""
    fault = report_of(machine, body, head)
    text = str(fault)
    assert f"{fault.place.file}:{fault.place.line}" == place and text.startswith(f"{place}:")
    assert re.findall(r"^    ((?:inside|called at) .*)$", text, re.MULTILINE) == rows
    calls = [row.removeprefix("called at ") for row in rows if row.startswith("called")]
    both = f"{place} (called at {', '.join(calls)}), PTX" if calls else f"{place}, PTX"
    assert text.count(both) == 2


def test_a_fault_has_the_calls_too(machine):
    fault = report_of(machine, ".loc 3 5 2, inlined_at 1 3 7\nst.global.b32 [%o], %t;", checks=())
    assert fault.kind == "out_of_bounds" and "    called at kernel.py:3\n" in str(fault)


@pytest.mark.parametrize("file", [
    CUDA, "/home/me/.venv/lib/python3.11/site-packages/triton/language/standard.py", "cuda_fp16.h", "/usr/include/x.h",
    "/src/cutlass/include/cute/algorithm/copy.hpp", "/src/cccl/cub/include/cub/block/block_scan.cuh",
    "/opt/cuda/include/cuda/std/barrier", "/x/include/cuda/__barrier/barrier.h", re.__file__,
])  # fmt: skip
def test_files_of_libraries(file):
    assert is_library(file)


@pytest.mark.parametrize("file", [
    "kernel.py", "/src/cutlass/examples/python/gemm.py", "/home/me/project/include/my_kernels.cuh", "/home/cuda/a.cu",
    "/home/me/include/cutter.h",
])  # fmt: skip
def test_files_of_authors(file):
    assert not is_library(file)
