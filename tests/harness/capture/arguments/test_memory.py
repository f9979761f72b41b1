"""Storages, and tensors as views of them."""

import numpy as np
import pytest
import torch

from harness.capture.arguments.memory import Memory, host_values


def test_views_of_one_storage_stay_together():
    whole = torch.arange(24, dtype=torch.float32)
    memory = Memory()
    first, second = memory.view(whole.view(4, 6)[1:, ::2], "a"), memory.view(whole[3:], "b")
    other = memory.view(torch.zeros(24), "c")
    assert [len(storage.views) for storage in memory.storages] == [2, 1]
    assert (first.shape, first.stride, first.offset) == ((3, 3), (6, 2), 6)
    assert (second.shape, second.stride, second.offset) == ((21,), (1,), 3)
    assert other.is_contiguous and not first.is_contiguous


def test_an_equal_view_is_the_same_one():
    tensor, memory = torch.zeros(4, 4), Memory()
    assert memory.view(tensor, "a") is memory.view(tensor.detach(), "b")


@pytest.mark.parametrize("make", [lambda: torch.zeros(3, 5), lambda: np.zeros((3, 5), np.float32)])
def test_a_storage_knows_whether_it_changed(make):
    tensor, memory = make(), Memory()
    memory.view(tensor, "a")
    assert not memory.storages[0].changed()
    tensor[2, 1] = 1
    assert memory.storages[0].changed()


def test_views_of_numpy_arrays():
    array, memory = np.arange(12, dtype=np.int16).reshape(3, 4), Memory()
    view = memory.view(array[::-1, 1:], "a")
    assert (view.shape, view.stride, view.offset) == ((3, 3), (-4, 1), 9)
    assert memory.storages[0].before.view(np.int16).tolist() == list(range(12))


def test_the_bits_of_an_output():
    tensor = torch.tensor([[1.0, -0.0], [float("nan"), 2.0]]).to(torch.bfloat16).T
    dtype, bits = host_values(tensor)
    assert dtype == "bfloat16" and bits.dtype == np.uint16 and bits.shape == (2, 2)
    assert bits[0, 0] == 0x3F80 and bits[1, 0] == 0x8000 and bits[0, 1] & 0x7FFF > 0x7F80


def test_an_address_is_in_the_storage_of_a_live_tensor():
    tensor = torch.zeros(64)
    found = Memory().covering(tensor.data_ptr() + 16)
    assert found.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    assert Memory().covering(1 << 21) is None


def test_two_numbers_in_a_byte_are_bytes():
    tensor = torch.arange(6, dtype=torch.uint8).reshape(2, 3).view(torch.float4_e2m1fn_x2)
    dtype, bits = host_values(tensor)
    assert (dtype, bits.tolist()) == ("uint8", [[0, 1, 2], [3, 4, 5]])
