"""The tables that both drivers have, and cuda.h as cuda.bindings have it."""

import pytest
from cuda.bindings import driver

from dsl.launch.driver import tables


def test_functions_by_name_and_release():
    rows = tables.functions()
    assert ("cuInit", 2000, "cuInit") in rows and ("cuMemAlloc", 3020, "cuMemAlloc_v2") in rows
    assert ("cuLaunchKernel", 4000, "cuLaunchKernel") in rows  # which has a form for streams of threads
    assert len(tables.symbols()) == len(set(tables.symbols())) > 560


def test_every_error_of_cuda_h_has_its_number():
    ours = {code: name for code, (name, _) in tables.errors().items()}
    theirs = {int(each): each.name for each in driver.CUresult}
    assert {code: ours.get(code) for code in theirs} == theirs
    assert all(text for _, text in tables.errors().values())


@pytest.mark.parametrize("name, value", [("MAX_THREADS_PER_BLOCK", 1024), ("WARP_SIZE", 32), ("CLOCK_RATE", 1_980_000),
                                         ("MULTIPROCESSOR_COUNT", 132), ("L2_CACHE_SIZE", 50 << 20)])  # fmt: skip
def test_attributes_of_an_h100(name, value):
    assert tables.attributes()[int(getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"))] == value
