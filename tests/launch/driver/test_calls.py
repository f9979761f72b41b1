"""Handles, and results through pointers."""

import ctypes

import pytest

from dsl.launch.driver import calls, results


def test_a_handle_is_of_its_kind_until_it_is_removed():
    handles = calls.Handles()
    number = handles.add("text")
    assert handles.get(number, str) == "text"
    for wrong, kind in ((number, int), (number + 1, str), (None, str)):
        with pytest.raises(calls.Refused) as refused:
            handles.get(wrong, kind)
        assert refused.value.code == results.INVALID_HANDLE
    assert handles.remove(number, str) == "text"
    with pytest.raises(calls.Refused):
        handles.get(number, str)
    assert handles.add("other") != number


def test_a_null_pointer_is_refused():
    with pytest.raises(calls.Refused) as refused:
        calls.put(None, ctypes.c_int, 1)
    assert refused.value.code == results.INVALID_VALUE
    calls.put_if(None, ctypes.c_int, 1)
    slot = ctypes.c_int()
    calls.put(ctypes.addressof(slot), ctypes.c_int, 5)
    assert slot.value == 5
