"""The protocol of a device: what every device has, what errors report about a program."""

import pytest

from dsl.exceptions import outcome_of
from dsl.launch.devices.protocol import INVALID_LAUNCH, Device, DeviceError, DeviceMissing


def test_errors_have_the_name_of_cuda_and_the_outcome_of_the_program():
    plain, refused = DeviceError("CUDA_ERROR_X", "it is so"), DeviceError("CUDA_ERROR_Y", "no", INVALID_LAUNCH)
    assert str(plain) == "CUDA_ERROR_X: it is so" and plain.name == "CUDA_ERROR_X" and outcome_of(plain) is None
    assert outcome_of(refused) == {**INVALID_LAUNCH, "text": "CUDA_ERROR_Y: no"} and "text" not in INVALID_LAUNCH
    assert outcome_of(DeviceMissing("none")) is None


def test_optional_methods_have_a_default_and_the_others_raise():
    device = Device.__new__(Device)
    assert device.open_results(None, 0) is None and device.launch_entry is None and not device.capsules_say_cuda
    device.schedule(3), device.look_for("all"), device.register(0, 8, ""), device.unregister(0)
    for needed in (lambda: device.load(""), device.sync, lambda: device.copy(0, 0, 0), lambda: device.refused(1)):
        with pytest.raises(NotImplementedError):
            needed()
