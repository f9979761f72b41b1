"""Results by name, and the result of what a launch raised."""

import pytest

from dsl.exceptions import OutcomeError
from dsl.launch.devices.protocol import DeviceError
from dsl.launch.driver import results, tables


@pytest.mark.parametrize("name", ["SUCCESS", "INVALID_VALUE", "OUT_OF_MEMORY", "NOT_INITIALIZED", "NO_DEVICE",
                                  "INVALID_DEVICE", "INVALID_IMAGE", "INVALID_CONTEXT", "INVALID_PTX",
                                  "FILE_NOT_FOUND", "INVALID_HANDLE", "NOT_FOUND", "LAUNCH_FAILED", "NOT_SUPPORTED",
                                  "UNKNOWN", "ASSERT"])  # fmt: skip
def test_numbers_and_names_agree(name):
    assert tables.errors()[getattr(results, name)][0].removeprefix("CUDA_").removeprefix("ERROR_") == name


@pytest.mark.parametrize(
    "outcome, code",
    [({"outcome": "fault", "kind": "out_of_bounds"}, 700), ({"outcome": "fault", "kind": "misaligned"}, 716),
     ({"outcome": "trap", "kind": "assert"}, 710), ({"outcome": "deadlock", "kind": None}, 702), ({}, 719)],
)  # fmt: skip
def test_a_fault_has_the_code_of_the_driver(outcome, code):
    error = OutcomeError("x")
    error.repro_outcome = outcome or None
    assert results.of(error) == code


def test_an_error_of_the_device_has_the_code_of_its_name():
    assert results.of(DeviceError("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "x")) == results.COOPERATIVE_TOO_LARGE
