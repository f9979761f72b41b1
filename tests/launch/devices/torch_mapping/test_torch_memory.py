"""Memory of torch tensors that pretend to be on a GPU: aligned, with the same numbers, shared where it was shared."""

import pytest
import torch

from dsl.launch.devices.torch_mapping.torch_memory import ALIGNMENT_BYTES, Places


@pytest.fixture
def places():
    return Places(torch)


def start(tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def test_tensors_move_with_their_numbers(places):
    tensors = [torch.arange(n, dtype=torch.float32) for n in range(1, 40)]
    places.align(tensors)
    assert all(start(tensor) % ALIGNMENT_BYTES == 0 for tensor in tensors)
    assert all(tensor.tolist() == list(range(n)) for n, tensor in enumerate(tensors, 1))


def test_views_of_one_memory_stay_views(places):
    for size in range(8, 40):
        whole = torch.arange(size * 2, dtype=torch.int32).reshape(size, 2)
        column = whole[2:, 1]
        places.align([whole, column])
        assert start(whole) == start(column) and column.stride() == (2,) and column.storage_offset() == 5
        whole[2, 1] = -7
        assert column[0] == -7


@pytest.mark.slow
def test_a_gradient_is_still_recorded(places):
    x = torch.ones(3, requires_grad=True)
    places.align([x])
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_memory_that_torch_may_resize(places):
    tensor = torch.arange(5)
    places.align([tensor])
    if tensor.untyped_storage().resizable():
        return  # it was aligned already
    assert places.loosen([tensor]) and not places.loosen([tensor])
    assert tensor.resize_(9)[:5].tolist() == list(range(5))
