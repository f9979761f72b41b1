"""The structures of the CUDA runtime are laid out as NVIDIA's headers have them."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from dsl import native_library

HERE = Path(__file__).parent
HEADERS = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "include")
COMPILE = [sys.executable, "-m", "ziglang", "c++", "-target", "x86_64-linux-gnu.2.28", "-std=c++20", "-c"]

# Offsets of cudaDeviceProp in CUDA 12.9, of fields before and after each change between 12 and 13.
IN_12 = {
    **{"luid": 272, "totalGlobalMem": 288, "maxGridSize": 336, "clockRate": 348, "totalConstMem": 352},
    **{"deviceOverlap": 384, "multiProcessorCount": 388, "kernelExecTimeoutEnabled": 392, "computeMode": 404},
    **{"maxTexture1D": 408, "maxTexture1DLinear": 416, "maxTexture2D": 420, "surfaceAlignment": 568},
    **{"unifiedAddressing": 604, "memoryClockRate": 608, "memoryBusWidth": 612, "hostNativeAtomicSupported": 664},
    **{"singleToDoublePrecisionPerfRatio": 668, "cooperativeLaunch": 688, "cooperativeMultiDeviceLaunch": 692},
    **{"sharedMemPerBlockOptin": 696, "reservedSharedMemPerBlock": 720, "hostRegisterSupported": 728},
    **{"unifiedFunctionPointers": 776, "reserved": 780},
}
SIZE_IN_12 = 1032


def problems(*arguments: str, text: str = "") -> str:
    with tempfile.TemporaryDirectory() as folder:
        command = [*COMPILE, "-o", f"{folder}/layouts.o", *arguments, "-I", str(native_library.CUDA_RUNTIME)]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


@pytest.mark.skipif(not (HEADERS / "cuda_runtime_api.h").exists(), reason="the headers of CUDA 13 are not installed")
def test_structures_match_the_headers():
    assert problems("-DCUDART_MAJOR=13", "-I", str(HEADERS), str(HERE / "layouts.cc")) == ""


def properties_of(major: int, changes: dict[str, int] | None = None) -> str:
    offsets = {**IN_12, **(changes or {})}
    checks = [f'static_assert(offsetof(DeviceProperties, {name}) == {at}, "{name}");' for name, at in offsets.items()]
    size = f"static_assert(sizeof(DeviceProperties) == {SIZE_IN_12});"
    text = "\n".join(['#include "properties.h"', *checks, size])
    return problems(f"-DCUDART_MAJOR={major}", "-x", "c++", "-", text=text)


def test_properties_of_cuda_12():
    assert properties_of(12) == ""


def test_a_wrong_offset_is_seen():
    assert re.findall(r"static assertion.*: (\w+)$", properties_of(12, {"computeMode": 408}), re.M) == ["computeMode"]


def test_properties_of_cuda_13_have_no_clock():
    assert "clockRate" in properties_of(13)
