"""tvm.runtime: tensors hold numpy's numbers, devices have names."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.tirx import runtime
from dsl.tirx.runtime import cpu, cuda, device, empty, tensor


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64"])
def test_a_tensor_holds_the_numbers_it_was_made_of(dtype):
    array = (np.arange(24) % 5).reshape(2, 3, 4).astype(dtype)
    for where in (cpu(), cuda(0)):
        held = tensor(array, where)
        assert held.dtype == dtype and held.shape == (2, 3, 4) and held.nbytes == array.nbytes and held.device == where
        assert held._address % runtime.ALIGNMENT_BYTES == 0
        copy = held.numpy()
        assert copy.dtype == array.dtype and (copy == array).all()
        copy[:] = 0
        assert (held.numpy() == array).all()  # a copy


def test_views_have_the_strides_of_a_compact_tensor():
    view = empty((2, 3, 4), "float32").view
    assert (view.shape, view.strides) == ((2, 3, 4), (12, 4, 1))
    assert (empty(3, "int32").numpy() == 0).all() and empty((), "int32").shape == ()


def test_contents_are_copied_and_converted():
    target = empty((2, 2), "int32")
    assert target.copyfrom([[1.9, 2], [3, 4]]) is target and target.numpy().tolist() == [[1, 2], [3, 4]]
    there = target.copyto(cuda(0))
    target.copyfrom(np.zeros((2, 2)))
    assert there.numpy().tolist() == [[1, 2], [3, 4]] and there.device == cuda(0)
    assert np.from_dlpack(there).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match=r"array shape \(3,\) do not match the shape of Tensor \(2, 2\)"):
        target.copyfrom([1, 2, 3])


def test_devices_by_name():
    assert [device(name) for name in ("cuda", "gpu", "cuda:0", "cpu", "llvm")] == [cuda(), cuda(), cuda(), cpu(), cpu()]
    assert repr(device("cuda:1")) == "device(type='cuda', index=1)" and not device("cuda:1").exist and cuda() != cpu()
    assert cuda(0).compute_version == "9.0" and len({cuda(0), cuda(0), cpu()}) == 2


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: device("rocm"), "no device is called 'rocm' here"),
        (lambda: tensor([1], cuda(1)), "there is one device of cuda, got number 1"),
        (lambda: cuda(1).sync(), "there is one device of cuda, got number 1"),
        (lambda: cuda(1).compute_version, "there is one device of cuda, got number 1"),
        (lambda: tensor([[1], [1, 2]]), "the rows of a tensor must have one length"),
        (lambda: empty((2, -1)), "a shape is a tuple of integers, got (2, -1)"),
        (lambda: empty("ab"), "a shape is a tuple of integers, got ('ab',)"),
    ],
)
def test_wrong_devices_and_shapes_are_refused(call, message):
    with pytest.raises(DSLUserCodeError) as error:
        call()
    assert error.value.message == message and error.value.fix
