"""Handles, results through pointers, and the codes of what a launch raised."""

import ctypes

import pytest

from dsl.exceptions import OutcomeError
from dsl.launch.devices.protocol import DeviceError
from dsl.launch.driver import calls


def test_a_handle_is_of_its_kind_until_it_is_removed():
    handles = calls.Handles()
    number = handles.add("text")
    assert handles.get(number, str) == "text"
    for wrong, kind in ((number, int), (number + 1, str), (None, str)):
        with pytest.raises(calls.Refused) as refused:
            handles.get(wrong, kind)
        assert refused.value.code == calls.INVALID_HANDLE
    assert handles.remove(number, str) == "text"
    with pytest.raises(calls.Refused):
        handles.get(number, str)
    assert handles.add("other") != number


def test_a_null_pointer_is_refused():
    with pytest.raises(calls.Refused) as refused:
        calls.put(None, ctypes.c_int, 1)
    assert refused.value.code == calls.INVALID_VALUE
    calls.put_if(None, ctypes.c_int, 1)
    slot = ctypes.c_int()
    calls.put(ctypes.addressof(slot), ctypes.c_int, 5)
    assert slot.value == 5


@pytest.mark.parametrize(
    "outcome, code",
    [({"outcome": "fault", "kind": "out_of_bounds"}, 700), ({"outcome": "fault", "kind": "misaligned"}, 716),
     ({"outcome": "trap", "kind": "assert"}, 710), ({"outcome": "deadlock", "kind": None}, 702), ({}, 719)],
)  # fmt: skip
def test_a_fault_has_the_code_of_the_driver(outcome, code):
    error = OutcomeError("x")
    error.repro_outcome = outcome or None
    assert calls.code_of(error) == code


def test_an_error_of_the_device_has_the_code_of_its_name():
    assert calls.code_of(DeviceError("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "x")) == calls.COOPERATIVE_TOO_LARGE
