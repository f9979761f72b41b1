"""Which variables of a program name an address; what the driver is asked is in test_driver_hooks.py."""

import pytest

from harness.capture.launches import allocations


class CUdeviceptr(int):
    """As the driver's class of this name."""


def test_variables_that_hold_an_address():
    pointer = CUdeviceptr(1 << 40)
    assert allocations.names_around()[1 << 40] == "pointer"
    assert 1 << 41 not in allocations.names_around()
    del pointer


def test_an_error_of_the_driver_is_raised():
    assert allocations.good((0, 5)) == 5 and allocations.good((0, 5, 6)) == [5, 6]
    with pytest.raises(allocations.CannotBeCaptured, match="the driver returned 201"):
        allocations.good((201,))
